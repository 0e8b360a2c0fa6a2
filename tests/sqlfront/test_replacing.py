"""Readers and writers of tables that are dropped or replaced meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront_connectors.base import Table, WritableTable
from sqlfront_planner.catalog import TableEntry


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        yield connection


def table_of(connection: sqlfront.Connection, name: str) -> WritableTable:
    entry = connection.session.catalog.lookup((name,))
    assert isinstance(entry, TableEntry) and isinstance(entry.table, WritableTable)
    return entry.table


@pytest.mark.parametrize(
    "statement", ["CREATE OR REPLACE TABLE t USING memory AS SELECT id FROM range(7)", "DROP TABLE t"]
)
def test_who_has_looked_a_name_up_finds_the_rows(connection: sqlfront.Connection, statement: str) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(5)")
    found = table_of(connection, "t")
    connection.execute(statement)

    assert found.snapshot().statistics.rows == 5


def test_uncaching_leaves_its_readers_the_rows(connection: sqlfront.Connection) -> None:
    connection.execute("CACHE TABLE t AS SELECT id FROM range(5)")
    found = table_of(connection, "t")
    connection.execute("UNCACHE TABLE t")

    assert found.snapshot().statistics.rows == 5


def test_a_name_is_one_table_in_the_whole_query(connection: sqlfront.Connection) -> None:
    class Replaced:
        """A table that is replaced as soon as a query has begun to read it."""

        def __init__(self, table: Table) -> None:
            self._table = table

        def __getattr__(self, name: str) -> object:
            return getattr(self._table, name)

        def snapshot(self) -> object:
            connection.execute("CREATE OR REPLACE TABLE t USING memory AS SELECT id FROM range(100)")
            return self._table.snapshot()

    connection.execute("CREATE TABLE t USING memory AS SELECT id FROM range(3)")
    entry = TableEntry("t", Replaced(table_of(connection, "t")))  # type: ignore[arg-type]
    connection.session.catalog.add(entry, replace=True)

    assert connection.execute("SELECT count(*) FROM t a CROSS JOIN t b").fetchall() == [(9,)]
    assert connection.execute("SELECT count(*) FROM t").fetchall() == [(100,)]
