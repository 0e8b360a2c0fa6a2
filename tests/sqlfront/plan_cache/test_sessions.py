"""Cached plans while settings, views and tables change: the right answer or one clear error, never a stale
plan."""

import itertools
import random
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

import sqlfront
from sqlfront import Connection
from sqlfront.config import Config
from sqlfront.state.context import Context
from sqlfront_planner.binder import BindSettings
from sqlfront_values.errors import Error
from tests.sqlfront.plan_cache.sessions import Answer, answer

ZONES = ("UTC", "America/New_York", "Asia/Kolkata")
TEXTS = (
    "SELECT TIMESTAMP '2020-06-01 12:00:00' AS at",
    "SELECT CAST('2020-06-01 12:00:00' AS TIMESTAMP) = TIMESTAMP '2020-06-01 12:00:00+00:00' AS same",
    "SELECT a, CAST(at AS STRING) AS at FROM v WHERE at < '2020-06-01 12:00:00'",
    "SELECT count(*), max(a) FROM v WHERE a > 1",
    "SELECT a FROM v WHERE a = 2",
)


@pytest.fixture
def connection() -> Iterator[Connection]:
    with sqlfront.connect() as connection:
        yield connection


def view(rows: str) -> str:
    return f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM VALUES {rows} AS x(a, at)"


VIEWS = (
    view("(1, TIMESTAMP '2020-06-01 10:00:00Z'), (2, TIMESTAMP '2020-06-01 15:00:00Z')"),
    view("('1', TIMESTAMP '2020-06-01 10:00:00Z'), ('2', TIMESTAMP '2020-06-01 15:00:00Z')"),
    view("(2.0, TIMESTAMP '2020-06-01 04:00:00Z'), (3.5, TIMESTAMP '2020-06-01 06:00:00Z')"),
)


def anew(zone: str, definition: str) -> list[Answer]:
    """The answers of a session that is made for them."""
    with sqlfront.connect(config=Config(plan_cache=0, time_zone=zone)) as fresh:
        fresh.execute(definition)
        return [answer(fresh, text) for text in TEXTS]


def test_sessions_with_other_settings_and_views_take_turns() -> None:
    expected = [anew(zone, definition) for zone, definition in zip(ZONES, VIEWS, strict=True)]
    sessions = [sqlfront.connect(config=Config(time_zone=zone)) for zone in ZONES]
    for session, definition in zip(sessions, VIEWS, strict=True):
        session.execute(definition)

    for _ in range(3):
        for session, answers in zip(sessions, expected, strict=True):
            assert [answer(session, text) for text in TEXTS] == answers
    for session in sessions:
        session.close()


def test_one_session_whose_settings_and_views_change(connection: Connection) -> None:
    combinations = list(itertools.product(ZONES, VIEWS))
    expected = {combination: anew(*combination) for combination in combinations}

    for zone, definition in random.Random(1).choices(combinations, k=30):
        connection.execute(f"SET spark.sql.session.timeZone = {zone}")
        connection.execute(definition)
        assert [answer(connection, text) for text in TEXTS] == expected[zone, definition], (zone, definition)


def test_a_setting_that_changes_while_a_query_is_planned_spoils_no_plan(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SELECT TIMESTAMP '2020-06-01 12:00:00' AS at"
    options = connection.session.options
    expected = answer(connection, text)
    connection.session.context.plans.clear()

    def changed(context: Context) -> BindSettings:
        options.set("spark.sql.session.timeZone", "Asia/Kolkata")
        return BindSettings(context.settings.time_zone)

    monkeypatch.setattr(Context, "bind_settings", property(changed))
    answer(connection, text)
    monkeypatch.undo()
    options.set("spark.sql.session.timeZone", "UTC")

    assert answer(connection, text) == expected


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE t",
        "CREATE OR REPLACE TABLE t USING memory CLUSTERED BY (k) AS SELECT '1' AS k, 'one' AS v",
        "CREATE OR REPLACE TABLE t USING memory AS SELECT 1 AS k, 1.5 AS v",
        "CREATE TEMPORARY VIEW t AS SELECT 1 AS k, DATE '2020-01-01' AS v",
        "INSERT INTO t VALUES (1, 11)",
        "UPDATE t SET v = 12 WHERE k = 1",
        "DELETE FROM t WHERE k = 1",
    ],
)
@pytest.mark.parametrize("text", ["SELECT v FROM t WHERE k = 1", "SELECT k, sum(v) FROM t GROUP BY k"])
def test_what_changes_a_table_is_seen_by_the_next_query(
    connection: Connection, change: str, text: str
) -> None:
    create = (
        "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT * FROM VALUES (1, 10), (2, 20) AS x(k, v)"
    )
    with sqlfront.connect(config=Config(plan_cache=0)) as fresh:
        for statement in (create, change):
            fresh.execute(statement)
        expected = answer(fresh, text)
    connection.execute(create)
    prepared = connection.prepare(text)
    for _ in range(3):
        answer(connection, text)
        prepared.execute().collect()
    connection.execute(change)

    assert [answer(connection, text), answer(connection, prepared)] == [expected] * 2


# ---- many threads

