"""Assignments to fields of structs in UPDATE, structs matched by name, INSERT BY NAME and TRUNCATE TABLE."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront


@pytest.fixture(params=[1, 3], ids=["one member", "three members"])
def connection(request: pytest.FixtureRequest) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(members=request.param, workers=3) as connection:
        connection.execute(
            "CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: INT, d: STRING>>)"
            " USING memory CLUSTERED BY (id)"
        )
        connection.execute(
            "INSERT INTO t VALUES (1, named_struct('a', 10, 'b', named_struct('c', 100, 'd', 'x'))),"
            " (2, NULL)"
        )
        yield connection


def rows(connection: sqlfront.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT id, to_json(s) FROM t ORDER BY id").fetchall()


def condition(connection: sqlfront.Connection, sql: str) -> str | None:
    with pytest.raises(sqlfront.Error) as raised:
        connection.execute(sql)
    return raised.value.condition


def test_update_sets_single_fields_of_structs(connection: sqlfront.Connection) -> None:
    connection.execute("UPDATE t AS x SET x.s.b.c = x.s.a + ?, s.a = id", [1])

    assert rows(connection) == [(1, '{"a":1,"b":{"c":11,"d":"x"}}'), (2, '{"a":2,"b":{}}')]


def test_update_matches_the_fields_of_structs_by_name(connection: sqlfront.Connection) -> None:
    connection.execute("UPDATE t SET s = named_struct('B', named_struct('d', 'y', 'c', 5), 'a', id)")

    assert rows(connection) == [(1, '{"a":1,"b":{"c":5,"d":"y"}}'), (2, '{"a":2,"b":{"c":5,"d":"y"}}')]


@pytest.mark.parametrize(
    "assignments, expected",
    [
        ("s.a = 1, S.A = 2", "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS"),
        ("s.a = 1, s = NULL", "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS"),
        ("s.b = NULL, s.b.c = 1", "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS"),
        ("s.x = 1", "FIELD_NOT_FOUND"),
        ("id.x = 1", "INVALID_EXTRACT_BASE_FIELD_TYPE"),
        ("u.id = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("s = named_struct('a', 1)", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA"),
        ("s.b = named_struct('c', 1, 'd', 'x', 'e', 1)", "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS"),
        ("s.a = 'x'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"),
    ],
)
def test_wrong_assignments_have_sparks_condition(
    connection: sqlfront.Connection, assignments: str, expected: str
) -> None:
    assert condition(connection, f"UPDATE t SET {assignments}") == expected


def test_an_insert_by_name_with_parameters_is_repeated(connection: sqlfront.Connection) -> None:
    for key in (5, 6):
        connection.execute(
            "INSERT INTO t BY NAME SELECT named_struct('b', NULL, 'a', 1) AS s, ? AS id", [key]
        )

    assert rows(connection)[2:] == [(5, '{"a":1}'), (6, '{"a":1}')]


def test_truncate_removes_all_rows_at_once(connection: sqlfront.Connection) -> None:
    connection.execute("CACHE TABLE counted AS SELECT count(*) AS rows FROM t")
    reading = connection.cursor()
    reading.execute("SELECT id FROM t")
    connection.execute("TRUNCATE TABLE t")

    assert len(reading.fetchall()) == 2
    assert rows(connection) == []
    assert connection.execute("SELECT rows FROM counted").fetchone() == (0,)


def test_only_tables_without_a_location_are_truncated(
    connection: sqlfront.Connection, tmp_path: object
) -> None:
    connection.execute(f"CREATE TABLE files (id INT) USING parquet LOCATION '{tmp_path}/files'")

    assert condition(connection, "TRUNCATE TABLE files") == "CANNOT_TRUNCATE_EXTERNAL_TABLE"
