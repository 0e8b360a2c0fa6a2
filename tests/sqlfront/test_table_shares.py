"""sys.shares, sys.partitions and EXPLAIN tell where rows and their backups are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest

import sqlfront
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.memory.spread.store import TableStore
from tests.sqlfront.quick_service import SERVICE
from tests.sqlfront.test_cluster import SECRET, address, ask, kill, unless_lost, until
from tests.sqlfront.test_system_tables import Connection

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("cluster sessions")

ROWS = 1000
MEMBERS = ("embedded-0", "embedded-1", "embedded-2")


@pytest.fixture
def connection() -> Iterator[Connection]:
    """Three members in this process; each table has one backup unless it says another number."""
    with sqlfront.connect(members=3, workers=3, backups=1) as connection:
        connection.execute(
            f"CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range({ROWS})"
        )
        yield connection


def test_shares_tell_rows_and_bytes_and_the_backups(connection: Connection) -> None:
    shares = ask(
        connection, "SELECT member, partitions, rows, bytes, backups, backup_bytes, state FROM sys.shares"
    )
    assert [row[0] for row in shares] == list(MEMBERS)
    _, partitions, rows, sizes, backups, backup_sizes, states = zip(*shares, strict=True)
    assert sum(partitions) == 271
    assert sum(rows) == ROWS
    assert states == ("complete",) * 3
    size_of = dict(zip(MEMBERS, sizes, strict=True))
    held = Counter[str]()
    for owner, (holder,) in zip(MEMBERS, backups, strict=True):
        assert holder != owner
        held[holder] += size_of[owner]
    assert backup_sizes == tuple(held[name] for name in MEMBERS)
    assert all(size > 0 for size in sizes)


def test_every_memory_table_has_shares(connection: Connection) -> None:
    connection.execute("CREATE TABLE none (k INT) USING memory OPTIONS (backups 0)")
    connection.execute("INSERT INTO none VALUES (1), (2)")
    connection.execute("CREATE TABLE empty (k INT)")
    connection.execute("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT k + 1 AS l FROM t")
    connection.execute("CACHE TABLE v")
    found = ask(
        connection,
        "SELECT table_name, sum(rows), sum(size(backups)), sum(backup_bytes) > 0, max(state) FROM sys.shares"
        " GROUP BY 1 ORDER BY 1",
    )
    assert found == [
        ("none", 2, 0, False, "complete"),
        ("t", ROWS, 3, True, "complete"),
        ("v", ROWS, 0, False, "complete"),
    ]


def test_a_session_of_one_member_has_shares_without_backups() -> None:
    with sqlfront.connect(backups=1) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT id AS k FROM range({ROWS})")
        assert ask(connection, "SELECT * FROM sys.shares") == [
            ("t", "embedded", 271, ROWS, 8 * ROWS, [], 0, "complete")
        ]
        told = ask(connection, "SELECT DISTINCT member, backups, state FROM sys.partitions")
        assert told == [("embedded", [], "complete")]


def test_partitions_tell_the_backups(connection: Connection) -> None:
    connection.execute("CREATE TABLE none USING memory OPTIONS (backups 0) AS SELECT 1 AS k")
    rows = ask(connection, "SELECT member, backups FROM sys.shares WHERE table_name = 't'")
    shares: dict[object, object] = {member: backups for member, backups in rows}  # noqa: C416
    found = ask(connection, "SELECT member, backups, state, count(*) FROM sys.partitions GROUP BY ALL")
    assert {member: backups for member, backups, _, _ in found} == shares
    assert {(state) for _, _, state, _ in found} == {"complete"}
    assert sum(int(str(count)) for *_, count in found) == 271


@pytest.mark.parametrize("sql", ["SELECT k FROM t WHERE k = 7", "SELECT sum(k) FROM t WHERE k IN (7)"])
def test_explain_tells_the_backups_of_the_rows_that_are_read(connection: Connection, sql: str) -> None:
    [(text,)] = ask(connection, f"EXPLAIN {sql}")
    [(described,)] = ask(connection, f"EXPLAIN (FORMAT json) {sql}")
    [scan] = json.loads(str(described))["job"]["scans"]
    [owner] = scan["member_names"]
    [(backups,)] = ask(connection, f"SELECT backups FROM sys.shares WHERE member = '{owner}'")
    assert scan["backups"] == {"members": backups, "state": "complete"}
    assert f"members 1 of 3 ({owner}), backups complete ({backups[0]})" in str(text)  # type: ignore[index]


def test_explain_is_silent_about_tables_without_backups(connection: Connection) -> None:
    connection.execute("CREATE TABLE none USING memory OPTIONS (backups 0) AS SELECT 1 AS k")
    [(text,)] = ask(connection, "EXPLAIN SELECT * FROM none")
    assert "backups" not in str(text)


@pytest.fixture
def owners(connection: Connection) -> Mapping[object, object]:
    """The owner of each key's partition."""
    rows = ask(connection, "SELECT k, member FROM t JOIN sys.partitions ON partition = pmod(hash(k), 271)")
    return {key: member for key, member in rows}  # noqa: C416


