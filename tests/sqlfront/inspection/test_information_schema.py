"""information_schema: the standard's tables, over whatever the session has."""

from __future__ import annotations

import random
import statistics
import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

import sqlfront
from sqlfront import Connection

Rows = list[tuple[object, ...]]


def ask(connection: Connection, text: str, *values: object) -> Rows:
    return connection.execute(text, list(values) or None).fetchall()


@pytest.fixture
def connection() -> Iterator[Connection]:
    with sqlfront.connect(workers=1) as made:
        yield made


def test_types_are_told_in_the_standards_columns(connection: Connection) -> None:
    connection.execute(
        "CREATE TABLE t (i INT, b BIGINT, d DECIMAL(10,2), s STRING, f DOUBLE, dt DATE, ts TIMESTAMP,"
        " a ARRAY<INT>, v INTERVAL DAY TO SECOND) USING memory"
    )
    found = ask(
        connection,
        "SELECT column_name, ordinal_position, data_type, full_data_type, numeric_precision,"
        " numeric_precision_radix, numeric_scale, datetime_precision, interval_type, is_nullable"
        " FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position",
        "t",
    )
    assert found == [
        ("i", 1, "INT", "int", 32, 2, 0, None, None, "YES"),
        ("b", 2, "BIGINT", "bigint", 64, 2, 0, None, None, "YES"),
        ("d", 3, "DECIMAL", "decimal(10,2)", 10, 10, 2, None, None, "YES"),
        ("s", 4, "STRING", "string", None, None, None, None, None, "YES"),
        ("f", 5, "DOUBLE", "double", 53, 2, None, None, None, "YES"),
        ("dt", 6, "DATE", "date", None, None, None, 0, None, "YES"),
        ("ts", 7, "TIMESTAMP", "timestamp", None, None, None, 6, None, "YES"),
        ("a", 8, "ARRAY", "array<int>", None, None, None, None, None, "YES"),
        ("v", 9, "INTERVAL", "interval day to second", None, None, None, None, "DAY TO SECOND", "YES"),
    ]


def test_temporary_relations_stand_in_sparks_schemas(connection: Connection) -> None:
    connection.register("Odd `na.me`😀", pa.table({"x": [1]}))
    connection.execute("CREATE GLOBAL TEMPORARY VIEW gv AS SELECT 1 AS one")
    found = ask(
        connection,
        "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables"
        " WHERE table_type <> 'SYSTEM VIEW' ORDER BY table_schema",
    )
    assert found == [
        ("spark_catalog", "global_temp", "gv", "VIEW"),
        ("system", "session", "Odd `na.me`😀", "VIEW"),
    ]
    assert ask(connection, "SELECT * FROM system.session.`Odd ``na.me``😀`") == [(1,)]
    schemata = ask(connection, "SELECT catalog_name, schema_name FROM information_schema.schemata")
    assert {(catalog, schema) for catalog, schema, *_ in found} < set(schemata)


def test_every_table_that_is_named_can_be_read(connection: Connection) -> None:
    connection.execute("CREATE TABLE t USING memory AS SELECT 1 AS x")
    connection.execute("CREATE TEMPORARY VIEW tv AS SELECT * FROM information_schema.columns")
    for catalog, schema, name in ask(
        connection, "SELECT table_catalog, table_schema, table_name FROM information_schema.tables"
    ):
        columns = ask(
            connection,
            "SELECT column_name FROM information_schema.columns"
            " WHERE table_catalog = ? AND table_schema = ? AND table_name = ? ORDER BY ordinal_position",
            catalog, schema, name,
        )  # fmt: skip
        cursor = connection.execute(f"SELECT * FROM `{catalog}`.`{schema}`.`{name}`")
        assert [(column[0],) for column in cursor.description or ()] == columns


def test_rows_follow_every_change(connection: Connection) -> None:
    """A random sequence of changes, after each of which the rows are those of a fresh look."""
    choice = random.Random(7)
    tables: dict[str, list[str]] = {}
    for step in range(60):
        name = choice.choice("abcdef")
        match choice.choice(("table", "view", "drop", "replace")):
            case "table" if name not in tables:
                tables[name] = [f"c{step}", "k"]
                connection.execute(f"CREATE TABLE {name} (c{step} INT, k INT) USING memory")
            case "replace":
                tables[name] = [f"r{step}"]
                connection.execute(f"DROP TABLE IF EXISTS {name}")
                connection.execute(f"CREATE OR REPLACE TABLE {name} (r{step} INT) USING memory")
            case "drop" if name in tables:
                del tables[name]
                connection.execute(f"DROP TABLE {name}")
            case "view":
                connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW over AS SELECT {step} AS v{step}")
        expected = [(name, column) for name in sorted(tables) for column in tables[name]]
        query = (
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'default'"
        )
        assert ask(connection, query) == expected


