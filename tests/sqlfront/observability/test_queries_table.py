"""`sys.queries`: one row for each statement, whatever its lane and end."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import sqlfront
from sqlfront import Config
from sqlfront.observability import history
from sqlfront.observability.history import COLUMNS, History
from sqlfront.observability.observer import Observer
from sqlfront.pipeline import Pipeline, table
from tests.cluster.network.meeting import until

Connection = sqlfront.Connection
ENDLESS = "SELECT count(*) FROM numbers a CROSS JOIN numbers b CROSS JOIN numbers c WHERE a.k + b.k = -c.k"


@pytest.fixture(scope="module", params=[1, 3])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    with sqlfront.connect(config=Config(query_history=200, members=request.param, workers=3)) as made:
        made.execute(
            "CREATE TABLE numbers USING memory CLUSTERED BY (k) AS SELECT id AS k, id * 2 AS v"
            " FROM range(20000)"
        )
        yield made


def last(connection: Connection, *columns: str) -> tuple[object, ...]:
    """These columns of the latest statement before this one."""
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM sys.queries").fetchall()
    return rows[-2]


def test_a_query_by_rows(connection: Connection) -> None:
    connection.execute("SELECT v FROM numbers WHERE k = 7").fetchall()

    found = last(connection, "text", "state", "lane", "rows_given", "rows_written", "error")
    assert found == ("SELECT v FROM numbers WHERE k = ?", "finished", "direct", 1, None, None)


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("SELECT v FROM numbers WHERE k = 7", 1),
        ("SELECT v FROM numbers WHERE k IN (7, 8, 9, -1)", 3),
        ("SELECT v FROM numbers WHERE k IN (7, 8, 9) AND v > 14 LIMIT 1", 3),
        ("SELECT v FROM numbers WHERE k = -1", 0),
        ("SELECT b.v FROM numbers a JOIN numbers b ON a.v = b.k WHERE a.k = 7", 2),
        ("SELECT 1", 0),
    ],
)
def test_rows_that_are_read_without_a_job_count(connection: Connection, query: str, read: int) -> None:
    connection.prepare(query).execute().collect()

    assert last(connection, "rows_read", "bytes_read") == (read, None)


def test_rows_of_a_program_that_became_a_job_count_once(connection: Connection) -> None:
    """A row program handles 10,000 rows at most."""
    connection.execute("CREATE OR REPLACE TABLE alike (k INT, n BIGINT) USING memory CLUSTERED BY (k)")
    connection.execute("INSERT INTO alike SELECT 1, id FROM range(15000)")
    assert len(connection.execute("SELECT n FROM alike WHERE k = 1").fetchall()) == 15000

    assert last(connection, "lane", "rows_read") == ("light", 15000)


def test_many_rows_of_one_statement_have_the_users_text(connection: Connection) -> None:
    connection.execute("CREATE OR REPLACE TABLE told (a INT) USING memory")
    connection.executemany("INSERT INTO told VALUES (?)", [[4711], [4712]])

    assert last(connection, "text", "rows_written") == ("INSERT INTO told VALUES (?)", 2)


def test_a_job_tells_the_rows_and_bytes_that_it_read_and_gave(connection: Connection) -> None:
    connection.execute("SELECT k FROM numbers WHERE v < 200 ORDER BY k").fetchall()

    found = last(
        connection, "state", "lane", "rows_read", "bytes_read", "rows_given", "bytes_given", "spilled_bytes"
    )
    assert found == ("finished", "light", 20000, 320000, 100, 800, 0)


def test_the_phases_are_parts_of_the_whole(connection: Connection) -> None:
    connection.execute("SELECT sum(v), min(k) FROM numbers WHERE v > 77").fetchall()

    seconds, *phases = last(
        connection, "seconds", *(f"{name}_seconds" for name in ("parse", "plan", "wait", "run", "fetch"))
    )
    assert all(isinstance(each, float) and each >= 0 for each in phases)
    assert phases[0] and phases[1] and phases[3]
    assert sum(phases) <= seconds  # type: ignore[arg-type, operator]


def test_a_cached_plan_is_not_parsed_again(connection: Connection) -> None:
    for number in (1, 2):
        connection.execute(f"SELECT v, 'cached' AS c FROM numbers WHERE k = {number}").fetchall()

    assert last(connection, "plan_cached", "parse_seconds") == (True, 0.0)


@pytest.mark.parametrize(
    "text", ["SELECT k FROM numbers", "SELECT k FROM numbers WHERE k IN (1, 2, 3, 4, 5, 6, 7, 8, 9)"]
)
@pytest.mark.parametrize("ending", ["close", "drop", "next"])
def test_a_result_that_is_read_to_a_third_has_given_a_third(
    connection: Connection, text: str, ending: str
) -> None:
    cursor = connection.execute(text)
    total = 20000 if "WHERE" not in text else 9
    assert len(cursor.fetchmany(total // 3)) == total // 3
    query = f"SELECT state, rows_given FROM sys.queries WHERE text LIKE '{text.split('(', maxsplit=1)[0]}%'"
    assert connection.execute(query).fetchall()[-1] == ("running", total // 3)
    if ending == "close":
        cursor.close()
    elif ending == "next":
        cursor.execute("SELECT 1").fetchall()
    del cursor

    found = connection.execute(query).fetchall()[-1]
    assert found in (("closed", total // 3), ("finished", total // 3))


def test_iteration_that_outlives_its_result_is_counted_to_its_end(connection: Connection) -> None:
    for text, total in (
        ("SELECT k, 1 FROM numbers WHERE k < 300", 300),
        ("SELECT k FROM numbers WHERE k IN (1, 2, 3)", 3),
    ):
        rows = iter(connection.session.execute(text))
        gc.collect()
        assert len(list(rows)) == total
        assert last(connection, "state", "rows_given") == ("finished", total)


@pytest.mark.parametrize(
    ("read", "given"),
    [
        ("collect", 300), ("toArrow", 300), ("count", 0), ("first", 1), ("toLocalIterator", 300),
        ("show_string", 20), ("toPandas", 300), ("toPolars", 300),
    ],
)  # fmt: skip
def test_rows_are_counted_once_by_every_way_of_reading(connection: Connection, read: str, given: int) -> None:
    result = connection.session.execute("SELECT k FROM numbers WHERE k < 300")
    for _ in range(2):
        rows = getattr(result, read)()
        if read == "toLocalIterator":
            list(rows)
    result.close()

    state, rows_given = last(connection, "state", "rows_given")
    assert rows_given == given
    assert state == "finished" or (state == "closed" and given < 300 and read != "count")


def test_batches_are_counted_as_they_are_taken(connection: Connection) -> None:
    batches = connection.session.execute("SELECT k FROM numbers").batches()
    rows = next(batches).num_rows
    del batches

    assert last(connection, "rows_given") == (rows,)


@pytest.mark.parametrize(
    ("text", "error", "condition"),
    [
        ("SELEC 1", "ProgrammingError", "PARSE_SYNTAX_ERROR"),
        ("SELECT nothing FROM numbers", "ProgrammingError", "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        ("SELECT 1 DIV (k - 19999) FROM numbers", "DataError", "DIVIDE_BY_ZERO"),
        ("INSERT INTO nothing VALUES (1)", "ProgrammingError", "TABLE_OR_VIEW_NOT_FOUND"),
        ("KILL QUERY 1", "ProgrammingError", None),
    ],
)
def test_a_statement_that_fails_has_its_error(
    connection: Connection, text: str, error: str, condition: str
) -> None:
    with pytest.raises(sqlfront.Error):
        connection.execute(text).fetchall()

    assert last(connection, "state", "error", "condition") == ("failed", error, condition)


def test_parameters_that_fail_are_a_failed_statement_without_their_values(connection: Connection) -> None:
    with pytest.raises(sqlfront.Error):
        connection.execute("SELECT ?", [object()])

    assert last(connection, "state", "text") == ("failed", "SELECT ?")


def test_a_statement_beyond_its_timeout(connection: Connection) -> None:
    with pytest.raises(sqlfront.OperationalError):
        connection.execute(ENDLESS, timeout=0.1)

    assert last(connection, "state", "sqlstate") == ("timed out", "57014")


def test_a_running_statement_is_listed_and_a_cancelled_one_has_its_state(connection: Connection) -> None:
    cursor = connection.cursor()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            cursor.execute(ENDLESS)
        except sqlfront.OperationalError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    query = "SELECT id FROM sys.queries WHERE state = 'running' AND lane = 'light' AND text LIKE '%CROSS%'"
    until(lambda: bool(connection.execute(query).fetchall()))
    number = connection.execute(query).fetchall()[0][0]
    connection.execute("KILL QUERY ?", [number])
    thread.join(60)

    assert failed
    found = connection.execute("SELECT state, condition FROM sys.queries WHERE id = ?", [number]).fetchall()
    assert found == [("cancelled", "OPERATION_CANCELED")]


def test_prepared_statements_and_many_parameters_are_statements_each(connection: Connection) -> None:
    connection.execute("CREATE OR REPLACE TABLE many (a INT) USING memory")
    prepared = connection.prepare("SELECT a, 'prepared' FROM many WHERE a = ?")
    connection.executemany("INSERT INTO many VALUES (?)", [[1], [2], [3]])  # one statement
    connection.executemany("DELETE FROM many WHERE a = ?", [[7], [8]])
    for number in range(3):
        prepared.execute([number]).collect()

    counts = connection.execute(
        "SELECT count(*), sum(rows_written), sum(rows_given) FROM sys.queries WHERE text LIKE '%many %'"
        " GROUP BY left(text, 6) ORDER BY left(text, 6)"
    ).fetchall()
    assert counts == [(1, None, 0), (2, 0, 0), (1, 3, 0), (3, None, 2)]


def test_a_pipeline_is_a_statement(connection: Connection) -> None:
    source = table(connection.session, "numbers")
    pipeline = Pipeline().read(source).filter(lambda k, v: k < 10).collect()
    connection.session.run_pipeline(pipeline).collect()

    assert last(connection, "text", "lane", "state", "rows_read", "rows_given") == (
        "a pipeline",
        "light",
        "finished",
        20000,
        10,
    )


def test_the_history_is_bounded_and_ends_with_the_session() -> None:
    with sqlfront.connect(config=Config(query_history=3)) as watching:
        with sqlfront.connect(config=Config(query_history=3)) as other:
            for number in range(7):
                other.execute("SELECT ? AS bounded", [number]).fetchall()
            ours = (
                "SELECT count(*), count(DISTINCT session) FROM sys.queries WHERE text = 'SELECT ? AS bounded'"
            )
            assert watching.execute(ours).fetchall() == [(3, 1)]
        assert watching.execute(ours).fetchall() == [(0, 0)]


def test_a_session_without_a_history_lists_what_runs() -> None:
    with sqlfront.connect() as plain:
        reading = plain.execute("SELECT id AS secretly, 'x' FROM range(10000000)")
        reading.fetchmany(3)
        found = plain.execute(
            "SELECT text, state, session FROM sys.queries WHERE text LIKE '%secretly%' AND session IS NULL"
        ).fetchall()
        reading.close()
    assert found in ([], [("SELECT id AS secretly, ? FROM range(?)", "running", None)])


def test_literals_are_shown_if_the_configuration_says_so() -> None:
    with sqlfront.connect(config=Config(query_history=3, show_literals=True)) as connection:
        connection.execute("SELECT 'x', ?", ["hidden"]).fetchall()
        assert last(connection, "text") == ("SELECT 'x', ?",)


def test_the_table_has_the_columns_that_are_documented(connection: Connection) -> None:
    cursor = connection.execute("SELECT * FROM sys.queries LIMIT 0")
    assert [each[0] for each in cursor.description or ()] == [name for name, _, _ in COLUMNS]


def test_sessions_may_open_while_the_table_is_read() -> None:
    """One at each line of Python in the container of histories, as other threads may."""
    opened: list[History] = []

    def open_another(frame: FrameType, event: str, argument: object) -> Any:
        if "weakref" not in frame.f_code.co_filename:
            return None
        opened.append(History(1, Observer(), runner, literals=False))
        return open_another

    with sqlfront.Session(Config(query_history=5)) as session:
        session.execute("SELECT 1").collect()
        runner = session.context.runner
        before = sys.gettrace()
        sys.settrace(open_another)
        try:
            rows = history.rows(runner, ())
        finally:
            sys.settrace(before)

    assert rows[-1][4] == "SELECT ?"
    assert opened
