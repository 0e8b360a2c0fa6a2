"""A statement that writes to a table on three member processes, and what dies at each of its steps: the table
is the old version or the new one for everybody, or says which partitions are gone."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_planner.catalog import TableEntry
from tests.sampling import shortened
from tests.sqlfront.held_shares import shares
from tests.sqlfront.stops import FOLDER, WRITER, Stop, Writer
from tests.sqlfront.test_cluster import SECRET, address, ask, until

pytestmark = pytest.mark.xdist_group("modification faults")

ROWS = 3000
UPDATE = "UPDATE t SET n = n + 1"
#: Other statements with the effect of UPDATE.
OTHERS = {
    "MERGE": f"MERGE INTO t AS t USING (SELECT id FROM range({ROWS})) AS s ON t.k = s.id"
    " WHEN MATCHED THEN UPDATE SET k = s.id, n = n + 1",
    "MERGE that moves rows": f"MERGE INTO t AS t USING (SELECT id FROM range({ROWS})) AS s ON t.k = s.id"
    f" WHEN MATCHED THEN UPDATE SET k = {ROWS - 1} - s.id, n = n + 1",
    "MERGE of some rows": "MERGE INTO t AS t USING"
    f" (SELECT id AS k FROM range(0, {ROWS}, 2)) AS s ON t.k = s.k"
    " WHEN MATCHED AND t.k % 4 = 0 THEN UPDATE SET n = n + 1"
    " WHEN MATCHED THEN UPDATE SET k = t.k, n = t.n + 1"
    " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = n + 1",
    "INSERT OVERWRITE": "INSERT OVERWRITE t SELECT k, n + 1 FROM t",
}
#: What may come instead of an answer: lost members, a changed cluster, lost partitions.
TOLERATED = ("08006", "40001", "58030")


class Readers:
    """Sessions that ask all the time; every answer is of one version, and none is older than one that was
    confirmed or read before."""

    def __init__(self, count: int, where: str) -> None:
        self.sessions = [sqlfront.connect(where, secret=SECRET, workers=1) for _ in range(count)]
        self.confirmed = 0
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._closing = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(each,)) for each in self.sessions]
        for thread in self._threads:
            thread.start()

    def _read(self, session: sqlfront.Connection) -> None:
        least = 0
        while not self._closing.wait(0.1):
            least = max(least, self.confirmed)
            try:
                [(low, high, count)] = ask(session, "SELECT min(n), max(n), count(n) FROM t")
            except sqlfront.OperationalError as error:
                self.answers[str(error.sqlstate)] += 1
                if error.sqlstate not in TOLERATED:
                    self.wrong.append(f"{error.sqlstate}: {error}")
            else:
                self.answers["right"] += 1
                assert isinstance(low, int)
                if low != high or count != ROWS or low < least:
                    self.wrong.append(f"{count} rows of {low} to {high} after {least}")
                least = max(least, low)

    def close(self) -> None:
        self._closing.set()
        for thread in self._threads:
            thread.join()
        for session in self.sessions:
            session.close()


class Town:
    """Two member processes, and a third that tests add and kill; tables; readers of the first table."""

    def __init__(self, folder: Path) -> None:
        service = "tests.sqlfront.stops:service"
        self.cluster = LocalCluster(2, workers=1, service=service, secret=SECRET.encode(), silence_limit=5.0)
        self.where = address(self.cluster)
        self.connection = sqlfront.connect(self.where, secret=SECRET, workers=1, backups=0)
        self.connection.execute("CREATE TABLE t (k BIGINT, n BIGINT) USING memory CLUSTERED BY (k)")
        self.connection.execute(f"CREATE TABLE f (k BIGINT, n BIGINT) USING parquet LOCATION '{folder}/f'")
        self.connection.execute(f"INSERT OVERWRITE f SELECT id, 0 FROM range({ROWS})")
        self.connection.execute("CACHE TABLE f CLUSTERED BY (k)")
        self.fill()
        self.readers = Readers(8, self.where)
        self.writer = Writer(self.where, SECRET)

    def fill(self) -> None:
        """Give ``t`` rows; what it had may be lost."""
        self.connection.execute(f"INSERT OVERWRITE t SELECT id, {self.confirmed} FROM range({ROWS})")

    def cache(self) -> None:
        """Have ``f`` cached, if it isn't."""
        entry = self.connection.session.context.catalog.lookup(("f",))
        assert isinstance(entry, TableEntry)
        if not isinstance(entry.table, CachedTable):
            self.connection.execute("CACHE TABLE f CLUSTERED BY (k)")

    @property
    def confirmed(self) -> int:
        return 0 if not hasattr(self, "readers") else self.readers.confirmed

    def add(self) -> str:
        """A third member, to which partitions are moved."""
        [name] = self.cluster.add(1)
        self.cluster.keeper.rebalance()
        until(self._is_known)
        return name

    def placed(self, *tables: str) -> None:
        """Wait until the tables' rows are where the partitions are, and until everybody has heard of that."""
        until(lambda: all(in_place(self.connection, table) for table in tables))
        self.connection.execute("CREATE OR REPLACE VIEW heard AS SELECT 1")  # behind all that came before

    def _is_known(self) -> bool:
        """Whether everybody uses the newest list of members."""
        keeper = self.cluster.keeper
        return all(known.adopted == keeper.members.version for known in tuple(keeper._known.values()))

    def kill(self, name: str) -> None:
        process = self.cluster.processes[name]
        assert process.poll() is None, self.cluster.log(name)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        until(lambda: name not in self.cluster.members)

    def values(self, table: str = "t") -> set[object]:
        """What ``n`` is for each of the sessions; what is gone for those who are told that."""
        return {self._value(each, table) for each in (self.connection, *self.readers.sessions)}

    def agreed(self) -> object:
        """What ``n`` is, once it is the same for all sessions: a change whose client is killed while it is
        published may come to one session before the others."""
        until(lambda: len(self.values()) == 1)
        (value,) = self.values()
        return value

    def _value(self, session: sqlfront.Connection, table: str) -> object:
        while True:
            try:
                [(low, high, count)] = ask(session, f"SELECT min(n), max(n), count(*) FROM {table}")
            except sqlfront.OperationalError as error:
                if error.sqlstate == "58030":
                    return str(error)
                if error.sqlstate not in TOLERATED:
                    raise
                threading.Event().wait(0.05)
            else:
                assert (low, count) == (high, ROWS)
                return low

    def close(self) -> None:
        self.writer.leave()
        self.readers.close()
        self.connection.close()
        self.cluster.close()


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(FOLDER, str(tmp_path_factory.mktemp("stops")))
        town = Town(tmp_path_factory.mktemp("tables"))
        yield town
        town.close()


