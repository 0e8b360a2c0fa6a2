"""A slow consumer bounds what is under way to it: per edge the receive windows, the queues, and one batch
per sender. A quick one waits for no tick of the clock.

In the simulation this is looked at after every event. On real processes everything is driven: the reader
takes a batch when all senders wait for it.
"""

import time
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pytest
from msgspec.structs import replace

from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.members.jobs.job_timers import JobTimers
from sqlfront_cluster.members.member_statistics import MemberStatistics
from sqlfront_engine.dag import DAG, Edge, EdgeConfig
from sqlfront_engine.edges.exchange import ReceiverStatistics, SenderStatistics
from sqlfront_engine.edges.queues import NOTHING, QUEUE_BYTES
from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink
from tests.cluster.members.cluster import Cluster, Endless
from tests.cluster.members.exchanges import exchange, total
from tests.cluster.members.probe import Report, ask, report, resident

register_processor("tests.cluster.members.jobs.test_back_pressure:Large")

MIB = 1 << 20
MEMBERS = range(3)


class Large(Processor, frozen=True):
    """A source without end of batches of ``size`` bytes, all of the same eight-byte numbers."""

    size: int

    def run(self, context: ProcessorContext) -> Steps:
        batch = pa.RecordBatch.from_arrays([pa.repeat(pa.scalar(7, pa.int64()), self.size // 8)], names=["n"])
        while True:
            yield batch


def two_edges(source: Processor, config: EdgeConfig) -> DAG:
    """Rows of all members are exchanged, and all go to the coordinator."""
    dag = DAG()
    numbers, between = dag.vertex("numbers", source, 1), dag.vertex("between", Forward(), 1)
    dag.edge(replace(Edge.between(numbers, between).distributed(), config=config))
    result = dag.vertex("result", ResultSink())
    return dag.edge(replace(Edge.between(between, result).to_one().distribute_to(), config=config))


# ---- what is under way


def streams(
    members: dict[str, MemberStatistics],
) -> Iterator[tuple[SenderStatistics, ReceiverStatistics | None]]:
    """The two ends of each stream between these members."""
    for name, statistics in members.items():
        for sender in statistics.senders:
            ends = (
                each
                for each in members[sender.stream.member].receivers
                if (each.stream.edge, each.stream.member) == (sender.stream.edge, name)
            )
            yield sender, next(ends, None)


def under_way(jobs: Iterable[JobStatistics], source: str, destination: str) -> int:
    """Bytes (of eight-byte rows) that one vertex has emitted and the other one hasn't taken."""
    emitted = taken = 0
    for job in jobs:
        for tasklet in job.tasklets:
            emitted += tasklet.rows_out if tasklet.vertex == source else 0
            taken += tasklet.rows_in if tasklet.vertex == destination else 0
    return 8 * (emitted - taken)


def check(
    members: dict[str, MemberStatistics], jobs: Iterable[JobStatistics], window: int, queue: int, batch: int
) -> dict[str, int]:
    """Assert the bounds; returns what is under way: per stream at most, and per edge.

    ``window`` is the first one of a stream that says nothing about its own; on a member ``numbers`` has three
    queues, and there is one behind each receiver. In the hands of a sender, and of a receiver that its queue
    refuses, is one batch.
    """
    most = 0
    edges = {0: len(MEMBERS) ** 2 * queue, 1: len(MEMBERS) * queue}
    for sender, receiver in streams(members):
        consumed, widest = (0, window) if receiver is None else (receiver.consumed, receiver.widest)
        assert sender.sent - consumed <= widest + batch
        assert receiver is None or receiver.peak <= widest + batch
        most = max(most, sender.sent - consumed)
        edges[sender.stream.edge] += widest + queue + 3 * batch
    jobs = tuple(jobs)
    exchanged = under_way(jobs, "numbers", "between"), under_way(jobs, "between", "result")
    for edge, bound in edges.items():
        assert exchanged[edge] <= bound
    return {"stream": most, "numbers": exchanged[0], "between": exchanged[1]}


# ---- in the simulation

WINDOW = 20_000
BATCH = 500 * 8
TINY = EdgeConfig(queue_size=4, receive_window=WINDOW)


@pytest.mark.parametrize("seed", range(5))
def test_a_consumer_a_thousand_times_slower_bounds_what_is_under_way(seed: int) -> None:
    cluster = Cluster(seed=seed)
    simulation, queue = cluster.simulation, TINY.queue_size * BATCH

    def look() -> dict[str, int]:
        jobs = [job for each in cluster.members.values() for job in each.engine.statistics().running]
        members = {name: each.statistics() for name, each in cluster.members.items()}
        return check(members, jobs, WINDOW, queue, BATCH)

    job = cluster.submit(two_edges(Endless(), TINY))
    most = {"stream": 0, "numbers": 0, "between": 0}
    taken = 0
    while taken < 40:
        # A producer's call takes a quarter of a millisecond and makes many batches.
        deadline = simulation.time + 1.0
        while simulation.time < deadline:
            assert simulation.step()
            if simulation.steps % 3 == 0:
                most = {name: max(most[name], size) for name, size in look().items()}
        taken += job.poll() is not NOTHING
    assert most["stream"] > WINDOW, "the bound is reached, so this has measured something"

    job.cancel()
    simulation.pass_time(10)
    assert cluster.leftovers() == {}


# ---- on processes


def until_blocked(look: Callable[[], dict[str, Report]]) -> dict[str, Report]:
    """Wait until every sender waits for its receiver; returns the reports of then."""
    deadline = time.monotonic() + 20
    before: object = None
    while True:
        reports = look()
        now = list(streams({name: each.statistics for name, each in reports.items()}))
        if now and now == before and all(sender.blocked for sender, _ in now):
            return reports
        assert time.monotonic() < deadline, f"some sender goes on and on: {now}"
        before = now


def test_large_batches_wait_where_they_are_made() -> None:
    preload = ("tests.cluster.members.jobs.test_back_pressure", "tests.cluster.members.probe")
    config, batch = EdgeConfig(queue_size=2), 4 * MIB
    with LocalCluster(len(MEMBERS), workers=1, preload=preload) as cluster, cluster.client() as client:
        member = client.member
        ask(member)
        before = {name: resident(process.pid) for name, process in cluster.processes.items()}
        job = member.submit(two_edges(Large(batch), config))
        reader = job.batches()

        def look() -> dict[str, Report]:
            here = report(member)
            return {**ask(member), here.member: here}

        most = {"stream": 0, "numbers": 0, "between": 0, "resident": 0}
        for _ in range(40):
            next(reader)
            now = until_blocked(look)
            jobs = [job for each in now.values() for job in each.jobs]
            members = {name: each.statistics for name, each in now.items()}
            found = check(members, jobs, config.receive_window, QUEUE_BYTES, batch)
            found["resident"] = max(
                resident(process.pid) - before[name] for name, process in cluster.processes.items()
            )
            most = {name: max(most[name], size) for name, size in found.items()}
        print({name: f"{size / MIB:.1f} MiB" for name, size in most.items()})
        reader.close()
    assert most["stream"] > config.receive_window, "the bound is reached, so this has measured something"
    # What is under way to a member and in it, at most: two streams of each edge at each end, its queues.
    assert most["resident"] <= 4 * (most["stream"] + 3 * batch) + 5 * QUEUE_BYTES


# ---- no waiting for ticks

PRELOAD = ("tests.cluster.members.exchanges", "tests.cluster.members.without_ticks")


@pytest.mark.parametrize(
    ("rows", "window"), [(5_000_000 // 72, EdgeConfig().receive_window), (400_000, 256 << 10)]
)
def test_an_exchange_waits_for_no_tick(rows: int, window: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """5 MB, and a dozen windows on each stream: it ends though no flow-control period ever does."""
    monkeypatch.setattr(JobTimers, "_adapt", lambda self: None)
    with LocalCluster(3, workers=1, preload=PRELOAD) as cluster, cluster.client() as client:
        job = client.member.submit(exchange(rows, EdgeConfig(receive_window=window)))
        assert total(job) == (3 * rows, 3 * rows * (rows - 1) // 2)
