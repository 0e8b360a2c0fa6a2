"""Lambdas in statements: parameters, values of the run, plans that are used again, EXPLAIN, tables."""

from collections.abc import Iterator

import pytest

import sqlfront


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect() as connection:
        connection.execute(
            "CREATE TABLE t (k INT, a ARRAY<INT>, b INT) USING memory CLUSTERED BY (k) INTO 4 BUCKETS"
        )
        connection.execute(
            "INSERT INTO t VALUES (1, array(1, 2, 3), 10), (2, array(), 20), (3, NULL, 30), (4, array(5), 40)"
        )
        yield connection


def _rows(connection: sqlfront.Connection, sql: str, arguments: object = None) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(sql, arguments).fetchall()]  # type: ignore[arg-type]


def test_a_body_takes_parameters(connection: sqlfront.Connection) -> None:
    by_place = "SELECT filter(array(1, 2, 3), x -> x > ?), transform(array(1), x -> x + ? * ?)"
    by_name = "SELECT filter(array(1, 2, 3), x -> x > :least)"

    assert _rows(connection, by_place, [1, 2, 3]) == [([2, 3], [7])]
    assert _rows(connection, by_place, [2, 5, 5]) == [([3], [26])]
    assert _rows(connection, by_name, {"least": 2}) == [([3],)]


def test_a_body_reads_the_values_of_the_run(connection: sqlfront.Connection) -> None:
    moment = "SELECT exists(array(1), x -> now() = current_timestamp())"
    day = "SELECT transform(array(1), x -> current_date())[0] = current_date()"

    assert _rows(connection, moment) == _rows(connection, day) == [(True,)]


def test_a_plan_is_used_again_for_another_key(connection: sqlfront.Connection) -> None:
    sql = "SELECT transform(a, x -> x + b), exists(a, x -> x > 2) FROM t WHERE k = {}"

    assert _rows(connection, sql.format(1)) == [([11, 12, 13], True)]
    assert _rows(connection, sql.format(4)) == [([45], True)]
    assert _rows(connection, sql.format(3)) == [(None, None)]


def test_literals_in_bodies_belong_to_the_plan(connection: sqlfront.Connection) -> None:
    sql = "SELECT k, transform(a, x -> x + {0}) FROM t WHERE exists(a, x -> x = {0}) AND k > 0"

    assert _rows(connection, sql.format(1)) == [(1, [2, 3, 4])]
    assert _rows(connection, sql.format(5)) == [(4, [10])]


def test_explain_shows_parameters_and_captured_columns(connection: sqlfront.Connection) -> None:
    sql = "EXPLAIN SELECT k, transform(a, (x, i) -> x + b * i) FROM t WHERE exists(a, x -> x > b)"
    text = "\n".join(str(row[0]) for row in connection.execute(sql).fetchall())

    assert "exists(a#1, x#0 -> x#0 > b#2)" in text
    assert "transform(a#1, (x#0, i#1) -> x#0 + (b#2 * i#1))" in text


def test_conditions_of_joins_and_groups_have_lambdas(connection: sqlfront.Connection) -> None:
    joined = "SELECT x.k FROM t x JOIN t y ON x.k = y.k AND exists(x.a, e -> e > y.b - 10)"
    grouped = "SELECT a, count(*) FROM t GROUP BY a HAVING exists(a, x -> x > count(*) + 2)"

    assert _rows(connection, joined) == [(1,)]
    assert _rows(connection, grouped) == [([5], 1)]
