"""Declarations of columns and properties in CREATE and ALTER, with Spark's checks."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_planner.relation_details import Texts
from sqlfront_values.errors import spark_error

#: Properties that are not for TBLPROPERTIES, with the advice of Spark's message.
_RESERVED: Final = {
    "collation": "please use the DEFAULT COLLATION clause to specify it",
    "external": "please use CREATE EXTERNAL TABLE",
    "is_managed_location": "please remove it from the TBLPROPERTIES list.",
    "location": "please use the LOCATION clause to specify it",
    "owner": "it will be set to the current user",
    "provider": "please use the USING clause to specify it",
    "table_type": "please remove it from the TBLPROPERTIES list.",
}
#: Clauses behind a column's type, as messages name them.
_CLAUSES: Final = {"comment": "COMMENT", "required": "NOT NULL"}


class ColumnDeclaration(msgspec.Struct, frozen=True):
    """A column of CREATE TABLE or CREATE VIEW. ``type`` is void for a view's column, whose type the query
    decides. ``required``: the column is NOT NULL."""

    name: str
    type: pa.DataType
    comment: str | None = None
    required: bool = False


def declaration(name: str, kind: pa.DataType, clauses: Sequence[tuple[str, object]]) -> ColumnDeclaration:
    """The declaration of a column with the labelled clauses ``comment`` and ``required``. Raises
    CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE for a clause that stands twice."""
    for label, text in _CLAUSES.items():
        if sum(each[0] == label for each in clauses) > 1:
            raise spark_error(
                "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE",
                f'CREATE TABLE column {name} specifies descriptor "{text}" more than once, which is invalid.',
            )
    return ColumnDeclaration(name, kind, **dict(clauses))  # type: ignore[arg-type]


def schema_of(columns: Iterable[ColumnDeclaration]) -> pa.Schema:
    """The names and types of the columns."""
    return pa.schema([pa.field(column.name, column.type) for column in columns])


def column_details(columns: Sequence[ColumnDeclaration]) -> tuple[Texts, tuple[str, ...]]:
    """The comments of the columns by name, and the names of the columns that are NOT NULL."""
    comments = tuple((each.name, each.comment) for each in columns if each.comment is not None)
    return comments, tuple(each.name for each in columns if each.required)


def unique_properties(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The properties by key. Raises DUPLICATE_KEY for a key that stands twice,
    UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY for a key that has a clause of its own."""
    found: dict[str, str] = {}
    for key, value in given:
        if key in found:
            raise spark_error("DUPLICATE_KEY", f"Found duplicate keys `{key}`.")
        found[key] = value
    for key in found:
        if key in _RESERVED:
            raise spark_error(
                "UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
                f"The feature is not supported: {key} is a reserved table property, {_RESERVED[key]}.",
            )
    return found