#: Tables of one name, and what the texts give for each.
KINDS = (
    "SELECT * FROM VALUES (1L, 10), (2L, 20) AS x(k, v)",
    "SELECT * FROM VALUES (1L, 'ten'), (2L, 'twenty') AS x(k, v)",
    "SELECT * FROM VALUES ('1', 1.5D), ('2', 2.5D) AS x(k, v)",
    "SELECT * FROM VALUES (10, 1L), (20, 2L) AS x(v, k)",
)
ASKED = (
    "SELECT k, v FROM t WHERE k = 1",
    "SELECT v FROM t WHERE k IN (1, 2)",
    "SELECT count(*) AS n, max(v) AS most FROM t",
    "SELECT a.k, b.v FROM t a JOIN t b ON a.k = b.k WHERE a.k = 2",
)
CLUSTERED = ("", "CLUSTERED BY (k)", "CLUSTERED BY (k) INTO 5 BUCKETS")


def test_eight_threads_ask_while_tables_come_and_go(connection: Connection) -> None:
    expected: list[list[Answer]] = []
    for kind in KINDS:
        with sqlfront.connect(config=Config(plan_cache=0)) as fresh:
            fresh.execute(f"CREATE TABLE t USING memory AS {kind}")
            expected.append([answer(fresh, text) for text in ASKED])
    allowed = [{answers[place] for answers in expected} for place in range(len(ASKED))]
    connection.execute(f"CREATE TABLE t USING memory AS {KINDS[0]}")
    wrong: list[object] = []
    answers = [0] * 8
    over = threading.Event()

    def ask(thread: int) -> None:
        order = random.Random(thread)
        while not over.is_set() and not wrong:
            place = order.randrange(len(ASKED))
            found = answer(connection, ASKED[place])
            if found[1] == "TABLE_OR_VIEW_NOT_FOUND":
                continue
            answers[thread] += 1
            if found not in allowed[place]:
                wrong.append((ASKED[place], found))

    with running(ask, 8, over):
        order = random.Random(0)
        for number in range(20):
            which = order.randrange(len(KINDS))
            clustered = order.choice(CLUSTERED)
            if number % 3 == 0:
                connection.execute("DROP TABLE t")
                assert answer(connection, ASKED[0])[1] == "TABLE_OR_VIEW_NOT_FOUND"
            connection.execute(f"CREATE OR REPLACE TABLE t USING memory {clustered} AS {KINDS[which]}")
            if number % 2 == 0:
                connection.execute("CREATE INDEX by_v ON t (v)")
            for place, text in enumerate(ASKED):
                assert answer(connection, text) == expected[which][place]

    assert wrong == []
    assert min(answers) > 0


class running:  # noqa: N801 - reads as a statement
    """Threads that run until the block ends."""

    def __init__(self, work: Callable[[int], None], count: int, over: threading.Event) -> None:
        self._threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        self._over = over

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


# ---- memory


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_many_executions_with_changing_literals_have_one_plan_and_take_no_memory(
    connection: Connection, count: int
) -> None:
    rows = "SELECT id AS k, CAST(id AS STRING) AS v FROM range(1000)"
    connection.execute(f"CREATE TABLE t USING memory CLUSTERED BY (k) AS {rows}")
    cursor = connection.cursor()

    def ask(first: int, count: int) -> None:
        for number in range(first, first + count):
            found = cursor.execute(f"SELECT v FROM t WHERE k = {number}").fetchall()
            assert len(found) == (number < 1000)

    ask(0, 2000)
    before = sys.getallocatedblocks()
    ask(1000, count)
    grown = sys.getallocatedblocks() - before
    (plan,) = connection.session.context.plans.entries()

    assert plan.hits == 2000 + count - 1
    assert grown < 500


def test_a_full_cache_forgets_what_was_used_least_recently() -> None:
    with sqlfront.connect(config=Config(plan_cache=16)) as small:
        plans = small.session.context.plans
        for number in range(200):
            answer(small, f"SELECT 1 AS c{number}")
            answer(small, "SELECT 1 AS often")

        assert len(plans) <= 16
        assert [plan.hits for plan in plans.entries() if "often" in plan.text] == [199]


def test_errors_are_not_cached(connection: Connection) -> None:
    text = "SELECT v FROM later WHERE k = 1"
    for _ in range(2):
        with pytest.raises(Error, match="TABLE_OR_VIEW_NOT_FOUND"):
            connection.execute(text)
    connection.execute("CREATE TABLE later USING memory AS SELECT 1 AS k, 2 AS v")

    assert connection.execute(text).fetchall() == [(2,)]


def test_plans_of_tables_that_change_or_go_are_removed(connection: Connection) -> None:
    for name in ("one", "other"):
        connection.execute(
            f"""CREATE TABLE {name} USING memory CLUSTERED BY (k) INTO 7 BUCKETS AS
                SELECT id AS k, 1 AS v FROM range(50000)"""
        )
    change = "UPDATE one SET v = ? WHERE k = ?"
    lookup = "SELECT v FROM other WHERE k = ?"
    job = "SELECT sum(v) FROM one"

    def kept() -> set[str]:
        return {plan.text for plan in connection.session.context.plans.entries()} & {change, lookup, job}

    for number in range(3):
        connection.execute(change, (2, number))
        connection.execute(lookup, (number,))
    assert connection.execute(job).fetchall() == [(50_003,)]
    assert kept() == {change, lookup, job}

    connection.execute(change, (3, 0))
    assert kept() == {change, lookup}
    connection.execute("DROP TABLE other")
    connection.execute(change, (4, 0))
    assert kept() == {change}
