"""Tables over simulated members under random faults, proof that this finds bugs, and a member that is killed
in the midst of an UPDATE."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from msgspec.structs import replace

from sqlfront.cluster.handover import Handover
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.cluster.service import TableService
from sqlfront_cluster.members.applied_changes import AppliedChanges
from sqlfront_cluster.members.cluster_messages import PutDocument
from sqlfront_cluster.members.keeper import Keeper
from sqlfront_cluster.members.keeper_documents import KeeperDocuments
from sqlfront_cluster.members.membership import Membership
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.exchange import holding
from sqlfront_connectors.memory.segments.merging import merged
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread import store
from sqlfront_connectors.memory.spread import table as tables
from sqlfront_connectors.memory.spread.backups import Backups, readers_of
from sqlfront_connectors.memory.spread.documents import TABLE
from sqlfront_connectors.memory.spread.processors import BackupShare
from sqlfront_connectors.memory.spread.row_changes import ShareChange
from sqlfront_connectors.memory.spread.table import NextVersion, SpreadSnapshot, SpreadTable
from sqlfront_connectors.memory.spread.version_keys import (
    attempt_token,
    changed_key,
    expected_version,
    token_of,
)
from sqlfront_engine.dag import DAG
from sqlfront_values.errors import OperationalError
from tests.cluster.seeds import Bug
from tests.sqlfront.crash_points import STEPS
from tests.sqlfront.simulated import Reading, SimulatedSession, TableTown
from tests.sqlfront.table_chaos import TableChaos, explore

#: Seeds of the test command; `python -m tests.sqlfront.table_chaos` runs as many as it is told.
SEEDS = 25
#: Seeds of the test command in which members leave and join besides.
LEAVING_SEEDS = 8
#: Seeds of the test command in which processes crash at chosen steps besides.
CRASHING_SEEDS = 8
#: Seeds of the test command in which keepers are killed and stopped besides.
KEEPER_SEEDS = 8
#: Seeds within which a planted bug has to be found.
PATIENCE = 1000
#: At how many points of an UPDATE a member is killed: in the test command, and in `make cluster`.
POINTS = [10, pytest.param(200, marks=pytest.mark.cluster)]
#: Simulated seconds between two queries of a reader.
PAUSE = 0.03


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def test_readers_see_versions_and_confirmed_writes_last() -> None:
    count, outcome = explore(range(SEEDS))

    assert count == SEEDS
    assert outcome.read > outcome.written > SEEDS
    assert outcome.failed > 0


def test_lookups_see_one_version_or_say_why_not() -> None:
    _, outcome = explore(range(SEEDS), lookups=True)

    assert outcome.looked_up > 10 * SEEDS
    assert outcome.failed > 0


def test_changes_of_rows_by_key_from_two_sessions_follow_one_another() -> None:
    _, outcome = explore(range(3), changes=True, backups=1)

    assert outcome.written > 20


@pytest.mark.soak
@pytest.mark.parametrize("backups", [0, 1])
def test_changes_of_rows_by_key_under_many_seeds(backups: int) -> None:
    explore(range(1000), changes=True, backups=backups)


def test_members_that_leave_and_join_lose_no_row() -> None:
    _, outcome = explore(range(LEAVING_SEEDS), leaves=True)

    assert outcome.left > LEAVING_SEEDS // 4
    assert outcome.read > 0
    assert outcome.written > 0


def test_no_statement_notices_that_the_keeper_was_followed_by_another_one() -> None:
    """Without other faults no statement may fail (:meth:`TableChaos._failed`)."""
    _, outcome = explore(range(KEEPER_SEEDS), keepers=True)

    assert outcome.takeovers >= KEEPER_SEEDS
    assert outcome.read > outcome.written > KEEPER_SEEDS


@pytest.mark.soak
@pytest.mark.parametrize("backups", [0, 1])
def test_keepers_that_are_followed_under_many_seeds(backups: int) -> None:
    _, outcome = explore(range(1000), lookups=True, backups=backups, leaves=backups > 0, keepers=True)

    assert outcome.takeovers > 1000


def test_a_keeper_that_knows_no_requests_of_the_former_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AppliedChanges, "find", lambda *_: None)

    with pytest.raises(Bug, match="error though nothing was disturbed"):
        explore(range(PATIENCE), keepers=True)


def test_a_leaving_member_runs_the_jobs_that_were_sent_before() -> None:
    """Seed 30: a job arrived after the member had said that it was idle, and failed with its end."""
    explore([30], leaves=True)


def test_crashes_at_the_steps_of_handovers_and_writes_lose_no_row_that_has_backups() -> None:
    _, outcome = explore(range(CRASHING_SEEDS), leaves=True, backups=1, crashes=True)

    assert {work for work, _ in outcome.reached} == STEPS.keys()
    assert outcome.crashed.total() > CRASHING_SEEDS // 2


@pytest.mark.soak
@pytest.mark.parametrize("backups", [0, 1, 2])
def test_handovers_under_many_seeds(backups: int) -> None:
    explore(range(1000), lookups=True, backups=backups, leaves=True)
    _, outcome = explore(range(1000), backups=backups, leaves=True, crashes=True)

    steps = {step for step in outcome.reached if backups or step[0] != "repair"}
    crashed = {(crash.work, crash.step) for crash in outcome.crashed}
    assert len(crashed) > 0.8 * len(steps)


@pytest.mark.parametrize("seed", [81])
def test_a_seed_that_has_found_a_bug_finds_none_any_more(seed: int) -> None:
    """81: the connection with the keeper broke while a session wrote, and its turn was never given back."""
    assert TableChaos(seed).run().written > 0


def test_a_seed_replays_exactly() -> None:
    def record(seed: int) -> list[tuple[str, str, str]]:
        chaos = TableChaos(seed)
        chaos.run()
        return [(sender, to, type(message).__name__) for sender, to, message in chaos.town.said]

    said = record(5)
    assert len(said) > 100
    assert said == record(5)


# ---- planted bugs


def put_whatever_was_expected(self: Keeper, writer: Any, peer: Any, message: PutDocument) -> None:
    PUT(
        self, writer, peer, PutDocument(message.request, message.key, None, message.content, message.premises)
    )


def freed_as_soon_as_replaced(self: TableService, key: str) -> bool:
    self._published.discard(key)
    return IS_NEEDED(self, key)


def only_published_is_needed(self: TableService, key: str) -> bool:
    return key in self._current.get(key.rpartition("@")[0], ())


def never_freed(self: TableService) -> None:
    """All versions stay."""


def lost_shares_left_out(self: SpreadSnapshot) -> dict[str, str]:
    """The shares of lost members are taken for empty."""
    present = self.members.member_list.data_members
    return {owner: owner for owner in self.held.owners if owner in present}


def published_after_the_first_report(
    self: SimulatedSession, dag: DAG, resources: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    for batch in RUN(self, dag, resources):
        yield batch
        return


def as_in_the_last_whole_version(version: str, member: str) -> str:
    return version.partition("\x1f")[0]


def as_if_all_shares_were_new(version: str, member: str) -> str:
    return version


def forgetting_earlier_changes(base: str, shares: Mapping[str, str]) -> str | None:
    return CHANGED_KEY(base.partition("\x1f")[0], shares)


CHANGED_KEY = changed_key
PUT = Keeper._put
IS_NEEDED = TableService._is_needed
RUN = SimulatedSession.run


@pytest.mark.parametrize(
    ("owner", "name", "bug"),
    [
        (Keeper, "_put", put_whatever_was_expected),
        (TableService, "_is_needed", freed_as_soon_as_replaced),
        (TableService, "_is_needed", only_published_is_needed),
        (TableService, "sweep", never_freed),
        (SpreadSnapshot, "readers", lost_shares_left_out),
        (SimulatedSession, "run", published_after_the_first_report),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_bug_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, bug: Callable[..., object]
) -> None:
    monkeypatch.setattr(owner, name, bug)

    with pytest.raises(Bug) as found:
        explore(range(PATIENCE))
    print(found.value)


def begun_with_the_latest_document(self: ProcessMembers, table: SpreadTable) -> str:
    key = f"{TABLE}{table.identity}"
    self._versions[table.identity] = self.documents.version(key), ()
    return attempt_token(self._token(), self.documents.version(key))


def begun_beside_turns(self: ProcessMembers, table: SpreadTable) -> str | None:
    token = BEGIN_ATTEMPT(self, table)
    if token is not None:
        self._versions[table.identity] = self._versions[table.identity][0], ()
    return token


def only_needed_in_a_turn(self: TableService, key: str) -> bool:
    return expected_version(token_of(key)) is None and IS_NEEDED(self, key)


BEGIN_ATTEMPT = ProcessMembers.begin_attempt


@pytest.mark.parametrize(
    ("owner", "name", "bug"),
    [
        (ProcessMembers, "begin_attempt", begun_with_the_latest_document),
        (ProcessMembers, "begin_attempt", begun_beside_turns),
        pytest.param(TableService, "_is_needed", only_needed_in_a_turn, marks=pytest.mark.cluster),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_bug_in_attempts_without_a_turn_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: type | ModuleType, name: str, bug: Callable[..., object]
) -> None:
    monkeypatch.setattr(owner, name, bug)

    with pytest.raises(Bug) as found:
        explore(range(PATIENCE), changes=True)
    print(found.value)


@pytest.mark.parametrize(
    ("module", "name", "bug"),
    [
        (store, "share_key", as_in_the_last_whole_version),
        (holding, "share_key", as_if_all_shares_were_new),
        (tables, "changed_key", forgetting_earlier_changes),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_bug_in_the_keys_of_versions_is_found(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, bug: Callable[..., object]
) -> None:
    monkeypatch.setattr(module, name, bug)

    with pytest.raises(Bug) as found:
        explore(range(PATIENCE), lookups=True)
    print(found.value)


def test_the_shares_of_a_failed_change_are_freed_though_nobody_writes_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town = TableTown("m0", "m1", "m2", "client-0", "client-1", seed=1)
    town.create("client-0", Partitioning((0,), 271), ROWS)
    current = town.acknowledged[-1]
    monkeypatch.setattr(SimulatedSession, "publish", interrupted)
    with pytest.raises(OperationalError, match="interrupted"):
        town.complete(town.change("client-0", [1, 2, 3], 7))
    assert {*town.keys()["m0"], *town.keys()["m1"], *town.keys()["m2"]} > {current}

    town.simulation.pass_time(1)
    assert [*town.keys().values()] == 3 * [[current]]


def test_the_shares_of_a_writer_that_is_gone_are_freed() -> None:
    town = TableTown("m0", "m1", "m2", "client-0", "client-1", seed=1)
    town.create("client-0", Partitioning((0,), 271), ROWS)
    current = town.acknowledged[-1]
    statement = town.change("client-1", [1, 2, 3], 7)
    while {key for keys in town.keys().values() for key in keys} == {current}:
        town.resume(statement)
        assert town.simulation.step()
    town.kill("client-1")

    town.simulation.pass_time(15)
    assert [*town.keys().values()] == 3 * [[current]]


def interrupted(self: SimulatedSession, table: SpreadTable, version: object) -> None:
    raise OperationalError("interrupted")


# ---- a member that is lost in the midst of an UPDATE

ROWS = tuple((key, 0) for key in range(60))
NEW = tuple((key, 1) for key in range(60))


class Update:
    """An UPDATE over three members, beside eight readers of two sessions that begin again and again."""

    def __init__(self) -> None:
        self.town = TableTown("m0", "m1", "m2", "client-0", "client-1", seed=3)
        self.town.create("client-0", Partitioning((0,), 271), ROWS)
        self.before, self.seen = self.town.acknowledged[-1], set[str | None]()
        self.statement = self.town.update("client-0", 1)
        self.steps = 0
        self._readers: list[Reading | None] = [None] * 8
        self._pause_until = [number * PAUSE / 8 for number in range(8)]

    def step(self) -> None:
        """The next event, and a look at all readers; each sees one version, or is told why not."""
        self.town.resume(self.statement)
        assert self.town.simulation.step()
        self.steps += 1
        for number, reading in enumerate(self._readers):
            try:
                if reading is None:
                    if self._pause_until[number] <= self.town.simulation.time:
                        self._readers[number] = self.town.reading(f"client-{number % 2}")
                elif reading.poll():
                    self.seen.add(reading.key)
                    self._pause(number)
            except OperationalError as error:
                if "lost" not in str(error) and error.sqlstate != "40001":
                    raise
                self._pause(number)

    def _pause(self, number: int) -> None:
        self._readers[number] = None
        self._pause_until[number] = self.town.simulation.time + PAUSE

    def current(self) -> str | None:
        """The version that all sessions read."""
        tables = [self.town.sessions[name].only_table() for name in ("client-0", "client-1")]
        (found,) = {table.snapshot().held.key for table in tables if table is not None}
        return found


@pytest.mark.parametrize("points", POINTS)
def test_a_member_killed_in_the_midst_of_an_update_leaves_the_old_version_or_the_new_one(points: int) -> None:
    undisturbed = Update()
    while not undisturbed.statement.ended:
        undisturbed.step()
    length = undisturbed.steps
    assert undisturbed.statement.error is None
    assert undisturbed.before in undisturbed.seen

    outcomes = Counter[str]()
    for number in range(points):
        outcomes[killed(("m0", "m2")[number % 2], number * length // (points - 1), length)] += 1
    print(dict(outcomes), f"{length} steps")
    assert outcomes["old"] > 0 and outcomes["new"] > 0


def killed(victim: str, step: int, length: int) -> str:
    """Which version is left after the member was killed at that step."""
    update = Update()
    town = update.town
    while update.steps < step:
        update.step()
    town.kill(victim)
    while not update.statement.ended or update.steps < length + 50:
        update.step()
    town.simulation.pass_time(15)
    current = update.current()
    key = update.before if current == update.before else town.acknowledged[-1]
    assert current == key
    assert (update.statement.error is None) == (current != update.before)
    assert town.rows[current] == (ROWS if current == update.before else NEW)
    with pytest.raises(OperationalError, match=f"were lost with {victim}"):
        town.reading("client-1")
    town.complete(town.insert("client-1", ROWS, overwrite=True))
    reading = town.reading("client-0")
    assert town.run(reading.poll)
    return "old" if current == update.before else "new"


# ---- tables with backups


def test_no_row_is_lost_with_as_many_members_as_there_are_backups() -> None:
    _, outcome = explore(range(100, 103), lookups=True, backups=1)

    assert outcome.written > 5
    assert outcome.read > 5


@pytest.mark.soak
@pytest.mark.parametrize("backups", [1, 2])
def test_backups_under_many_seeds(backups: int) -> None:
    explore(range(1000), lookups=True, backups=backups)


def owners_not_compared(self: KeeperDocuments, message: PutDocument, dealt: int) -> bool:
    """A version is published on a member that has handed over meanwhile."""
    return ALLOWS(self, replace(message, dealt=None), dealt)


def lost_holders_read(
    owners: Sequence[str], backups: Backups, present: frozenset[str]
) -> Mapping[str, str | None]:
    """Backups are read from holders that are gone."""
    return READERS(owners, backups, present.union(*(holders for _, holders in backups)))


ALLOWS = KeeperDocuments._allows
READERS = readers_of


@pytest.mark.parametrize(
    ("owner", "name", "bug", "backups"),
    [
        (Handover, "_move_all", lambda self: True, 0),
        (KeeperDocuments, "_allows", owners_not_compared, 0),
        pytest.param(Membership, "_leave_soon", Membership._leave_when_idle, 0, marks=pytest.mark.cluster),
        (NextVersion, "_placed_backups", lambda self: (), 1),
        (tables, "readers_of", lost_holders_read, 1),
    ],
    ids=["rows_stay", "owners", "leaves_early", "no_backups", "lost_holders"],
)
def test_a_bug_planted_in_handovers_or_backups_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: object, name: str, bug: Callable[..., object], backups: int
) -> None:
    monkeypatch.setattr(owner, name, bug)

    with pytest.raises(Bug) as found:
        explore(range(PATIENCE), backups=backups, leaves=True, crashes=True)
    print(found.value)


def without_backups(self: NextVersion, base: str, shares: Mapping[str, ShareChange]) -> Mapping[str, bytes]:
    self.base = replace(self.base, backups=())
    return QUESTIONS(self, base, shares)


def merged_once_more(
    self: BackupShare,
    present: tuple[Segment, ...],
    batches: list[pa.RecordBatch],
    partitions: tuple[int, ...] = (),
) -> tuple[TableShare, int]:
    """The same rows as in the share, but some under other numbers."""
    share, written = MADE(self, present, batches, partitions)
    segments = merged(share.segments, share.schema, share.partitioning)
    return TableShare(share.schema, share.partitioning, segments), written


QUESTIONS = NextVersion._questions
MADE = BackupShare.made


@pytest.mark.parametrize(
    ("owner", "name", "bug"),
    [
        (NextVersion, "_questions", without_backups),
        (BackupShare, "divided", lambda self, batch: iter(())),
        (BackupShare, "made", merged_once_more),
    ],
    ids=["_questions", "divided", "made"],
)
def test_a_bug_planted_in_the_backups_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, bug: Callable[..., object]
) -> None:
    monkeypatch.setattr(owner, name, bug)

    with pytest.raises(Bug) as found:
        explore(range(PATIENCE), lookups=True, backups=1)
    print(found.value)
