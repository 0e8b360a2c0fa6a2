"""Tables in memory are counted, and what doesn't fit isn't published."""

import gc
import time
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront.connection import Connection
from sqlfront_planner.catalog import TableEntry
from sqlfront_values.errors import OperationalError

#: Room for two such tables, and for queries over one.
LIMIT = 104 << 20
#: A table of about 36 MiB.
ROWS = 2_400_000
MADE = f"SELECT id, id * 2 AS b FROM range({ROWS})"


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with sqlfront.connect(memory_limit=LIMIT, members=request.param) as made:
        yield made


def refused(connection: Connection, statement: str, name: str) -> None:
    with pytest.raises(OperationalError, match=rf"{name}.* needs .* more memory.*limit of 104 MiB") as caught:
        connection.execute(statement)
    assert (caught.value.condition, caught.value.sqlstate) == ("UNABLE_TO_ACQUIRE_MEMORY", "53200")


def names(connection: Connection) -> set[object]:
    return {row[1] for row in connection.execute("SHOW TABLES").fetchall()}


def rows(connection: Connection, name: str) -> int | None:
    """How many the table has; a query might still miss the memory that a failed one is giving back."""
    entry = connection.session.context.catalog.lookup((name,))
    assert isinstance(entry, TableEntry)
    return entry.table.snapshot().statistics.rows


def execute_soon(connection: Connection, statement: str) -> None:
    """Execute the statement, again for some seconds while there is no memory: threads of other members may
    still hold what ended statements are giving back."""
    deadline = time.monotonic() + 10
    while True:
        try:
            connection.execute(statement)
        except OperationalError as error:
            if error.sqlstate != "53200" or time.monotonic() > deadline:
                raise
            gc.collect()
        else:
            return


def test_tables_that_do_not_fit_are_refused(connection: Connection) -> None:
    for number in range(2):
        connection.execute(f"CREATE TABLE t{number} AS {MADE}")
    for number in range(2, 6):
        refused(connection, f"CREATE TABLE t{number} AS {MADE}", f"t{number}")

    assert names(connection) == {"t0", "t1"}
    for number in range(2):
        assert rows(connection, f"t{number}") == ROWS


def test_memory_comes_back_with_a_dropped_table(connection: Connection) -> None:
    for _ in range(6):
        connection.execute(f"CREATE TABLE t AS {MADE}")
        connection.execute("DROP TABLE t")


def test_what_fails_leaves_the_table_and_the_account_as_they_were(
    connection: Connection,
) -> None:
    for number in range(2):
        connection.execute(f"CREATE TABLE t{number} AS {MADE}")

    refused(connection, f"INSERT INTO t1 {MADE}", "t1")
    refused(connection, f"INSERT OVERWRITE t1 SELECT id, id FROM range({2 * ROWS})", "t1")
    refused(connection, "UPDATE t1 SET b = b + 1", "t1")
    refused(connection, "CACHE TABLE copy AS SELECT id, b, id AS c FROM t1", "copy")

    assert rows(connection, "t1") == ROWS
    assert connection.execute("SELECT b FROM t1 WHERE id = 7").fetchall() == [(14,)]
    connection.execute("DROP TABLE t0")
    gc.collect()
    connection.execute("UPDATE t1 SET b = b + 1 WHERE id < 10")
    execute_soon(connection, f"CREATE TABLE t3 AS {MADE}")


def test_indexes_are_counted() -> None:
    with sqlfront.connect(memory_limit=64 << 20) as connection:
        connection.execute(f"CREATE TABLE t AS {MADE}")
        connection.execute("CREATE INDEX first ON t (b)")
        with pytest.raises(OperationalError, match=r"Table `t` needs .* limit of 64 MiB"):
            connection.execute("CREATE INDEX second ON t (id)")


def test_versions_share_what_did_not_change() -> None:
    with sqlfront.connect(memory_limit=LIMIT) as connection:
        connection.execute(f"CREATE TABLE t AS {MADE}")
        before = connection._session.engine.tables.used
        for number in range(50):
            connection.execute(f"UPDATE t SET b = 0 WHERE id = {number}")
            connection.execute(f"INSERT INTO t VALUES ({number}, {number})")
        grown = connection._session.engine.tables.used - before

        assert grown < 1 << 20
