"""SHOW, DESCRIBE and information_schema beside Spark: the names of both engines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront import Connection
from tests.oracle.spark import SparkOracle

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def connection(spark: SparkOracle) -> Iterator[Connection]:
    session = spark.new_session()
    session.sql("CREATE DATABASE IF NOT EXISTS inspected")
    session.sql("CREATE TABLE inspected.theirs (a INT, b STRING) USING parquet")
    session.sql("CREATE VIEW inspected.their_view AS SELECT a FROM inspected.theirs")
    session.sql("CREATE TEMPORARY VIEW their_tv AS SELECT 1 AS x")
    try:
        with sqlfront.connect(spark=session) as made:
            made.execute("CREATE TABLE ours (k INT, v STRING) USING memory")
            made.execute("CREATE TEMPORARY VIEW our_tv AS SELECT k FROM ours")
            yield made
    finally:
        session.sql("DROP DATABASE inspected CASCADE")


def ask(connection: Connection, text: str) -> list[tuple[object, ...]]:
    return connection.execute(text).fetchall()


def test_information_schema_describes_both_engines(connection: Connection) -> None:
    tables = ask(
        connection,
        "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables"
        " WHERE table_name LIKE 'their%' OR table_name LIKE 'our%' ORDER BY ALL",
    )
    assert tables == [
        ("spark_catalog", "default", "ours", "BASE TABLE"),
        ("spark_catalog", "inspected", "their_view", "VIEW"),
        ("spark_catalog", "inspected", "theirs", "BASE TABLE"),
        ("system", "session", "our_tv", "VIEW"),
        ("system", "session", "their_tv", "VIEW"),
    ]
    columns = ask(
        connection,
        "SELECT table_name, column_name, full_data_type FROM information_schema.columns"
        " WHERE table_name LIKE 'their%' OR table_name LIKE 'our%' ORDER BY table_name, ordinal_position",
    )
    assert columns == [
        ("our_tv", "k", "int"),
        ("ours", "k", "int"),
        ("ours", "v", "string"),
        ("their_tv", "x", "int"),
        ("their_view", "a", "int"),
        ("theirs", "a", "int"),
        ("theirs", "b", "string"),
    ]
    schemata = ask(connection, "SELECT schema_name FROM information_schema.schemata")
    assert {("inspected",), ("default",), ("information_schema",), ("sys",)} < set(schemata)


def test_statements_about_one_relation_go_where_it_is(connection: Connection) -> None:
    assert ask(connection, "SHOW COLUMNS IN ours") == [("k",), ("v",)]
    assert ask(connection, "SHOW COLUMNS IN inspected.theirs") == [("a",), ("b",)]
    for name in ("ours", "inspected.theirs"):
        ((text,),) = ask(connection, f"SHOW CREATE TABLE {name}")
        assert str(text).startswith("CREATE TABLE spark_catalog.")
    assert ("comment", "NULL") in ask(connection, "DESCRIBE ours k")
    assert ("comment", "NULL") in ask(connection, "DESCRIBE inspected.theirs a")


def test_a_copy_is_described_as_the_relation_of_spark_that_it_is(connection: Connection) -> None:
    statements = [
        f"{verb} {name}"
        for name in ("inspected.theirs", "their_tv")
        for verb in ("DESCRIBE", "DESCRIBE EXTENDED", "SHOW COLUMNS IN")
    ]
    before = [ask(connection, text) for text in statements]
    for name in ("inspected.theirs", "their_tv"):
        connection.execute(f"CACHE TABLE {name}")
    try:
        assert connection.execute("SELECT x FROM their_tv").stats.lane != "spark"  # type: ignore[union-attr]
        assert [ask(connection, text) for text in statements] == before
    finally:
        for name in ("inspected.theirs", "their_tv"):
            connection.execute(f"UNCACHE TABLE {name}")


def test_lists_hold_the_names_of_both(connection: Connection) -> None:
    views = ask(connection, "SHOW VIEWS IN inspected")
    assert views == [("inspected", "their_view", False), ("", "our_tv", True), ("", "their_tv", True)]
    assert ("inspected",) in ask(connection, "SHOW SCHEMAS")
    assert ask(connection, "SHOW CATALOGS LIKE 'spark*'") == [("spark_catalog",)]
    assert ask(connection, "DESCRIBE SCHEMA inspected")[1] == ("Namespace Name", "inspected")
    assert ask(connection, "DESCRIBE FUNCTION abs")[0] == ("Function: abs",)


def test_a_schema_that_only_spark_has_becomes_current(connection: Connection) -> None:
    connection.execute("USE inspected")
    try:
        assert ask(connection, "SHOW CURRENT SCHEMA") == [("spark_catalog", "inspected")]
        assert ask(connection, "SHOW TABLES LIKE 'their*'") == [
            ("inspected", "their_view", False),
            ("inspected", "theirs", False),
            ("", "their_tv", True),
        ]
    finally:
        connection.execute("USE default")


def test_columns_of_a_copy_have_the_comments_that_spark_knows(connection: Connection) -> None:
    connection.execute("CREATE TABLE inspected.commented (a INT COMMENT 'the a', b STRING) USING parquet")
    described = "DESCRIBE QUERY SELECT a AS other, b, a + 1 FROM inspected.commented"
    by_spark = ask(connection, described)
    connection.execute("CACHE TABLE inspected.commented")

    assert by_spark[0] == ("other", "int", "the a")
    assert ask(connection, described) == by_spark
