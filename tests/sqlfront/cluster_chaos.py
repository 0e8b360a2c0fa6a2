"""Members of a started cluster leave, join, are stopped and killed one at a time, and the keeper is killed
twice, while clients read, write and join: every answer is right, no row is lost, and each statement that
failed says truly whether it has written.

    python -m tests.sqlfront.cluster_chaos --seconds 120 --clients 8
"""

import argparse
import json
import logging
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import sqlfront
from sqlfront.cluster.processes import ProcessMembers
from sqlfront_cluster.launchers.keeper_office import KeeperOffice
from tests.cluster.members.probe import AllowedProbe, Report, ask
from tests.sqlfront.key_writes import wrong_notes
from tests.sqlfront.process_chaos import idle
from tests.sqlfront.test_cluster_command import COMMAND, ENVIRONMENT
from tests.sqlfront.transfers import CREATE, TIMEOUT, Client, Figures, Wrong, check_all, is_usable

#: Members at the beginning, at least and at most.
MEMBERS: Final = 3
MOST: Final = 5
#: Seconds: until the cluster has to be whole again after a fault, and that a process may take to end.
HEALING: Final = 60.0
ENDING: Final = 60.0
#: Bytes that a member may have in use for tables at the end: old versions are freed, and the rows are few.
TABLES: Final = 64 << 20
PROBE: Final = ("--processor-module", "tests.cluster.members.probe")
#: The faults, in their order; then they come at random.
SCHEDULE: Final = (
    *("join", "pause", "kill the keeper", "leave", "join", "kill", "join", "kill the keeper", "join"),
    *("stop", "join", "leave", "kill", "join", "stop the keeper", "join", "stop", "join"),
)


class Members:
    """The processes of a cluster that ``sqlfront cluster start`` has started, and of members that have joined
    it by ``sqlfront member``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: The processes by the names of their members, also those that have ended.
        self.processes: dict[str, int] = {}
        self._joined: list[subprocess.Popen[str]] = []
        place = ("--directory", str(folder))
        self._run("cluster", "start", "-n", str(MEMBERS), *place, *PROBE)
        self.sockets = str(self.run_file()["folder"])
        self.launcher = self.keeper()
        for process in _children(self.launcher):
            log = Path(os.readlink(f"/proc/{process}/fd/1"))
            self.processes[log.stem] = process

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
        )
        if done.returncode:
            raise Wrong(f"{arguments} failed: {done.stdout}{done.stderr}")
        return done.stdout

    def run_file(self) -> dict[str, Any]:
        """Who is the keeper, and where."""
        found: dict[str, Any] = json.loads((self.folder / "cluster.json").read_text())
        return found

    def keeper(self) -> int:
        """The process of the keeper."""
        return int(self.run_file()["pid"])

    def connect(self, *, lite: bool = True) -> sqlfront.Connection:
        """A session of the cluster; without ``lite`` it has no place in the member list."""
        return sqlfront.connect(
            cluster="sqlfront://",
            credentials=str(self.folder / "credentials.json"),
            workers=1,
            timeout=TIMEOUT,
            lite=lite,
        )

    def join(self) -> str:
        """Start one more member, and return its name."""
        with open(self.folder / f"member-{len(self._joined)}.log", "w") as log:
            process = subprocess.Popen(
                [*COMMAND, "member", "--directory", str(self.folder), *PROBE],
                env=ENVIRONMENT,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._joined.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        if "has joined" not in line:
            raise Wrong(f"a member could not join: {line}")
        name = line.split()[1]
        self.processes[name] = process.pid
        return name

    def signal(self, process: int, number: signal.Signals) -> None:
        """Send a signal to a process, if it lives."""
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return

    def alive(self, process: int) -> bool:
        """Whether the process has not ended."""
        for each in self._joined:
            each.poll()
        return Path(f"/proc/{process}").exists()

    def stop(self) -> None:
        """End the cluster, and see that nothing is left of it. Raises :class:`Wrong`."""
        self._run("cluster", "stop", "--directory", str(self.folder))
        until(lambda: not any(map(self.alive, self.everyone())), "a process is left")
        if KeeperOffice(str(self.folder)).has_members() or Path(self.sockets).exists():
            raise Wrong("something is left of the cluster")

    def everyone(self) -> list[int]:
        """All processes that were ever part of the cluster."""
        return [self.launcher, *self.processes.values()]

    def kill(self) -> None:
        """End whatever is left, without a word."""
        for process in self.everyone():
            if self.alive(process):
                self.signal(process, signal.SIGKILL)
        for each in self._joined:
            each.wait()
            if each.stdout is not None:
                each.stdout.close()


def _children(process: int) -> list[int]:
    found = Path(f"/proc/{process}/task/{process}/children").read_text()
    return [int(each) for each in found.split()]


def until(fact: Callable[[], object], otherwise: str, limit: float = ENDING) -> float:
    """Wait until the fact is true, and return how long that took; Wrong after ``limit`` seconds."""
    began = time.monotonic()
    while not fact():
        if time.monotonic() - began > limit:
            raise Wrong(f"{otherwise} after {limit:g} s")
        time.sleep(0.05)
    return time.monotonic() - began


class Monitor:
    """A session that looks at the cluster as a whole."""

    def __init__(self, members: Members) -> None:
        self._members = members
        self._connection = members.connect()

    @property
    def connection(self) -> sqlfront.Connection:
        """The session's connection, made anew when the cluster has given it up."""
        if not is_usable(self._connection):
            self._connection.close()
            self._connection = self._members.connect()
        return self._connection

    @property
    def cluster(self) -> ProcessMembers:
        """The session's part of the cluster."""
        found = self.connection.session.cluster
        assert isinstance(found, ProcessMembers)
        return found

    def names(self) -> tuple[str, ...]:
        """The members that own partitions."""
        return self.cluster.member_list.data_members

    def is_whole(self) -> bool:
        """Whether every row lies on the member that owns its partition and on another one."""
        members = self.cluster.member_list
        if members.heirs != members.data_members:
            return False
        return all(
            table.in_place and len(table.snapshot().held.backups) == len({*table.snapshot().held.owners})
            for table in self.cluster.spread_tables()
        )

    def reports(self) -> dict[str, Report]:
        """What the members hold."""
        return ask(self.cluster.coordinator, kind=AllowedProbe)

    def close(self) -> None:
        self._connection.close()


