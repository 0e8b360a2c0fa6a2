"""The properties of a relation that no query reads: comments, TBLPROPERTIES, and the columns that are NOT
NULL."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec.structs import replace

#: Names with their texts, in the order of the names.
Texts = tuple[tuple[str, str], ...]
#: The names that lead to a field inside of a column.
Path = tuple[str, ...]
#: The steps of a path, as Spark names them: from an array to its items, from a map to its keys and values.
ITEM: Final = "element"
KEY: Final = "key"
VALUE: Final = "value"
#: Comments of fields inside of columns.
FieldComments = tuple[tuple[Path, str], ...]
#: Spark's defaults of ``spark.redaction.regex`` and ``spark.sql.redaction.options.regex``, as one pattern.
_SECRET: Final = "(?i)secret|password|token|access[.]?key|url"
#: What Spark shows instead of a secret.
_REDACTED: Final = "*********(redacted)"


class ColumnComments(msgspec.Struct, frozen=True):
    """The comments of a column and of the fields inside of the column. ``text``: the column's comment, None
    without one; ``inside``: the fields' comments, by their paths below the column."""

    text: str | None = None
    inside: FieldComments = ()


#: The comments of a column that has none.
NO_COMMENTS: Final = ColumnComments()


class RelationDetails(msgspec.Struct, frozen=True):
    """The comments and properties that CREATE, ALTER and COMMENT ON give a relation. ``comment`` is None if
    no statement gave one. ``properties``: TBLPROPERTIES, by key. ``column_comments``: the comments by the
    names of columns. ``required``: the names of the columns that are NOT NULL. ``field_comments``: the
    comments of fields inside of columns, by paths that begin with the column's name."""

    comment: str | None = None
    properties: Texts = ()
    column_comments: Texts = ()
    required: tuple[str, ...] = ()
    field_comments: FieldComments = ()

    def comment_of(self, column: str) -> str | None:
        """Return the comment of the column with exactly that name; None if the column has none."""
        return next((text for name, text in self.column_comments if name == column), None)

    def comments_at(self, path: Path) -> ColumnComments:
        """Return the comments of the column or field at ``path``, and of the fields inside.

        >>> RelationDetails(field_comments=((("s", "a", "b"), "x"),)).comments_at(("s", "a"))
        ColumnComments(text=None, inside=((('b',), 'x'),))
        """
        size, inner = len(path), self.field_comments
        text = self.comment_of(path[0]) if size == 1 else dict(inner).get(path)
        inside = ((each[size:], text) for each, text in inner if len(each) > size and each[:size] == path)
        return ColumnComments(text, tuple(inside))

    def with_comments(self, given: Mapping[str, ColumnComments]) -> "RelationDetails":
        """Return the details with new comments, by the columns' names. The comment of a column is replaced
        if ``given`` has a text for it; the comments of the fields inside of the column are always
        replaced."""
        texts = {name: each.text for name, each in given.items() if each.text is not None}
        inside = [((name, *path), text) for name, each in given.items() for path, text in each.inside]
        others = [(path, text) for path, text in self.field_comments if path[0] not in given]
        return replace(
            self,
            column_comments=changed(self.column_comments, texts),
            field_comments=tuple(sorted([*others, *inside])),
        )

    def commented(self, column: str, comment: str) -> "RelationDetails":
        """Return the details in which ``comment`` is the comment of the column."""
        return replace(self, column_comments=changed(self.column_comments, {column: comment}))


#: Details of a relation about which no statement has said anything.
NO_DETAILS = RelationDetails()


def changed(texts: Texts, given: Mapping[str, str], without: Iterable[str] = ()) -> Texts:
    """Return ``texts``, sorted by name, with the entries of ``given``, each added or in place of the entry
    with the same name, and without the entries named in ``without``.

    >>> changed((("a", "1"), ("b", "2")), {"c": "3"}, ["a"])
    (('b', '2'), ('c', '3'))
    """
    gone = set(without)
    whole = {**dict(texts), **given}
    return tuple(sorted((name, text) for name, text in whole.items() if name not in gone))


def with_text(texts: Texts) -> Texts:
    """Return the properties that DESCRIBE shows: all whose text isn't empty."""
    return tuple((name, text) for name, text in texts if text)


def redacted(texts: Iterable[tuple[str, str]]) -> Texts:
    """Return properties or options as they may be shown. As in Spark, a text is replaced by a marker if its
    name or the text itself looks secret.

    >>> redacted([("fs.s3a.access.key", "abc"), ("note", "password=abc"), ("owner", "me")])
    (('fs.s3a.access.key', '*********(redacted)'), ('note', '*********(redacted)'), ('owner', 'me'))
    """
    is_secret = re.compile(_SECRET).search
    return tuple((name, _REDACTED if is_secret(name) or is_secret(text) else text) for name, text in texts)
