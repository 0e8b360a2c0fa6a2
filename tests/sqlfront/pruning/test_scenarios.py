"""The scenarios of Hazelcast's tests of partition and member pruning, by their names there, with what differs
here: more is pruned."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront_values.types import BIGINT, STRING
from tests.sqlfront.pruning.trials import owners_of, partitions_of, run, switch

KEYS = 400


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlfront.Connection]:
    """Eight members; ``simple`` and ``other`` by one column, ``compound`` by two, ``heap`` by none."""
    with sqlfront.connect(members=8, workers=1) as connection:
        rows = f"SELECT id AS k, concat('s', id % 5) AS s, id % 7 AS v FROM range({KEYS})"
        for name, clustering in [
            ("simple", "CLUSTERED BY (k)"),
            ("other", "CLUSTERED BY (k)"),
            ("compound", "CLUSTERED BY (s, k)"),
            ("heap", ""),
        ]:
            connection.execute(f"CREATE TABLE {name} USING memory {clustering} AS {rows}")
        connection.execute("CREATE TEMPORARY VIEW renamed AS SELECT k AS id, v AS value FROM simple")
        yield connection


EVERYBODY = frozenset(range(8))


def seen(connection: sqlfront.Connection, sql: str, *arguments: object) -> frozenset[int]:
    """The members on which the query runs, which gives the rows that it gives without pruning."""
    switch(connection, pruning=True)
    pruned = run(connection, sql, arguments)
    switch(connection, pruning=False)
    assert run(connection, sql, arguments).rows == pruned.rows
    switch(connection, pruning=True)
    return pruned.members


def simple(connection: sqlfront.Connection, *keys: int | None) -> frozenset[int]:
    """The coordinator, and the owners of keys of ``simple``."""
    return owners_of(connection, partitions_of([(key,) for key in keys], [BIGINT])) | {0}


def compound(connection: sqlfront.Connection, *keys: tuple[str | None, int | None]) -> frozenset[int]:
    return owners_of(connection, partitions_of(keys, [STRING, BIGINT])) | {0}


def test_simple_key(connection: sqlfront.Connection) -> None:
    assert seen(connection, "SELECT * FROM simple WHERE k = 5") == simple(connection, 5)
    assert seen(connection, "SELECT * FROM simple WHERE k = ?", 6) == simple(connection, 6)


def test_simple_key_with_analyze(connection: sqlfront.Connection) -> None:
    text = str(connection.execute("EXPLAIN ANALYZE SELECT * FROM simple WHERE k = 5 AND v = 5").fetchall())
    assert "1 of 271" in text


def test_a_table_without_a_key_is_not_pruned(connection: sqlfront.Connection) -> None:
    assert seen(connection, "SELECT * FROM heap WHERE k = 5") == EVERYBODY


def test_a_column_that_is_no_key_is_not_pruned(connection: sqlfront.Connection) -> None:
    assert seen(connection, "SELECT * FROM simple WHERE v = 5") == EVERYBODY
    assert seen(connection, "SELECT * FROM compound WHERE k = 5") == EVERYBODY
    assert seen(connection, "SELECT * FROM compound WHERE s = 's1'") == EVERYBODY


def test_compound_key(connection: sqlfront.Connection) -> None:
    wanted = compound(connection, ("s1", 6))
    assert seen(connection, "SELECT * FROM compound WHERE s = 's1' AND k = 6") == wanted
    assert seen(connection, "SELECT * FROM compound WHERE k = ? AND s = ?", 6, "s1") == wanted


def test_the_order_of_a_compound_key_is_the_tables(connection: sqlfront.Connection) -> None:
    """(1, 2) and (2, 1) are different keys."""
    connection.execute("CREATE TABLE pairs (a BIGINT, b BIGINT) USING memory CLUSTERED BY (b, a)")
    connection.execute("INSERT INTO pairs VALUES (1, 2), (2, 1)")
    (scan,) = run(connection, "SELECT * FROM pairs WHERE a = 1 AND b = 2").scans
    assert scan.keys == ((2, 1),)
    assert seen(connection, "SELECT * FROM pairs WHERE a = 1 AND b = 2") == owners_of(
        connection, partitions_of([(2, 1)], [BIGINT, BIGINT])
    ) | {0}


def test_renamed(connection: sqlfront.Connection) -> None:
    assert seen(connection, "SELECT value FROM renamed WHERE id = 7") == simple(connection, 7)
    assert seen(connection, "SELECT x.y FROM (SELECT k AS y FROM simple) x WHERE x.y = 7") == simple(
        connection, 7
    )


def test_a_null_key(connection: sqlfront.Connection) -> None:
    assert seen(connection, "SELECT * FROM simple WHERE k = ?", None) == {0}
    assert seen(connection, "SELECT * FROM simple WHERE k IS NULL") == simple(connection, None)
    assert seen(connection, "SELECT * FROM compound WHERE k IS NULL AND s = 's1'") == compound(
        connection, ("s1", None)
    )


@pytest.mark.parametrize("union", ["UNION ALL", "UNION"])
def test_self_union(connection: sqlfront.Connection, union: str) -> None:
    sql = f"SELECT k FROM simple WHERE k = 5 {union} SELECT k FROM simple WHERE k = ?"
    assert seen(connection, sql, 9) == simple(connection, 5, 9)
    sql = (
        f"SELECT k FROM compound WHERE s = 's1' AND k = 6 {union} "
        "SELECT k FROM compound WHERE s = 's2' AND k = 7"
    )
    assert seen(connection, sql) == compound(connection, ("s1", 6), ("s2", 7))


@pytest.mark.parametrize("union", ["UNION ALL", "UNION"])
def test_two_table_union(connection: sqlfront.Connection, union: str) -> None:
    sql = f"SELECT k FROM simple WHERE k = 5 {union} SELECT k FROM other WHERE k IN (6, 7)"
    assert seen(connection, sql) == simple(connection, 5, 6, 7)


@pytest.mark.parametrize("union", ["UNION ALL", "UNION"])
def test_where_one_branch_reads_all_the_other_reads_its_keys(
    connection: sqlfront.Connection, union: str
) -> None:
    sql = f"SELECT k FROM simple WHERE k = 5 {union} SELECT k FROM other WHERE v = 3"
    assert seen(connection, sql) == EVERYBODY
    keys = {scan.table: scan.keys for scan in run(connection, sql).scans}
    assert keys == {"simple": ((5,),), "other": None}


def test_a_join_prunes_the_side_that_has_keys(connection: sqlfront.Connection) -> None:
    sql = "SELECT simple.v FROM simple JOIN other ON simple.v = other.v WHERE simple.k = 5"
    assert seen(connection, sql) == EVERYBODY
    keys = {scan.table: scan.keys for scan in run(connection, sql).scans}
    assert keys["simple"] == ((5,),) and keys["other"] is None


def test_a_join_on_the_key(connection: sqlfront.Connection) -> None:
    for sql in [
        "SELECT * FROM simple JOIN other ON simple.k = other.k WHERE simple.k = 5",
        "SELECT * FROM simple LEFT JOIN other ON simple.k = other.k WHERE simple.k = 5",
        "SELECT * FROM simple WHERE k = 5 AND k IN (SELECT k FROM other)",
        "SELECT * FROM simple WHERE k = 5 AND NOT EXISTS (SELECT 1 FROM other WHERE other.k = simple.k)",
        "WITH five AS (SELECT * FROM simple WHERE k = 5) SELECT * FROM five JOIN other USING (k)",
    ]:
        assert seen(connection, sql) == simple(connection, 5), sql


def test_conjunction_with_a_filter_that_is_always_true(connection: sqlfront.Connection) -> None:
    assert seen(connection, "SELECT * FROM simple WHERE k = 5 AND 1 = 1") == simple(connection, 5)
    assert seen(connection, "SELECT * FROM simple WHERE k = 5 AND k + v >= 0") == simple(connection, 5)


def test_order_by(connection: sqlfront.Connection) -> None:
    sql = "SELECT * FROM simple WHERE k IN (5, 6) ORDER BY v DESC LIMIT 1"
    assert seen(connection, sql) == simple(connection, 5, 6)


def test_aggregates_and_windows(connection: sqlfront.Connection) -> None:
    for sql in [
        "SELECT count(*), sum(v) FROM simple WHERE k IN (5, 6)",
        "SELECT k, count(*) FROM simple WHERE k IN (5, 6) GROUP BY k",
        "SELECT k FROM simple GROUP BY k HAVING k IN (5, 6)",
        "SELECT v, count(DISTINCT s) FROM simple WHERE k IN (5, 6) GROUP BY v",
        "SELECT * FROM (SELECT k, rank() OVER (PARTITION BY k ORDER BY v) FROM simple) WHERE k IN (5, 6)",
    ]:
        assert seen(connection, sql) == simple(connection, 5, 6), sql


def test_several_attributes(connection: sqlfront.Connection) -> None:
    sql = "SELECT * FROM compound WHERE (s, k) IN (('s1', 6L), ('s2', 7L)) OR (s = 's3' AND k = 8)"
    assert seen(connection, sql) == compound(connection, ("s1", 6), ("s2", 7), ("s3", 8))


def test_nobody_is_needed_for_a_contradiction(connection: sqlfront.Connection) -> None:
    for sql in [
        "SELECT * FROM simple WHERE k = 5 AND k = 6",
        "SELECT * FROM simple WHERE k IN (5, 6) AND k > 7",
        "SELECT count(*) FROM simple WHERE k BETWEEN 7 AND 3",
    ]:
        assert seen(connection, sql) <= {0}, sql


def test_one_plan_is_used_with_all_arguments(connection: sqlfront.Connection) -> None:
    for key in range(20):
        assert seen(connection, "SELECT v FROM simple WHERE k = ?", key) == simple(connection, key)


def test_above_the_limit_everybody_takes_part(connection: sqlfront.Connection) -> None:
    connection.execute("SET sqlfront.pruning.limit = 2")
    try:
        assert seen(connection, "SELECT * FROM simple WHERE k IN (5, 6)") == simple(connection, 5, 6)
        assert seen(connection, "SELECT * FROM simple WHERE k IN (5, 6, 7)") == EVERYBODY
    finally:
        connection.execute("SET sqlfront.pruning.limit = 1000")


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5"])
def test_a_limit_is_a_number(connection: sqlfront.Connection, value: str) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="not a whole number of at least 1"):
        connection.execute(f"SET sqlfront.pruning.limit = {value}")
