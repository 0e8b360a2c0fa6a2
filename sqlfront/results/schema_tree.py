"""The tree of a result's columns and types, as Spark's ``printSchema`` prints it."""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from sqlfront_values.types import ddl

#: Spark's names of types in trees where they are not the names of SQL.
_NAMES: Final = {"bigint": "long", "int": "integer", "smallint": "short", "tinyint": "byte"}


def schema_tree(schema: pa.Schema, level: int | None = None) -> str:
    """Return the text that Spark's ``printSchema`` prints for the schema. ``level``: the number of nested
    levels to show; None or a number below 1 shows all. Every column is shown as nullable.

    >>> print(schema_tree(pa.schema([("a", pa.list_(pa.int32()))])), end="")
    root
     |-- a: array (nullable = true)
     |    |-- element: integer (containsNull = true)
    """
    deepest = None if level is None or level <= 0 else level
    return "".join(f"{line}\n" for line in ("root", *_lines(_columns(schema), " |", 1, deepest)))


def _lines(
    fields: list[tuple[str, pa.DataType, str | None]], prefix: str, depth: int, deepest: int | None
) -> Iterator[str]:
    if deepest is not None and depth > deepest:
        return
    for name, kind, nulls in fields:
        yield f"{prefix}-- {name}: {_name(kind)}" + ("" if nulls is None else f" ({nulls})")
        yield from _lines(_parts(kind), f"{prefix}    |", depth + 1, deepest)


def _columns(fields: Iterable[pa.Field]) -> list[tuple[str, pa.DataType, str | None]]:
    return [(field.name, field.type, "nullable = true") for field in fields]


def _parts(kind: pa.DataType) -> list[tuple[str, pa.DataType, str | None]]:
    """Return the types inside a type, each as name, type, and the remark about nulls that Spark prints behind
    it (None: no remark). A type without inner types has none."""
    if pa.types.is_struct(kind):
        return _columns(kind)
    if pa.types.is_map(kind):
        return [("key", kind.key_type, None), ("value", kind.item_type, "valueContainsNull = true")]
    if pa.types.is_list(kind):
        return [("element", kind.value_type, "containsNull = true")]
    return []


def _name(kind: pa.DataType) -> str:
    text, _, _ = ddl(kind).partition("<")
    return _NAMES.get(text, text)
