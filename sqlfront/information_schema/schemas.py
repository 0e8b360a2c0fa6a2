"""The schemas of tables that sqlfront itself fills: ``sys`` and ``information_schema``, and their columns."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from sqlfront.information_schema.columns import INFORMATION_SCHEMA, INFORMATION_TABLES
from sqlfront.system_tables import SYSTEM, SYSTEM_TABLES

#: The comments of the schemas.
COMMENTS: Final[Mapping[str, str]] = {
    INFORMATION_SCHEMA: "tables that describe tables, by the SQL standard",
    SYSTEM: "state and activity of sqlfront",
}
#: The columns of each system table, by the names of the schema and the table, in lower case.
SYSTEM_SCHEMAS: Final[Mapping[str, Mapping[str, pa.Schema]]] = {
    INFORMATION_SCHEMA: INFORMATION_TABLES,
    SYSTEM: {name: schema for name, (schema, _) in SYSTEM_TABLES.items()},
}
