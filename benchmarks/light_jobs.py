"""What a light job costs: the round trip of one row, beside DuckDB, other members, other lifecycles.

    python -m benchmarks.light_jobs [--count 2000]

The DAG is a source of one row on one member and the result on the coordinator: with members in processes of
their own that is the client. What is compared is run in turns, a hundred times each. The three-step lifecycle
is that of jobs with stored metadata: the job's record is stored at the keeper (and so at every member), init,
start and complete are a message and its answer each, around the same work, and the record is removed.
"""

import argparse
import os
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Semaphore
from typing import Final

import duckdb
import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.launchers.embedded import EmbeddedCluster
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.messages import CheckJobs, UnknownJobs
from sqlfront_cluster.network.transport import Body, Peer
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.project import Project
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.processors.sources.values import Values
from sqlfront_values.expressions import AggregateCall, Column, Literal
from sqlfront_values.types import BIGINT

Task = Callable[[], object]

#: Runs of a task before the next task has its turn.
TURN: Final = 100
SIZES: Final = (1, 2, 4, 8)
#: Number of rows of four numbers; with three members, two thirds of the rows change their member: 5.3 MB.
EXCHANGED: Final = 250_000
WIDTH: Final = 4
INLINE: Final = JobConfig(inline=True)


class Timing(msgspec.Struct, frozen=True):
    """Microseconds: the bound of the best tenth, the median, the 99th percentile, and the process's CPU time
    per run."""

    best: float
    median: float
    p99: float
    cpu: float


