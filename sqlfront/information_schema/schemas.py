"""The schemas of tables that sqlfront itself fills: ``sys`` and ``information_schema``, and their columns."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from sqlfront.information_schema.columns import INFORMATION_SCHEMA, INFORMATION_TABLES
from sqlfront.system_tables import SYSTEM, SYSTEM_TABLES
from sqlfront_planner.catalog import DEFAULT_CATALOG

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


def system_schema(qualifier: tuple[str, ...]) -> str | None:
    """Return the schema of system tables that the qualifier of a dotted name stands for; None for another
    qualifier.

    >>> system_schema(("SYS",)), system_schema(("spark_catalog", "sys")), system_schema(("default",))
    ('sys', 'sys', None)
    """
    *catalog, name = (part.lower() for part in qualifier or ("",))
    return name if name in SYSTEM_SCHEMAS and catalog in ([], [DEFAULT_CATALOG]) else None


def is_system_table(parts: tuple[str, ...]) -> bool:
    """Return whether the dotted name stands for a system table.

    >>> is_system_table(("sys", "Queries")), is_system_table(("sys", "nosuch")), is_system_table(("queries",))
    (True, False, False)
    """
    schema = system_schema(parts[:-1])
    return schema is not None and parts[-1].lower() in SYSTEM_SCHEMAS[schema]
