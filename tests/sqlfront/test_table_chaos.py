"""Tables over simulated members under random faults, proof that this finds bugs, and a member that is killed
in the midst of an UPDATE."""

import logging
from collections import Counter
from functools import partial

import pytest

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.spread import version_keys
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_values.errors import OperationalError
from tests.cluster.seeds import Bug, collected_by_hand, run_seeds
from tests.sqlfront.chaos_forms import CHANCES, Outcome, Scenario
from tests.sqlfront.crash_points import STEPS
from tests.sqlfront.planted_bugs import PLANTED, Planted
from tests.sqlfront.simulated import Reading, SimulatedSession, TableTown
from tests.sqlfront.table_chaos import TableChaos, explore, explore_all, run_seed

#: Seeds of the test command; `python -m tests.sqlfront.table_chaos` runs as many as it is told.
SEEDS = 25
#: Seeds of the test command that draw what happens besides.
MIXED_SEEDS = 16
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
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backups", [0, 1])
def test_changes_of_rows_by_key_under_many_seeds(backups: int) -> None:
    explore(range(1000), changes=True, backups=backups)


def test_seeds_that_draw_what_happens_besides_see_versions_and_confirmed_writes_last() -> None:
    """30: backups are repaired."""
    _, outcome = explore_all((*range(MIXED_SEEDS), 30))

    assert {work for work, _ in outcome.reached} == STEPS.keys()
    assert outcome.forms.keys() >= CHANCES.keys()
    assert outcome.read > outcome.written > MIXED_SEEDS
    assert min(outcome.lost, outcome.late, outcome.takeovers, outcome.left) > 0


@pytest.mark.cluster
def test_clients_pause_while_a_lost_member_is_not_given_up() -> None:
    """Both writers of this seed wait for the silence limit, while other statements fail at once: without a
    pause there were ten thousands of errors."""
    outcome = run_seed(None, 300132)
    assert 200 < outcome.failed < 500
    assert outcome.steps < 200_000


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
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backups", [0, 1])
def test_keepers_that_are_followed_under_many_seeds(backups: int) -> None:
    _, outcome = explore(range(1000), lookups=True, backups=backups, leaves=backups > 0, keepers=True)

    assert outcome.takeovers > 1000


def test_a_leaving_member_runs_the_jobs_that_were_sent_before() -> None:
    """Seed 30: a job arrived after the member had said that it was idle, and failed with its end."""
    explore([30], leaves=True)


def test_crashes_at_the_steps_of_handovers_and_writes_lose_no_row_that_has_backups() -> None:
    _, outcome = explore(range(CRASHING_SEEDS), leaves=True, backups=1, crashes=True)

    assert {work for work, _ in outcome.reached} == STEPS.keys()
    assert outcome.crashed.total() >= CRASHING_SEEDS // 2


@pytest.mark.soak
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backups", [0, 1, 2])
def test_handovers_under_many_seeds(backups: int) -> None:
    explore(range(1000), lookups=True, backups=backups, leaves=True)
    _, outcome = explore(range(1000), backups=backups, leaves=True, crashes=True)

    steps = {step for step in outcome.reached if backups or step[0] != "repair"}
    crashed = {(crash.work, crash.step) for crash in outcome.crashed}
    assert len(crashed) > 0.8 * len(steps)


@pytest.mark.parametrize(
    ("seed", "scenario"),
    [(81, Scenario()), (60013, Scenario(leaves=True, backups=1, crashes=True))],
)
def test_a_seed_that_has_found_a_bug_finds_none_any_more(seed: int, scenario: Scenario) -> None:
    """81: the connection with the keeper broke while a session wrote, and its turn was never given back.
    60013: a move of rows lost a member after a step that stays; a move writes nothing, so that its error says
    nothing about the step."""
    assert TableChaos(seed, scenario).run().written > 0


@pytest.mark.parametrize(
    ("seed", "scenario"), [(5, Scenario()), (6, Scenario(lookups=True, backups=1, leaves=True))]
)
def test_a_seed_replays_exactly(seed: int, scenario: Scenario) -> None:
    """6: it depended on the time when Python collected a job that nobody referred to any more."""

    def record(seed: int, scenario: Scenario) -> list[tuple[str, str, str]]:
        with collected_by_hand():
            chaos = TableChaos(seed, scenario)
            chaos.run()
        return [(sender, to, type(message).__name__) for sender, to, message in chaos.town.said]

    said = record(seed, scenario)
    assert len(said) > 100
    assert record(0, Scenario()) != said
    assert record(seed, scenario) == said


# ---- planted bugs


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(each, marks=[pytest.mark.cluster] if each.rare else [], id=str(each))
        for each in PLANTED
        if each.scenario is not None
    ],
)
def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch, planted: Planted) -> None:
    monkeypatch.setattr(planted.owner, planted.name, planted.bug)

    with pytest.raises(Bug) as found:
        run_seeds(partial(run_seed, planted.scenario), range(PATIENCE), Outcome())
    print(found.value)


@pytest.mark.parametrize(
    "planted",
    [
        pytest.param(
            each, marks=[] if each.soon else [pytest.mark.soak, pytest.mark.timeout(7200)], id=str(each)
        )
        for each in PLANTED
    ],
)
def test_a_planted_bug_is_found_by_seeds_that_draw_what_happens(
    monkeypatch: pytest.MonkeyPatch, planted: Planted
) -> None:
    monkeypatch.setattr(planted.owner, planted.name, planted.bug)

    with pytest.raises(Bug) as found:
        explore_all(range(PATIENCE))
    print(found.value)


# ---- shares of failed changes


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


def test_a_change_of_no_row_that_makes_all_shares_anew_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made again in a turn, whose error then said that nothing was written."""
    monkeypatch.setattr(version_keys, "MOST_NAMED", 1)
    town = TableTown("m0", "m1", "m2", "client-0", "client-1", seed=1)
    town.create("client-0", Partitioning((0,), 271), ROWS)
    town.complete(town.change("client-0", range(1000, 1020, 2), 7))
    assert len(town.sessions["client-0"].tried) == 1


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


def interrupted(self: SimulatedSession, table: SpreadTable, version: object, dealt: int) -> None:
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
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("backups", [1, 2])
def test_backups_under_many_seeds(backups: int) -> None:
    explore(range(1000), lookups=True, backups=backups)
