"""Queries of several clients while the cluster's processes are killed, paused and replaced and connections
are cut: every query gives the right answer or one OperationalError, in time.

    python -m tests.sqlfront.process_chaos --seconds 120 --clients 8
"""

import argparse
import logging
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final, cast

import pyarrow as pa
import pyarrow.parquet as pq

import sqlfront
from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.members.member_statistics import MemberStatistics
from sqlfront_cluster.network.tcp import TcpTransport
from tests.cluster.members.probe import Report, ask
from tests.sqlfront.cutting import cut_one

SECRET: Final = "a secret"
#: Seconds: of silence after which a member is removed, that a statement may take, and that its end may take
#: on a loaded machine.
SILENCE: Final = 2.0
TIMEOUT: Final = 20.0
SLACK: Final = 10.0
ROWS: Final = 20_000
COUNTED: Final = 300
PRELOAD: Final = ("tests.sqlfront.obedient", "tests.cluster.members.probe")


class Wrong(AssertionError):
    """What must not be: a wrong answer, another error, or one that comes too late."""


class Chaos:
    """A cluster of three members, clients on threads of this process, and somebody who breaks things."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.found: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.longest = 0.0
        self.wrong: list[str] = []
        #: The value that the last confirmed UPDATE has given all rows.
        self.confirmed = 0
        self._attempted = 0
        self._lock = threading.Lock()
        self._sessions: list[Session] = []
        self._stopped = threading.Event()
        numbers = pa.table({"k": range(ROWS), "v": [key * 3 for key in range(ROWS)]})
        pq.write_table(numbers.slice(0, ROWS // 2), folder / "first.parquet")
        pq.write_table(numbers.slice(ROWS // 2), folder / "second.parquet")
        self.cluster = LocalCluster(
            3, workers=1, service=SERVICE, secret=SECRET.encode(), silence_limit=SILENCE, preload=PRELOAD
        )

    def connect(self) -> sqlfront.Connection:
        address = f"sqlfront://{self.cluster.address.removeprefix('unix:')}"
        return sqlfront.connect(address, secret=SECRET, workers=1, timeout=TIMEOUT)

    def run(self, seconds: float, clients: int) -> None:
        """Let it all happen, and look at the end; raises :class:`Wrong`."""
        with self.connect() as connection:
            connection.execute(
                f"CREATE TABLE numbers (k BIGINT, v BIGINT) USING parquet LOCATION '{self.folder}'"
            )
            connection.execute("CACHE TABLE numbers CLUSTERED BY (k)")
            connection.execute("CREATE TABLE counter (k BIGINT, v BIGINT) USING memory CLUSTERED BY (k)")
            connection.execute(f"INSERT INTO counter SELECT id, 0 FROM range({COUNTED})")
            threads = [
                threading.Thread(target=self._guarded, args=(work,), name=f"chaos-{number}", daemon=True)
                for number, work in enumerate([self._write, *[self._read] * (clients - 1)])
            ]
            for thread in threads:
                thread.start()
            self._break_things(time.monotonic() + seconds)
            self._stopped.set()
            for thread in threads:
                thread.join(TIMEOUT + SLACK + 5)
                if thread.is_alive():
                    self.wrong.append(f"{thread.name} hangs")
        if self.wrong:
            raise Wrong("; ".join(self.wrong[:5]))
        self._check_the_end()

    # ---- clients

    def _guarded(self, work: Callable[["Session"], None]) -> None:
        session = Session(self)
        self._sessions.append(session)
        try:
            while not self._stopped.is_set():
                work(session)
        except Exception as error:  # noqa: BLE001 - told at the end
            self.wrong.append(str(error) if isinstance(error, Wrong) else repr(error))
            self._stopped.set()
        finally:
            session.close()

    def _read(self, session: "Session") -> None:
        key = random.randrange(ROWS)
        kind = random.randrange(5)
        if kind == 0:
            session.expect("SELECT count(*), sum(v) FROM numbers", [(ROWS, 3 * ROWS * (ROWS - 1) // 2)])
        elif kind == 1:
            session.expect(f"SELECT v FROM numbers WHERE k = {key}", [(3 * key,)])
        elif kind == 2:
            session.expect(
                "SELECT k % 10 AS d, count(*) FROM numbers GROUP BY d ORDER BY d",
                [(digit, ROWS // 10) for digit in range(10)],
            )
        elif kind == 3:
            session.expect(
                f"SELECT k FROM numbers WHERE v >= {3 * key} ORDER BY k LIMIT 3",
                [(each,) for each in range(key, min(key + 3, ROWS))],
            )
        else:
            self._read_counter(session)

    def _read_counter(self, session: "Session") -> None:
        at_least = self.confirmed
        rows = session.ask("SELECT count(*), min(v), max(v) FROM counter")
        if rows is None:
            return
        ((count, low, high),) = rows
        if count != COUNTED or low != high or low not in range(at_least, self._attempted + 1):
            raise Wrong(f"counter has {count} rows of {low} to {high}, after {at_least} was confirmed")

    def _write(self, session: "Session") -> None:
        self._attempted = value = self._attempted + 1
        if session.ask(f"UPDATE counter SET v = {value}") is None:
            # Rows may be lost with a member; this puts them back.
            self._attempted = value = self._attempted + 1
            if session.ask(f"INSERT OVERWRITE counter SELECT id, {value} FROM range({COUNTED})") is None:
                return
        self.confirmed = value

    def note(self, sql: str, seconds: float, error: sqlfront.OperationalError | None) -> None:
        """A statement has ended."""
        with self._lock:
            self.longest = max(self.longest, seconds)
            self.found["answers" if error is None else "errors"] += 1
            if error is not None:
                self.errors[f"{error.sqlstate} {without_numbers(str(error))}"] += 1
        if seconds > TIMEOUT + SLACK:
            raise Wrong(f"after {seconds:.1f} s: {sql}; {error}")

    # ---- who breaks things

    def _break_things(self, until: float) -> None:
        faults = (self._cut, self._kill, self._cut_here, self._pause_for_long, self._cut, self._pause)
        number = 0
        while time.monotonic() < until and not self._stopped.wait(self.random.uniform(0.2, 1.0)):
            fault = faults[number] if number < len(faults) else self.random.choice(faults)
            number += 1
            fault()
            if len(self.cluster.members.data_members) < 3 and not self._stopped.is_set():
                self.cluster.add(1)
                self.found["restarts"] += 1

    def _victim(self) -> tuple[str, int] | None:
        names = [name for name in self.cluster.members.data_members if name in self.cluster.processes]
        if len(names) < 2:
            return None
        name = self.random.choice(names)
        return name, self.cluster.processes[name].pid

    def _signal(self, process: int, number: signal.Signals) -> None:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return

    def _kill(self) -> None:
        if (victim := self._victim()) is not None:
            self.found["kills"] += 1
            self._signal(victim[1], signal.SIGKILL)

    def _pause_for_long(self) -> None:
        """Until it was removed and somewhat longer; when it wakes up it must say nothing."""
        if (victim := self._victim()) is not None:
            self.found["long pauses"] += 1
            self._signal(victim[1], signal.SIGSTOP)
            deadline = time.monotonic() + 20
            while victim[0] in self.cluster.members and time.monotonic() < deadline:
                self._stopped.wait(0.05)
            self._stopped.wait(1.0)
            self._signal(victim[1], signal.SIGCONT)

    def _pause(self) -> None:
        if (victim := self._victim()) is not None:
            self.found["pauses"] += 1
            self._signal(victim[1], signal.SIGSTOP)
            self._stopped.wait(SILENCE / 4)
            self._signal(victim[1], signal.SIGCONT)

    def _cut(self) -> None:
        if (victim := self._victim()) is not None:
            self.found["cuts"] += 1
            self._signal(victim[1], signal.SIGUSR1)

    def _cut_here(self) -> None:
        """One of the keeper's, or one of a client's."""
        self.found["cuts"] += 1
        transports = [cast(TcpTransport, self.cluster.keeper._transport)]
        for session in tuple(self._sessions):
            transports += session.transports()
        cut_one(self.random.choice(transports))

    # ---- the end

    def _check_the_end(self) -> None:
        """The cluster answers again, and its members hold nothing of past queries."""
        session = Session(self)
        deadline = time.monotonic() + 40
        while session.ask("SELECT count(*) FROM numbers") != [(ROWS,)]:
            if time.monotonic() > deadline:
                raise Wrong("the table isn't answered again")
            time.sleep(0.2)
        client = self.cluster.client()
        try:
            while True:
                reports = ask(client.member)
                left = {name: each.statistics for name, each in reports.items() if not idle(each)}
                if not left and set(reports) == set(self.cluster.members.data_members):
                    break
                if time.monotonic() > deadline:
                    raise Wrong(f"left behind: {left}")
                time.sleep(0.5)
            self.found["resident MiB at most"] = max(each.resident for each in reports.values()) >> 20
            self.found["files at most"] = max(each.descriptors for each in reports.values())
            self.found["threads at most"] = max(len(each.threads) for each in reports.values())
        finally:
            client.close()
            session.close()

    def close(self) -> None:
        """End the cluster."""
        self._stopped.set()
        self.cluster.close()

    def figures(self) -> str:
        counts = ", ".join(f"{count} {name}" for name, count in self.found.items())
        lines = [f"{counts}; the slowest statement took {self.longest:.1f} s"]
        return "\n".join(lines + [f"  {count:6} {error}" for error, count in self.errors.most_common(12)])


class Session:
    """A client's connection, made anew when the cluster has given it up."""

    def __init__(self, chaos: Chaos) -> None:
        self._chaos = chaos
        self._connection: sqlfront.Connection | None = None

    def ask(self, sql: str) -> list[tuple[object, ...]] | None:
        """The answer, or None for an OperationalError; Wrong for any other."""
        began = time.monotonic()
        failure = rows = None
        try:
            if self._connection is None:
                self._connection = self._chaos.connect()
                began = time.monotonic()
            cursor = self._connection.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
        except sqlfront.OperationalError as error:
            failure = error
            if error.sqlstate in ("08001", "08003") or "cut off" in str(error) or "was removed" in str(error):
                self.close()
        except Exception as error:
            raise Wrong(f"{type(error).__name__} for {sql}: {error}") from error
        self._chaos.note(sql, time.monotonic() - began, failure)
        return rows

    def expect(self, sql: str, answer: list[tuple[object, ...]]) -> None:
        """Ask; Wrong for another answer."""
        rows = self.ask(sql)
        if rows is not None and rows != answer:
            raise Wrong(f"{sql}: {str(rows)[:200]} instead of {str(answer)[:200]}")

    def transports(self) -> list[TcpTransport]:
        """What its connections with members belong to."""
        cluster = None if self._connection is None else self._connection.session.cluster
        if not isinstance(cluster, ProcessMembers):
            return []
        return [cast(TcpTransport, cluster._running.membership._transport)]

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def idle(state: Report) -> bool:
    """Whether nothing is left of past queries; data that came without a job may be, for five minutes."""
    statistics: MemberStatistics = state.statistics
    return not (statistics.participations or statistics.coordinations or state.reserved)


def without_numbers(text: str) -> str:
    """An error's kind."""
    return re.sub(r"\S*\d\S*(,? (\S*\d\S*|\.\.\.))*", "…", text.split(" SQLSTATE", maxsplit=1)[0])[:100]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        chaos = Chaos(Path(folder), options.seed)
        try:
            chaos.run(options.seconds, options.clients)
        finally:
            chaos.close()
            print(chaos.figures())
    return 0


if __name__ == "__main__":
    sys.exit(main())
