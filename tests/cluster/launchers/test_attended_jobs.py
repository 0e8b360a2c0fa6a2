"""Who reads an inline job takes other members' rows from the network itself, and can be stopped there."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest

from sqlfront_cluster.launchers.embedded import EmbeddedCluster
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.network.transport import Body, Peer
from sqlfront_engine import engine as coordinator
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.scheduler import InlineRunner
from sqlfront_values.errors import OperationalError
from tests.cluster.launchers.stopping import stop
from tests.cluster.members.jobs.test_leftovers import PRELOAD, exchanged, lookup
from tests.engine.jobs import Numbers

TARGET = "local-1"


# One worker starts the members.
pytestmark = pytest.mark.xdist_group("attended jobs")


@contextmanager
def started() -> Iterator[tuple[LocalCluster, RunningMember]]:
    """Three processes, and a client that has asked them before."""
    with LocalCluster(3, workers=1, preload=PRELOAD) as cluster, cluster.client() as client:
        for _ in range(5):
            read(submitted(client))
        yield cluster, client


@pytest.fixture(scope="module")
def lasting() -> Iterator[tuple[LocalCluster, RunningMember]]:
    """For tests that leave the members as they are."""
    with started() as made:
        yield made


@pytest.fixture
def cluster(lasting: tuple[LocalCluster, RunningMember]) -> LocalCluster:
    return lasting[0]


@pytest.fixture
def client(lasting: tuple[LocalCluster, RunningMember]) -> RunningMember:
    return lasting[1]


def submitted(client: RunningMember, timeout: float | None = None) -> LightJob:
    """A small job that one member has a part in."""
    partition = client.member.members.owners.index(TARGET)
    return client.member.submit(
        lookup(), JobConfig(required_partitions=frozenset({partition}), inline=True, timeout=timeout)
    )


def read(job: LightJob) -> int:
    return sum(batch.num_rows for batch in job.batches())


def test_the_reader_handles_what_other_members_send(
    client: RunningMember, monkeypatch: pytest.MonkeyPatch
) -> None:
    received, threads = client.member.received, set[str]()

    def note(peer: Peer, message: msgspec.Struct, body: Body) -> None:
        threads.add(threading.current_thread().name)
        received(peer, message, body)

    monkeypatch.setattr(client.member, "received", note)
    for _ in range(20):
        assert read(submitted(client)) == 3

    assert threading.current_thread().name in threads


class SlowLook(InlineRunner):
    """Everything comes right after it has seen that there is nothing to run."""

    __slots__ = ()

    def run_round(self) -> bool:
        ran = super().run_round()
        if not ran:
            time.sleep(0.02)
        return ran


def test_what_comes_just_after_a_look_in_vain_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator, "InlineRunner", SlowLook)
    with EmbeddedCluster(3, workers=1) as cluster:
        for _ in range(10):
            job = cluster.coordinator.submit(exchanged(Numbers(30)), JobConfig(inline=True))
            assert read(job) == 30


@pytest.mark.parametrize("end", ["cancelled", "timed out", "interrupted"])
def test_a_job_that_waits_for_a_hung_member_can_be_stopped(
    cluster: LocalCluster, client: RunningMember, end: str
) -> None:
    stop(cluster.processes[TARGET].pid)
    try:
        job = submitted(client, timeout=0.3 if end == "timed out" else None)
        end_it: Callable[[], None] = job.cancel if end == "cancelled" else interrupt
        if end != "timed out":
            threading.Timer(0.3, end_it).start()
        expected = KeyboardInterrupt if end == "interrupted" else OperationalError
        with pytest.raises(expected) as caught:
            read(job)
        if isinstance(caught.value, OperationalError):
            assert caught.value.sqlstate == ("HY008" if end == "cancelled" else "57014")
    finally:
        os.kill(cluster.processes[TARGET].pid, signal.SIGCONT)

    assert read(submitted(client)) == 3


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)  # to the main thread, as a terminal does


def test_a_member_that_is_killed_meanwhile_fails_the_job() -> None:
    with started() as (cluster, client):
        process = cluster.processes[TARGET].pid
        stop(process)
        job = submitted(client)
        threading.Timer(0.2, os.kill, (process, signal.SIGKILL)).start()

        with pytest.raises(OperationalError, match=f"member {TARGET} was lost"):
            read(job)
