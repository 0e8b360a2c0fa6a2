"""The system tables and KILL QUERY: with one engine, members in this process, and members in processes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_values.errors import OperationalError, ProgrammingError

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("system tables")

#: Runs for ever, on all members if there are several.
ENDLESS = "SELECT count(*) FROM numbers a CROSS JOIN numbers b CROSS JOIN numbers c WHERE a.k + b.k = -c.k"
#: Its shared rows alone take for ever.
SHARED = (
    "WITH c AS (SELECT sum(x) r FROM (SELECT rand() x FROM range(1000000000000)))"
    " SELECT count(*) FROM c a JOIN c b USING (r)"
)
SECRET = "of this test"

Rows = list[tuple[object, ...]]
Connection = sqlfront.Connection


def ask(connection: Connection, sql: str, *values: object) -> Rows:
    return connection.execute(sql, list(values)).fetchall()


def with_numbers(connection: Connection) -> Connection:
    connection.execute(
        "CREATE OR REPLACE TABLE numbers USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(20000)"
    )
    return connection


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(2, workers=1, service=SERVICE, secret=SECRET.encode()) as running:
        yield running


@pytest.fixture(scope="module", params=["one", "embedded", "processes"])
def connection(request: pytest.FixtureRequest) -> Iterator[Connection]:
    if request.param == "processes":
        made = connect(request.getfixturevalue("cluster"))
    else:
        made = sqlfront.connect(members=1 if request.param == "one" else 3, workers=3)
    with made:
        yield with_numbers(made)


def connect(cluster: LocalCluster) -> Connection:
    return sqlfront.connect(f"sqlfront://{cluster.address.removeprefix('unix:')}", secret=SECRET, workers=1)


class Background:
    """A statement that runs on a thread of its own, and how it ended."""

    def __init__(self, connection: Connection, sql: str) -> None:
        self.cursor = connection.cursor()
        self.error: sqlfront.Error | None = None
        self._sql = sql
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.cursor.execute(self._sql).fetchall()
        except sqlfront.Error as error:
            self.error = error

    def wait(self) -> OperationalError:
        """The error that it ended with."""
        self._thread.join(20)
        assert not self._thread.is_alive()
        assert isinstance(self.error, OperationalError)
        return self.error


def until(condition: Callable[[], Rows]) -> Rows:
    """The rows, once there are some."""
    deadline = time.monotonic() + 20
    while not (rows := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return rows


def listed(connection: Connection, beginning: str) -> Rows:
    """Id and coordinator of the queries whose text begins so."""
    return ask(
        connection,
        "SELECT id, coordinator FROM sys.light_jobs WHERE startswith(description, ?)",
        beginning,
    )


def soon_idle(connection: Connection) -> bool:
    """True, once no query runs any more."""
    return bool(until(lambda: [] if listed(connection, "") else [("none",)]))


# ---- the tables


def test_members_and_partitions(connection: Connection) -> None:
    members = ask(connection, "SELECT name, role, partitions, coordinator FROM sys.members ORDER BY name")

    shown = {
        1: [("embedded", "member", 271, True)],
        3: [
            ("embedded-0", "member", 91, True),
            ("embedded-1", "member", 90, False),
            ("embedded-2", "member", 90, False),
        ],
    }
    if connection.session.config.cluster is None:
        assert members == shown[len(members)]
    else:
        data = [row[1:] for row in members if row[1] == "member"]
        assert sorted(data) == [("member", 135, False), ("member", 136, False)]
        assert ("client", 0, True) in [row[1:] for row in members]
    owned = ask(
        connection,
        "SELECT m.name, count(p.partition) FROM sys.members m LEFT JOIN sys.partitions p ON p.member = m.name"
        " GROUP BY m.name ORDER BY 1",
    )
    assert owned == [(name, partitions) for name, _, partitions, _ in members]
    assert ask(connection, "SELECT min(partition), max(partition), count(*) FROM sys.partitions") == [
        (0, 270, 271)
    ]


def test_types(connection: Connection) -> None:
    def columns(table: str) -> list[tuple[object, ...]]:
        return [row[:2] for row in ask(connection, f"DESCRIBE QUERY SELECT * FROM sys.{table}")]

    assert columns("members") == [
        ("name", "string"),
        ("address", "string"),
        ("role", "string"),
        ("partitions", "int"),
        ("coordinator", "boolean"),
        ("list_version", "bigint"),
    ]
    assert columns("light_jobs") == [
        ("id", "bigint"),
        ("coordinator", "string"),
        ("status", "string"),
        ("started", "timestamp"),
        ("seconds", "double"),
        ("participants", "array<string>"),
        ("description", "string"),
    ]
    assert columns("partitions") == [
        ("partition", "int"),
        ("member", "string"),
        ("backups", "array<string>"),
        ("state", "string"),
    ]
    assert columns("shares") == [
        ("table_name", "string"),
        ("member", "string"),
        ("partitions", "int"),
        ("rows", "bigint"),
        ("bytes", "bigint"),
        ("backups", "array<string>"),
        ("backup_bytes", "bigint"),
        ("state", "string"),
    ]
    assert columns("clients") == [("name", "string"), ("listed", "boolean"), ("here", "boolean")]


def test_they_are_shown_and_described(connection: Connection) -> None:
    of_jobs = ("job_events", "job_stages", "job_tasks", "jobs")
    names = ("clients", *of_jobs, "light_jobs", "members", "partitions", "plans", "queries", "shares")
    shown = [("sys", name, False) for name in names]
    assert ask(connection, "SHOW TABLES IN sys") == shown
    assert ask(connection, "SHOW TABLES IN SYS LIKE 'm*'") == shown[6:7]
    assert ask(connection, "DESCRIBE sys.partitions") == [
        ("partition", "int", None),
        ("member", "string", None),
        ("backups", "array<string>", None),
        ("state", "string", None),
    ]
    with pytest.raises(ProgrammingError, match="The tables are"):
        connection.execute("DESCRIBE sys.partition")


def test_explain(connection: Connection) -> None:
    ((text,),) = ask(connection, "EXPLAIN SELECT member, count(*) FROM SYS.Partitions GROUP BY member")

    assert "sys.partitions" in str(text)


def test_a_table_of_system_rows(connection: Connection) -> None:
    connection.execute(
        "CREATE OR REPLACE TEMPORARY VIEW roles AS SELECT role, count(*) n FROM sys.members GROUP BY 1"
    )

    assert ask(connection, "SELECT n BETWEEN 1 AND 3 FROM roles WHERE role = 'member'") == [(True,)]


@pytest.mark.parametrize("name", ["sys.nothing", "SYS.`a.b`"])
def test_an_unknown_system_table_names_those_there_are(connection: Connection, name: str) -> None:
    with pytest.raises(ProgrammingError, match="TABLE_OR_VIEW_NOT_FOUND") as caught:
        connection.execute(f"SELECT * FROM {name}")

    text = str(caught.value)
    assert "`sys`.`light_jobs`, `sys`.`members`, `sys`.`partitions`" in text
    assert text.splitlines()[-2].startswith("LINE 1: ")


def test_an_idle_session_runs_no_query(connection: Connection) -> None:
    assert soon_idle(connection)
    assert ask(connection, "SELECT * FROM sys.light_jobs") == []


def test_a_running_query_is_listed_until_it_has_ended(connection: Connection) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    statement = Background(connection, ENDLESS)
    until(lambda: listed(connection, ENDLESS))
    (row,) = ask(
        connection,
        "SELECT a.* FROM sys.light_jobs a JOIN sys.light_jobs b ON a.id = b.id AND a.seconds = b.seconds",
    )
    statement.cursor.cancel()
    statement.wait()

    _, coordinator, status, started, seconds, participants, description = row
    assert (coordinator,) in ask(connection, "SELECT name FROM sys.members WHERE coordinator")
    assert status == "running"
    assert isinstance(started, datetime) and before <= started <= datetime.now(UTC)
    assert isinstance(seconds, float) and 0 < seconds < 30
    assert isinstance(participants, list) and coordinator in participants
    assert len(participants) == ask(connection, "SELECT count(*) FROM sys.members")[0][0]
    assert description == ENDLESS
    assert soon_idle(connection)


def test_a_half_read_result_is_a_running_query(connection: Connection) -> None:
    cursor = connection.cursor()
    text = "SELECT id FROM range(100000000) -- half read"
    cursor.execute(text).fetchmany(3)
    assert len(listed(connection, text)) == 1
    cursor.close()

    assert soon_idle(connection)


# ---- ending queries


@pytest.mark.parametrize("text", [ENDLESS, SHARED], ids=["plain", "shared-rows"])
def test_a_killed_query_ends_with_the_error_of_a_cancel(connection: Connection, text: str) -> None:
    statement = Background(connection, text)
    ((number, coordinator),) = until(lambda: listed(connection, text))
    connection.execute(f"KILL QUERY {number}")
    error = statement.wait()

    where = "" if coordinator == "embedded" else f" at {coordinator}"
    assert (error.condition, error.sqlstate) == ("OPERATION_CANCELED", "HY008")
    assert error.message == f"the query was cancelled by KILL QUERY{where}"


@pytest.mark.parametrize("text", [ENDLESS, SHARED], ids=["plain", "shared-rows"])
def test_a_cursor_is_cancelled_before_it_has_a_row(connection: Connection, text: str) -> None:
    statement = Background(connection, text)
    until(lambda: listed(connection, text))
    statement.cursor.cancel()
    error = statement.wait()

    assert (error.condition, error.sqlstate) == ("OPERATION_CANCELED", "HY008")
    assert error.message == "the query was cancelled"


def test_a_killed_insert_has_no_effect(connection: Connection) -> None:
    text = f"INSERT INTO numbers {ENDLESS}"
    statement = Background(connection, text)
    ((number, _),) = until(lambda: listed(connection, text))
    connection.execute("kill query ?", [number])
    statement.wait()

    assert ask(connection, "SELECT count(*) FROM numbers") == [(20000,)]


def test_a_query_of_another_session_is_killed(cluster: LocalCluster) -> None:
    with connect(cluster) as mine, connect(cluster) as theirs:
        with_numbers(theirs)
        statement = Background(theirs, ENDLESS)
        ((number, coordinator),) = until(lambda: listed(mine, ENDLESS))
        mine.execute("KILL QUERY :id", {"id": number})
        error = statement.wait()
        ((me,),) = ask(mine, "SELECT name FROM sys.members WHERE coordinator")

    assert coordinator != me
    assert error.message == f"the query was cancelled by KILL QUERY at {me}"


def test_there_is_no_such_query(connection: Connection) -> None:
    with pytest.raises(ProgrammingError, match="query 4711 does not exist or has ended") as caught:
        connection.execute("KILL QUERY 4711")

    assert caught.value.sqlstate == "42704"


@pytest.mark.parametrize(
    ("sql", "values", "condition"),
    [
        ("KILL QUERY", [], "PARSE_SYNTAX_ERROR"),
        ("KILL 5", [], "PARSE_SYNTAX_ERROR"),
        ("KILL QUERY x", [], "PARSE_SYNTAX_ERROR"),
        ("KILL QUERY 1, 2", [], "PARSE_SYNTAX_ERROR"),
        ("KILL QUERY ?", [], "UNBOUND_SQL_PARAMETER"),
        ("KILL QUERY :id", [], "UNBOUND_SQL_PARAMETER"),
        ("KILL QUERY :id", [5], None),  # a value that the statement has no parameter for
    ],
)
def test_what_kill_query_takes(
    connection: Connection, sql: str, values: list[object], condition: str
) -> None:
    with pytest.raises(ProgrammingError) as caught:
        connection.execute(sql, values)

    assert caught.value.condition == condition


def test_an_id_is_a_number(connection: Connection) -> None:
    with pytest.raises(ProgrammingError, match="takes the id of a query, not '5'"):
        connection.execute("KILL QUERY ?", ["5"])


def test_plans_lists_what_the_session_keeps(connection: Connection) -> None:
    connection.session.context.plans.clear()
    begun = datetime.now(UTC)
    for key in range(5):
        ask(connection, f"SELECT count(*) FROM numbers WHERE k = {key}")
    ask(connection, "SELECT k FROM numbers WHERE k > 19990 AND k < ?", 19995)
    found = ask(
        connection, "SELECT text, lane, tables, hits, made, last_used FROM sys.plans WHERE hits < 100"
    )
    first, second = found

    assert first[:4] == ("SELECT count(*) FROM numbers WHERE k = 0", first[1], ["numbers"], 4)
    assert second[0] == "SELECT k FROM numbers WHERE k > 19990 AND k < ?"
    assert {first[1], second[1]} <= {"direct", "light"}
    for made, used in (first[4:], second[4:]):
        assert isinstance(made, datetime)
        assert isinstance(used, datetime)
        assert begun - timedelta(seconds=1) <= made <= used + timedelta(milliseconds=1)


def test_a_dropped_tables_plans_are_gone(connection: Connection) -> None:
    connection.execute("CREATE TABLE short_lived USING memory AS SELECT 1 AS a")
    ask(connection, "SELECT a FROM short_lived")
    named = "SELECT count(*) FROM sys.plans WHERE array_contains(tables, 'short_lived')"
    assert ask(connection, named) == [(1,)]
    connection.execute("DROP TABLE short_lived")

    assert ask(connection, named) == [(0,)]
