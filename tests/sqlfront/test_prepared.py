"""Statements that are prepared once and run many times."""

from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront import Connection


@pytest.fixture
def connection() -> Iterator[Connection]:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t (k BIGINT, v STRING) USING memory CLUSTERED BY (k)")
        connection.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL)")
        yield connection


def test_a_statement_runs_with_other_arguments(connection: Connection) -> None:
    lookup = connection.prepare("SELECT v FROM t WHERE k = ?")

    assert [lookup.execute([key]).collect() for key in (1, 2, 4)] == [[("a",)], [("b",)], []]


def test_a_cursor_takes_it_in_place_of_a_text(connection: Connection) -> None:
    lookup = connection.prepare("SELECT v FROM t WHERE k = :key")
    cursor = connection.cursor()

    assert cursor.execute(lookup, {"key": 2}).fetchall() == [("b",)]
    assert cursor.execute(lookup, {"key": 3}).fetchall() == [(None,)]


def test_arguments_of_other_types_are_taken_as_they_are(connection: Connection) -> None:
    twice = connection.prepare("SELECT ? AS x")

    assert twice.execute([1]).dtypes == [("x", "int")]
    assert twice.execute(["1"]).dtypes == [("x", "string")]
    assert twice.execute([1]).collect() == [(1,)]
    assert twice.execute([None]).dtypes == [("x", "void")]


def test_it_sees_what_was_written_since(connection: Connection) -> None:
    count = connection.prepare("SELECT count(*) FROM t WHERE k > ?")

    assert count.execute([0]).collect() == [(3,)]
    connection.execute("INSERT INTO t VALUES (4, 'd')")
    assert count.execute([0]).collect() == [(4,)]


def test_it_sees_that_a_table_was_replaced(connection: Connection) -> None:
    lookup = connection.prepare("SELECT * FROM t WHERE k = ?")
    lookup.execute([1]).collect()
    connection.execute("CREATE OR REPLACE TABLE t (k INT, w DOUBLE) USING memory CLUSTERED BY (k)")
    connection.execute("INSERT INTO t VALUES (1, 0.5)")

    result = lookup.execute([1])

    assert (result.dtypes, result.collect()) == ([("k", "int"), ("w", "double")], [(1, 0.5)])


def test_it_holds_its_plan_when_others_push_it_out() -> None:
    with sqlfront.connect(config=sqlfront.Config(plan_cache=2)) as connection:
        one = connection.prepare("SELECT 1 AS a, 2 AS b")
        assert one.execute().collect() == [(1, 2)]
        for number in range(5):
            connection.execute(f"SELECT {number} AS n{number}").fetchall()
        texts = [cached.text for cached in connection.session.context.plans.entries()]

        assert one.text not in texts
        assert one.execute().collect() == [(1, 2)]
        assert one.text not in [cached.text for cached in connection.session.context.plans.entries()]


def test_a_statement_that_is_no_query_runs_as_well(connection: Connection) -> None:
    insert = connection.prepare("INSERT INTO t VALUES (?, ?)")
    insert.execute([7, "g"])
    insert.execute([8, "h"])

    assert connection.execute("SELECT v FROM t WHERE k IN (7, 8) ORDER BY k").fetchall() == [("g",), ("h",)]


def test_errors_point_into_the_text(connection: Connection) -> None:
    wrong = connection.prepare("SELECT nothing FROM t WHERE k = ?")

    for _ in range(2):
        with pytest.raises(sqlfront.ProgrammingError, match=r"LINE 1:"):
            wrong.execute([1])
    with pytest.raises(sqlfront.ProgrammingError, match="UNBOUND_SQL_PARAMETER"):
        connection.prepare("SELECT v FROM t WHERE k = ?").execute()


def test_a_closed_session_runs_nothing(connection: Connection) -> None:
    lookup = connection.prepare("SELECT v FROM t WHERE k = ?")
    lookup.execute([1]).collect()
    connection.close()

    with pytest.raises(sqlfront.InterfaceError):
        lookup.execute([1])


def test_parameters_of_a_pipe_are_counted_in_the_order_of_the_text(connection: Connection) -> None:
    piped = connection.prepare("FROM t |> WHERE k > ? |> SELECT k, ? AS p |> WHERE p > ? |> ORDER BY k")

    assert [piped.execute(given).collect() for given in ([1, 5, 2], [2, 9, 8], [1, 5, 7])] == [
        [(2, 5), (3, 5)],
        [(3, 9)],
        [],
    ]
