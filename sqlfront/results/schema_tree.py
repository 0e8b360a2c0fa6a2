"""The tree of a result's columns and types, as Spark's ``printSchema`` prints it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from sqlfront_planner.nullability import Nulls, everywhere
from sqlfront_values.types import ddl

#: Spark's names of types in trees where they are not the names of SQL.
_NAMES: Final = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}


def schema_tree(schema: pa.Schema, level: int | None = None, nulls: Sequence[Nulls] | None = None) -> str:
    """Return the text that Spark's ``printSchema`` prints for the schema. ``level``: the number of nested
    levels to show; None or a number below 1 shows all. ``nulls``: where the values of each column may be
    null, None = everywhere.

    >>> print(schema_tree(pa.schema([("a", pa.list_(pa.int32()))])), end="")
    root
     |-- a: array (nullable = true)
     |    |-- element: integer (containsNull = true)
    """
    deepest = None if level is None or level <= 0 else level
    known = [everywhere(kind) for kind in schema.types] if nulls is None else nulls
    return "".join(f"{line}\n" for line in ("root", *_lines(_columns(schema, known), " |", 1, deepest)))


class _Line(NamedTuple):
    """A line of the tree. ``remark``: what Spark calls a place that may hold nulls, empty if it says
    nothing."""

    name: str
    type: pa.DataType
    nulls: Nulls
    remark: str


def _lines(fields: list[_Line], prefix: str, depth: int, deepest: int | None) -> Iterator[str]:
    if deepest is not None and depth > deepest:
        return
    for name, kind, nulls, remark in fields:
        flag = f" ({remark} = {'true' if nulls.value else 'false'})" if remark else ""
        yield f"{prefix}-- {name}: {_name(kind)}{flag}"
        yield from _lines(_parts(kind, nulls.parts), f"{prefix}    |", depth + 1, deepest)


def _columns(fields: Iterable[pa.Field], nulls: Sequence[Nulls]) -> list[_Line]:
    return [_Line(each.name, each.type, part, "nullable") for each, part in zip(fields, nulls, strict=True)]


def _parts(kind: pa.DataType, nulls: Sequence[Nulls]) -> list[_Line]:
    """Return the lines of the types inside a type; a type without inner types has none."""
    if pa.types.is_struct(kind):
        return _columns(kind, nulls)
    if pa.types.is_map(kind):
        key = _Line("key", kind.key_type, everywhere(kind.key_type), "")
        return [key, _Line("value", kind.item_type, nulls[0], "valueContainsNull")]
    if pa.types.is_list(kind):
        return [_Line("element", kind.value_type, nulls[0], "containsNull")]
    return []


def _name(kind: pa.DataType) -> str:
    text, _, _ = ddl(kind).partition("<")
    return _NAMES.get(text, text)
