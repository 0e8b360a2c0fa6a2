"""Statements that are not queries. Names, types and conditions are Spark's."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sqlfront
from sqlfront import Connection


@pytest.fixture
def connection() -> Connection:
    """A new session."""
    return sqlfront.connect()


def rows(connection: Connection, text: str) -> list[tuple[object, ...]]:
    return connection.execute(text).fetchall()


def test_create_insert_and_select(connection: Connection) -> None:
    connection.execute("create table t (a int, b string) using memory")
    assert connection.execute("insert into t values (1, 'x'), (2, null)").rowcount == 2
    assert connection.execute("insert into t (b) values ('y')").rowcount == 1

    assert sorted(rows(connection, "select * from t"), key=str) == [(1, "x"), (2, None), (None, "y")]


def test_insert_overwrite_replaces_all(connection: Connection) -> None:
    connection.execute("create table t using memory as select 1 as a")
    connection.execute("insert overwrite t values (7), (8)")

    assert rows(connection, "select a from t order by a") == [(7,), (8,)]


@pytest.mark.parametrize("format_name", ["parquet", "csv", "json"])
def test_file_formats_as_select(connection: Connection, tmp_path: Path, format_name: str) -> None:
    connection.execute(
        f"create table t using {format_name} location '{tmp_path / 't'}' partitioned by (p) "
        "as select 1 as p, 'x' as a union all select 2, 'y'"
    )

    assert rows(connection, "select a, p from t order by a") == [("x", 1), ("y", 2)]
    assert (tmp_path / "t" / "p=1").is_dir()
    found = (
        rows(connection, f"select a, p from {format_name}.`{tmp_path / 't'}`")
        if format_name != "csv"
        else None
    )
    assert found is None or sorted(found) == [("x", 1), ("y", 2)]


def test_paths_are_tables(connection: Connection, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")

    assert rows(connection, f"select sum(a) from parquet.`{tmp_path}`") == [(3,)]


def test_cached_tables_are_partitioned_and_follow_inserts(connection: Connection, tmp_path: Path) -> None:
    connection.execute(f"create table t using parquet location '{tmp_path / 't'}' as select 1 as k, 'x' as v")
    connection.execute("cache table t clustered by (k) into 7 buckets")
    connection.execute("insert into t values (2, 'y')")

    assert rows(connection, "select v from t where k = 2") == [("y",)]
    assert "MemoryScan: t, one key" in str(rows(connection, "explain select v from t where k = 2"))
    connection.execute("uncache table t")
    assert "FileScan" in str(rows(connection, "explain select v from t where k = 2"))
    assert rows(connection, "select count(*) from t") == [(2,)]


def test_a_cached_view_follows_its_tables(connection: Connection) -> None:
    connection.execute("create table t using memory as select 1 as a")
    connection.execute("create table u using memory as select 7 as a")
    connection.execute("create temp view v as select a + 1 as b from t where a not in (select a from u)")
    connection.execute("cache table v")
    connection.execute("insert into t values (5), (7)")
    assert rows(connection, "select b from v order by b") == [(2,), (6,)]
    connection.execute("insert overwrite u values (5)")
    assert rows(connection, "select b from v order by b") == [(2,), (8,)]


def test_a_null_key_is_a_key(connection: Connection) -> None:
    connection.execute("create table t (k string, v int) using memory clustered by (k) into 5 buckets")
    connection.execute("insert into t values (null, 1), ('a', 2), (null, 3), ('', 4)")

    assert rows(connection, "select v from t where k is null order by v") == [(1,), (3,)]
    assert rows(connection, "select v from t where k <=> null order by v") == [(1,), (3,)]
    assert rows(connection, "select v from t where k = ''") == [(4,)]


def test_views(connection: Connection) -> None:
    connection.execute("create table t using memory as select 1 as a, 2 as b")
    connection.execute("create view v (x, y) as select a, b from t")
    connection.execute("create or replace temporary view w as select x + y as z from v")
    assert rows(connection, "select z from w") == [(3,)]
    connection.execute("drop view w")
    connection.execute("drop view v")
    with pytest.raises(sqlfront.ProgrammingError) as caught:
        rows(connection, "select * from v")
    assert (caught.value.condition, caught.value.sqlstate) == ("TABLE_OR_VIEW_NOT_FOUND", "42P01")


def test_show_tables(connection: Connection) -> None:
    connection.execute("create table b (x int)")
    connection.execute("create temp view a as select 1")
    cursor = connection.execute("show tables")

    assert [column[0] for column in cursor.description or []] == ["namespace", "tableName", "isTemporary"]
    assert cursor.fetchall() == [("default", "b", False), ("", "a", True)]
    assert rows(connection, "show tables like 'b*'") == [("default", "b", False)]


def test_show_functions_shows_what_can_be_called(connection: Connection) -> None:
    shown = {name for (name,) in rows(connection, "show functions")}

    assert {"abs", "count", "row_number", "range", "cast", "case", "||"} <= shown
    assert not {"from_avro", "reflect", "timestampadd"} & shown, "not built, or no function of Spark's"
    assert rows(connection, "show user functions") == []


def test_describe(connection: Connection) -> None:
    connection.execute("create table t (a int, b decimal(10,2)) using memory clustered by (a) into 3 buckets")

    assert rows(connection, "describe t") == [("a", "int", None), ("b", "decimal(10,2)", None)]
    assert ("Bucket Columns", "[`a`]", "") in rows(connection, "describe extended t")
    assert rows(connection, "describe query select 1 as x") == [("x", "int", None)]


def test_set_shows_and_changes_settings(connection: Connection) -> None:
    assert rows(connection, "set spark.sql.session.timeZone") == [("spark.sql.session.timeZone", "UTC")]
    connection.execute("set spark.sql.session.timeZone = Europe/Berlin")
    assert rows(connection, "select cast(timestamp'2024-07-01 12:00:00' as string)") == [
        ("2024-07-01 12:00:00",)
    ]
    assert rows(connection, "select hour(timestamp'2024-07-01 12:00:00Z')") == [(14,)]
    connection.execute("set spark.sql.ansi.enabled = false")
    assert rows(connection, "select 1 / 0, cast('x' as int), 2147483647 + 1") == [(None, None, -2147483648)]
    connection.execute("set spark.sql.ansi.enabled = true")
    with pytest.raises(sqlfront.DataError):
        connection.execute("select 1 / 0, cast('x' as int), 2147483647 + 1")
    with pytest.raises(sqlfront.ProgrammingError) as caught:
        connection.execute("set spark.sql.session.timeZone = Mars")
    assert caught.value.condition == "INVALID_CONF_VALUE.TIME_ZONE"


BAD = [
    ("create table t (a int)", sqlfront.ProgrammingError, "TABLE_OR_VIEW_ALREADY_EXISTS", "42P07"),
    (
        "create table u using memory as select 1 a, 2 A",
        sqlfront.ProgrammingError,
        "COLUMN_ALREADY_EXISTS",
        "42711",
    ),
    ("drop table nope", sqlfront.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("insert into nope values (1)", sqlfront.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("insert into v values (1)", sqlfront.ProgrammingError, "EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE", "42809"),
    (
        "insert into t values (1, 2)",
        sqlfront.ProgrammingError,
        "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
        "21S01",
    ),
    (
        "insert into t values ('x')",
        sqlfront.ProgrammingError,
        "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
        "KD000",
    ),
    ("insert into t values (3000000000)", sqlfront.DataError, "CAST_OVERFLOW_IN_TABLE_INSERT", "22003"),
    ("insert into t select 1 / 0", sqlfront.DataError, "DIVIDE_BY_ZERO", "22012"),
    (
        "create temp view v as select 2",
        sqlfront.ProgrammingError,
        "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
        "42P07",
    ),
    (
        "create table u using parquet location '/nowhere/at/all'",
        sqlfront.ProgrammingError,
        "UNABLE_TO_INFER_SCHEMA",
        "42KD9",
    ),
    ("cache table nope", sqlfront.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("uncache table nope", sqlfront.ProgrammingError, "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
    ("use elsewhere", sqlfront.ProgrammingError, "SCHEMA_NOT_FOUND", "42704"),
]


@pytest.mark.parametrize(("text", "kind", "condition", "sqlstate"), BAD)
def test_bad_statements_leave_everything_as_it_was(
    connection: Connection, text: str, kind: type[sqlfront.Error], condition: str, sqlstate: str
) -> None:
    connection.execute("create table t (a int)")
    connection.execute("insert into t values (1)")
    connection.execute("create temp view v as select 1 as a")
    before = rows(connection, "show tables"), rows(connection, "select * from t")

    with pytest.raises(kind) as caught:
        connection.execute(text)

    assert type(caught.value) is kind
    assert (caught.value.condition, caught.value.sqlstate) == (condition, sqlstate)
    assert (rows(connection, "show tables"), rows(connection, "select * from t")) == before


def test_if_exists_and_if_not_exists_and_or_replace(connection: Connection) -> None:
    connection.execute("drop table if exists t")
    connection.execute("create table t using memory as select 1 as a")
    connection.execute("create table if not exists t (z string)")
    assert rows(connection, "select a from t") == [(1,)]
    connection.execute("create or replace table t using memory as select a + 1 as b from t")
    assert rows(connection, "select b from t") == [(2,)]


def test_a_failed_replacement_keeps_the_old_table(connection: Connection) -> None:
    connection.execute("create table t using memory as select 1 as a")
    with pytest.raises(sqlfront.DataError):
        connection.execute("create or replace table t using memory as select 1 / 0 as a")

    assert rows(connection, "select a from t") == [(1,)]


def test_clustered_by_on_a_file_format_is_refused_by_name(connection: Connection) -> None:
    with pytest.raises(sqlfront.NotSupportedError, match="CLUSTERED BY"):
        connection.execute("create table t (a int) using parquet clustered by (a) into 4 buckets")


def test_an_unknown_format_lists_the_known_ones(connection: Connection) -> None:
    with pytest.raises(sqlfront.NotSupportedError, match="csv, json, memory, orc, parquet, text"):
        connection.execute("create table t (a int) using iceberg")


def test_tables_without_location_go_with_their_session(connection: Connection) -> None:
    connection.execute("create table t using parquet as select 1 as a")
    ((location,),) = [(row[1],) for row in rows(connection, "describe extended t") if row[0] == "Location"]
    folder = Path(str(location).removeprefix("file:"))
    assert list(folder.glob("*.parquet"))
    connection.close()

    assert not folder.exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select * from range(3)", [(0,), (1,), (2,)]),
        ("select x from range(5, 0, -2) as t(x)", [(5,), (3,), (1,)]),
        ("select * from range(3, 1)", []),
        (
            "select count(*), sum(id), min(id), max(id) from range(1000000)",
            [(1000000, 499999500000, 0, 999999)],
        ),
        ("select count(*) from range(200000) where id % 3 = 0", [(66667,)]),
    ],
)
def test_range_is_a_table_function(
    connection: Connection, text: str, expected: list[tuple[object, ...]]
) -> None:
    assert rows(connection, text) == expected


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1", "soon"])
def test_a_timeout_is_a_number_of_seconds(connection: sqlfront.Connection, seconds: str) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="is not a number of seconds"):
        connection.execute(f"SET sqlfront.timeout = {seconds}")
    if seconds in ("nan", "inf"):
        with pytest.raises(sqlfront.ProgrammingError, match="must be a positive number of seconds"):
            sqlfront.connect(timeout=float(seconds))