def in_turns(tasks: Mapping[str, Task], count: int) -> dict[str, Timing]:
    """Run each task ``count`` times; the tasks take turns."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    cpu: Counter[str] = Counter()
    for task in tasks.values():
        for _ in range(TURN // 2):
            task()
    turn = min(TURN, count)
    for _ in range(count // turn):
        for name, task in tasks.items():
            used = time.process_time_ns()
            for _ in range(turn):
                began = time.perf_counter_ns()
                task()
                times[name].append((time.perf_counter_ns() - began) / 1000)
            cpu[name] += time.process_time_ns() - used
    return {name: timing(each, cpu[name] / len(each) / 1000) for name, each in times.items()}


def timing(times: list[float], cpu: float) -> Timing:
    """The figures of many runs."""
    hundredths = statistics.quantiles(times, n=100)
    return Timing(hundredths[9], statistics.median(times), hundredths[98], cpu)


# ---- jobs


def one_row(*, distributed: bool) -> DAG:
    """A DAG with one row from each member."""
    dag = DAG()
    values = Values(pa.schema([("n", pa.int32())]), ((Literal(pa.int32(), 1),),))
    source = dag.vertex("values", values, 1)
    edge = Edge.between(source, dag.vertex("result", ResultSink()))
    return dag.edge(edge.to_one().distribute_to() if distributed else edge)


def exchange() -> DAG:
    """A DAG that partitions rows of all members over all members, and counts the rows."""
    dag = DAG()
    wide = Project((Column(BIGINT, 0),) * WIDTH, pa.schema([(f"n{place}", BIGINT) for place in range(WIDTH)]))
    count = Aggregate(
        (), (AggregateCall("count", (), BIGINT),), AggregateMode.SINGLE, pa.schema({"n": BIGINT})
    )
    numbers, rows = dag.vertex("numbers", Range(0, 1, EXCHANGED), 1), dag.vertex("rows", wide, 1)
    counts = dag.vertex("count", count, 1)
    dag.edge(Edge.between(numbers, rows))
    dag.edge(Edge.between(rows, counts).distributed().partitioned([0]))
    return dag.edge(Edge.between(counts, dag.vertex("result", ResultSink())).to_one().distribute_to())


def read(job: LightJob) -> int:
    """Read the result to its end; return the number of rows."""
    return sum(batch.num_rows for batch in job.batches())


def job(submit: Callable[[DAG, JobConfig], LightJob], dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> Task:
    """A task that submits the DAG and reads the result."""
    return lambda: read(submit(dag, config))


def on_member(member: Member, name: str) -> JobConfig:
    """The configuration of a small job that needs one partition of the member ``name``."""
    return JobConfig(required_partitions=frozenset({member.members.owners.index(name)}), inline=True)


# ---- the lifecycle that light jobs do without


class ThreeSteps:
    """A job with stored metadata on one member: see the module's docstring."""

    def __init__(self, client: RunningMember, member: str, work: Task, record: bytes) -> None:
        self._work, self._record = work, record
        self._membership = client.membership
        self._answered = Semaphore(0)
        self._peer, self._peers = client.member.peers[member], client.member.peers
        self._members = client.member.members.data_members
        self._received = client.member.received
        client.member.received = self._hear  # type: ignore[method-assign]

    def _hear(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        if isinstance(message, UnknownJobs):
            self._answered.release()
        else:
            self._received(peer, message, body)

    def step(self) -> None:
        """Send a question to the member, which answers at once."""
        self._peer.send(CheckJobs((0,)))
        self._answered.acquire()

    def ask_all(self) -> None:
        """Send a question to every member, and wait for all answers."""
        for name in self._members:
            self._peers[name].send(CheckJobs((0,)))
        for _ in self._members:
            self._answered.acquire()

    def store(self, content: bytes | None) -> None:
        """Store the job's record, or remove it."""
        done = Event()
        self._membership.put(ConditionalChange("job", content, None), lambda outcome: done.set())
        done.wait()

    def __call__(self) -> None:
        self.store(self._record)
        self.step()
        self._work()
        self.step()
        self.store(None)


# ---- questions


def one_process(count: int) -> dict[str, Timing]:
    """Measure with all members in this process, beside DuckDB."""
    rows = duckdb.connect(config={"threads": 1})
    with Engine(workers=1) as engine, EmbeddedCluster(3, workers=1) as cluster:
        three, other = cluster.coordinator, cluster.members[1].name
        dag, spread = one_row(distributed=False), one_row(distributed=True)
        return in_turns(
            {
                "embedded 1": job(engine.run, dag, INLINE),
                "embedded 3, the coordinator required": job(
                    three.submit, spread, on_member(three, three.name)
                ),
                "embedded 3, another member required": job(three.submit, spread, on_member(three, other)),
                "embedded 3, all members": job(three.submit, spread, INLINE),
                "DuckDB, one thread": lambda: rows.execute("SELECT 1::INTEGER AS n").fetchall(),
            },
            count,
        )


def processes(count: int) -> tuple[dict[str, Timing], float]:
    """Measure three members in separate processes, beside DuckDB. Also return the required member's CPU time
    per job, in microseconds."""
    rows = duckdb.connect(config={"threads": 1})
    with LocalCluster(3, workers=1) as cluster, cluster.client() as client:
        member, dag = client.member, one_row(distributed=True)
        name = member.members.owners[0]
        config = on_member(member, name)
        one = job(member.submit, dag, config)
        steps = ThreeSteps(client, name, one, codec.encode_dag(dag))
        timings = in_turns(
            {
                "a message to a member and its answer": steps.step,
                "a message to all members and their answers": steps.ask_all,
                "local 3, one member required": one,
                "the same on the members' workers": job(
                    member.submit, dag, msgspec.structs.replace(config, inline=False)
                ),
                "the same in three steps with a stored record": steps,
                "local 3, all members": job(member.submit, dag, INLINE),
                "DuckDB, one thread": lambda: rows.execute("SELECT 1::INTEGER AS n").fetchall(),
            },
            count,
        )
        with used_by(cluster.processes[name].pid) as used:
            for _ in range(count):
                one()
        return timings, used[0] / count


@contextmanager
def used_by(process: int) -> Iterator[list[float]]:
    """A context that measures another process's CPU time, in microseconds."""
    used: list[float] = []
    before = _processor_ticks(process)
    yield used
    used.append((_processor_ticks(process) - before) * 1_000_000 / os.sysconf("SC_CLK_TCK"))


def _processor_ticks(process: int) -> int:
    with open(f"/proc/{process}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def by_size(count: int) -> dict[int, tuple[Timing, Timing]]:
    """Measure a job on all of 1, 2, 4, 8 members: embedded, and in processes."""
    found = {}
    dag = one_row(distributed=True)
    for size in SIZES:
        with EmbeddedCluster(size, workers=1) as embedded, LocalCluster(size, workers=1) as local:
            with local.client() as client:
                tasks = {
                    "embedded": job(embedded.coordinator.submit, dag, INLINE),
                    "local": job(client.member.submit, dag, INLINE),
                }
                timings = in_turns(tasks, count)
                found[size] = timings["embedded"], timings["local"]
    return found


def exchanged(count: int) -> Timing:
    """Measure the exchange of megabytes between three processes."""
    with LocalCluster(3, workers=1) as cluster, cluster.client() as client:
        return in_turns({"": job(client.member.submit, exchange())}, count)[""]


# ---- the tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    print(f"Load at the beginning: {os.getloadavg()[0]:.1f} runnable processes on {os.cpu_count()} cores.\n")
    print("| one row | best tenth | median | p99 | processor, this process |\n|---|---|---|---|---|")
    show(one_process(count))
    timings, used = processes(count)
    show(timings)
    print(f"\nThe required member's process uses {used:.0f} us for a job.\n")
    print("| all of so many members | embedded | local |\n|---|---|---|")
    for size, (embedded, local) in by_size(count // 4).items():
        print(f"| {size} | {embedded.median:,.0f} | {local.median:,.0f} |")
    moved = exchanged(max(20, count // 40))
    low, middle, high = moved.best / 1000, moved.median / 1000, moved.p99 / 1000
    print(f"\n5.3 MB between three processes, ms: best tenth {low:.1f}, median {middle:.1f}, p99 {high:.1f}.")
    print(f"Load at the end: {os.getloadavg()[0]:.1f}.")


def show(timings: Mapping[str, Timing]) -> None:
    """Print the rows of the table."""
    for name, each in timings.items():
        print(f"| {name} | {each.best:,.0f} | {each.median:,.0f} | {each.p99:,.0f} | {each.cpu:,.0f} |")


if __name__ == "__main__":
    main()
