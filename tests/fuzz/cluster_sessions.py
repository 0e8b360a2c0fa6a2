"""Random statements of several sessions of a cluster while members join, leave and are killed; each answer,
count and error must be that of the same statement in a session without members.

Each author is a thread with relations of its own, two sessions of the cluster, of which one has no place in
the member list, and a session in this process, the peer. A statement goes to one session of the cluster, and
then to the peer. An error that another member list explains may be repeated, and must not have written.

    python -m tests.fuzz.cluster_sessions                        # five minutes, two authors
    python -m tests.fuzz.cluster_sessions --minutes 20 --seed 7 --authors 4 --kills
    python -m tests.fuzz.cluster_sessions --calm --rounds 50     # members stay as they are
    python -m tests.fuzz.cluster_sessions --embedded --rounds 50 # three members in this process

A finding is a statement with which the sessions differ, an error that isn't one of sqlfront, a statement or a
member that doesn't end, and anything left behind by the statements.
"""

import argparse
import faulthandler
import logging
import os
import random
import re
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, Protocol

import sqlfront
from sqlfront.cluster.processes import SERVICE, ProcessMembers
from sqlfront_cluster.launchers.local import LocalCluster
from tests.cluster.members.probe import ask
from tests.fuzz.cluster_statements import Author, Statement, listed
from tests.sqlfront.process_chaos import idle

STATEMENTS: Final = 60
_SECRET: Final = "of the sessions"
_MIB: Final = 1 << 20
#: Seconds: that a statement may take, that it may hang in addition, and that a member may take to leave.
_TIMEOUT, _SLACK, _LEAVING = 60.0, 60.0, 90.0
#: Members at least and at most.
_LEAST, _MOST = 2, 4
#: The SQLSTATE of a statement that may have written although it has failed.
_UNKNOWN: Final = "08007"
#: SQLSTATEs of statements that may be repeated: the cluster has changed meanwhile.
_AGAIN: Final = ("40001", "08001", "08006")
#: The condition of a change of a table's rows beside a copy of the table.
_CACHED: Final = "UNSUPPORTED_FEATURE.TABLE_OPERATION"
#: Characters of a statement in the history of a finding; the seed has the rest.
_SHOWN: Final = 300
#: What no text for a user has in it.
_INSIDE: Final = re.compile(
    r"Traceback|KeyError|AssertionError|AttributeError|TypeError|IndexError|ValueError|StopIteration"
    r"|ArrowInvalid|ArrowNotImplemented|ArrowKeyError|<.* object at 0x|internal error",
    re.IGNORECASE,
)


class Wrong(AssertionError):
    """A finding."""


class Outcome(tuple[object, ...]):
    """What a statement has done: rows and count, or its error."""

    __slots__ = ()


class Opens(Protocol):
    """Opens a session of the cluster; without ``lite`` it has no place in the member list."""

    def __call__(self, *, lite: bool) -> sqlfront.Connection:
        """Return the session."""