def test_a_view_keeps_its_columns_whatever_its_table_gets(connection: Connection) -> None:
    query = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'v'"
    connection.execute("CREATE TABLE t (a INT) USING memory")
    connection.execute("CREATE VIEW v AS SELECT * FROM t")
    assert ask(connection, query) == [("a", "INT")]
    connection.execute("CREATE OR REPLACE TABLE t (c DATE, A BIGINT) USING memory")
    assert ask(connection, query) == [("a", "INT")]
    connection.execute("DROP TABLE t")
    assert ask(connection, query) == [("a", "INT")]


def test_partition_columns_and_places_of_files(connection: Connection) -> None:
    connection.execute("CREATE TABLE p (a INT, b STRING) USING parquet PARTITIONED BY (b)")
    query = "SELECT column_name, partition_index FROM information_schema.columns WHERE table_name = 'p'"
    assert ask(connection, query) == [("a", None), ("b", 1)]
    ((form, path),) = ask(
        connection,
        "SELECT data_source_format, storage_path FROM information_schema.tables WHERE table_name = 'p'",
    )
    assert form == "parquet"
    assert str(path).startswith("file:/")


def test_routines_have_sparks_texts(connection: Connection) -> None:
    names = {row[0] for row in ask(connection, "SHOW FUNCTIONS")}
    rows = ask(connection, "SELECT routine_name, comment FROM information_schema.routines")
    assert {row[0] for row in rows} == names
    assert ("abs", "abs(expr) - Returns the absolute value of the numeric or interval value.") in rows
    assert all(comment for _, comment in rows)


def test_ten_thousand_columns(connection: Connection) -> None:
    wide = pa.table({f"c{number}": pa.array([], pa.int32()) for number in range(10_000)})
    connection.register("wide", wide)
    query = "SELECT count(*), max(ordinal_position) FROM information_schema.columns WHERE table_name = 'wide'"
    assert ask(connection, query) == [(10_000, 10_000)]
    assert len(ask(connection, "SHOW COLUMNS IN wide")) == 10_000


def test_a_lookup_among_a_thousand_tables_is_cheap(connection: Connection) -> None:
    """The median of lookups, against the first, which describes every table."""
    for number in range(1000):
        connection.register(f"t{number}", pa.table({"a": [1], "b": [2], "c": [3]}))
    query = "SELECT column_name FROM information_schema.columns WHERE table_name = ?"
    began = time.process_time()
    assert ask(connection, query, "t500") == [("a",), ("b",), ("c",)]
    first = time.process_time() - began
    spent = []
    for number in range(20):
        began = time.process_time()
        ask(connection, query, f"t{number}")
        spent.append(time.process_time() - began)
    print(f"first {first * 1e3:.1f} ms, then {statistics.median(spent) * 1e3:.2f} ms")
    assert statistics.median(spent) < first / 2


def test_listings_while_others_create_and_drop(connection: Connection) -> None:
    ended = threading.Event()
    errors: list[sqlfront.Error] = []

    def change(name: str) -> None:
        try:
            while not ended.is_set():
                connection.execute(f"CREATE TABLE {name} (a INT) USING memory")
                connection.execute(f"CREATE TEMPORARY VIEW {name}v AS SELECT a FROM {name}")
                connection.execute(f"DROP TABLE {name}")
                connection.execute(f"DROP VIEW {name}v")
        except sqlfront.Error as error:
            errors.append(error)

    threads = [threading.Thread(target=change, args=(f"n{number}",)) for number in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            for text in (
                "SHOW TABLES", "SHOW VIEWS", "SHOW TABLE EXTENDED LIKE '*'",
                "SELECT * FROM information_schema.columns WHERE table_schema IN ('default', 'session')",
                "SELECT * FROM information_schema.tables",
            ):  # fmt: skip
                ask(connection, text)
    finally:
        ended.set()
        for thread in threads:
            thread.join(30)
    assert not errors