@pytest.fixture
def town(everything: Town) -> Iterator[Town]:
    yield everything
    assert not everything.readers.wrong
    until(lambda: shares(everything.connection) == [(name, 2) for name in ("local-0", "local-1")])


STEPS = {
    "submit": WRITER,
    "scanning": "the other",
    "staging": "the third",
    "staged": "the third",
    "publish": WRITER,
    "published": "the third",
    "end": WRITER,
}
#: All that happens before is as if it had never been.
BEFORE_PUBLISHING = ("submit", "scanning", "staging", "staged")


@pytest.mark.parametrize("step", shortened(STEPS, "scanning", "staged", "publish", "published"))
def test_a_member_killed_during_an_update(town: Town, step: str) -> None:
    """The old rows are on the two members that stay, new ones come to the third, too."""
    town.cache()
    [before] = town.values()
    assert isinstance(before, int)
    begun = Stop(WRITER, "turn")
    town.writer.begin(UPDATE)
    begun.reached()
    third = town.add()
    town.placed("f")  # so that nothing but the update comes to the third
    where = {WRITER: WRITER, "the third": third, "the other": "local-1"}[STEPS[step]]

    with Stop(where, step) as stop:
        begun.go()
        stop.reached()
        town.kill(third)
    state, message = town.writer.outcome()
    after = town.values()

    assert state in ("", *TOLERATED), message
    assert bool(state) or step not in BEFORE_PUBLISHING
    if state:
        assert after == {before}
    else:
        town.readers.confirmed = before + 1
        [gone] = after
        assert f"of `t` were lost with {third}" in str(gone)
        town.fill()


