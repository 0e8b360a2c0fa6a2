"""A second member is killed while the backups that the first one's death has cost are being made anew."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront_cluster.launchers.local import LocalCluster
from tests.sqlfront.stops import FOLDER, Stop
from tests.sqlfront.test_cluster import SECRET, Rows, address, ask, unless_lost, until

pytestmark = [pytest.mark.xdist_group("cluster sessions"), pytest.mark.cluster]

ROWS = 3000
ALL: Rows = [(ROWS, 100 * ROWS)]
SUM = "SELECT count(*), sum(v) FROM t"
#: What may come instead of an answer: lost members, a changed cluster, lost partitions.
TOLERATED = ("08006", "40001", "58030")
MEMBERS = ("local-0", "local-1", "local-2", "local-3")


class Town:
    """Four members, a table with a backup of each share, and a reader who asks for its sum all the time."""

    def __init__(self) -> None:
        service = "tests.sqlfront.stops:service"
        self.cluster = LocalCluster(4, workers=1, service=service, secret=SECRET.encode(), silence_limit=5.0)
        self.connection = self.connect()
        self.connection.execute(
            f"CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, 100L AS v FROM range({ROWS})"
        )
        self.wrong: list[object] = []
        self.lost = self.right = 0
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def connect(self) -> sqlfront.Connection:
        return sqlfront.connect(address(self.cluster), secret=SECRET, workers=1)

    def _read(self) -> None:
        with self.connect() as connection:
            while not self._closing.wait(0.01):
                try:
                    found = ask(connection, SUM)
                except sqlfront.OperationalError as error:
                    self.lost += error.sqlstate == "58030"
                    if error.sqlstate not in TOLERATED:
                        self.wrong.append(error)
                else:
                    self.right += 1
                    if found != ALL:
                        self.wrong.append(found)

    def holders(self) -> dict[str, str]:
        """The holder of the backup of each member's share."""
        rows = ask(self.connection, "SELECT member, backups[0] FROM sys.shares WHERE state = 'complete'")
        return {str(owner): str(holder) for owner, holder in rows}

    def kill(self, name: str) -> None:
        process = self.cluster.processes[name]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    def outcome(self) -> Rows | str:
        """The sum of all rows, or the error that says which rows are lost."""
        found: list[Rows | str] = []

        def is_there() -> bool:
            try:
                found.append(ask(self.connection, SUM))
            except sqlfront.OperationalError as error:
                if error.sqlstate == "58030":
                    found.append(str(error))
                elif error.sqlstate not in TOLERATED:
                    raise
            return bool(found)

        until(is_there)
        return found[0]

    def close(self) -> None:
        self._closing.set()
        self._reader.join()
        self.connection.close()
        self.cluster.close()


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    town = Town()
    yield town
    town.close()


def partitions_of(town: Town, members: set[str]) -> list[int]:
    wanted = ", ".join(f"'{name}'" for name in members)
    rows = ask(town.connection, f"SELECT partition FROM sys.partitions WHERE member IN ({wanted}) ORDER BY 1")
    return [int(str(partition)) for (partition,) in rows]


#: Before and after the version with all backups is published.
STEPS = ("scanning", "staging", "staged", "published")


@pytest.mark.parametrize("second", ["holds its backup", "has its backup there", "neither"])
@pytest.mark.parametrize("first", ["local-0", "local-2"])  # local-0 is the one that has tables placed anew
@pytest.mark.parametrize("step", STEPS)
def test_a_second_member_killed_while_backups_are_made(
    town: Town, first: str, second: str, step: str
) -> None:
    holders = town.holders()
    assert sorted(holders) == list(MEMBERS)
    holding, held = holders[first], next(owner for owner in holders if holders[owner] == first)
    neither = next(name for name in MEMBERS if name not in (first, holding, held))
    other = {"holds its backup": holding, "has its backup there": held, "neither": neither}[second]
    both = {first, other}
    gone = {owner for owner, holder in holders.items() if {owner, holder} <= both}
    partitions = partitions_of(town, gone) if gone else []
    until(lambda: town.right > 0)

    with Stop(other, step) as stop:
        town.kill(first)
        stop.reached()
        town.kill(other)
    until(lambda: not both & set(town.cluster.members.data_members))

    found = town.outcome()
    if step != "published" and gone:
        assert second != "neither"
        named = ", ".join(map(str, partitions[:10]))
        assert re.search(
            rf"partitions {named}, \.\.\. \({len(partitions)} of 271\) of `t` were lost", str(found)
        )
        assert all(name in str(found) for name in both)
        town.connection.execute(f"INSERT OVERWRITE t SELECT id, 100 FROM range({ROWS})")
        assert town.outcome() == ALL
    else:
        assert found == ALL
        assert town.lost == 0

    states = "SELECT DISTINCT state, size(backups) FROM sys.shares"
    until(lambda: unless_lost(town.connection, states) == [("complete", 1)])
    town.connection.execute("UPDATE t SET v = v + CASE WHEN k = 7 THEN -1 ELSE 1 END WHERE k IN (7, 8)")
    last = town.cluster.members.data_members[0]
    town.kill(last)
    until(lambda: last not in town.cluster.members)
    assert town.outcome() == ALL
    assert ask(town.connection, "SELECT v FROM t WHERE k IN (7, 8) ORDER BY 1") == [(99,), (101,)]
    assert town.wrong == []
