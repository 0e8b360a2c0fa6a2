"""Random writes and reads of a table over simulated members, with random faults: who reads sees one version,
what was confirmed is in the history of what is read later, and old versions are freed.

    python -m tests.sqlfront.table_chaos --seeds 1000
"""

import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

import msgspec

from sqlfront_cluster.members.member_list import CHANGED
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.spread.table import LOST
from sqlfront_connectors.memory.spread.version_keys import uses
from sqlfront_values.errors import OperationalError
from tests.cluster.seeds import Bug, Sums, run_seeds, seed_parser
from tests.sqlfront.backup_order import BackupOrder
from tests.sqlfront.crash_points import CRASHES, Crash, CrashPoints, coverage
from tests.sqlfront.keeper_faults import KeeperFaults
from tests.sqlfront.simulated import Killed, Reading, Rows, Statement, TableTown

MEMBERS: Final = ("m0", "m1", "m2")
CLIENTS: Final = ("client-0", "client-1")
PARTITIONINGS: Final = (Partitioning((0,), 271), Partitioning((0,), 8), None)
#: The SQLSTATE of messages that make no sense, which no loss of a member excuses.
MALFORMED: Final = "08P01"
#: Simulated seconds within which all statements of a seed end.
LONGEST: Final = 2000.0


class Outcome(Sums):
    """How reads and writes of some seeds ended."""

    read: int = 0
    looked_up: int = 0
    written: int = 0
    failed: int = 0
    left: int = 0
    takeovers: int = 0
    steps: int = 0
    #: How often each step was reached at which processes may crash, and how often they crashed there.
    reached: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    crashed: Counter[Crash] = msgspec.field(default_factory=Counter)


class Scenario(msgspec.Struct, frozen=True):
    """What happens besides writes and reads. ``lookups``: rows are looked up and changed by their keys,
    without jobs. ``backups``: the table's backups; while no more members than that are lost, no row is.
    ``leaves``: members leave and join, which loses no row as long as one stays. ``crashes``: processes crash
    at chosen steps of handovers and writes, the keeper included. ``keepers``: keepers are killed and stopped
    at random steps and followed by others, which no statement may notice. ``changes``: most statements are
    changes of rows by their keys, and there are more statements."""

    lookups: bool = False
    backups: int = 0
    leaves: bool = False
    crashes: bool = False
    keepers: bool = False
    changes: bool = False