def test_a_lookup_asks_the_owner_of_the_key_alone(
    connection: Connection, owners: Mapping[object, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    answer = TableStore.answer

    def counting(self: TableStore, content: bytes) -> bytes:
        asked.append(self.member)
        return answer(self, content)

    monkeypatch.setattr(TableStore, "answer", counting)
    for key in range(100):
        assert connection.execute("SELECT k FROM t WHERE k = ?", [key]).fetchall() == [(key,)]
        assert asked == [owners[key]]
        asked.clear()


def test_a_job_by_key_runs_on_the_owners_of_the_keys_alone(
    connection: Connection, owners: Mapping[object, object]
) -> None:
    sql = "SELECT a.k, rank() OVER (ORDER BY a.k) FROM t a JOIN t b USING (k) WHERE k IN (?, ?)"
    coordinator, counted = {"embedded-0"}, Counter[int]()
    for key in range(20):
        keys = [key, key + 100]
        [(text,)] = connection.execute(f"EXPLAIN ANALYZE (FORMAT json) {sql}", keys).fetchall()
        job = json.loads(str(text))["job"]
        assert {*job["members"]} | coordinator == {owners[each] for each in keys} | coordinator
        counted[len(job["members"])] += 1
    assert counted[1]
    assert counted[2]


# ---- members come and go


def test_backups_that_have_no_member_are_pending_until_one_joins() -> None:
    with (
        LocalCluster(1, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=3.0) as cluster,
        sqlfront.connect(address(cluster), secret=SECRET, workers=1) as connection,
    ):
        states = "SELECT DISTINCT table_name, size(backups), state FROM sys.shares ORDER BY 1"
        for name, count in (("none", 0), ("one", 1), ("two", 2)):
            connection.execute(f"CREATE TABLE {name} USING memory OPTIONS (backups {count}) AS SELECT 1 AS k")
        assert ask(connection, states) == [
            ("none", 0, "complete"),
            ("one", 0, "pending"),
            ("two", 0, "pending"),
        ]
        cluster.add(1)
        expected = [("none", 0, "complete"), ("one", 1, "complete"), ("two", 1, "pending")]
        until(lambda: unless_lost(connection, states) == expected)
        # The newcomer has the backup first, and then its own share, whose backup the first member holds.
        explained = "backups pending (local-0, local-1)"
        until(lambda: explained in str(unless_lost(connection, "EXPLAIN SELECT * FROM two")))
        cluster.add(1)
        expected = [("none", 0, "complete"), ("one", 1, "complete"), ("two", 2, "complete")]
        until(lambda: unless_lost(connection, states) == expected)
        kill(cluster, "local-0")
        until(
            lambda: (
                unless_lost(connection, "SELECT DISTINCT state FROM sys.shares WHERE table_name = 'two'")
                == [("pending",)]
            )
        )
        assert (
            ask(connection, "SELECT count(*) FROM one")
            == ask(connection, "SELECT count(*) FROM two")
            == [(1,)]
        )
