"""Single messages get lost while the connection holds: no job waits for ever, no answer lacks rows, and
nothing is left behind."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sqlfront_cluster.members.jobs.checker import JobChecker
from sqlfront_cluster.members.protocol.messages import (
    Acknowledge,
    CheckJobs,
    CheckParts,
    CheckStreams,
    Completed,
    Data,
    Init,
    InputClosed,
    Message,
    StreamsSent,
    Terminate,
    UnknownJobs,
    UnknownParts,
)
from sqlfront_engine.dag import Edge
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_values.errors import DataError, OperationalError
from tests.cluster.members.cluster import Cluster, Endless
from tests.cluster.members.jobs.test_leftovers import exchanged as collected
from tests.cluster.members.jobs.test_light_jobs import EVERYTHING, exchanged
from tests.engine.jobs import Fails, First, Numbers

#: A message from one member to another.
Sent = tuple[str, str, msgspec.Struct]


class Loss:
    """Loses the ``count`` first messages for which ``chosen`` is true, or all of them (None)."""

    def __init__(
        self, cluster: Cluster, chosen: Callable[[str, str, msgspec.Struct], bool], count: int | None = 1
    ) -> None:
        self.lost: list[Sent] = []
        self._chosen = chosen
        self._count = count
        cluster.lost = self._is_lost

    def _is_lost(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        done = self._count is not None and len(self.lost) >= self._count
        if done or not self._chosen(sender, receiver, message):
            return False
        self.lost.append((sender, receiver, message))
        return True


@pytest.mark.parametrize("number", [0, 1, 2])
def test_rows_lost_on_the_way_fail_the_job_by_name(number: int) -> None:
    cluster = Cluster(3)
    loss = Loss(
        cluster,
        lambda sender, to, message: isinstance(message, Data) and message.number == number and to == "m2",
    )

    with pytest.raises(OperationalError, match=r"rows of member m. were lost on the way") as caught:
        cluster.run(exchanged(lambda edge: edge.distributed().partitioned([0])))

    assert caught.value.sqlstate == "08006"
    assert len(loss.lost) == 1
    assert cluster.leftovers() == {}


def test_the_messages_of_a_stream_are_numbered() -> None:
    cluster = Cluster(3)
    cluster.run(exchanged(Edge.distributed))

    streams: dict[tuple[str, str, int], list[int]] = {}
    for sender, receiver, message in cluster.said:
        if isinstance(message, Data):
            streams.setdefault((sender, receiver, message.edge), []).append(message.number)
    assert all(numbers == list(range(len(numbers))) for numbers in streams.values())
    assert max(map(len, streams.values())) > 2


def of_kind(*kinds: type[Message]) -> Callable[[str, str, msgspec.Struct], bool]:
    return lambda sender, receiver, message: isinstance(message, kinds)


#: What the checker says; any of it may get lost as well.
CHECKS = (CheckJobs, UnknownJobs, CheckParts, UnknownParts, CheckStreams, StreamsSent)


def by_key(edge: Edge) -> Edge:
    return edge.distributed().partitioned([0])


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_lost_init_is_sent_again(count: int) -> None:
    cluster = Cluster(3)
    loss = Loss(cluster, of_kind(Init), count)

    assert sorted(cluster.run(exchanged(by_key))) == EVERYTHING
    assert len(loss.lost) == count
    assert cluster.leftovers() == {}


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_lost_answer_is_asked_for_again(count: int) -> None:
    cluster = Cluster(3)
    Loss(cluster, of_kind(Completed), count)

    assert sorted(cluster.run(exchanged(by_key))) == EVERYTHING
    assert cluster.leftovers() == {}


def test_a_lost_answer_brings_its_error_later() -> None:
    cluster = Cluster(3, "client")
    Loss(cluster, of_kind(Completed))

    with pytest.raises(DataError, match="Division"):
        cluster.run(collected(Numbers(100), Fails(0)), "client")
    assert cluster.leftovers() == {}


def test_the_end_of_a_stream_that_gets_lost_fails_the_job_by_name() -> None:
    cluster = Cluster(3)
    loss = Loss(cluster, lambda sender, to, message: isinstance(message, Data) and message.last)

    with pytest.raises(OperationalError, match=r"rows of member m. were lost"):
        cluster.run(exchanged(by_key))
    assert len(loss.lost) == 1
    assert cluster.leftovers() == {}


def test_a_lost_limit_is_repeated() -> None:
    cluster = Cluster(3)
    loss = Loss(cluster, of_kind(Acknowledge), 5)

    assert sorted(cluster.run(exchanged(by_key, Numbers(9_000)))) == list(range(9_000))
    assert loss.lost  # how many limits are sent depends on the order in which the batches arrive
    assert cluster.leftovers() == {}


def test_a_lost_refusal_of_rows_is_repeated() -> None:
    cluster = Cluster(3)
    loss = Loss(cluster, of_kind(InputClosed), 2)

    assert len(cluster.run(collected(Endless(), First(2)))) == 2 * 500  # of two batches
    assert len(loss.lost) == 2
    assert cluster.leftovers() == {}


@pytest.mark.parametrize("lost", [(Init,), (Completed,), (Terminate,), (Init, Completed, Terminate)])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_cancelled_job_is_forgotten_by_all(lost: tuple[type[Message], ...], count: int) -> None:
    cluster = Cluster(3)
    Loss(cluster, of_kind(*lost), count)
    job = cluster.submit(collected(Endless()))
    cluster.simulation.pass_time(0.01)
    job.cancel()

    assert cluster.leftovers() == {}
    assert job.status is JobStatus.CANCELLED


@pytest.mark.parametrize("kind", CHECKS)
def test_a_lost_question_of_the_checker_is_repeated(kind: type[Message]) -> None:
    cluster = Cluster(3)
    Loss(cluster, of_kind(kind, Completed, Terminate), 4)
    dag = exchanged(by_key)

    assert sorted(cluster.run(dag)) == EVERYTHING
    assert cluster.leftovers() == {}


def test_an_answer_that_nobody_knows_any_more_fails_the_job_and_does_not_run_it_twice() -> None:
    cluster = Cluster(3)
    Loss(cluster, of_kind(Completed, CheckParts), None)
    job = cluster.submit(exchanged(by_key))
    cluster.simulation.pass_time(10)
    submitted = {name: member.engine.submitted for name, member in cluster.members.items()}
    cluster.lost = lambda *_: False

    with pytest.raises(OperationalError, match=r"the answer of member m. was lost") as caught:
        cluster.rows(job)
    assert caught.value.sqlstate == "08006"
    assert {name: member.engine.submitted for name, member in cluster.members.items()} == submitted
    assert cluster.leftovers() == {}


def test_an_init_that_comes_twice_starts_one_part(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = Cluster(3)
    Loss(cluster, of_kind(Completed), 8)
    monkeypatch.setattr(JobChecker, "asked_by_coordinator", say_that_nothing_began)

    assert sorted(cluster.run(exchanged(by_key))) == EVERYTHING
    assert [member.engine.submitted for member in cluster.members.values()] == [1, 1, 1]
    assert cluster.counts()["Init"] > 2
    assert cluster.leftovers() == {}


def say_that_nothing_began(self: JobChecker, peer: Any, message: CheckParts) -> None:
    peer.send(UnknownParts(message.jobs))


def test_a_long_job_costs_some_messages_a_second_and_an_idle_cluster_none() -> None:
    cluster = Cluster(3, "client")
    job = cluster.submit(exchanged(by_key, Endless()), "client", JobConfig())
    cluster.simulation.pass_time(5.5)
    before = cluster.counts()
    cluster.simulation.pass_time(1)
    asked = cluster.counts() - before

    assert asked["CheckParts"] == asked["CheckJobs"] == 3
    assert asked["CheckStreams"] == 3 * 2 + 3  # of each other member's streams, and at the client
    job.cancel()
    assert cluster.leftovers() == {}
    said = len(cluster.said)
    cluster.simulation.pass_time(60)
    assert len(cluster.said) == said
