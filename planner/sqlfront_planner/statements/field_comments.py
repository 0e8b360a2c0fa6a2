"""Comments of the fields inside of a column, stored as metadata of the fields in the column's type. Only
statements that declare or show columns use types with such metadata; the types in tables and plans have
none."""

from collections.abc import Iterator, Mapping
from typing import Final

import pyarrow as pa

from sqlfront_planner.relation_details import ITEM, KEY, VALUE, FieldComments, Path

_METADATA: Final = b"sqlfront.comment"


def commented(name: str, kind: pa.DataType, comment: str | None = None) -> pa.Field:
    """Make a field of a struct type with a comment in its metadata; None = no comment."""
    return pa.field(name, kind, metadata=None if comment is None else {_METADATA: comment.encode()})


def comment_of(field: pa.Field) -> str | None:
    """Return the comment of a field of a struct; None if the field has none.

    >>> comment_of(commented("a", pa.int32(), "x")), comment_of(pa.field("a", pa.int32()))
    ('x', None)
    """
    text = (field.metadata or {}).get(_METADATA)
    return None if text is None else text.decode()


def comments_inside(kind: pa.DataType) -> FieldComments:
    """Return the comments of all fields inside of a type, at any depth, by their paths.

    >>> comments_inside(pa.list_(pa.struct([commented("a", pa.int32(), "x")])))
    ((('element', 'a'), 'x'),)
    """
    return tuple(_comments(kind))


def _comments(kind: pa.DataType) -> Iterator[tuple[Path, str]]:
    for step, inner in _inner(kind):
        text = comment_of(inner)
        if text is not None:
            yield (step,), text
        yield from (((step, *path), text) for path, text in _comments(inner.type))


def with_comments(kind: pa.DataType, comments: FieldComments) -> pa.DataType:
    """Return the type with ``comments``, by the paths of the fields inside; all other comments are removed.

    >>> comments_inside(with_comments(pa.struct([("a", pa.int32())]), ((("a",), "x"),)))
    ((('a',), 'x'),)
    """
    return _with(kind, dict(comments), ())


def _with(kind: pa.DataType, comments: Mapping[Path, str], path: Path) -> pa.DataType:
    fields = [
        commented(inner.name, _with(inner.type, comments, (*path, step)), comments.get((*path, step)))
        for step, inner in _inner(kind)
    ]
    if pa.types.is_struct(kind):
        return pa.struct(fields)
    if pa.types.is_map(kind):
        return pa.map_(*(each.type for each in fields))
    return pa.list_(fields[0].type) if fields else kind


def _inner(kind: pa.DataType) -> Iterator[tuple[str, pa.Field]]:
    """Yield the fields directly inside of a type, each after its step in a path: a struct field's name, or
    ``element``, ``key`` or ``value``."""
    if pa.types.is_struct(kind):
        yield from ((each.name, each) for each in kind)
    elif pa.types.is_map(kind):
        yield from zip((KEY, VALUE), (kind.key_field, kind.item_field), strict=True)
    elif pa.types.is_list(kind):
        yield ITEM, kind.value_field
