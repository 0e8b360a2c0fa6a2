"""The columns of the tables in ``information_schema``: those of the SQL standard that have a meaning here,
and those that Databricks adds (``full_data_type``, ``data_source_format``, ``storage_path``, ``comment``)."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from sqlfront_values.types import BIGINT, INT, STRING

#: The name of the schema.
INFORMATION_SCHEMA: Final = "information_schema"

SCHEMATA: Final = pa.schema(
    [("catalog_name", STRING), ("schema_name", STRING), ("schema_owner", STRING), ("comment", STRING)]
)
TABLES: Final = pa.schema(
    [
        ("table_catalog", STRING),
        ("table_schema", STRING),
        ("table_name", STRING),
        ("table_type", STRING),
        ("is_insertable_into", STRING),
        ("table_owner", STRING),
        ("comment", STRING),
        ("data_source_format", STRING),
        ("storage_path", STRING),
    ]
)
COLUMNS: Final = pa.schema(
    [
        ("table_catalog", STRING),
        ("table_schema", STRING),
        ("table_name", STRING),
        ("column_name", STRING),
        ("ordinal_position", INT),
        ("column_default", STRING),
        ("is_nullable", STRING),
        ("data_type", STRING),
        ("full_data_type", STRING),
        ("character_maximum_length", BIGINT),
        ("character_octet_length", BIGINT),
        ("numeric_precision", INT),
        ("numeric_precision_radix", INT),
        ("numeric_scale", INT),
        ("datetime_precision", INT),
        ("interval_type", STRING),
        ("partition_index", INT),
        ("comment", STRING),
    ]
)
VIEWS: Final = pa.schema(
    [
        ("table_catalog", STRING),
        ("table_schema", STRING),
        ("table_name", STRING),
        ("view_definition", STRING),
        ("check_option", STRING),
        ("is_updatable", STRING),
        ("is_insertable_into", STRING),
    ]
)
ROUTINES: Final = pa.schema(
    [
        ("specific_catalog", STRING),
        ("specific_schema", STRING),
        ("specific_name", STRING),
        ("routine_catalog", STRING),
        ("routine_schema", STRING),
        ("routine_name", STRING),
        ("routine_type", STRING),
        ("data_type", STRING),
        ("routine_body", STRING),
        ("external_language", STRING),
        ("comment", STRING),
    ]
)

#: The columns of each table of the schema, by name.
INFORMATION_TABLES: Final[Mapping[str, pa.Schema]] = {
    "columns": COLUMNS,
    "routines": ROUTINES,
    "schemata": SCHEMATA,
    "tables": TABLES,
    "views": VIEWS,
}
