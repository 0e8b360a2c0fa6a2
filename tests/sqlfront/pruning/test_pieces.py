"""Pieces of a table's data that are skipped by what is known of their values, with arguments of the run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlfront
from tests.sqlfront.pruning.trials import answer, run, switch


def pieces(connection: sqlfront.Connection, sql: str, *arguments: object) -> dict[str, tuple[int, int]]:
    """What the query's only scan reads, of how many."""
    (scan,) = run(connection, sql, arguments).scans
    return {each.what: (each.read, each.total) for each in scan.pieces}


def test_row_groups_are_skipped(tmp_path: Path) -> None:
    rows = pa.table(
        {"k": pa.array(range(10_000), pa.int64()), "s": [str(number) for number in range(10_000)]}
    )
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=1000)
    with sqlfront.connect() as connection:
        table = f"parquet.`{tmp_path}`"
        assert pieces(connection, f"SELECT s FROM {table} WHERE k = 4321") == {
            "files": (1, 1),
            "row groups": (1, 10),
        }
        assert pieces(connection, f"SELECT s FROM {table} WHERE k = ?", 4321)["row groups"] == (1, 10)
        assert pieces(connection, f"SELECT s FROM {table} WHERE k < ? + 1", 1999)["row groups"] == (2, 10)
        assert pieces(connection, f"SELECT s FROM {table} WHERE k IN (?, ?)", 1, 9999)["row groups"] == (
            2,
            10,
        )
        assert pieces(connection, f"SELECT s FROM {table}")["row groups"] == (10, 10)
        assert answer(connection, f"SELECT s FROM {table} WHERE k = ?", [4321]) == {"('4321',)": 1}


def test_partition_directories_are_skipped(tmp_path: Path) -> None:
    with sqlfront.connect() as connection:
        connection.execute(
            "CREATE TABLE t (v BIGINT, p INT, d DATE) USING parquet PARTITIONED BY (p, d) "
            f"LOCATION '{tmp_path}'"
        )
        connection.execute(
            "INSERT INTO t SELECT id, CAST(id % 4 AS INT), "
            "date_add(DATE'2024-01-01', CAST(id % 3 AS INT)) FROM range(100)"
        )
        assert pieces(connection, "SELECT v FROM t")["files"] == (12, 12)
        assert pieces(connection, "SELECT v FROM t WHERE p = 1")["files"] == (3, 12)
        assert pieces(connection, "SELECT v FROM t WHERE p = ?", 1)["files"] == (3, 12)
        assert pieces(connection, "SELECT v FROM t WHERE p = ? AND d > ?", 1, "2024-01-02")["files"] == (
            1,
            12,
        )
        assert pieces(connection, "SELECT v FROM t WHERE p IN (1, ?)", 7)["files"] == (3, 12)
        assert pieces(connection, "SELECT v FROM t WHERE p = ?", 9)["files"] == (0, 12)


@pytest.mark.parametrize("members", [1, 3])
def test_chunks_of_memory_tables_are_skipped(members: int) -> None:
    with sqlfront.connect(members=members, workers=1) as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT id AS k, id % 7 AS v FROM range(300000)")
        cases: list[tuple[str, tuple[object, ...], int]] = [
            ("k = 5", (), 1),
            ("k = ?", (299_999,), 1),
            ("k BETWEEN ? AND ?", (1, 70_000), 2),
            ("k < 0", (), 0),
            ("v = 9", (), 0),
            ("v = 3", (), 5),
            ("k < ? + 0", (10,), 1),
        ]
        for condition, arguments, count in cases:
            sql = f"SELECT count(*), sum(v) FROM t WHERE {condition}"
            assert pieces(connection, sql, *arguments) == {"chunks": (count, 5)}
            found = run(connection, sql, arguments).rows
            switch(connection, pruning=False)
            assert run(connection, sql, arguments).rows == found
            switch(connection, pruning=True)


def test_nothing_is_skipped_where_pruning_is_off() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT id AS k FROM range(200000)")
        switch(connection, pruning=False)
        assert pieces(connection, "SELECT k FROM t WHERE k = 5") == {"chunks": (4, 4)}
