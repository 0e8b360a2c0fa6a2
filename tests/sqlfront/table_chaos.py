"""Random writes and reads of a table over simulated members, with random faults: who reads sees one version,
what was confirmed or read is in the history of what is read later, what was refused isn't, and old versions
are freed.

    python -m tests.sqlfront.table_chaos --seeds 10000 --jobs 2     # each seed draws its scenario
    python -m tests.sqlfront.table_chaos --seeds 1000 --leaves --backups 1     # all seeds have this one
"""

import gc
import re
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Final

from sqlfront_cluster.members.protocol.member_list import CHANGED
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments import merging
from sqlfront_connectors.memory.spread import moves, version_keys
from sqlfront_connectors.memory.spread.backups import readers_of
from sqlfront_connectors.memory.spread.version import LOST, MIXED, TableVersion
from sqlfront_connectors.memory.spread.version_keys import uses
from sqlfront_values.errors import OperationalError
from tests.cluster.seeds import Bug, campaign, run_seeds, seed_parser
from tests.sqlfront.backup_order import BackupOrder
from tests.sqlfront.chaos_forms import CHANCES, Outcome, Scenario, summary
from tests.sqlfront.crash_points import CRASHES, Crash, CrashPoints
from tests.sqlfront.keeper_faults import KeeperFaults
from tests.sqlfront.message_faults import MessageFaults
from tests.sqlfront.simulated import Killed, Reading, Rows, Statement, TableTown

MEMBERS: Final = ("m0", "m1", "m2")
#: Members of half of the seeds with two backups. Three of them stay: among fewer, rows with two backups don't
#: move by steps.
MORE_MEMBERS: Final = (*MEMBERS, "m3", "m4")
CLIENTS: Final = ("client-0", "client-1")
PARTITIONINGS: Final = (Partitioning((0,), 271), Partitioning((0,), 8), None)
#: The SQLSTATE of errors that don't say whether the statement has written; all others say that it has not.
UNKNOWN: Final = "08007"
#: The SQLSTATE of messages that make no sense, which no loss of a member excuses.
MALFORMED: Final = "08P01"
#: Events after which new garbage is collected.
COLLECT_AFTER: Final = 1000
#: The number of a seed's errors after which clients pause for so many seconds behind each further one. Until
#: a lost member is given up, each query that meets it fails at once: clients that asked again at once made
#: a million events in a second.
MANY_ERRORS: Final = 200
PAUSE: Final = 0.02
#: Simulated seconds within which all statements of a seed end.
LONGEST: Final = 2000.0


