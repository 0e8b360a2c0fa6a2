"""SHOW and DESCRIBE of what the oracle's files can't hold: the schema's name, directories, system tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import sqlfront
from sqlfront import Connection

Rows = list[tuple[Any, ...]]


def ask(connection: Connection, text: str) -> Rows:
    return connection.execute(text).fetchall()


@pytest.fixture(params=[1, 2])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    """A session alone, and one with members."""
    with sqlfront.connect(members=request.param, workers=1) as made:
        made.execute("CREATE TABLE T (k INT, s STRING) USING memory CLUSTERED BY (k) INTO 4 BUCKETS")
        made.execute("CREATE VIEW v AS SELECT k FROM t")
        made.execute("CREATE TEMPORARY VIEW tv AS SELECT 1 AS one")
        made.execute("CREATE GLOBAL TEMPORARY VIEW gv AS SELECT 1 AS one")
        yield made


def test_tables_and_views_come_in_sparks_order(connection: Connection) -> None:
    temporary = ("", "tv", True)
    assert ask(connection, "SHOW TABLES") == [("default", "t", False), ("default", "v", False), temporary]
    assert ask(connection, "SHOW VIEWS") == [("default", "v", False), temporary]
    assert ask(connection, "SHOW VIEWS IN global_temp") == [("global_temp", "gv", True), temporary]
    assert ask(connection, "SHOW TABLES FROM spark_catalog.default LIKE 'T|x'") == [("default", "t", False)]


def test_a_cached_view_is_still_a_view(connection: Connection) -> None:
    connection.execute("CACHE TABLE v")
    assert ("default", "v", False) in ask(connection, "SHOW VIEWS")
    assert ask(connection, "SELECT table_type FROM information_schema.tables WHERE table_name = 'v'") == [
        ("VIEW",)
    ]


def test_the_current_schema(connection: Connection) -> None:
    here = [("spark_catalog", "default")]
    for word in ("SCHEMA", "DATABASE", "NAMESPACE"):
        assert ask(connection, f"SHOW CURRENT {word}") == here
    for use in ("USE default", "USE spark_catalog", "USE SCHEMA spark_catalog.DEFAULT"):
        connection.execute(use)
    assert ask(connection, "SELECT current_catalog(), current_database()") == here
    with pytest.raises(sqlfront.NotSupportedError, match=r"HINT: .* such as information_schema\.columns\.$"):
        connection.execute("USE information_schema")
    with pytest.raises(sqlfront.ProgrammingError, match="there are `default`"):
        connection.execute("USE nowhere")


def test_schemas_are_described(connection: Connection) -> None:
    rows: dict[str, str] = dict(ask(connection, "DESCRIBE SCHEMA EXTENDED default"))
    assert list(rows) == ["Catalog Name", "Namespace Name", "Comment", "Location", "Owner", "Properties"]
    assert rows["Comment"] == "default database"
    for name in ("sys", "information_schema"):
        assert ("Namespace Name", name) in ask(connection, f"DESCRIBE DATABASE {name}")


def test_columns_with_two_schemas_in_conflict(connection: Connection) -> None:
    assert ask(connection, "SHOW COLUMNS IN default.t FROM DEFAULT") == [("k",), ("s",)]
    for wrong in ("default.t FROM other", "default.t IN spark_catalog.default"):
        with pytest.raises(sqlfront.ProgrammingError) as raised:
            connection.execute(f"SHOW COLUMNS IN {wrong}")
        assert raised.value.condition == "SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE"


def test_details_name_provider_buckets_and_indexes(connection: Connection) -> None:
    connection.execute("CREATE INDEX i ON t (s)")
    rows = {row[0]: row[1] for row in ask(connection, "DESCRIBE EXTENDED t")}
    expected = {
        "Catalog": "spark_catalog",
        "Database": "default",
        "Table": "t",
        "Type": "MANAGED",
        "Provider": "memory",
        "Num Buckets": "4",
        "Bucket Columns": "[`k`]",
        "Index i": "[s]",
    }
    assert expected.items() <= rows.items()
    ((*name, text),) = ask(connection, "SHOW TABLE EXTENDED LIKE 't'")
    assert name == ["default", "t", False]
    assert "Provider: memory\n" in str(text)
    assert str(text).endswith(
        "Schema: root\n |-- k: integer (nullable = true)\n |-- s: string (nullable = true)\n\n"
    )


def test_system_tables_are_shown_and_described(connection: Connection) -> None:
    for schema in ("sys", "information_schema", "spark_catalog.information_schema"):
        tables = ask(connection, f"SHOW TABLES IN {schema}")
        assert tables == sorted(tables)
        assert ask(connection, f"SHOW VIEWS IN {schema}") == []
        for _, name, _ in tables:
            columns = [row[0] for row in ask(connection, f"DESCRIBE {schema}.{name}")]
            assert [(column,) for column in columns] == ask(connection, f"SHOW COLUMNS IN {schema}.{name}")
            assert [
                part[0] for part in connection.execute(f"TABLE {schema}.{name}").description or ()
            ] == columns


def test_a_view_over_a_dropped_table_breaks_no_listing(connection: Connection) -> None:
    connection.execute("DROP TABLE t")
    assert ("default", "v", False) in ask(connection, "SHOW VIEWS")
    assert len(ask(connection, "SHOW TABLE EXTENDED LIKE '*'")) == 2
    columns = "SELECT column_name FROM information_schema.columns WHERE table_name "
    assert ask(connection, f"{columns} = 'v'") == [("k",)]
    assert ask(connection, f"{columns} = 'tv'") == [("one",)]
    assert ask(connection, "SELECT view_definition FROM information_schema.views WHERE table_name = 'v'") == [
        ("SELECT k FROM t",)
    ]
    ((text,),) = ask(connection, "SHOW CREATE TABLE v")
    assert text == "CREATE VIEW default.v (\n  k)\nWITH SCHEMA COMPENSATION\nAS SELECT k FROM t\n"
    assert ask(connection, "DESCRIBE v") == [("k", "int", None)]


@pytest.mark.parametrize("table", ["sys.members", "information_schema.tables"])
@pytest.mark.parametrize("query", ["SELECT * FROM {}", "SELECT (SELECT count(*) FROM {}) AS n"])
def test_what_reads_system_tables_is_not_cached(connection: Connection, table: str, query: str) -> None:
    connection.execute(f"CREATE VIEW reading AS {query.format(table)}")
    for statement in ("CACHE TABLE reading", f"CACHE TABLE made AS {query.format(table)}"):
        with pytest.raises(sqlfront.NotSupportedError, match=f"can't copy {table}"):
            connection.execute(statement)
    connection.execute("CREATE TABLE another (a INT) USING memory")

    reading, direct = ask(connection, "SELECT * FROM reading"), ask(connection, query.format(table))
    assert reading == direct


@pytest.mark.parametrize("schema", ["sys", "Information_Schema", "spark_catalog.sys"])
def test_schemas_of_system_tables_have_no_relations_of_default(connection: Connection, schema: str) -> None:
    found = ask(connection, f"SHOW TABLE EXTENDED IN {schema} LIKE '*'")
    named = ask(connection, f"SHOW TABLES IN {schema}")

    assert [row[:3] for row in found] == named
    assert all("Provider: arrow" in row[3] and " |-- " in row[3] for row in found)


@pytest.mark.parametrize(
    "statement",
    [
        "SHOW CREATE TABLE {}",
        "DROP TABLE {}",
        "DROP TABLE IF EXISTS {}",
        "DROP VIEW {}",
        "INSERT INTO {} VALUES (1)",
        "DELETE FROM {}",
        "UPDATE {} SET a = 1",
        "ALTER TABLE {} ADD COLUMN a INT",
        "ALTER TABLE {} RENAME TO x",
        "ALTER VIEW {} AS SELECT 1",
        "COMMENT ON TABLE {} IS 'x'",
        "CACHE TABLE {}",
        "CREATE INDEX i ON {} (a)",
    ],
)
def test_a_system_table_is_only_read(connection: Connection, statement: str) -> None:
    for name in ("sys.queries", "SYS.Queries", "information_schema.tables", "spark_catalog.sys.queries"):
        with pytest.raises(sqlfront.NotSupportedError, match="fills the system tables") as raised:
            connection.execute(statement.format(name))
        assert raised.value.condition == "UNSUPPORTED_FEATURE.TABLE_OPERATION"
        assert raised.value.hint is None  # Spark hasn't the table
    if "IF EXISTS" not in statement:
        with pytest.raises(sqlfront.ProgrammingError, match=r"The tables are .*`sys`\.`queries`") as unknown:
            connection.execute(statement.format("sys.nosuch"))
        assert unknown.value.condition == "TABLE_OR_VIEW_NOT_FOUND"


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE {}.queries (a INT)",
        "CREATE TABLE IF NOT EXISTS {}.t (a INT)",
        "CREATE TABLE {}.t AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW {}.queries AS SELECT 1 AS a",
    ],
)
def test_a_schema_of_system_tables_takes_no_relation(connection: Connection, statement: str) -> None:
    for schema in ("sys", "information_schema", "spark_catalog.sys"):
        with pytest.raises(sqlfront.ProgrammingError, match="takes no tables and views") as raised:
            connection.execute(statement.format(schema))
        assert raised.value.condition == "SCHEMA_NOT_FOUND"


@pytest.mark.parametrize("statement", ["DROP SCHEMA sys", "COMMENT ON SCHEMA sys IS 'x'", "USE sys"])
def test_what_spark_would_not_do_either_names_no_spark(connection: Connection, statement: str) -> None:
    with pytest.raises(sqlfront.NotSupportedError) as raised:
        connection.execute(statement)
    assert "Spark session" not in str(raised.value)


def test_a_temporary_view_is_named_as_the_statement_names_it(connection: Connection) -> None:
    for name, shown in (("tv", "`tv`"), ("global_temp.gv", "`global_temp`.`gv`")):
        with pytest.raises(sqlfront.ProgrammingError, match=f"permanent view but {shown} is") as raised:
            connection.execute(f"SHOW CREATE TABLE {name}")
        assert raised.value.condition == "EXPECT_PERMANENT_VIEW_NOT_TEMP"


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_statistics_show_what_is_known(connection: Connection, kind: str) -> None:
    connection.execute(f"CREATE TABLE f (s STRING) USING {kind}")
    connection.execute("INSERT INTO f VALUES ('x'), ('y')")
    facts = {row[0]: row[1] for row in ask(connection, "DESCRIBE EXTENDED f")}
    assert "None" not in "".join(map(str, facts.values()))
    assert re.fullmatch(r"\d+ bytes(, 2 rows)?", str(facts["Statistics"]))
    ((*_, text),) = ask(connection, "SHOW TABLE EXTENDED LIKE 'f'")
    assert f"Statistics: {facts['Statistics']}\n" in str(text)
