"""Random jobs and faults under a seed, and proof that this finds bugs: each planted one is found."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from sqlfront_cluster.members.jobs.checker import JobChecker
from sqlfront_cluster.members.jobs.coordination import Coordination
from sqlfront_cluster.members.jobs.job_table import EndedParts, JobTable
from sqlfront_cluster.members.jobs.job_timers import JobTimers
from sqlfront_cluster.members.jobs.participation import Participation
from sqlfront_cluster.members.jobs.submissions import Submissions
from sqlfront_cluster.members.jobs.wire import JobWire
from sqlfront_cluster.members.protocol.messages import Data
from sqlfront_cluster.members.questions.listing import Listings
from sqlfront_engine.edges.exchange import EdgeStream, Parcel, RemoteInput, RemoteOutput
from sqlfront_engine.edges.routing import PartitionedOutput
from sqlfront_engine.jobs.execution import Execution
from tests.cluster.members.chaos import Chaos, explore
from tests.cluster.seeds import Bug

#: Seeds of the test command; `python -m tests.cluster.members.chaos` runs as many as it is told.
SEEDS = 150
#: Seeds within which a planted bug has to be found.
PATIENCE = 1000


def test_every_job_ends_with_the_right_answer_or_a_named_error() -> None:
    count, outcome = explore(range(SEEDS))

    assert count == SEEDS
    assert outcome.right > outcome.failed > 0


def test_a_seed_replays_exactly() -> None:
    def record(seed: int) -> list[tuple[str, str, str]]:
        chaos = Chaos(seed)
        chaos.run()
        return [(sender, to, type(message).__name__) for sender, to, message in chaos.cluster.said]

    assert record(17) == record(17)


# ---- planted bugs


def nothing(*_: object, **__: object) -> None:
    """Instead of doing it."""


def release_twice(self: Execution) -> None:
    RELEASE(self)
    RELEASE(self)


def forget_nothing(*_: object) -> None:
    """The entry stays."""


def early_data_dropped(self: JobTable, participation: Participation) -> None:
    self.early.pop(participation.execution.id, None)
    REGISTER(self, participation)


def half_the_pieces(self: PartitionedOutput, batch: Any) -> bool:
    PARTITIONED_OFFER(self, batch)
    self._pieces = {}
    return True


def sent_twice(self: JobWire, stream: EdgeStream, batch: Any, *, last: bool) -> int:
    SEND_DATA(self, stream, batch, last=last)
    return SEND_DATA(self, stream, batch, last=last)


def held_until_the_end(self: JobWire, *, completes: bool = False) -> bool:
    return completes and FLUSH(self, completes=True)


def a_limit_that_never_grows(self: RemoteInput) -> None:
    self._told = self._consumed + self._window
    self._wire.acknowledge(self._stream, self._consumed)


def arrived_without_a_wake(self: RemoteInput, parcel: Parcel) -> None:
    consumer, self.consumer = self.consumer, _Sleeper()
    ARRIVED(self, parcel)
    self.consumer = consumer


class _Sleeper:
    def wake(self) -> None:
        """Sleep on."""


def ended_again_and_again(self: Execution, tasklets: int = 1) -> None:
    self._has_ended = False
    COUNT_DOWN(self, tasklets)


def lost_without_a_release(self: Coordination, member: str, *, leaving: bool = False) -> None:
    self._answered(member)


def end_of_data_lost(self: RemoteInput, parcel: Parcel) -> None:
    if not parcel.last:
        ARRIVED(self, parcel)


NO_DATA: dict[EdgeStream, int] = {}


def gaps_ignored(self: Participation, sender: str, message: Data, body: Any) -> None:
    self._arrived[EdgeStream(message.edge, sender)] = message.number
    HEAR_DATA(self, sender, message, body)


def stopped_jobs_not_checked(self: JobChecker, coordinations: Iterable[Coordination]) -> None:
    ASK_PARTICIPANTS(self, [each for each in coordinations if each.known])


def an_answer_forgotten(
    self: EndedParts,
    number: int,
    now: float,
    coordinator: str = "",
    answer: Any = None,
    sent: Any = NO_DATA,
    roles: Any = NO_DATA,
) -> None:
    ADD(self, number, now, coordinator, None, sent, roles)


HEAR_DATA = Participation._data
ASK_PARTICIPANTS = JobChecker._ask_participants
ADD = EndedParts.add
RELEASE = Execution.release
COUNT_DOWN = Execution._count_down
REGISTER = JobTable.register
PARTITIONED_OFFER = PartitionedOutput.offer
SEND_DATA = JobWire.send_data
FLUSH = JobWire.flush
ARRIVED = RemoteInput.arrived


@pytest.mark.parametrize(
    ("owner", "name", "bug"),
    [
        pytest.param(Participation, "check_connected", nothing, marks=pytest.mark.cluster),
        (Execution, "release", release_twice),
        (Execution, "release", nothing),
        (JobTable, "forget", forget_nothing),
        (JobTable, "forget_coordination", forget_nothing),
        (JobTable, "register", early_data_dropped),
        (JobTimers, "_check", nothing),
        (PartitionedOutput, "offer", half_the_pieces),
        (JobWire, "send_data", sent_twice),
        (JobWire, "flush", held_until_the_end),
        (JobWire, "acknowledge", nothing),
        pytest.param(JobWire, "close_input", nothing, marks=pytest.mark.cluster),
        (RemoteInput, "_tell", a_limit_that_never_grows),
        (RemoteInput, "arrived", arrived_without_a_wake),
        (RemoteInput, "arrived", end_of_data_lost),
        (RemoteOutput, "allow", nothing),
        (Execution, "_count_down", ended_again_and_again),
        (Coordination, "lost", lost_without_a_release),
        (Listings, "_finish", nothing),
        (Submissions, "unknown", nothing),
        # Of lost messages.
        (Coordination, "never_begun", nothing),
        (JobChecker, "asked_by_coordinator", nothing),
        (JobChecker, "_ask_participants", stopped_jobs_not_checked),
        (JobChecker, "told_by_sender", nothing),
        (JobChecker, "_drop_early", nothing),
        (EndedParts, "add", an_answer_forgotten),
        (Participation, "_data", gaps_ignored),
        pytest.param(Participation, "told", nothing, marks=pytest.mark.cluster),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_planted_bug_is_found(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, bug: Callable[..., object]
) -> None:
    monkeypatch.setattr(owner, name, bug)

    with pytest.raises(Bug):
        explore(range(PATIENCE))
