"""DESCRIBE EXTENDED ... AS JSON: all about a relation as one JSON text, with Spark's fields and order. Fields
that sqlfront doesn't know, such as the time of creation, are left out."""

import json
from typing import Final

import pyarrow as pa

from sqlfront.commands.inspection.details import partition_columns
from sqlfront.commands.inspection.names import as_written, known_schema, relation
from sqlfront.commands.run import CommandOutcome, StatementRun, details_of, origin_of, shown
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_planner.catalog import (
    DEFAULT_CATALOG,
    DEFAULT_DATABASE,
    GLOBAL_TEMP,
    SESSION_SCHEMA,
    Entry,
    ViewEntry,
)
from sqlfront_planner.relation_details import RelationDetails, redacted, with_text
from sqlfront_planner.statements.field_comments import comment_of, commented, with_comments
from sqlfront_planner.statements.structs import DescribeTable
from sqlfront_values.errors import spark_error
from sqlfront_values.types import STRING, TIMESTAMP, ddl, is_decimal, is_interval

_JSON: Final = pa.schema([("json_metadata", STRING)])
_COLLATION: Final = "UTF8_BINARY"
Fields = dict[str, object]


def describe_as_json(run: StatementRun, statement: DescribeTable) -> CommandOutcome:
    """DESCRIBE EXTENDED ... AS JSON: show all about a relation in one row with one JSON text. Raises
    DESCRIBE_JSON_NOT_EXTENDED if the statement lacks EXTENDED."""
    if not statement.extended:
        raise spark_error(
            "DESCRIBE_JSON_NOT_EXTENDED",
            "DESCRIBE TABLE ... AS JSON only supported when [EXTENDED|FORMATTED] is specified.",
        )
    entry = relation(run, statement.name)
    schema, details = known_schema(run, statement.name, entry), details_of(entry)
    origin = origin_of(entry)
    fields = {**_place(entry, statement.name), "columns": _columns(schema, details)}
    if isinstance(origin, ViewEntry):
        fields |= _of_view(origin)
    else:
        fields |= _of_table(origin.table, details)
    partition = partition_columns(entry)
    if partition and not entry.temporary:
        fields |= {"partition_provider": "Catalog", "partition_columns": list(partition)}
    fields["collation"] = _COLLATION
    return shown(_JSON, [(json.dumps(fields, ensure_ascii=False, separators=(",", ":")),)])


def _place(entry: Entry, written: str) -> Fields:
    """Return the JSON fields for the relation's name, catalog and schema. A permanent view's name is in lower
    case, other names are as ``written`` in the statement. A global temporary view is shown in the schema of
    the other temporary views, as in Spark."""
    catalog, (database, name) = DEFAULT_CATALOG, as_written(written)
    if entry.temporary:
        if entry.database in ((), GLOBAL_TEMP):
            catalog, database = SESSION_SCHEMA
    elif isinstance(origin_of(entry), ViewEntry):
        database, name = DEFAULT_DATABASE, entry.name.lower()
    return {
        "table_name": name,
        "catalog_name": catalog,
        "namespace": [database],
        "schema_name": database,
    }


def _columns(schema: pa.Schema, details: RelationDetails) -> list[Fields]:
    found: list[Fields] = []
    for field in schema:
        comments = details.comments_at((field.name,))
        kind = with_comments(field.type, comments.inside)
        column = _field(commented(field.name, kind, comments.text))
        found.append(column | {"nullable": field.name not in details.required})
    return found


def _of_view(view: ViewEntry) -> Fields:
    fields: Fields = {"type": "VIEW"}
    if view.details.comment is not None and not view.temporary:  # as in Spark
        fields["comment"] = view.details.comment
    fields["view_text"] = view.sql
    if not view.temporary:
        fields["view_original_text"] = view.sql
    fields["view_schema_mode"] = "BINDING" if view.temporary else "COMPENSATION"
    fields["view_catalog_and_namespace"] = f"{DEFAULT_CATALOG}.{DEFAULT_DATABASE}"
    if view.schema is not None:
        fields["view_query_output_columns"] = view.schema.names
    return fields | _properties(view.details)


def _of_table(table: Table, details: RelationDetails) -> Fields:
    fields: Fields = {}
    placed = table.partitioning
    if placed is not None:
        fields["num_buckets"] = placed.count
        fields["bucket_columns"] = [table.schema.field(column).name for column in placed.columns]
        fields["sort_columns"] = []
    files = table if isinstance(table, FileTable) else None
    if files is not None:
        fields["location"] = f"file:{files.location}"
    fields["type"] = "MANAGED" if files is None or files.managed else "EXTERNAL"
    fields["provider"] = table.format
    if details.comment is not None:
        fields["comment"] = details.comment
    return fields | _properties(details)


def _properties(details: RelationDetails) -> Fields:
    given = dict(redacted(with_text(details.properties)))
    return {"table_properties": given} if given else {}


def _field(field: pa.Field) -> Fields:
    described = {"name": field.name, "type": type_json(field.type), "nullable": True}
    comment = comment_of(field)
    return described if comment is None else described | {"comment": comment}


def type_json(kind: pa.DataType) -> Fields:
    """Return the type as Spark's JSON of DESCRIBE ... AS JSON describes it.

    >>> type_json(pa.list_(pa.int32()))
    {'name': 'array', 'element_type': {'name': 'int'}, 'element_nullable': True}
    """
    if pa.types.is_struct(kind):
        fields = [_field(kind.field(place)) for place in range(kind.num_fields)]
        return {"name": "struct", "fields": fields}
    if pa.types.is_list(kind):
        return {"name": "array", "element_type": type_json(kind.value_type), "element_nullable": True}
    if pa.types.is_map(kind):
        key, value = type_json(kind.key_type), type_json(kind.item_type)
        return {"name": "map", "key_type": key, "value_type": value, "value_nullable": True}
    if is_decimal(kind):
        return {"name": "decimal", "precision": kind.precision, "scale": kind.scale}
    if is_interval(kind):
        first, _, last = ddl(kind).removeprefix("interval ").partition(" to ")
        return {"name": "interval", "start_unit": first, "end_unit": last or first}
    if kind == STRING:
        return {"name": "string", "collation": _COLLATION}
    return {"name": "timestamp_ltz" if kind == TIMESTAMP else ddl(kind)}
