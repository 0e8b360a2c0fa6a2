"""Declarations of columns and properties in CREATE and ALTER, with Spark's checks."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_planner.relation_details import NO_COMMENTS, ColumnComments, RelationDetails
from sqlfront_planner.statements.field_comments import comments_inside, with_comments
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
    comments: ColumnComments = NO_COMMENTS
    required: bool = False


def declaration(name: str, kind: pa.DataType, clauses: Sequence[tuple[str, object]]) -> ColumnDeclaration:
    """Make the declaration of a column from its type and clauses: pairs of ``comment`` and the text, or
    ``required`` (NOT NULL) and any value. The type may have comments of fields, which move into the
    declaration. Raises CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE for a clause that occurs twice."""
    for label, text in _CLAUSES.items():
        if sum(each[0] == label for each in clauses) > 1:
            raise spark_error(
                "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE",
                f'CREATE TABLE column {name} specifies descriptor "{text}" more than once, which is invalid.',
            )
    given = dict(clauses)
    comment, inside = given.get("comment"), comments_inside(kind)
    assert comment is None or isinstance(comment, str)
    plain = with_comments(kind, ()) if inside else kind
    return ColumnDeclaration(name, plain, ColumnComments(comment, inside), "required" in given)


def schema_of(columns: Iterable[ColumnDeclaration]) -> pa.Schema:
    """Return the names and types of the columns."""
    return pa.schema([pa.field(column.name, column.type) for column in columns])


def with_columns(details: RelationDetails, columns: Sequence[ColumnDeclaration]) -> RelationDetails:
    """Return the details with the comments of the columns, and with the names of the NOT NULL columns as
    ``required``."""
    required = tuple(each.name for each in columns if each.required)
    commented = details.with_comments({each.name: each.comments for each in columns})
    return replace(commented, required=required)


def unique_properties(given: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the properties as a mapping. Raises DUPLICATE_KEY for a key that occurs twice,
    UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY for a key that must be written as a clause, such as LOCATION."""
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