@pytest.mark.cluster
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("step", STEPS)
def test_a_member_killed_during_a_change_of_a_table_with_backups(town: Town, step: str, name: str) -> None:
    """The rows of the third member are in its backup, too: the table has all old rows or all new ones."""
    town.connection.execute(
        "CREATE OR REPLACE TABLE b (k BIGINT, n BIGINT) USING memory CLUSTERED BY (k) OPTIONS (backups 1)"
    )
    third = town.add()
    town.placed("f", "t", "b")
    town.connection.execute(f"INSERT OVERWRITE b SELECT id, 5 FROM range({ROWS})")
    statement = re.sub(r"\b(INTO|OVERWRITE|FROM) t\b", r"\1 b", OTHERS[name])

    with Stop({WRITER: WRITER, "the third": third, "the other": "local-1"}[STEPS[step]], step) as stop:
        town.writer.begin(statement)
        stop.reached()
        town.kill(third)
    state, message = town.writer.outcome()

    assert state in ("", *TOLERATED), message
    assert town.values("b") == {5 if state else 6}
    town.connection.execute("DROP TABLE b")
    town.fill()
    town.cache()


OVERWRITE = "INSERT OVERWRITE f SELECT k, n + 1 FROM f"


@pytest.mark.parametrize("step", shortened(STEPS, "staged", "publish"))
def test_a_member_killed_while_a_copy_is_replaced(town: Town, step: str) -> None:
    """The table is one of files with a copy in the members' memory, which is loaded again, or dropped."""
    [before] = town.values("f")
    assert isinstance(before, int)
    third = town.add()
    town.placed("f", "t")

    with Stop({WRITER: WRITER, "the third": third, "the other": "local-1"}[STEPS[step]], step) as stop:
        town.writer.begin(OVERWRITE)
        stop.reached()
        town.kill(third)
    state, message = town.writer.outcome()

    assert state in ("", *TOLERATED), message
    assert bool(state) == (step == "scanning") or step == "submit"
    assert town.values("f") == {before if state else before + 1}
    town.fill()
    town.cache()


def in_place(session: sqlfront.Connection, name: str) -> bool:
    """Whether the table's rows are where the members' partitions are."""
    entry = session.session.context.catalog.lookup((name,))
    assert isinstance(entry, TableEntry)
    table = entry.table.copy if isinstance(entry.table, CachedTable) else entry.table
    assert isinstance(table, SpreadTable)
    return table.in_place


CLIENT_STEPS = {
    "turn": WRITER,
    "submit": WRITER,
    "scanning": "local-0",
    "staging": "local-0",
    "staged": "local-1",
    "publish": WRITER,
    "put": WRITER,
    "published": "local-1",
    "end": WRITER,
}


@pytest.mark.parametrize("step", shortened(CLIENT_STEPS, "put"))
def test_a_client_killed_during_an_update(town: Town, step: str) -> None:
    killed(town, step, UPDATE)


@pytest.mark.cluster
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("step", CLIENT_STEPS)
def test_a_client_killed_during_another_change(town: Town, step: str, name: str) -> None:
    killed(town, step, OTHERS[name])


