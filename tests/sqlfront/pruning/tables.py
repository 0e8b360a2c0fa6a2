"""The same rows clustered by various keys."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

import sqlfront
from sqlfront_values.types import ddl


def table_of(keys: str) -> str:
    """The name of the table clustered by these columns."""
    return f"by_{keys.replace(', ', '_')}"


def create(connection: sqlfront.Connection, rows: pa.Table, clusterings: Iterable[str]) -> None:
    """A table for each clustering key, all with the same rows."""
    columns = ", ".join(f"{field.name} {ddl(field.type)}" for field in rows.schema)
    connection.register("rows_given", rows)
    for keys in clusterings:
        connection.execute(f"CREATE TABLE {table_of(keys)} ({columns}) USING memory CLUSTERED BY ({keys})")
        connection.execute(f"INSERT INTO {table_of(keys)} SELECT * FROM rows_given")
