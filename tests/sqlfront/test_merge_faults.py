"""MERGE, UPDATE, DELETE, INSERT and INSERT OVERWRITE that fail, are cancelled, or whose process is killed:
the table keeps its old rows or has all new ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import sqlfront
from tests.connectors.test_replacement import dies_at

ROWS = 50
BEFORE = [(key, 0) for key in range(ROWS)]
#: Statements, and the rows after them.
CHANGES = {
    "MERGE": (
        (
            f"MERGE INTO t USING (SELECT id FROM range(10, {ROWS + 10})) AS s ON t.k = s.id"
            " WHEN MATCHED AND t.k % 5 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = n + 1"
            " WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.id, 7)"
            " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = -1"
        ),
        [
            *((key, -1) for key in range(10)),
            *((key, 1) for key in range(10, ROWS) if key % 5),
            *((key, 7) for key in range(ROWS, ROWS + 10)),
        ],
    ),
    "MERGE that only inserts": (
        (
            f"MERGE INTO t USING (SELECT id FROM range({ROWS + 10})) AS s ON t.k = s.id"
            " WHEN NOT MATCHED THEN INSERT (k, n) VALUES (s.id, 7)"
        ),
        [*BEFORE, *((key, 7) for key in range(ROWS, ROWS + 10))],
    ),
    "UPDATE": ("UPDATE t SET n = k WHERE k % 2 = 0", [(key, 0 if key % 2 else key) for key in range(ROWS)]),
    "DELETE": ("DELETE FROM t WHERE k >= 20", BEFORE[:20]),
    "INSERT": ("INSERT INTO t SELECT 99, 9", [*BEFORE, (99, 9)]),
    "INSERT OVERWRITE": ("INSERT OVERWRITE t SELECT k + 1, n FROM t", [(key + 1, 0) for key in range(ROWS)]),
}
_CALLS = ("open", "mkdir", "rename", "link", "unlink", "rmdir", "fsync", "close")
#: Ways in which a statement fails while its rows are computed.
FAILING = {
    "MERGE": "MERGE INTO t USING (SELECT id FROM range(50)) AS s ON t.k = s.id"
    " WHEN MATCHED THEN UPDATE SET n = 1 DIV (t.k - 49)",
    "UPDATE": "UPDATE t SET n = 1 DIV (k - 49) WHERE k > 10",
    "DELETE": "DELETE FROM t WHERE 1 DIV (k - 49) < 0",
    "INSERT": "INSERT INTO t SELECT 1, 1 DIV (id - 49) FROM range(50)",
    "INSERT OVERWRITE": "INSERT OVERWRITE t SELECT 1, 1 DIV (id - 49) FROM range(50)",
}
#: Statements that take too long.
ENDLESS = {
    "MERGE": "MERGE INTO t USING"
    " (SELECT a.id FROM range(10000000) AS a, range(100000) AS b WHERE a.id % 7 < b.id) AS s ON t.k = s.id"
    " WHEN NOT MATCHED THEN INSERT (k) VALUES (s.id)",
    "DELETE": "DELETE FROM t WHERE k IN"
    " (SELECT a.id FROM range(10000000) AS a, range(100000) AS b WHERE a.id % 7 < b.id)",
    "INSERT OVERWRITE": "INSERT OVERWRITE t SELECT a.id, 1 FROM range(10000000) AS a, range(100000) AS b",
}


def table(connection: sqlfront.Connection, folder: Path) -> None:
    connection.execute(f"CREATE TABLE IF NOT EXISTS t (k INT, n INT) USING parquet LOCATION '{folder}'")


def fill(folder: Path) -> None:
    with sqlfront.connect() as connection:
        table(connection, folder)
        connection.execute(f"INSERT INTO t SELECT id, 0 FROM range({ROWS})")


def run(folder: Path, sql: str) -> None:
    with sqlfront.connect() as connection:
        table(connection, folder)
        connection.execute(sql)


def rows(folder: Path) -> list[tuple[object, ...]]:
    with sqlfront.connect() as connection:
        table(connection, folder)
        return connection.execute("SELECT k, n FROM t ORDER BY k").fetchall()


@pytest.mark.parametrize("every", [20, pytest.param(1, marks=pytest.mark.cluster)])
@pytest.mark.parametrize("name", CHANGES)
def test_who_is_killed_at_any_step_leaves_the_old_or_the_new_rows(
    tmp_path: Path, name: str, every: int
) -> None:
    sql, after = CHANGES[name]
    states, died = list[bool](), True
    while died:
        folder = tmp_path / str(len(states))
        fill(folder)
        died = dies_at(len(states) * every, partial(run, folder, sql), _CALLS)

        found = rows(folder)
        assert found in (BEFORE, after), len(states)
        states.append(found == after)
        run(folder, "INSERT INTO t VALUES (1000, 1)")
        assert rows(folder) == [*found, (1000, 1)]
    assert states == sorted(states) and states[-1] and not states[0]


# ---- failures and cancellations


@pytest.fixture(params=["memory", "three members", "parquet"])
def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=3 if request.param == "three members" else 1, workers=2) as connection:
        if request.param == "parquet":
            table(connection, tmp_path / "t")
        else:
            connection.execute("CREATE TABLE t (k INT, n INT) USING memory CLUSTERED BY (k)")
        connection.execute(f"INSERT INTO t SELECT id, 0 FROM range({ROWS})")
        files = seen(tmp_path)
        yield connection
        assert connection.execute("SELECT k, n FROM t ORDER BY k").fetchall() == BEFORE
        assert seen(tmp_path) == files
        connection.execute("INSERT INTO t VALUES (1000, 1)")


def seen(folder: Path) -> set[str]:
    return {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}


@pytest.mark.parametrize("name", FAILING)
def test_a_statement_that_fails_changes_nothing(connection: sqlfront.Connection, name: str) -> None:
    with pytest.raises(sqlfront.DataError, match="DIVIDE_BY_ZERO"):
        connection.execute(FAILING[name])


@pytest.mark.parametrize("name", ENDLESS)
def test_a_statement_that_is_cancelled_changes_nothing(connection: sqlfront.Connection, name: str) -> None:
    with pytest.raises(sqlfront.OperationalError):
        connection.cursor().execute(ENDLESS[name], timeout=0.3)