def killed(town: Town, step: str, statement: str) -> None:
    """Kill a client at the step of a statement that adds one to the values of ``t``."""
    [before] = town.values()
    assert isinstance(before, int)
    client = Writer(town.where, SECRET)

    with Stop(CLIENT_STEPS[step], step) as stop:
        client.begin(statement)
        stop.reached()
        client.kill()
    after = town.agreed()
    assert isinstance(after, int)
    town.connection.execute(UPDATE)

    if step == "put":  # what was sent may have come to the keeper or not
        assert after in (before, before + 1)
    else:
        assert after == before + (step in ("published", "end"))
    town.readers.confirmed = after + 1
    assert town.values() == {after + 1}


@pytest.mark.cluster
@pytest.mark.parametrize("step", CLIENT_STEPS)
def test_a_client_killed_while_a_copy_is_replaced(town: Town, step: str) -> None:
    """First come the files, then the copy; whoever dies in between leaves a copy that is loaded again."""
    [before] = town.values("f")
    assert isinstance(before, int)
    client = Writer(town.where, SECRET)

    with Stop(CLIENT_STEPS[step], step) as stop:
        client.begin(OVERWRITE)
        stop.reached()
        client.kill()
    after = before + (step not in ("submit", "scanning"))

    until(lambda: town.values("f") == {after})
    town.connection.execute("UNCACHE TABLE f")
    assert town.values("f") == {after}
    town.cache()


# ---- rows that are changed by their keys, without a job


BY_KEY = "UPDATE few SET n = n + 1 WHERE k IN (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)"


@pytest.fixture
def few(town: Town) -> Iterator[None]:
    """A table of ten rows."""
    town.connection.execute("CREATE TABLE few (k BIGINT, n BIGINT) USING memory CLUSTERED BY (k)")
    town.connection.execute("INSERT INTO few SELECT id, 0 FROM range(10)")
    yield
    town.connection.execute("DROP TABLE few")


def numbers(town: Town) -> set[object]:
    """What ``n`` is for each of the sessions, found by a scan and by keys."""
    found: set[object] = set()
    for session in (town.connection, *town.readers.sessions):
        for rows in (
            ask(session, "SELECT n FROM few"),
            ask(session, BY_KEY.replace("UPDATE few SET n = n + 1", "SELECT n FROM few")),
        ):
            assert len(rows) == 10
            found |= {n for (n,) in rows}
    return found


CHANGE_STEPS = {step: who for step, who in CLIENT_STEPS.items() if step not in ("submit", "scanning")}


@pytest.mark.parametrize("step", shortened(CHANGE_STEPS, "put"))
@pytest.mark.usefixtures("few")
def test_a_client_killed_during_a_change_by_key(town: Town, step: str) -> None:
    town.connection.execute(BY_KEY)
    client = Writer(town.where, SECRET)

    with Stop(CHANGE_STEPS[step], step) as stop:
        client.begin(BY_KEY)
        stop.reached()
        client.kill()
    until(lambda: len(numbers(town)) == 1)
    [after] = numbers(town)
    town.connection.execute(BY_KEY)

    if step == "put":  # what was sent may have come to the keeper or not
        assert after in (1, 2)
    else:
        assert after == 1 + (step in ("published", "end"))
    assert isinstance(after, int)
    assert numbers(town) == {after + 1}


@pytest.mark.parametrize("step", ["staging", pytest.param("staged", marks=pytest.mark.cluster)])
@pytest.mark.usefixtures("few")
def test_a_member_killed_during_a_change_by_key(town: Town, step: str) -> None:
    third = town.add()
    town.placed("t")
    town.connection.execute("INSERT OVERWRITE few SELECT id, 5 FROM range(10)")

    with Stop(third, step) as stop:
        town.writer.begin(BY_KEY)
        stop.reached()
        town.kill(third)
    state, message = town.writer.outcome()

    assert state == "08006", message
    with pytest.raises(sqlfront.OperationalError, match=f"of `few` were lost with {third}"):
        numbers(town)
    town.connection.execute("INSERT OVERWRITE few SELECT id, 7 FROM range(10)")
    town.connection.execute(BY_KEY)
    assert numbers(town) == {8}
    town.fill()