class TableChaos:
    """One seed of a scenario."""

    def __init__(self, seed: int, scenario: Scenario = Scenario()) -> None:  # noqa: B008 - frozen
        # With every third seed one client has no place in the member list.
        observers = CLIENTS[1:] if seed % 3 == 1 else ()
        self.town = TableTown(*MEMBERS, *CLIENTS, seed=seed, observers=observers)
        self.simulation = self.town.simulation
        self.random = self.simulation.random
        self.outcome = Outcome()
        self._reads: list[Reading] = []
        self._writes: dict[str, Statement] = {}
        self._lookups: list[tuple[Statement, float]] = []
        self._scenario = scenario
        # Whether a member has begun to leave or to join: statements may have to be run again, and no more.
        self._changed = False
        self._next_key = 0
        self._value = 0
        self._leaving: list[Statement] = []
        # The members that have begun to leave, those that have left included.
        self._leavers: set[str] = set()
        self._breaks = self.random.randint(0, 3)
        self._faults = self.random.choice((0.0, 0.002, 0.01))
        self._disturbed = False
        self._left = self.random.randint(20, 30) if scenario.changes else self.random.randint(3, 8)
        # The members that have ever been in the list.
        self._listed: set[str] = {*MEMBERS}
        # Whether there was no member at any time: the last one takes its rows with it.
        self._emptied = False
        self._crashes: CrashPoints | None = None
        takeovers = self.random.randint(1, 3) if scenario.keepers else 0
        self._keepers = KeeperFaults(self.town, takeovers, self.random)
        self._backups = BackupOrder(self.town)
        # Statements that may come besides while planned crashes wait for their steps.
        self._more = 8

    def _planned(self) -> list[Crash]:
        """Return the crashes to come, at one or two steps."""
        possible = [
            each
            for each in CRASHES
            if (self._scenario.backups or (each.step != "backup stored" and each.work != "repair"))
            and (self._scenario.leaves or each.work != "handover")
        ]
        return self.random.sample(possible, self.random.choice((1, 1, 2)))

    def run(self) -> Outcome:
        """Let it all happen; raises :class:`Bug`."""
        self.town.create(
            CLIENTS[0], self.random.choice(PARTITIONINGS), self._new_rows(), self._scenario.backups
        )
        if self._scenario.crashes:
            # In half of the seeds nothing else is disturbed, so that more is known of what must not happen.
            self._breaks = self.random.choice((0, self._breaks))
            self._crashes = CrashPoints(self.town, self._planned(), self.random)
        try:
            while self._left or self._writes or self._reads or self._lookups or self._leaving:
                self._step()
            self._check_the_end()
        except AssertionError as error:
            raise Bug(str(error)) from error
        finally:
            lookups = (lookup for lookup, _ in self._lookups)
            for statement in (*self._writes.values(), *lookups, *self._leaving):
                statement.kill()
        self.outcome.steps, self.outcome.takeovers = self.simulation.steps, self._keepers.takeovers
        if self._crashes is not None:
            self.outcome.reached, self.outcome.crashed = self._crashes.reached, self._crashes.happened
        return self.outcome

    def _new_rows(self) -> Rows:
        count = self.random.randint(1, 40)
        self._next_key += count
        return tuple((key, self._new_value()) for key in range(self._next_key - count, self._next_key))

    def _new_value(self) -> int:
        self._value += 1
        return self._value

    def _step(self) -> None:
        if not self.simulation.step():
            raise Bug("nothing will ever happen")
        if self.simulation.time > LONGEST:
            raise Bug(
                f"statements hang: {[*self._writes]} write, {[each.machine for each in self._leaving]} leave"
            )
        self._note_members()
        self._backups.check()
        if self._crashes is not None:
            self._crash(self._crashes)
        if self._scenario.keepers:
            self._keepers.step()
        if self._breaks and self.random.random() < self._faults:
            self._breaks -= 1
            self._break_something()
        sessions = [name for name in CLIENTS if name in self.town.alive]
        if not sessions:
            self._left = 0
        elif self._left and self.random.random() < (0.2 if self._scenario.changes else 0.02):
            self._begin(self.random.choice(sessions))
        for name, statement in tuple(self._writes.items()):
            if self.town.resume(statement) and statement.ended:
                del self._writes[name]
                self._written(statement)
        for reading in tuple(self._reads):
            self._look(reading)
        self._look_up(sessions)
        if self._scenario.leaves:
            self._leave()

    def _note_members(self) -> None:
        members = self.town.keeper.members
        self._listed.update(members.data_members)
        self._emptied |= members.version > 0 and not members.data_members
        self._disturbed |= self._crashes is not None and bool(self._crashes.happened)

    def _crash(self, crashes: CrashPoints) -> None:
        """Lose a member first where rows are to be repaired, and go on until rows are moved or repaired if
        something is to crash meanwhile."""
        planned = {crash.work for crash in crashes.planned}
        repairs = "repair" in planned
        if planned & {"move", "repair"} and self._more and self._left < 2:
            self._more -= 1
            self._left += 1
        if repairs and not self._lost() and self.random.random() < 0.01:
            self._disturbed = True
            self.town.kill(self.random.choice(self._members()))

    def _leave(self) -> None:
        """Let members go on with leaving, and perhaps let one begin to leave, or a new one join."""
        for statement in tuple(self._leaving):
            if self.town.resume(statement) and statement.ended:
                self._leaving.remove(statement)
                self._has_left(statement)
        joined = [name for name in self._members() if self.town.memberships[name].joined]
        if self._left and self.random.random() < (0.01 if self._scenario.crashes else 0.003):
            self._changed = True
            self._change_members(joined)

    def _change_members(self, joined: Sequence[str]) -> None:
        """Let a member leave, which moves all rows, unless that is to be a repair; or let one join, or give
        those that have joined their share of the partitions."""
        staying = [name for name in joined if name not in self._leavers]
        repairs = any(crash.work == "repair" for crash in self._crashes.planned) if self._crashes else False
        if len(staying) > 1 and not repairs and self.random.random() < 0.7:
            leaver = self.random.choice(staying)
            self._leavers.add(leaver)
            self._leaving.append(self.town.leave(leaver))
        elif len(self.town.services) < 6:
            self.town.add(f"m{len(self.town.services)}")
        elif joined and self._scenario.crashes:
            self.town.memberships[self.random.choice(joined)].rebalance()

    def _has_left(self, statement: Statement) -> None:
        error = statement.error
        if error is None:
            self.outcome.left += 1
        elif isinstance(error, OperationalError):
            self._failed(error)
        elif not isinstance(error, Killed):
            raise error

    def _members(self) -> list[str]:
        return [name for name in self.town.services if name in self.town.alive]

    def _look_up(self, sessions: Sequence[str]) -> None:
        """Let lookups go on, and perhaps begin one."""
        for lookup in tuple(self._lookups):
            statement, began = lookup
            if self.town.resume(statement) and statement.ended:
                self._lookups.remove(lookup)
                if statement.error is None:
                    self.outcome.looked_up += 1
                else:
                    self._written(statement)
            elif self.simulation.time > began + 100:
                raise Bug("a lookup hangs")
        if self._scenario.lookups and sessions and self._left and self.random.random() < 0.05:
            at = self.random.choice(sessions)
            keys = [self.random.randrange(self._next_key + 3) for _ in range(self.random.randint(1, 4))]
            self._lookups.append((self.town.look_up(at, keys), self.simulation.time))

    def _begin(self, at: str) -> None:
        if len(self._reads) < 8 and self.random.random() < (0.1 if self._scenario.changes else 0.75):
            try:
                self._reads.append(self.town.reading(at))
            except OperationalError as error:
                self._failed(error)
            return
        if at in self._writes:
            return
        self._left -= 1
        kind = self.random.randrange(50 if self._scenario.changes else 8 if self._scenario.lookups else 5)
        if kind > 30 or kind == 7:
            statement = self.town.add_rows(at, self._new_rows())
        elif kind > 4:
            keys = [self.random.randrange(self._next_key + 3) for _ in range(self.random.randint(1, 4))]
            statement = self.town.change(at, keys, self.random.choice((None, self._new_value())))
        elif kind <= 1:
            statement = self.town.update(at, self._new_value(), self.random.choice((0, 0, 5)))
        elif self._moves(at) or (kind == 4 and self._disturbed):
            statement = self.town.place_anew(at)
        else:
            statement = self.town.insert(at, self._new_rows(), overwrite=self.random.random() < 0.3)
        self._writes[at] = statement

    def _moves(self, at: str) -> bool:
        """Return whether the session moves the rows that lie on former owners of partitions."""
        table = self.town.sessions[at].only_table() if self._scenario.crashes else None
        return table is not None and not table.in_place and self.random.random() < 0.5

    def _break_something(self) -> None:
        self._disturbed = True
        fault = self.random.randrange(5)
        alive = self.town.alive
        members = self._members()
        if fault == 0 and len(members) > 1:
            self.town.kill(self.random.choice(members))
        elif fault == 1 and len([name for name in CLIENTS if name in alive]) > 1:
            self.town.kill(self.random.choice(CLIENTS))
        elif fault <= 3:
            connections = self.simulation.connections()
            if connections:
                self.simulation.cut(*self.random.choice(connections))
        elif alive:
            self.town.pause(self.random.choice(alive), self.random.choice((0.01, 1.5, 20.0)))

    def _look(self, reading: Reading) -> None:
        if not self.simulation.machines[reading.at].alive:
            self._reads.remove(reading)
            return
        try:
            if reading.poll():
                self.outcome.read += 1
                self._reads.remove(reading)
        except OperationalError as error:
            self._reads.remove(reading)
            self._failed(error)
        if self.simulation.time > reading.began + 100:
            raise Bug("a query hangs")

    def _written(self, statement: Statement) -> None:
        error = statement.error
        if error is None:
            self.outcome.written += 1
        elif isinstance(error, OperationalError):
            self._failed(error)
        elif not isinstance(error, Killed):
            raise error

    def _failed(self, error: OperationalError) -> None:
        self.outcome.failed += 1
        self._check_lost(error)
        changed = self._changed and error.sqlstate == CHANGED
        if not (self._disturbed or changed):
            raise Bug(f"an error though nothing was disturbed: {error}")
        if error.sqlstate == MALFORMED:
            raise Bug(f"a member has sent what makes no sense: {error}")

    def _check_lost(self, error: OperationalError) -> None:
        """Rows are lost only if more members with the version's rows are lost than it has backups, and not
        with those that have left."""
        if error.sqlstate != LOST or self._emptied:
            return
        named = {*re.findall(r"m\d+", str(error).partition("were lost with")[2])}
        gone = {name for name in named if self.town.ends.get(name, error) is None}
        tables = [self.town.sessions[name].only_table() for name in CLIENTS if name in self.town.alive]
        copies = [
            ({*held.owners}, held.backups) for held in (each.snapshot().held for each in tables if each)
        ]
        lost = self._lost()
        # One session may know a later version than the other.
        survives = all(
            len(lost & owners) <= _promised(owners, self._scenario.backups) for owners, _ in copies
        )
        if survives or named == gone:
            raise Bug(f"rows were lost, though only {sorted(lost)} were lost, of {copies}: {error}")

    def _lost(self) -> set[str]:
        """Return the members that were lost: they are dead or not in the list, and have not left."""
        machines, present = self.simulation.machines, self.town.keeper.members.data_members
        return {
            name
            for name in self._listed
            if (name not in present or not machines[name].alive) and self.town.ends.get(name, 0) is not None
        }

    # ---- the end

    def _check_the_end(self) -> None:
        """Once all is quiet, the sessions agree on a version that follows from all confirmed ones, it can be
        read unless its rows are lost, and nothing else is left."""
        self._faults = 0.0
        self.simulation.pass_time(30)
        if self._crashes is not None:
            self._crashes.planned.clear()
        self._note_members()
        alive = [name for name in CLIENTS if name in self.town.alive]
        tables = [self.town.sessions[name].only_table() for name in alive]
        held = {table.snapshot().held for table in tables if table is not None}
        if not held:
            return
        assert len({version.key for version in held}) == 1, "sessions read different versions"
        current = held.pop().key
        self._check_history(current)
        try:
            reading = self.town.reading(alive[0])
            assert self.town.run(reading.poll, 60), "the last query hangs"
        except OperationalError as error:
            self._check_lost(error)
            if not self._disturbed or error.sqlstate != LOST:
                raise Bug(f"the rows can't be read: {error}") from error
        self.simulation.pass_time(130)
        for name, keys in self.town.keys().items():
            old = [key for key in keys if current is None or not uses(current, key, name)]
            assert not old, f"{name} still holds {old}"
        if (self._disturbed or self._changed) and self.town.leftovers():
            self.simulation.pass_time(300)  # data may be left without a job for that long
        left = self.town.leftovers()
        assert not left, f"left behind: {left}"

    def _check_history(self, current: str | None) -> None:
        history = []
        while current is not None:
            history.append(current)
            current = self.town.bases[current]
        for key in self.town.acknowledged:
            assert key in history, f"the confirmed version {key} was lost: {history}"