class Duel(threading.Thread):
    """The rounds of one author under a seed. ``found``: what is wrong, if anything."""

    def __init__(self, number: int, seed: int, opens: Opens, stopped: threading.Event, rounds: int) -> None:
        super().__init__(name=f"author-{number}", daemon=True)
        self._number, self._seed, self._opens, self._stopped = number, seed, opens, stopped
        self._rounds = rounds
        self._round = 0
        self._values: dict[tuple[str, str], object] = {}
        self.found: str | None = None
        self.began: float | None = None
        self.text = ""
        self.outcomes: Counter[str] = Counter()
        self.longest = 0.0

    def run(self) -> None:
        """Run rounds until the end is told."""
        try:
            while not self._stopped.is_set() and self._round < self._rounds:
                self._run_round()
                self._round += 1
        except Wrong as error:
            self.found = f"{error}"
        except BaseException:  # noqa: BLE001 - told at the end
            self.found = f"{self.text}\n{traceback.format_exc()}"
        finally:
            self.began = None
            if self.found is not None:
                self.found = f"seed {self._seed}, author {self._number}, round {self._round}: {self.found}"
                self._stopped.set()

    def _run_round(self) -> None:
        self._chance = random.Random(f"{self._seed} {self._number} {self._round}")
        self._author = Author(f"a{self._number}_", self._chance)
        self.history: list[str] = []
        with ExitStack() as opened:
            self._sessions = [opened.enter_context(self._opens(lite=lite)) for lite in (True, False)]
            self._peer = opened.enter_context(sqlfront.connect(workers=1, memory_limit=512 * _MIB))
            try:
                for number in range(STATEMENTS):
                    if self._stopped.is_set() or not self._step(self._author.next()):
                        break
                    if number % 8 == 7:
                        self._compare_all()
            finally:
                for text in self._author.drops():
                    with suppress(sqlfront.Error):
                        self._sessions[0].execute(text)

    def _step(self, statement: Statement) -> bool:
        """Run the statement in a session and in the peer. Return whether the outcome is known."""
        marked = [self._value(*each) for each in statement.parameters]
        self.text = listed(statement, marked)
        self.history.append(self.text[:_SHOWN])
        session = self._chance.choice(self._sessions)
        found = self._until_known(session, statement, marked)
        if found[2:3] == (_UNKNOWN,):
            return False
        right = outcome(self._peer, statement, marked)
        if right != found and isinstance(right, Error) and right[3] == _CACHED:
            self._uncache()
            right = outcome(self._peer, statement, marked)
        if right != found:
            raise self._wrong(_difference(self.text, right, found))
        self.outcomes[str(found[0])] += 1
        if found[0] == "done":
            statement.after()
        return True

    def _until_known(
        self, session: sqlfront.Connection, statement: Statement, values: Sequence[object]
    ) -> Outcome:
        """Run a statement, again as long as its error says that it may be repeated."""
        deadline = time.monotonic() + _TIMEOUT
        while True:
            self.began = time.monotonic()
            found = outcome(session, statement, values)
            self.longest = max(self.longest, time.monotonic() - self.began)
            self.began = None
            if found[0] != "error" or found[2] not in (*_AGAIN, _UNKNOWN):
                return found
            self.outcomes[f"{found[2]} {found[4]}"] += 1
            if found[2] == _UNKNOWN and statement.writes:
                return found
            if time.monotonic() > deadline:
                raise self._wrong(f"{self.text} fails for {_TIMEOUT:g} s: {found}")
            time.sleep(0.05)

    def _uncache(self) -> None:
        """Drop the peer's copies: a cluster drops a copy that it can't refill while members change."""
        self.outcomes["copies dropped"] += 1
        for relation in self._author.relations:
            self._peer.execute(f"UNCACHE TABLE IF EXISTS {relation.name}")

    def _value(self, literal: str, data_type: str) -> object:
        """The Python value of a literal."""
        found = self._values.get((literal, data_type), self)
        if found is self:
            (row,) = self._peer.execute(f"SELECT CAST({literal} AS {data_type})").fetchall()
            found = self._values[literal, data_type] = row[0]
        return found

    def _compare_all(self) -> None:
        for relation in self._author.relations:
            statement = Statement(f"SELECT {relation.shown()} FROM {relation.name}")
            self.text = f"{statement.text} -- at a look at everything"
            right = outcome(self._peer, statement, ())
            for session in self._sessions:
                found = self._until_known(session, statement, ())
                if right != found:
                    raise self._wrong(_difference(self.text, right, found))

    def _wrong(self, text: str) -> Wrong:
        return Wrong(text + "\n" + "".join(f"    {each}\n" for each in self.history))


def outcome(connection: sqlfront.Connection, statement: Statement, values: Sequence[object]) -> Outcome:
    """Return what the statement has done: its count and rows, or its error's class, SQLSTATE, condition and
    text. Raises :class:`Wrong` for a text with something of the inside."""
    try:
        cursor = connection.execute(statement.text, list(values) or None)
        rows = cursor.fetchall() if cursor.description else []
        columns = [each[:2] for each in cursor.description or ()]
    except sqlfront.Error as error:
        text = str(error)
        if isinstance(error, sqlfront.InternalError) or error.sqlstate == "XX000" or _INSIDE.search(text):
            raise Wrong(f"{listed(statement, values)}\n  {type(error).__name__}: {text}") from error
        kind = re.sub(r"\S*\d\S*", "…", text.split("\n", 1)[0])[:90]
        return Error(("error", type(error).__name__, error.sqlstate, error.condition, kind))
    if statement.counted:
        return Outcome(("done", len(rows)))
    return Outcome(("done", cursor.rowcount, repr(columns), sorted(map(repr, rows))))


def _difference(text: str, right: Outcome, found: Outcome) -> str:
    return f"{text[:3000]}\n  alone:   {str(right)[:3000]}\n  cluster: {str(found)[:3000]}"


