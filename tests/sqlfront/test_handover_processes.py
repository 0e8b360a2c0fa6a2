"""SIGTERM to a member's process: its rows go to the others, while clients read and write."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

import sqlfront
from sqlfront.cluster.processes import SERVICE, Client
from sqlfront_cluster.launchers.handover_rules import DEFAULT_RULES, HandoverRules
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_values.errors import OperationalError

pytestmark = pytest.mark.cluster

ACCOUNTS = 3000
BALANCE = 100
SECRET = "a secret"
#: Seconds that a leave may take here.
PATIENCE = 60.0


class Town:
    """Three members in processes, and a table of accounts with a known sum."""

    def __init__(self, memory_limit: int | None = None, handover: HandoverRules = DEFAULT_RULES) -> None:
        self.cluster = LocalCluster(
            3,
            workers=1,
            service=SERVICE,
            secret=SECRET.encode(),
            silence_limit=5.0,
            memory_limit=memory_limit,
            handover=handover,
        )
        self.connection = self.connect()
        self.sql("CREATE TABLE accounts (k BIGINT, v BIGINT) USING memory CLUSTERED BY (k)")
        self.sql(f"INSERT INTO accounts SELECT id, {BALANCE} FROM range({ACCOUNTS})")

    def connect(self) -> sqlfront.Connection:
        address = f"sqlfront://{self.cluster.address.removeprefix('unix:')}"
        return sqlfront.connect(address, secret=SECRET, workers=1, timeout=60, backups=0)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        cursor = self.connection.execute(text)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def total(self) -> list[tuple[object, ...]]:
        return self.sql("SELECT count(*), sum(v) FROM accounts")

    def signal(self, name: str, number: int) -> None:
        os.kill(self.cluster.processes[name].pid, number)

    def close(self) -> None:
        self.connection.close()
        self.cluster.close()


@contextlib.contextmanager
def opened(memory_limit: int | None = None, handover: HandoverRules = DEFAULT_RULES) -> Iterator[Town]:
    town = Town(memory_limit, handover)
    try:
        yield town
    finally:
        town.close()


def until(fact: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


class Clients:
    """Four clients that read the sum and move money from one account to another."""

    def __init__(self, town: Town) -> None:
        self.wrong: list[str] = []
        self.reads = self.writes = 0
        self._town = town
        self._stop = threading.Event()
        works = (self._read, self._read, self._read, self._write)
        self._threads = [threading.Thread(target=self._loop, args=(work,)) for work in works]

    def __enter__(self) -> Clients:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            if thread.is_alive():
                self.wrong.append("a client hangs")

    def _loop(self, work: Callable[[sqlfront.Connection], None]) -> None:
        with self._town.connect() as connection:
            while not self._stop.is_set():
                try:
                    work(connection)
                except OperationalError as error:
                    if error.sqlstate not in ("40001", "08006", "55P03"):
                        self.wrong.append(repr(error))
                        return
                except Exception as error:  # noqa: BLE001 - told at the end
                    self.wrong.append(repr(error))
                    return

    def _read(self, connection: sqlfront.Connection) -> None:
        key = random.randrange(ACCOUNTS)
        rows = connection.execute("SELECT count(*), sum(v) FROM accounts").fetchall()
        if [tuple(row) for row in rows] != [(ACCOUNTS, ACCOUNTS * BALANCE)]:
            self.wrong.append(f"the sum is {rows}")
        if len(connection.execute("SELECT v FROM accounts WHERE k = ?", [key]).fetchall()) != 1:
            self.wrong.append(f"account {key} is lost")
        self.reads += 1

    def _write(self, connection: sqlfront.Connection) -> None:
        giver, taker = random.sample(range(ACCOUNTS), 2)
        connection.execute(
            f"UPDATE accounts SET v = v + CASE WHEN k = {giver} THEN -1 ELSE 1 END"
            f" WHERE k IN ({giver}, {taker})"
        )
        self.writes += 1


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def test_a_member_that_leaves_hands_over_while_clients_read_and_write() -> None:
    with opened() as town:
        with Clients(town) as clients:
            until(lambda: clients.reads > 5 and clients.writes > 2)
            reads, writes = clients.reads, clients.writes
            town.signal("local-1", signal.SIGTERM)
            code = town.cluster.processes["local-1"].wait(PATIENCE)
            until(lambda: clients.reads > reads + 5 and clients.writes > writes + 2)
        assert clients.wrong == []
        assert code == 0, town.cluster.log("local-1")
        assert town.total() == [(ACCOUNTS, ACCOUNTS * BALANCE)]
        assert "was handed over" in town.cluster.log("local-1")


def test_temporary_tables_are_handed_over_too() -> None:
    with opened() as town:
        town.sql("CREATE TEMPORARY VIEW some AS SELECT id AS k FROM range(100)")
        town.sql("CACHE TABLE some")
        town.signal("local-2", signal.SIGTERM)
        assert town.cluster.processes["local-2"].wait(PATIENCE) == 0
        assert town.sql("SELECT count(*), sum(k) FROM some") == [(100, 4950)]
        assert town.total() == [(ACCOUNTS, ACCOUNTS * BALANCE)]


def test_a_second_signal_ends_a_member_at_once() -> None:
    with opened() as town:
        # A stopped member never adopts the member list, so that the handover can't go on.
        town.signal("local-2", signal.SIGSTOP)
        try:
            town.signal("local-1", signal.SIGTERM)
            time.sleep(0.3)
            assert town.cluster.processes["local-1"].poll() is None
            town.signal("local-1", signal.SIGTERM)
            assert town.cluster.processes["local-1"].wait(PATIENCE) == 0
        finally:
            town.signal("local-2", signal.SIGCONT)


def test_a_member_killed_in_a_handover_loses_its_rows_by_name() -> None:
    with opened() as town:
        town.signal("local-2", signal.SIGSTOP)
        try:
            town.signal("local-1", signal.SIGTERM)
            time.sleep(0.3)
            town.signal("local-1", signal.SIGKILL)
            town.cluster.processes["local-1"].wait(PATIENCE)
        finally:
            town.signal("local-2", signal.SIGCONT)
        with pytest.raises(OperationalError, match="were lost with local-1"):
            until(lambda: town.total() == [])


def test_the_time_of_a_handover_is_limited() -> None:
    with opened(handover=HandoverRules(timeout=0.5)) as town:
        town.signal("local-2", signal.SIGSTOP)
        try:
            town.signal("local-1", signal.SIGTERM)
            assert town.cluster.processes["local-1"].wait(PATIENCE) == 0
        finally:
            town.signal("local-2", signal.SIGCONT)
        log = town.cluster.log("local-1")
        assert "`accounts` loses its rows on member local-1" in log
        assert "leaves before all of its rows are on other members" in log


#: Bytes of each member's memory: three members hold the tables of :func:`fill`, and two have no room for the
#: rows of the third one.
NARROW = 24 << 20


def fill(town: Town) -> None:
    """Make three tables, of which each member holds 17.6 MiB."""
    for name in ("first", "second", "third"):
        town.sql(f"CREATE TABLE {name} (k BIGINT, v BIGINT) USING memory CLUSTERED BY (k)")
        town.sql(f"INSERT INTO {name} SELECT id, id FROM range(1100000)")


def test_a_member_that_is_forced_leaves_without_the_rows_for_which_there_is_no_room() -> None:
    with opened(NARROW, HandoverRules(forced=True)) as town:
        fill(town)
        town.signal("local-1", signal.SIGTERM)
        assert town.cluster.processes["local-1"].wait(PATIENCE) == 0
        log, lost = town.cluster.log("local-1"), []
        assert town.total() == [(ACCOUNTS, ACCOUNTS * BALANCE)]
        for name in ("first", "second", "third"):
            if f"`{name}` loses its rows on member local-1" in log:
                with pytest.raises(OperationalError, match="were lost with local-1"):
                    town.sql(f"SELECT count(*) FROM {name}")
                lost.append(name)
            else:
                assert town.sql(f"SELECT count(*) FROM {name}") == [(1100000,)]
        assert lost


def test_a_member_stays_where_the_others_have_no_room() -> None:
    with opened(NARROW) as town:
        fill(town)
        town.signal("local-1", signal.SIGTERM)
        until(lambda: "stays: " in town.cluster.log("local-1"))
        assert "room for" in town.cluster.log("local-1")
        until(lambda: "local-1" in town.cluster.members.owners)
        assert town.sql("SELECT count(*), sum(v) FROM third") == [(1100000, 1100000 * 1099999 // 2)]
        town.signal("local-1", signal.SIGTERM)
        assert town.cluster.processes["local-1"].wait(PATIENCE) == 0


def test_rows_move_to_a_member_that_joins_while_clients_read_and_write() -> None:
    with opened() as town, Clients(town) as clients:
        (name,) = town.cluster.add(1)
        members = town.connection.session.cluster
        assert isinstance(members, Client)
        (table,) = members.spread_tables()

        def even() -> bool:
            return table.in_place and len(table.snapshot().holders) == 4

        until(even)
        owners = table.snapshot().held.owners
        shares = [owners.count(each) for each in town.cluster.members.heirs]
        assert len(shares) == 4
        assert max(shares) - min(shares) <= 1
        reads, writes = clients.reads, clients.writes
        until(lambda: clients.reads > reads + 5 and clients.writes > writes + 2)
        assert town.total() == [(ACCOUNTS, ACCOUNTS * BALANCE)]
        assert name in owners
    assert clients.wrong == []


def test_tables_stay_whole_where_a_member_has_too_little_memory_for_its_share() -> None:
    with opened() as town:
        fill(town)
        town.cluster._options = replace(town.cluster._options, memory_limit=4 << 20)
        town.cluster.add(1)

        def told() -> list[str]:
            logs = [town.cluster.log(name) for name in town.cluster.processes]
            return [line for log in logs for line in log.splitlines() if "`third` could not" in line]

        until(lambda: bool(told()))
        assert "more memory" in told()[0]
        total = 1100000 * 1099999 // 2
        assert town.sql("SELECT count(*), sum(v) FROM third") == [(1100000, total)]
        town.sql("UPDATE third SET v = 0 WHERE k = 7")
        town.sql("INSERT INTO third VALUES (-1, 7)")
        assert town.sql("SELECT count(*), sum(v) FROM third") == [(1100001, total)]
        with pytest.raises(OperationalError, match="more memory") as refused:
            town.sql("INSERT INTO third SELECT id, id FROM range(1000)")
        assert refused.value.sqlstate == "53200"
        assert town.total() == [(ACCOUNTS, ACCOUNTS * BALANCE)]