class TableChaos:
    """One seed of a scenario."""

    def __init__(self, seed: int, scenario: Scenario = Scenario()) -> None:  # noqa: B008 - frozen
        # With every third seed one client has no place in the member list.
        observers = CLIENTS[1:] if seed % 3 == 1 else ()
        self._seed = seed
        members = MORE_MEMBERS if scenario.backups == 2 and seed % 2 else MEMBERS
        self._least = len(members) - 2
        self.town = TableTown(*members, *CLIENTS, seed=seed, observers=observers)
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
        # The time before which no client asks again.
        self._paused_until = 0.0
        # The members that have begun to leave, those that have left included.
        self._leavers: set[str] = set()
        self._breaks = self.random.randint(0, 3)
        self._faults = self.random.choice((0.0, 0.002, 0.01))
        self._disturbed = False
        self._left = self.random.randint(20, 30) if scenario.changes else self.random.randint(3, 8)
        # The members that have ever been in the list.
        self._listed: set[str] = {*members}
        self._noted = self.town.keeper.members
        # Whether there was no member at any time: the last one takes its rows with it.
        self._emptied = False
        self._crashes: CrashPoints | None = None
        takeovers = self.random.randint(1, 3) if scenario.keepers else 0
        self._keepers = KeeperFaults(self.town, takeovers, self.random)
        self._messages: MessageFaults | None = None
        self._backups = BackupOrder(self.town)
        # Statements that may come besides while planned crashes wait for their steps.
        self._more = 8
        # The versions of statements whose errors say that nothing was written.
        self._refused: list[str] = []
        # The versions that queries have read to the end.
        self._seen: set[str | None] = set()

    def _planned(self) -> list[Crash]:
        """Return the crashes to come, at one or two steps; works are equally likely."""
        possible: dict[str, list[Crash]] = {}
        for each in CRASHES:
            if (self._scenario.backups or (each.step != "backup stored" and each.work != "repair")) and (
                self._scenario.leaves or each.work != "handover"
            ):
                possible.setdefault(each.work, []).append(each)
        works = self.random.sample([*possible], self.random.choice((1, 1, 2)))
        return [self.random.choice(possible[work]) for work in works]

    def run(self) -> Outcome:
        """Let it all happen; raises :class:`Bug`."""
        usual = moves.STEP_BYTES, version_keys.MOST_NAMED, merging.GROUP_ROWS
        if self._seed % 2:  # many steps
            moves.STEP_BYTES = 80  # type: ignore[misc]
        if self._seed % 4 == 1:  # changes by key make all shares anew, as those on very many members do
            version_keys.MOST_NAMED = 1  # type: ignore[misc]
        if self._seed % 3 == 1:  # many segments
            merging.GROUP_ROWS = 8  # type: ignore[misc]
        try:
            return self._run()
        finally:
            moves.STEP_BYTES, version_keys.MOST_NAMED, merging.GROUP_ROWS = usual  # type: ignore[misc]

    def _run(self) -> Outcome:
        self.town.create(
            CLIENTS[0], self.random.choice(PARTITIONINGS), self._new_rows(), self._scenario.backups
        )
        self._begin_faults()
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
        self._sum_up()
        return self.outcome

    def _begin_faults(self) -> None:
        """Begin to lose messages, and plan crashes."""
        losses, delays = self._scenario.losses, self._scenario.delays
        if losses or delays:
            self._messages = MessageFaults(self.town, self.random, losses=losses, delays=delays)
        if self._scenario.crashes:
            # In half of the seeds nothing else is disturbed, so that more is known of what must not happen.
            self._breaks = self.random.choice((0, self._breaks))
            planned = self._planned()
            self._crashes = CrashPoints(self.town, planned, self.random)
            if any(crash.work == "takeover" for crash in planned):
                self._keepers.left = max(2, self._keepers.left)

    def _sum_up(self) -> None:
        self.outcome.steps, self.outcome.takeovers = self.simulation.steps, self.town.epoch - 1
        self.outcome.forms.update(self._scenario.parts())
        if self._messages is not None:
            self.outcome.lost, self.outcome.late = self._messages.lost, self._messages.late
        if self._crashes is not None:
            self.outcome.reached, self.outcome.crashed = self._crashes.reached, self._crashes.happened

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
        if self.simulation.steps % COLLECT_AFTER == 0:
            gc.collect(0)
        if self.simulation.time > LONGEST:
            raise Bug(
                f"statements hang: {[*self._writes]} write, {[each.machine for each in self._leaving]} leave"
            )
        self._note_members()
        self._backups.check()
        if self._crashes is not None:
            self._crash(self._crashes)
        self._disturbed |= self._messages is not None and self._messages.disturb
        self._keepers.step()
        if self._breaks and self.random.random() < self._faults:
            self._breaks -= 1
            self._break_something()
        sessions = [name for name in self.town.alive if name in CLIENTS]
        if not sessions:
            self._left = 0
        elif self._asks() and self.random.random() < (0.2 if self._scenario.changes else 0.02):
            self._begin(self.random.choice(sessions))
        for name, statement in tuple(self._writes.items()):
            if self.town.resume(statement) and statement.ended:
                del self._writes[name]
                self._written(statement)
                self._note_refused(statement)
        acted, machines = self.simulation.acted, self.simulation.machines
        for reading in tuple(self._reads):
            # An event of another machine brings a query no batch, and doesn't end it.
            if acted is None or acted.name == reading.at or not machines[reading.at].alive:
                self._look(reading)
        self._look_up(sessions)
        if self._scenario.leaves or self._scenario.joins:
            self._leave()

    def _note_members(self) -> None:
        members = self.town.keeper.members
        if members is not self._noted:
            self._noted = members
            self._listed.update(members.data_members)
            self._emptied |= members.version > 0 and not members.data_members
            self._check_leaving()

    def _crash(self, crashes: CrashPoints) -> None:
        """Lose a member first where rows are to be repaired, and let statements come until all crashes have
        happened."""
        self._disturbed |= bool(crashes.happened)
        if not crashes.planned:
            return
        repairs = any(crash.work == "repair" for crash in crashes.planned)
        if self._more and self._left < 2:
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
        if not self._left:
            return
        joined = [name for name in self._members() if self.town.memberships[name].joined]
        if self.random.random() < (0.01 if self._scenario.crashes else 0.003):
            self._changed = True
            self._change_members(joined)
        elif (newcomers := self._newcomers(joined)) and self.random.random() < 0.005:
            self._begin_to_leave(newcomers)

    def _newcomers(self, joined: Sequence[str]) -> list[str]:
        """Return the members that have joined and hold backups of rows, but no rows of their own yet; none if
        no further member is to leave."""
        staying = {*joined} - self._leavers
        leave = self._scenario.leaves and len(staying) > self._least
        copies = self._backups.latest.values() if leave else ()
        held = {name for version in copies for name in _holders(version) - {*version.owners}}
        return sorted(held & staying)

    def _begin_to_leave(self, names: Sequence[str]) -> None:
        """Let one of these members begin to leave."""
        leaver = self.random.choice(names)
        self._leavers.add(leaver)
        self._leaving.append(self.town.leave(leaver))

    def _change_members(self, joined: Sequence[str]) -> None:
        """Let a member leave, which moves all rows, unless that is to be a repair; or let one join, or give
        those that have joined their share of the partitions."""
        staying = [name for name in joined if name not in self._leavers]
        repairs = any(crash.work == "repair" for crash in self._crashes.planned) if self._crashes else False
        leaves = self._scenario.leaves and not repairs
        if len(staying) > self._least and leaves and self.random.random() < 0.7:
            self._begin_to_leave(staying)
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
        return [name for name in self.town.alive if name in self.town.services]

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
        if self._scenario.lookups and sessions and self._asks() and self.random.random() < 0.05:
            at = self.random.choice(sessions)
            keys = [self.random.randrange(self._next_key + 3) for _ in range(self.random.randint(1, 4))]
            self._lookups.append((self.town.look_up(at, keys), self.simulation.time))

    def _asks(self) -> bool:
        """Whether clients begin statements now."""
        return bool(self._left) and self.simulation.time >= self._paused_until

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
                self._seen.add(reading.key)
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

    def _note_refused(self, statement: Statement) -> None:
        """Note the versions of a statement whose error says that nothing was written."""
        error = statement.error
        if isinstance(error, OperationalError) and error.sqlstate != UNKNOWN:
            self._refused += self.town.sessions[statement.machine].tried

    def _failed(self, error: OperationalError) -> None:
        self.outcome.failed += 1
        if self.outcome.failed > MANY_ERRORS:
            self._paused_until = self.simulation.time + PAUSE
        self._check_lost(error)
        changed = self._changed and error.sqlstate == CHANGED
        if not (self._disturbed or changed or self._names_who_never_joined(error)):
            raise Bug(f"an error though nothing was disturbed: {error}")
        if error.sqlstate == MALFORMED:
            raise Bug(f"a member has sent what makes no sense: {error}")

    def _names_who_never_joined(self, error: OperationalError) -> bool:
        """Return whether the error names a lost member that never knew that it had joined: the keeper died
        in between, and the next one can't tell it from another process of that name."""
        lost = re.match(r"member (m\d+) was lost", error.message)
        if lost is None or lost[1] not in self.town.ends:
            return False
        return lost[1] not in self.town.memberships[lost[1]].member.members

    def _check_lost(self, error: OperationalError) -> None:
        """Rows are lost only if more members with the version's rows are lost than it has backups, and not
        with those that have left."""
        if error.sqlstate != LOST or self._emptied:
            return
        named = {*re.findall(r"m\d+", str(error).partition("were lost with")[2])}
        gone = {name for name in named if self.town.ends.get(name, error) is None}
        tables = [self.town.sessions[name].only_table() for name in CLIENTS if name in self.town.alive]
        copies = [each.snapshot().held for each in tables if each]
        lost = self._lost()
        # One session may know a later version than the other.
        survives = all(len(lost & _holders(held)) <= self._promised(held) for held in copies)
        if survives or named == gone:
            raise Bug(f"rows were lost, though only {sorted(lost)} were lost, of {copies}: {error}")

    def _check_leaving(self) -> None:
        """Members that are about to leave in good order have handed over rows, and backups of rows, unless
        these can't be read or nobody else is left."""
        members, held = self.town.keeper.members, self.town.published()
        leaving = {each.name for each in members.members if each.leaving}
        if held is None or {*members.data_members} <= leaving:
            return
        readers = readers_of(held.owners, held.backups, frozenset({*members.data_members} | leaving))
        if None not in readers.values():
            assert not _holders(held) & leaving, f"{leaving} leave, but {held.key} has rows or backups there"

    def _promised(self, version: TableVersion) -> int:
        """Return how many members with rows of a version may be lost without a loss of rows. The owners of
        partitions have their rows on as many others as there are, at most as many as the scenario's backups;
        a member that leaves is none of these others."""
        owners = _holders(version)
        if version.dealt == MIXED:
            owners -= self._leavers
        return min(self._scenario.backups, max(len(owners) - 1, 0))

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
        if self._messages is not None:
            self._messages.end()
        gc.collect()
        self.simulation.pass_time(30)
        if self._crashes is not None:
            self._disturbed |= bool(self._crashes.happened)
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
        history: list[str | None] = [None]
        while current is not None:
            history.append(current)
            current = self.town.bases[current]
        for key in self.town.acknowledged:
            assert key in history, f"the confirmed version {key} was lost: {history}"
        assert self._seen <= {*history}, f"versions were read and then lost: {self._seen - {*history}}"
        for key in self._refused:
            assert key not in history, f"an error said that {key} was not written: {history}"