class Error(Outcome):
    """The error of a statement. Texts may differ in names of members; and of two wrong values of a statement
    either may be met first."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Error) and self[1:4] == other[1:4]

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]


class Crew:
    """Member processes that join, leave and, with ``kills``, are killed."""

    def __init__(self, seed: int, *, kills: bool) -> None:
        self._chance = random.Random(seed)
        self._kills = kills
        self._cluster = LocalCluster(
            3,
            workers=1,
            memory_limit=512 * _MIB,
            service=SERVICE,
            secret=_SECRET.encode(),
            silence_limit=30.0,
            preload=("tests.cluster.members.probe",),
        )
        self.changes: Counter[str] = Counter()

    def open(self, *, lite: bool) -> sqlfront.Connection:
        """Open a session of the cluster."""
        address = f"sqlfront://{self._cluster.address.removeprefix('unix:')}"
        return sqlfront.connect(address, secret=_SECRET, workers=1, timeout=_TIMEOUT, lite=lite)

    def change(self, stopped: threading.Event) -> None:
        """Change the members until the end is told. Raises :class:`Wrong` if a member does not leave."""
        while not stopped.wait(self._chance.uniform(0.2, 3.0)):
            names = self._cluster.members.data_members
            moves = ["join"] if len(names) < _MOST else []
            if len(names) > _LEAST:
                moves += ["leave", "leave"] + ["kill"] * self._kills
            move = self._chance.choice(moves)
            self.changes[move] += 1
            if move == "join":
                self._cluster.add(1)
            else:
                self._end(self._chance.choice(names), signal.SIGTERM if move == "leave" else signal.SIGKILL)

    def _end(self, name: str, number: signal.Signals) -> None:
        process = self._cluster.processes[name]
        os.kill(process.pid, number)
        until(lambda: process.poll() is not None, f"member {name} has not left", _LEAVING)
        until(lambda: name not in self._cluster.members, f"member {name} is still in the list", _LEAVING)
        if number is signal.SIGKILL:
            with self.open(lite=True) as connection:
                until(lambda: is_whole(connection), "the backups are not made anew", _LEAVING)

    def check_the_end(self) -> None:
        """Raise :class:`Wrong` if members hold anything of past statements."""
        client = self._cluster.client()
        try:
            left: dict[str, object] = {}

            def free() -> bool:
                reports = ask(client.member)
                left.clear()
                left.update({name: (each.statistics, each.tables) for name, each in reports.items()})
                return all(idle(each) and each.tables < _MIB for each in reports.values())

            until(free, f"something is left: {left}", 30.0)
        finally:
            client.close()

    def close(self) -> None:
        """End all members."""
        self._cluster.close()


def is_whole(connection: sqlfront.Connection) -> bool:
    """Whether all rows lie on their owners, with as many backups as there can be."""
    cluster = connection.session.cluster
    assert isinstance(cluster, ProcessMembers)
    return all(table.in_place for table in cluster.spread_tables())


def until(fact: Callable[[], bool], otherwise: str, seconds: float) -> None:
    """Wait until the fact is true; :class:`Wrong` after so many seconds."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > deadline:
            raise Wrong(otherwise)
        time.sleep(0.02)


class Embedded:
    """Three members in this process, which all sessions are: one session in two roles."""

    def __init__(self) -> None:
        self.changes: Counter[str] = Counter()

    def open(self, *, lite: bool) -> sqlfront.Connection:
        """Open the session, or give it again."""
        if lite:
            self._opened = sqlfront.connect(members=3, workers=1, backups=1, timeout=_TIMEOUT)
        return self._opened


@contextmanager
def crew(seed: int, *, kills: bool, embedded: bool) -> Iterator["Crew | Embedded"]:
    """Begin the members, and end them."""
    if embedded:
        yield Embedded()
        return
    made = Crew(seed, kills=kills)
    try:
        yield made
    finally:
        made.close()


def campaign(
    seed: int,
    seconds: float,
    authors: int = 2,
    rounds: int = 1_000_000,
    *,
    calm: bool = False,
    kills: bool = False,
    embedded: bool = False,
) -> tuple[list[str], Counter[str]]:
    """Run authors until the seconds are over, or so many rounds of each. Return the findings, and how often
    each outcome was met."""
    findings: list[str] = []
    stopped = threading.Event()
    with crew(seed, kills=kills, embedded=embedded) as members:
        duels = [
            Duel(number, seed, members.open, stopped, rounds) for number in range(1 if embedded else authors)
        ]
        for duel in duels:
            duel.start()
        timer = threading.Timer(seconds, stopped.set)
        timer.daemon = True
        timer.start()
        ended = threading.Event()
        watch = threading.Thread(target=_await, args=(duels, stopped, ended, findings), daemon=True)
        watch.start()
        try:
            if isinstance(members, Crew) and not calm:
                members.change(ended)
            watch.join()
            if isinstance(members, Crew) and not any(duel.found for duel in duels) and not findings:
                members.check_the_end()
        except Wrong as error:
            findings.append(f"seed {seed}: {error}")
        stopped.set()
        watch.join()
        timer.cancel()
        findings += [duel.found for duel in duels if duel.found is not None]
        outcomes = sum((duel.outcomes for duel in duels), Counter(members.changes))
    print(f"the slowest statement took {max(duel.longest for duel in duels):.1f} s")
    return findings, outcomes


def _await(
    duels: Sequence[Duel], stopped: threading.Event, ended: threading.Event, findings: list[str]
) -> None:
    """Wait for all authors; one whose statement never ends is a finding."""
    while any(duel.is_alive() for duel in duels):
        time.sleep(0.1)
        for duel in duels:
            began = duel.began
            if began is not None and time.monotonic() - began > _TIMEOUT + _SLACK:
                findings.append(f"{duel.name}: a statement never ends: {duel.text}")
                faulthandler.dump_traceback(all_threads=True)
                stopped.set()
                ended.set()
                return
    ended.set()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--authors", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1_000_000)
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--kills", action="store_true")
    parser.add_argument("--embedded", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    findings, outcomes = campaign(
        options.seed,
        options.minutes * 60,
        options.authors,
        options.rounds,
        calm=options.calm,
        kills=options.kills,
        embedded=options.embedded,
    )
    print(*findings, sep="\n\n")
    print(f"{len(findings)} findings; {dict(outcomes)}")
    return len(findings) > 0


if __name__ == "__main__":
    sys.exit(main())
