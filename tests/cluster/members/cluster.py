"""A simulated cluster for tests: members m0, m1, ... in one thread, and what they say to each other."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_cluster.simulation import Simulation
from sqlfront_engine.dag import DAG
from sqlfront_engine.edges.queues import NOTHING
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import NO_RESOURCES, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.registry import register_processor
from tests.engine.jobs import numbers

PARTITIONS = 271

for _place in (
    "engine.jobs:Numbers",
    "engine.jobs:First",
    "engine.jobs:Fails",
    "cluster.members.cluster:Endless",
    "cluster.members.cluster:Drain",
):
    register_processor(f"tests.{_place}")


class Endless(Processor, frozen=True):
    """A source of the same batch for ever."""

    def run(self, context: ProcessorContext) -> Steps:
        batch = numbers(*range(500))
        while True:
            yield batch


class Drain(Processor, frozen=True):
    """Takes everything and gives nothing."""

    def run(self, context: ProcessorContext) -> Steps:
        while (yield Take(0)) is not None:
            pass
        yield from ()


class Cluster:
    """`size` data members, and lite ones by name; all are connected."""

    def __init__(
        self,
        size: int = 3,
        *lite: str,
        seed: int = 1,
        resources: Callable[[str], Mapping[str, object]] = lambda name: NO_RESOURCES,
    ) -> None:
        self.simulation = Simulation(seed)
        self.simulation.drop = self._drop
        #: Every message that was sent: sender, receiver, message.
        self.said: list[tuple[str, str, msgspec.Struct]] = []
        #: Decides, once set, which messages get lost.
        self.lost: Callable[[str, str, msgspec.Struct], bool] = lambda *_: False
        names = [f"m{number}" for number in range(size)]
        self.list = MemberList(
            1,
            (*map(MemberInfo, names), *(MemberInfo(name, lite=True) for name in lite)),
            tuple(names[number % size] for number in range(PARTITIONS)),
        )
        self.members = {name: self._start(name, resources(name)) for name in (*names, *lite)}
        everybody = list(self.members)
        for number, name in enumerate(everybody):
            for other in everybody[:number]:
                self.simulation.connect(other, name)
        self.simulation.pass_time(1)

    def _start(self, name: str, resources: Mapping[str, object]) -> Member:
        machine = self.simulation.machine(name)
        engine = Engine(
            clock=machine.clock,
            threads=(machine.workers, machine.workers),
            memory_limit=1 << 30,
            user_code=True,
        )
        return Member(engine, machine.transport, self.list, resources)

    def _drop(self, sender: str, receiver: str, message: msgspec.Struct) -> bool:
        self.said.append((sender, receiver, message))
        return self.lost(sender, receiver, message)

    def counts(self) -> Counter[str]:
        """How many messages of each kind were sent."""
        return Counter(type(message).__name__ for _, _, message in self.said)

    def submit(self, dag: DAG, at: str = "m0", config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        """Submit a DAG at a member."""
        return self.members[at].submit(dag, config)

    def read(self, job: LightJob) -> list[pa.RecordBatch]:
        """The whole result; raises what the job failed with."""
        batches: list[pa.RecordBatch] = []

        def at_end() -> bool:
            while (batch := job.poll()) is not NOTHING:
                if batch is None:
                    return True
                batches.append(batch)
            return False

        assert self.simulation.run(at_end), "the job hangs"
        return batches

    def rows(self, job: LightJob) -> list[Any]:
        """The values of the result's first column."""
        return [value for batch in self.read(job) for value in batch.column(0).to_pylist()]

    def run(self, dag: DAG, at: str = "m0", config: JobConfig = DEFAULT_CONFIG) -> list[Any]:
        """Submit and read."""
        return self.rows(self.submit(dag, at, config))

    def leftovers(self, among: Sequence[str] | None = None) -> dict[str, object]:
        """What is left of jobs, by member, some seconds later: nothing, once all have ended."""
        self.simulation.pass_time(7)
        left: dict[str, object] = {}
        for name in among or self.members:
            member = self.members[name]
            statistics = member.statistics()
            if (
                not statistics.idle
                or statistics.remembered
                or member.engine.memory.used != member.engine.tables.used
            ):
                left[name] = statistics, member.engine.memory.statistics()
        return left