def _holders(version: TableVersion) -> set[str]:
    """The members with rows or backups of the version: while rows move, backups may lie on members that own
    nothing yet."""
    return {*version.owners}.union(*(holders for _, holders in version.backups))


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
    return run_seeds(partial(run_seed, scenario), seeds, Outcome())


def explore_all(seeds: Iterable[int]) -> tuple[int, Outcome]:
    """Run seeds of the scenarios that they draw; a bug names the seed that found it."""
    return run_seeds(partial(run_seed, None), seeds, Outcome())


def run_seed(scenario: Scenario | None, seed: int) -> Outcome:
    """Run a seed of a scenario, of the one that it draws if None; raises :class:`Bug`."""
    return TableChaos(seed, Scenario.drawn(seed) if scenario is None else scenario).run()


def main() -> int:
    parser = seed_parser(__doc__)
    parser.add_argument("--plain", action="store_true", help="nothing but random faults besides")
    parser.add_argument("--lookups", action="store_true", help="look up keys without jobs besides")
    parser.add_argument("--changes", action="store_true", help="change rows by their keys, and little else")
    parser.add_argument("--backups", type=int, help="backups of the table")
    parser.add_argument("--leaves", action="store_true", help="members leave and join besides")
    parser.add_argument("--joins", action="store_true", help="members join besides")
    parser.add_argument("--crashes", action="store_true", help="processes crash at chosen steps")
    parser.add_argument("--keepers", action="store_true", help="keepers are killed and stopped besides")
    parser.add_argument("--losses", action="store_true", help="single messages get lost")
    parser.add_argument("--delays", action="store_true", help="single messages are late")
    options = parser.parse_args()
    chosen = {name: getattr(options, name) for name in CHANCES}
    mixed = not options.plain and options.backups is None and not any(chosen.values())
    scenario = None if mixed else Scenario(backups=options.backups or 0, **chosen)
    return campaign(partial(run_seed, scenario), options, Outcome(), summary)


if __name__ == "__main__":
    sys.exit(main())
