"""What a light job costs: the round trip of one row, embedded and with members in processes of their own.

    python -m benchmarks.light_jobs [--count 2000]

The DAG is a source of one row on one member and the result on the coordinator, the client. Beside it, the
lifecycle of the seed's normal jobs: three round trips (init, start, complete), each a message to the same
member and its answer, around the same work.
"""

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event

import msgspec
import pyarrow as pa

from sqlfront_engine import codec
from sqlfront_engine.coordinator import Engine, JobConfig
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.expressions import Literal
from sqlfront_engine.launchers.local import LocalCluster
from sqlfront_engine.launchers.running import RunningMember
from sqlfront_engine.light_job import LightJob
from sqlfront_engine.members.messages import CheckJobs, UnknownJobs
from sqlfront_engine.network.transport import Body, Peer
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.values import Values


@dataclass
class Timing:
    """Microseconds: the best tenth's bound (what it costs when nothing else runs), the median, and the 99th
    of a hundred."""

    best: float
    median: float
    p99: float

    @classmethod
    def of(cls, function: Callable[[], object], count: int) -> "Timing":
        for _ in range(max(50, count // 10)):
            function()
        times = []
        for _ in range(count):
            began = time.perf_counter_ns()
            function()
            times.append((time.perf_counter_ns() - began) / 1000)
        hundredths = statistics.quantiles(times, n=100)
        return cls(hundredths[9], hundredths[49], hundredths[98])

    def __str__(self) -> str:
        return f"{self.best:8.0f} {self.median:8.0f} {self.p99:8.0f}"


def one_row(*, distributed: bool) -> DAG:
    """One row from one member."""
    dag = DAG()
    values = Values(pa.schema([("n", pa.int32())]), ((Literal(pa.int32(), 1),),))
    source = dag.vertex("values", values, 1)
    edge = Edge.between(source, dag.vertex("result", ResultSink()))
    return dag.edge(edge.to_one().distribute_to() if distributed else edge)


def run(submit: Callable[[DAG, JobConfig], LightJob], dag: DAG, config: JobConfig) -> None:
    """Submit, and read the row."""
    (batch,) = submit(dag, config).batches()
    assert batch.num_rows == 1


class RoundTrip:
    """A question to a member that it answers at once, as a step of a longer lifecycle would be."""

    def __init__(self, client: RunningMember, other: str) -> None:
        self._answered = Event()
        self._member = client.member
        self._peer = client.member.peers[other]
        self._received = client.member.received
        client.member.received = self._hear  # type: ignore[method-assign]

    def _hear(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        if isinstance(message, UnknownJobs):
            self._answered.set()
        else:
            self._received(peer, message, body)

    def __call__(self) -> None:
        self._answered.clear()
        self._peer.send(CheckJobs((0,)))
        self._answered.wait()


def counted(client: RunningMember, dag: DAG, config: JobConfig) -> dict[str, tuple[int, int]]:
    """Messages and bytes, by kind, that a job costs, sent and received."""

    def now() -> Counter[tuple[str, str]]:
        statistics = client.membership.statistics()
        found: Counter[tuple[str, str]] = Counter()
        for kind, traffic in (*statistics.sent.items(), *statistics.received.items()):
            found[kind, "messages"] += traffic.messages
            found[kind, "bytes"] += traffic.bytes
        return found

    before = now()
    for _ in range(100):
        run(client.member.submit, dag, config)
    cost = now() - before
    kinds = {kind for kind, _ in cost if not kind.startswith("Heartbeat")}
    return {kind: (cost[kind, "messages"], cost[kind, "bytes"] // 100) for kind in sorted(kinds)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    print(f"{'round trip of one row, us':47}      p10   median      p99")
    with Engine(workers=1) as engine:
        dag, inline = one_row(distributed=False), JobConfig(inline=True)
        print(f"{'embedded 1':47}", Timing.of(lambda: run(engine.run, dag, inline), count))
    with LocalCluster(3, workers=1) as cluster, cluster.client() as client:
        report_local(client, count)


def report_local(client: RunningMember, count: int) -> None:
    """The lines about members in processes of their own."""
    dag = one_row(distributed=True)
    owners = client.member.members.owners
    one = JobConfig(required_partitions=frozenset({0}), inline=True)
    threads = JobConfig(required_partitions=frozenset({0}))
    every = JobConfig(inline=True)
    trip = RoundTrip(client, owners[0])
    submit = client.member.submit

    def three_steps() -> None:
        trip()
        run(submit, dag, one)
        trip()

    for name, function in (
        ("a message to a member and its answer", trip),
        ("local 3, one member required", lambda: run(submit, dag, one)),
        ("the same on the members' workers", lambda: run(submit, dag, threads)),
        ("the same in three steps (init, start, complete)", three_steps),
        ("local 3, all members", lambda: run(submit, dag, every)),
    ):
        print(f"{name:47}", Timing.of(function, count))
    encoding = Timing.of(lambda: codec.encode_dag(dag), count)
    print(f"encoding the plan: {encoding.median:.1f} us for {len(codec.encode_dag(dag))} bytes")
    print("messages of 100 jobs, and bytes of each job:")
    for kind, (messages, size) in counted(client, dag, one).items():
        print(f"  {kind:12} {messages:5} {size:6}")


if __name__ == "__main__":
    main()
