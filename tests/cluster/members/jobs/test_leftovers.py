"""Nothing is left behind of thousands of queries, however they end: on no member a context, a thread, an open
file or memory."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from itertools import islice

import pytest
from msgspec.structs import replace

from sqlfront_cluster.launchers.embedded import EmbeddedCluster
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.members.member import Member
from sqlfront_engine.dag import DAG, Edge, EdgeConfig
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import DataError, OperationalError
from tests.cluster.members.cluster import Endless
from tests.cluster.members.probe import Report, ask, report
from tests.engine.jobs import Fails, First, Numbers

MIB = 1 << 20
PRELOAD = ("tests.cluster.members.cluster", "tests.cluster.members.probe")
#: Ten of each kind: what one of them leaves is seen.
FEW = 90
MANY = pytest.param(10_000, marks=[pytest.mark.cluster, pytest.mark.timeout(900)])
#: Queries before the first look: threads are started, modules loaded, caches filled.
WARM_UP = 60
#: Little is under way, so that endless jobs don't take long.
SMALL = EdgeConfig(queue_size=4, receive_window=20_000)
ONE_MEMBER = frozenset({1})


def exchanged(source: Processor, last: Processor | None = None) -> DAG:
    """Rows of all members are exchanged and collected, perhaps through ``last``."""
    dag = DAG()
    numbers, between = dag.vertex("numbers", source, 1), dag.vertex("between", last or Forward(), 1)
    route = Edge.between(numbers, between)
    dag.edge(
        replace(
            route.to_one().distribute_to() if last else route.distributed().partitioned([0]), config=SMALL
        )
    )
    collected = Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to()
    return dag.edge(replace(collected, config=SMALL))


def lookup() -> DAG:
    """Some rows of one member."""
    dag = DAG()
    source = dag.vertex("numbers", Numbers(3), 1)
    return dag.edge(Edge.between(source, dag.vertex("result", ResultSink())).to_one().distribute_to())


def test_a_job_is_forgotten_by_a_finalizer_while_its_member_is_busy_with_others() -> None:
    with EmbeddedCluster(2, workers=1) as cluster:
        member = cluster.coordinator
        forgotten = [member.submit(exchanged(Endless()), JobConfig(inline=True)).batches()]
        next(forgotten[0])

        def look() -> None:
            with member._lock:
                forgotten.clear()

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()


class Workload:
    """Queries of all kinds and ends, in turn."""

    def __init__(self, member: Member) -> None:
        self._member = member
        self._answered, self._limited = exchanged(Numbers(100)), exchanged(Endless(), First(2))
        self._failing, self._endless = exchanged(Endless(), Fails(2)), exchanged(Endless())
        self._lookup = lookup()
        self._kinds: tuple[Callable[[], None], ...] = (
            lambda: self.answered(JobConfig()),
            lambda: self.answered(JobConfig(inline=True)),
            lambda: self.looked_up(JobConfig(inline=True)),
            lambda: self.looked_up(JobConfig()),
            self.limited,
            self.failing,
            self.abandoned,
            self.cancelled,
            self.timed_out,
        )

    def run(self, count: int) -> None:
        """So many queries."""
        for number in range(count):
            self._kinds[number % len(self._kinds)]()

    def answered(self, config: JobConfig) -> None:
        with self._member.submit(self._answered, config).batches() as reader:
            assert sum(batch.num_rows for batch in reader) == 100

    def looked_up(self, config: JobConfig) -> None:
        config = JobConfig(required_partitions=ONE_MEMBER, inline=config.inline)
        with self._member.submit(self._lookup, config).batches() as reader:
            assert sum(batch.num_rows for batch in reader) == 3

    def limited(self) -> None:
        with self._member.submit(self._limited).batches() as reader:
            assert sum(batch.num_rows for batch in reader) == 1000

    def failing(self) -> None:
        with pytest.raises(DataError, match="Division by zero"):
            list(self._member.submit(self._failing).batches())

    def abandoned(self) -> None:
        with self._member.submit(self._endless).batches() as reader:
            assert len(list(islice(reader, 2))) == 2

    def cancelled(self) -> None:
        job = self._member.submit(self._endless)
        job.cancel()
        with pytest.raises(OperationalError, match="cancelled"):
            job.join()

    def timed_out(self) -> None:
        job = self._member.submit(self._endless, JobConfig(timeout=0.001))
        with pytest.raises(OperationalError, match="timeout"):
            list(job.batches())


def settled(look: Callable[[bool], dict[str, Report]]) -> dict[str, Report]:
    """The reports, with objects, once ended jobs are forgotten; but each look may be a job, too."""
    deadline, looks = time.monotonic() + 30, 1
    while True:
        states = [each.statistics for each in look(False).values()]
        if all(each.idle and each.remembered < looks for each in states):
            return without_own_job(look)
        assert time.monotonic() < deadline, f"left behind: {states}"
        time.sleep(0.5)
        looks += 1


def without_own_job(look: Callable[[bool], dict[str, Report]]) -> dict[str, Report]:
    """The reports, with objects; a look's own job may still be ending on another thread, and counts for some
    objects then."""
    reports = [look(True) for _ in range(3)]
    return min(reports, key=lambda each: sum(sum(report.objects.values()) for report in each.values()))


def lasting(state: Report) -> Counter[str]:
    """The threads, but for those that come and go: timers, and a connection's writer, from its first need."""
    return Counter(
        name for name in state.threads if name not in ("sqlfront-timer", "sqlfront-network-writer")
    )


def compare(before: dict[str, Report], after: dict[str, Report]) -> None:
    """Nothing has grown, but for what an allocator keeps."""
    for name, was in before.items():
        now = after[name]
        print(
            f"{name}: {now.resident / MIB:.1f} MiB ({(now.resident - was.resident) / MIB:+.1f}),"
            f" {len(now.threads)} threads, {now.descriptors} files, {now.arrow} bytes of Arrow's"
        )
        assert now.reserved == 0
        assert now.objects == was.objects
        assert lasting(now) <= lasting(was)
        assert now.threads.count("sqlfront-network-writer") <= len(now.statistics.peers) + 1
        assert now.descriptors <= was.descriptors
        assert now.arrow <= was.arrow + 64 * 1024
        assert now.resident <= was.resident + 24 * MIB


@pytest.mark.parametrize("count", [FEW, MANY])
def test_nothing_is_left_behind_by_queries_over_processes(count: int) -> None:
    with LocalCluster(3, workers=1, preload=PRELOAD) as cluster, cluster.client() as client:
        work = Workload(client.member)

        def look(objects: bool) -> dict[str, Report]:
            reports = ask(client.member, objects=objects)
            here = report(client.member, objects=objects)
            return {**reports, here.member: here}

        work.run(WARM_UP)
        before = settled(look)
        work.run(count)
        compare(before, settled(look))


@pytest.mark.parametrize("count", [FEW, MANY])
def test_nothing_is_left_behind_by_queries_over_embedded_members(count: int) -> None:
    with EmbeddedCluster(3, workers=1) as cluster:
        work = Workload(cluster.coordinator)

        def look(objects: bool) -> dict[str, Report]:
            return {member.name: report(member, objects=objects) for member in cluster.members}

        work.run(WARM_UP)
        before = settled(look)
        work.run(count)
        compare(before, settled(look))