class ClusterChaos:
    """One run: the cluster, its clients, and somebody who disturbs it."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.members = Members(folder)
        self.figures = Figures()
        self.faults: Counter[str] = Counter()
        self.takeovers: list[float] = []
        self.healed: list[float] = []
        self.held: dict[str, int] = {}
        self._monitor = Monitor(self.members)
        self._clients: list[Client] = []

    def run(self, seconds: float, clients: int, keepers: int = 2) -> None:
        """Let it all happen for so many seconds, and until so many keepers were killed; look at the end.
        Raises :class:`Wrong`."""
        for sql in CREATE:
            self._monitor.connection.execute(sql)
        for number in range(clients):
            # Two of eight have no place in the member list. Half write, one of these two included.
            lite, writes = number % 4 != 3, number % 8 in (0, 2, 3, 4)
            client = Client(number, self._connector(lite=lite), self.figures, writes=writes)
            client.begin()
            self._clients.append(client)
        try:
            self._disturb(time.monotonic() + seconds, keepers)
        finally:
            for client in self._clients:
                client.end()
            for client in self._clients:
                client.join(TIMEOUT + 20)
        self._check_the_end()

    def _connector(self, *, lite: bool) -> Callable[[], sqlfront.Connection]:
        return lambda: self.members.connect(lite=lite)

    def _check_clients(self) -> None:
        wrong = [client.wrong for client in self._clients if client.wrong is not None]
        if wrong:
            raise Wrong("; ".join(wrong[:5]))

    # ---- faults

    def _disturb(self, end: float, keepers: int) -> None:
        faults = {
            "join": self._join,
            "leave": self._leave,
            "pause": self._pause,
            "stop": self._stop,
            "kill": self._kill,
            "kill the keeper": self._kill_keeper,
            "stop the keeper": self._stop_keeper,
        }
        number = 0
        while time.monotonic() < end or self.faults["kill the keeper"] < keepers:
            time.sleep(self.random.uniform(0.2, 1.0))
            kind = SCHEDULE[number] if number < len(SCHEDULE) else self.random.choice([*faults])
            number += 1
            if len(self._monitor.names()) > MEMBERS - 1 or kind == "join":
                self.faults[kind] += 1
                faults[kind]()
                self.healed.append(until(self._whole, f"the cluster is not whole after `{kind}`", HEALING))
                self._check_clients()

    def _whole(self) -> bool:
        self._check_clients()
        expected = {name for name, process in self.members.processes.items() if self.members.alive(process)}
        return {*self._monitor.names()} == expected and self._monitor.is_whole()

    def _victim(self, *, keeper: bool = False) -> tuple[str, int]:
        """A member, whose process has the keeper only if ``keeper``."""
        names = [name for name in self._monitor.names() if keeper or not self._has_keeper(name)]
        name = self.random.choice(names)
        return name, self.members.processes[name]

    def _has_keeper(self, name: str) -> bool:
        return self.members.processes[name] == self.members.keeper()

    def _join(self) -> None:
        if len(self._monitor.names()) < MOST:
            self.members.join()

    def _leave(self) -> None:
        name, process = self._victim(keeper=True)
        self.members.signal(process, signal.SIGTERM)
        until(lambda: not self.members.alive(process), f"{name} does not leave")

    def _pause(self) -> None:
        _, process = self._victim()
        self.members.signal(process, signal.SIGSTOP)
        time.sleep(1.0)
        self.members.signal(process, signal.SIGCONT)

    def _stop(self) -> None:
        """A member is stopped until it was removed and somewhat longer; when it goes on, it must end."""
        name, process = self._victim()
        self.members.signal(process, signal.SIGSTOP)
        try:
            until(lambda: name not in self._monitor.names(), f"{name} is not removed")
            time.sleep(1.0)
        finally:
            self.members.signal(process, signal.SIGCONT)
        until(lambda: not self.members.alive(process), f"{name}, which was removed, goes on")

    def _kill(self) -> None:
        name, process = self._victim()
        self.members.signal(process, signal.SIGKILL)
        until(lambda: name not in self._monitor.names(), f"{name} is not removed")

    def _kill_keeper(self) -> None:
        epoch = self._epoch()
        self.members.signal(self.members.keeper(), signal.SIGKILL)
        self._await_keeper(epoch)

    def _stop_keeper(self) -> None:
        """The keeper is stopped until another member has followed it; when it goes on, it must end."""
        epoch, former = self._epoch(), self.members.keeper()
        self.members.signal(former, signal.SIGSTOP)
        try:
            self._await_keeper(epoch)
        finally:
            self.members.signal(former, signal.SIGCONT)

    def _epoch(self) -> int:
        return int(self.members.run_file()["epoch"])

    def _await_keeper(self, epoch: int) -> None:
        """Wait until the next keeper has made its first member list."""
        began = time.monotonic()
        until(lambda: self._epoch() > epoch, "nobody has become the keeper")
        until(lambda: self._monitor.cluster.member_list.epoch > epoch, "the next keeper says nothing")
        self.takeovers.append(time.monotonic() - began)

    # ---- the end

    def _check_the_end(self) -> None:
        hanging = [client.name for client in self._clients if client.is_alive()]
        if hanging:
            raise Wrong(f"{hanging} hang")
        self._check_clients()
        until(self._whole, "the cluster is not whole in the end")
        check_all([client.ledger for client in self._clients], self._monitor.connection)
        if wrong := wrong_notes([client.notes for client in self._clients], self._monitor.connection):
            raise Wrong("; ".join(wrong))
        until(self._is_idle, f"members hold something of past queries: {self.held}")
        self._monitor.close()
        self.members.stop()

    def _is_idle(self) -> bool:
        reports = self._monitor.reports()
        self.held = {name: each.tables for name, each in reports.items()}
        busy = [name for name, each in reports.items() if not idle(each)]
        return not busy and all(each.tables < TABLES for each in reports.values())

    def close(self) -> None:
        """End the cluster, however it is."""
        for client in self._clients:
            client.end()
        self._monitor.close()
        self.members.kill()

    def lines(self) -> list[str]:
        """The figures of the run as text."""
        faults = ", ".join(f"{count} x {kind}" for kind, count in self.faults.items())
        ledgers = [client.ledger for client in self._clients]
        told = {
            "confirmed": sum(len(each.confirmed) for each in ledgers),
            "said not written": sum(len(each.refused) for each in ledgers),
            "said unknown": sum(len(each.unknown) for each in ledgers),
        }
        after = ", ".join(f"{seconds:.2f}" for seconds in self.takeovers)
        healed = max(self.healed, default=0.0)
        return [
            f"faults: {faults}",
            f"takeovers: {len(self.takeovers)}, after {after} s; whole again after {healed:.1f} s at most",
            f"writes: {', '.join(f'{count} {word}' for word, count in told.items())}",
            *self.figures.lines(),
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        chaos = ClusterChaos(Path(folder, "run"), options.seed)
        try:
            chaos.run(options.seconds, options.clients)
        finally:
            print("\n".join(chaos.lines()))
            chaos.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