def _promised(owners: Collection[str], backups: int) -> int:
    """Return how many members with rows of a version may be lost without a loss of rows. ``owners``: the
    owners of partitions, whose rows are on as many others as there are, at most ``backups``."""
    return min(backups, len(owners) - 1)


def explore(
    seeds: Iterable[int],
    *,
    lookups: bool = False,
    backups: int = 0,
    leaves: bool = False,
    crashes: bool = False,
    keepers: bool = False,
    changes: bool = False,
) -> tuple[int, Outcome]:
    """Run seeds of a :class:`Scenario`; a bug names the seed that found it."""
    scenario = Scenario(lookups, backups, leaves, crashes, keepers, changes)
    return run_seeds(lambda seed: TableChaos(seed, scenario).run(), seeds, Outcome())


def main() -> int:
    parser = seed_parser(__doc__)
    parser.add_argument("--lookups", action="store_true", help="look up keys without jobs besides")
    parser.add_argument("--changes", action="store_true", help="change rows by their keys, and little else")
    parser.add_argument("--backups", type=int, default=0, help="backups of the table")
    parser.add_argument("--leaves", action="store_true", help="members leave and join besides")
    parser.add_argument("--crashes", action="store_true", help="processes crash at chosen steps")
    parser.add_argument("--keepers", action="store_true", help="keepers are killed and stopped besides")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began = time.perf_counter()
    seeds = range(options.first, options.first + options.seeds)
    count, total = explore(
        seeds,
        lookups=options.lookups,
        backups=options.backups,
        leaves=options.leaves,
        crashes=options.crashes,
        keepers=options.keepers,
        changes=options.changes,
    )
    seconds = time.perf_counter() - began
    print(
        f"{count} seeds in {seconds:.0f} s ({60 * count / seconds:.0f} a minute): {total.written} writes,"
        f" {total.read} reads and {total.looked_up} lookups of one version each, {total.failed} named errors,"
        f" {total.left} members left, {total.takeovers} takeovers,"
        f" {total.steps:,} events"
    )
    if options.crashes:
        print(coverage(total.reached, total.crashed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
