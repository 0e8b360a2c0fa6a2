"""MERGE INTO memory tables, on one member and spread over three, and into tables over files. What Spark's
SELECT says about many more statements: ``tests.oracle.random_merges``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront

TABLES = {
    "memory": "USING memory",
    "clustered": "USING memory CLUSTERED BY (id)",
    "parquet": "USING parquet LOCATION '{folder}/t'",
    "parquet in directories": "USING parquet PARTITIONED BY (v) LOCATION '{folder}/t'",
}
SOURCE = "(SELECT * FROM VALUES (1, 'A'), (3, 'C'), (7, 'G') AS s(id, v)) AS s"


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        yield connection


@pytest.fixture(params=TABLES)
def table(request: pytest.FixtureRequest, connection: sqlfront.Connection, tmp_path: Path) -> str:
    using = TABLES[request.param].format(folder=tmp_path)
    connection.execute(f"CREATE TABLE t (id INT, n INT, v STRING) {using}")
    connection.execute(
        "INSERT INTO t (id, n, v) VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (NULL, 0, 'n')"
    )
    return "t"


def rows(connection: sqlfront.Connection) -> list[tuple[object, ...]]:
    return sorted(connection.execute("SELECT id, n, v FROM t").fetchall(), key=str)


def condition(connection: sqlfront.Connection, sql: str) -> str | None:
    with pytest.raises(sqlfront.Error) as raised:
        connection.execute(sql)
    return raised.value.condition


@pytest.mark.usefixtures("table")
def test_the_first_clause_whose_condition_is_true_decides_about_a_row(
    connection: sqlfront.Connection,
) -> None:
    cursor = connection.execute(
        f"""MERGE INTO t USING {SOURCE} ON t.id = s.id
        WHEN MATCHED AND t.n > 20 THEN DELETE
        WHEN MATCHED THEN UPDATE SET v = s.v, n = t.n + 1
        WHEN NOT MATCHED BY TARGET THEN INSERT (v, id) VALUES (lower(v), id)
        WHEN NOT MATCHED BY SOURCE AND id IS NULL THEN UPDATE SET n = n - 1, v = DEFAULT"""
    )

    assert rows(connection) == [(1, 11, "A"), (2, 20, "b"), (7, None, "g"), (None, -1, None)]
    assert (cursor.rowcount, cursor.description) == (4, None)


@pytest.mark.usefixtures("table")
def test_rows_that_get_another_key_are_found_by_it(connection: sqlfront.Connection) -> None:
    connection.execute(
        "MERGE INTO t USING (SELECT explode(sequence(0, 9)) AS id) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET id = s.id * 100"
        " WHEN NOT MATCHED AND s.id > 8 THEN INSERT (id) VALUES (900)"
    )

    assert [
        connection.execute("SELECT count(*) FROM t WHERE id = ?", [key]).fetchone() for key in (1, 100, 900)
    ] == [
        (0,),
        (1,),
        (1,),
    ]
    assert rows(connection) == [
        (100, 10, "a"),
        (200, 20, "b"),
        (300, 30, "c"),
        (900, None, None),
        (None, 0, "n"),
    ]


@pytest.mark.usefixtures("table")
def test_several_matches_of_a_row_are_an_error_that_changes_nothing(connection: sqlfront.Connection) -> None:
    before = rows(connection)
    merge = "MERGE INTO t USING (SELECT explode(array(1, 1, 5)) AS id) AS s ON t.id = s.id"

    for clause in ("UPDATE SET n = 0", "DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"):
        tested = f"{merge} WHEN MATCHED AND t.n > 99 THEN {clause}"
        assert condition(connection, tested) == "MERGE_CARDINALITY_VIOLATION"
    assert rows(connection) == before


@pytest.mark.usefixtures("table")
def test_several_matches_may_delete_a_row_or_keep_it_from_being_inserted(
    connection: sqlfront.Connection,
) -> None:
    merge = "MERGE INTO t USING (SELECT explode(array(1, 1, 5)) AS id) AS s ON t.id = s.id"

    kept = connection.execute(
        f"{merge} WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
        " WHEN NOT MATCHED BY SOURCE AND t.id = 2 THEN DELETE"
    )
    assert kept.rowcount == 2
    assert rows(connection) == [(1, 10, "a"), (3, 30, "c"), (5, None, None), (None, 0, "n")]

    assert connection.execute(f"{merge} WHEN MATCHED THEN DELETE").rowcount == 2
    assert rows(connection) == [(3, 30, "c"), (None, 0, "n")]


@pytest.mark.usefixtures("table")
def test_values_are_computed_for_the_rows_of_their_clause_only(connection: sqlfront.Connection) -> None:
    connection.execute(
        f"MERGE INTO t USING {SOURCE} ON t.id = s.id"
        " WHEN MATCHED AND s.id > 1 THEN UPDATE SET n = 6 DIV (s.id - 1)"
    )
    assert rows(connection)[2] == (3, 3, "c")

    merge = f"MERGE INTO t USING {SOURCE} ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 6 DIV (s.id - 1)"
    before = rows(connection)
    assert condition(connection, merge) == "DIVIDE_BY_ZERO"
    assert rows(connection) == before


@pytest.mark.usefixtures("table")
def test_the_source_may_be_a_common_table_expression_and_the_table_itself(
    connection: sqlfront.Connection,
) -> None:
    connection.execute(
        "WITH totals AS (SELECT max(n) AS most, ? AS id FROM t), unused AS (SELECT 1)"
        " MERGE INTO t AS x USING totals AS y ON x.id = y.id AND x.n < ?"
        " WHEN MATCHED THEN UPDATE SET x.n = y.most + ?",
        [2, 100, 5],
    )

    assert rows(connection)[1] == (2, 35, "b")


def test_all_columns_are_taken_by_name(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t (id INT, n INT, v STRING) USING memory")
    connection.execute("INSERT INTO t VALUES (1, 10, 'a')")
    connection.execute(
        "MERGE INTO t USING (SELECT * FROM VALUES ('A', 1, 11L, true), ('B', 2, 12L, false)"
        " AS s(V, Id, N, extra)) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )

    assert rows(connection) == [(1, 11, "A"), (2, 12, "B")]


def test_fields_of_structs_are_matched_by_name_and_set_one_by_one(connection: sqlfront.Connection) -> None:
    connection.execute(
        "CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: INT, d: INT>>,"
        " l ARRAY<STRUCT<a: INT, b: INT>>, m MAP<STRING, STRUCT<a: INT, b: INT>>) USING memory"
    )
    connection.execute("INSERT INTO t (id) VALUES (1)")
    merge = "MERGE INTO t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET"
    connection.execute(
        f"{merge} s = named_struct('b', named_struct('d', 4, 'c', 3), 'a', 1),"
        " l = array(named_struct('b', 2, 'a', 1), NULL), m = map('k', named_struct('b', 2L, 'a', 1L))"
    )
    shown = connection.execute("SELECT to_json(s), to_json(l), to_json(m) FROM t").fetchone()
    assert shown == ('{"a":1,"b":{"c":3,"d":4}}', '[{"a":1,"b":2},null]', '{"k":{"a":1,"b":2}}')

    connection.execute(f"{merge} t.s.b.c = 30, s.a = t.s.b.d")
    assert connection.execute("SELECT to_json(s) FROM t").fetchone() == ('{"a":4,"b":{"c":30,"d":4}}',)


@pytest.mark.parametrize(
    "tail, expected",
    [
        ("ON t.id = s.id", "MERGE_WITHOUT_WHEN"),
        (
            "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN MATCHED THEN DELETE",
            "NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
        ),
        (
            "ON t.id = s.id WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED THEN INSERT *",
            "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
        ),
        (
            "ON true WHEN NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE",
            "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION",
        ),
        ("ON true WHEN NOT MATCHED THEN INSERT (id, v) VALUES (1)", "MERGE_INSERT_VALUE_COUNT_MISMATCH"),
        ("ON true WHEN NOT MATCHED THEN INSERT (id, x) VALUES (1, 2)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = s.v", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN NOT MATCHED BY SOURCE AND s.id = 1 THEN DELETE", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN MATCHED THEN UPDATE SET *", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN NOT MATCHED THEN INSERT *", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN MATCHED THEN UPDATE SET x = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON true WHEN MATCHED THEN UPDATE SET s.id = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("ON id = 1 WHEN MATCHED THEN DELETE", "AMBIGUOUS_REFERENCE"),
        ("ON t.id WHEN MATCHED THEN DELETE", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE"),
        ("ON rand() > 1 WHEN MATCHED THEN DELETE", "INVALID_NON_DETERMINISTIC_EXPRESSIONS"),
        ("ON sum(t.id) > 1 WHEN MATCHED THEN DELETE", "UNSUPPORTED_EXPR_FOR_OPERATOR"),
        (
            "ON true WHEN MATCHED AND row_number() OVER (ORDER BY t.id) = 1 THEN DELETE",
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
        ),
        (
            "ON t.id = (SELECT max(id) FROM t) WHEN MATCHED THEN DELETE",
            "UNSUPPORTED_MERGE_CONDITION.SUBQUERY",
        ),
        (
            "ON true WHEN MATCHED THEN UPDATE SET id = 1, ID = 2",
            "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS",
        ),
        (
            "ON true WHEN NOT MATCHED THEN INSERT (id, id) VALUES (1, 2)",
            "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS",
        ),
        ("ON true WHEN MATCHED THEN UPDATE SET n = 'x'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"),
        ("ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 3000000000", "CAST_OVERFLOW_IN_TABLE_INSERT"),
        ("ON true WHEN NOT MATCHED THEN INSERT (n) VALUES (1)", None),
    ],
)
def test_errors_have_sparks_condition(tail: str, expected: str | None) -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (id INT, n INT, v STRING) USING memory")
        connection.execute("INSERT INTO t VALUES (1, 10, 'a')")
        sql = f"MERGE INTO t USING (SELECT 1 AS id, 'a' AS v) AS s {tail}"

        if expected is None:
            connection.execute(sql)
        else:
            assert condition(connection, sql) == expected
        assert rows(connection) == [(1, 10, "a")]


@pytest.mark.parametrize(
    "sql",
    [
        "MERGE INTO t AS x (a, b) USING s ON x.a = s.a WHEN MATCHED THEN DELETE",
        "MERGE INTO t AS x USING s AS y (a, b) ON x.a = y.a WHEN MATCHED THEN DELETE",
    ],
)
def test_a_relation_takes_no_column_aliases(sql: str) -> None:
    with sqlfront.connect() as connection:
        assert condition(connection, sql) == "COLUMN_ALIASES_NOT_ALLOWED"


def test_a_column_that_the_source_has_twice_is_ambiguous() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (id INT) USING memory")
        merge = "MERGE INTO t USING (SELECT 1 AS id, 2 AS ID) AS s ON true WHEN MATCHED THEN UPDATE SET *"

        assert condition(connection, merge) == "AMBIGUOUS_REFERENCE"


def test_schema_evolution_is_refused_by_name() -> None:
    with (
        sqlfront.connect() as connection,
        pytest.raises(sqlfront.NotSupportedError, match="WITH SCHEMA EVOLUTION"),
    ):
        connection.execute("MERGE WITH SCHEMA EVOLUTION INTO t USING s ON true WHEN MATCHED THEN DELETE")


def test_views_and_cached_tables_are_refused(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t (id INT) USING memory")
    connection.execute("CREATE TEMPORARY VIEW w AS SELECT 1 AS id")
    merge = "MERGE INTO {} USING (SELECT 1 AS id) AS s ON true WHEN MATCHED THEN DELETE"

    assert condition(connection, merge.format("w")) == "UNSUPPORTED_FEATURE.TABLE_OPERATION"
    assert condition(connection, merge.format("nix")) == "TABLE_OR_VIEW_NOT_FOUND"


def test_null_in_a_required_column_is_an_error(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t (id INT NOT NULL, n INT, v STRING) USING memory")
    connection.execute("INSERT INTO t VALUES (1, 10, 'a')")
    merge = "MERGE INTO t USING (SELECT 1 AS id) AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET"

    assert condition(connection, f"{merge} id = NULL") == "NOT_NULL_ASSERT_VIOLATION"
    assert connection.execute(f"{merge} n = NULL").rowcount == 1
    assert rows(connection) == [(1, None, "a")]


def test_indexes_and_cached_views_follow(connection: sqlfront.Connection) -> None:
    connection.execute(
        "CREATE TABLE t CLUSTERED BY (id) AS SELECT CAST(id AS INT) AS id, 0 AS n, 'x' AS v FROM range(200)"
    )
    connection.execute("CREATE INDEX by_v ON t (v)")
    connection.execute("CREATE TEMPORARY VIEW counted AS SELECT count(*) AS rows FROM t WHERE v = 'y'")
    connection.execute("CACHE TABLE counted")
    connection.execute(
        "MERGE INTO t USING (SELECT id FROM range(190, 210)) AS s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET v = 'y' WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'y')"
    )

    assert connection.execute("SELECT count(*) FROM t WHERE v = 'y'").fetchone() == (20,)
    assert connection.execute("SELECT * FROM counted").fetchone() == (20,)


def test_a_version_is_read_before_a_merge_publishes_the_next_one(connection: sqlfront.Connection) -> None:
    connection.execute("CREATE TABLE t (id INT, n INT, v STRING) USING memory CLUSTERED BY (id)")
    connection.execute("INSERT INTO t SELECT id, 0, 'x' FROM range(1000)")
    reading = connection.cursor()
    reading.execute("SELECT n FROM t")
    connection.execute(
        "MERGE INTO t USING (SELECT * FROM range(500, 1500)) AS s ON t.id = s.id WHEN MATCHED THEN DELETE"
    )

    assert len(reading.fetchall()) == 1000
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (500,)
