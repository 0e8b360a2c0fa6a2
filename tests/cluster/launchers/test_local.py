"""Members in processes of their own: right answers, loss, and nothing left behind."""

import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sqlfront_cluster.launchers.by_hand import FirstMember, join
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import MemberOptions, RunningMember
from sqlfront_cluster.members.protocol.member_list import MemberInfo
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.scheduler import KEEP_ALIVE
from sqlfront_values.errors import OperationalError
from tests.cluster.members.cluster import Endless
from tests.engine.jobs import Numbers

#: Seconds of silence after which a member is removed.
LIMIT = 2.0
PATIENCE = 30.0
PRELOAD = ("tests.cluster.members.cluster",)
EVERYTHING = list(range(3000))


def exchanged(source: Processor | None = None) -> DAG:
    """Numbers of all members go through a partitioned exchange to the coordinator."""
    dag = DAG()
    origin = dag.vertex("numbers", source or Numbers(len(EVERYTHING), 500), 1)
    between = dag.vertex("between", Forward(), 1)
    dag.edge(Edge.between(origin, between).distributed().partitioned([0]))
    return dag.edge(Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to())


def rows(job: LightJob) -> list[object]:
    return sorted(value for batch in job.batches() for value in batch.column(0).to_pylist())


def until(fact: Callable[[], object], patience: float = PATIENCE) -> None:
    deadline = time.monotonic() + patience
    while not fact():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.005)


def started(tcp: bool = False, size: int = 3) -> LocalCluster:
    return LocalCluster(size, workers=1, tcp=tcp, silence_limit=LIMIT, preload=PRELOAD)


def busy_threads() -> set[threading.Thread]:
    """Threads of the network and of workers; a timer's ends a little later by itself."""
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("sqlfront")]
    return {thread for thread in threads if thread.name != "sqlfront-timer"}


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No thread, open file or temporary file more than before."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gc.collect()
    before, threads = len(os.listdir("/proc/self/fd")), busy_threads()
    yield
    until(lambda: not busy_threads() - threads, PATIENCE + KEEP_ALIVE)
    until(lambda: gc.collect() >= 0 and len(os.listdir("/proc/self/fd")) <= before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("tcp", [False, pytest.param(True, marks=pytest.mark.cluster)], ids=["unix", "tcp"])
def test_a_distributed_exchange_over_three_processes(tcp: bool) -> None:
    with started(tcp) as cluster:
        with cluster.client() as client:
            for _ in range(3):
                assert rows(client.member.submit(exchanged())) == EVERYTHING
            # The thread that brings the last answer forgets the job after the reader has heard of its end.
            until(lambda: client.member.statistics().idle)
        assert sorted(map(cluster.members.owners.count, cluster.processes)) == [90, 90, 91]
        processes = [process.pid for process in cluster.processes.values()]
    assert not [pid for pid in processes if Path(f"/proc/{pid}").exists()]


def test_a_killed_member_ends_its_queries_and_no_others() -> None:
    with started() as cluster, cluster.client() as client:
        assert rows(client.member.submit(exchanged())) == EVERYTHING
        job = client.member.submit(exchanged(Endless()))
        reader = job.batches()
        next(reader)
        cluster.processes["local-1"].kill()
        began = time.monotonic()
        with pytest.raises(OperationalError, match="member local-1 was lost"):
            for _ in reader:
                pass
        assert time.monotonic() - began < LIMIT
        until(lambda: set(client.member.members.data_members) == {"local-0", "local-2"})
        assert rows(client.member.submit(exchanged())) == EVERYTHING
        until(lambda: client.member.statistics().idle)


def test_a_member_that_was_stopped_for_too_long_is_out() -> None:
    with started() as cluster, cluster.client() as client:
        paused = cluster.processes["local-2"]
        assert rows(client.member.submit(exchanged())) == EVERYTHING
        job = client.member.submit(exchanged(Endless()))
        reader = job.batches()
        next(reader)
        os.kill(paused.pid, signal.SIGSTOP)
        with pytest.raises(OperationalError, match="member local-2 was lost"):
            for _ in reader:
                pass
        until(lambda: "local-2" not in client.member.members)
        assert rows(client.member.submit(exchanged())) == EVERYTHING

        os.kill(paused.pid, signal.SIGCONT)
        assert paused.wait(PATIENCE) == 1
        assert "local-2 was" in cluster.log("local-2")
        assert rows(client.member.submit(exchanged())) == EVERYTHING


def test_a_member_leaves_when_its_queries_have_ended() -> None:
    with started() as cluster, cluster.client() as client:
        job = client.member.submit(exchanged(Endless()))
        reader = job.batches()
        next(reader)
        process = cluster.processes["local-0"]
        process.terminate()
        until(lambda: "local-0" not in client.member.members.data_members)
        assert rows(client.member.submit(exchanged())) == EVERYTHING
        assert process.poll() is None
        next(reader)
        reader.close()
        assert process.wait(PATIENCE) == 0
        until(lambda: "local-0" not in client.member.members)


def test_members_end_with_their_launcher() -> None:
    with started(size=1) as cluster:
        process = cluster.processes["local-0"]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        until(lambda: not cluster.members.members)


def test_more_members_can_be_started() -> None:
    with started(size=1) as cluster, cluster.client() as client:
        assert cluster.add(1) == ("local-1",)
        until(lambda: client.member.members.data_members == ("local-0", "local-1"))
        assert rows(client.member.submit(exchanged())) == EVERYTHING


def test_who_does_not_know_the_secret_does_not_join() -> None:
    with started(size=1) as cluster:
        options = MemberOptions("stranger", cluster.address, silence_limit=60.0)
        before = time.monotonic()
        with pytest.raises(OperationalError, match=r"the keeper at .* different secrets") as refused:
            RunningMember(options, Security(b"another secret"))
        assert refused.value.sqlstate == "08004"
        assert time.monotonic() - before < 20.0
        assert [each.name for each in cluster.members.members] == ["local-0"]


def test_a_member_that_cannot_start_shows_its_log() -> None:
    with pytest.raises(OperationalError, match="No module named 'nowhere_at_all'"):
        LocalCluster(1, preload=("nowhere_at_all",))


def test_the_first_member_by_hand_keeps_the_cluster(tmp_path: Path) -> None:
    first = FirstMember(f"unix:{tmp_path}/keeper", Security(b"secret"), silence_limit=LIMIT)
    with join("127.0.0.1:0", first.address, Security(b"secret")) as second:
        until(lambda: len(first.keeper.members.members) == 2)
        assert rows(second.member.submit(exchanged())) == EVERYTHING
        info: MemberInfo = first.keeper.members.members[1]
        assert info.name.startswith("127.0.0.1:0#")
    until(lambda: len(first.keeper.members.members) == 1)
    first.close()
