"""A session's members in a simulation: everything happens in one thread, and what is sent is counted."""

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront.cluster import Cluster
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.spread import SpreadTable, TableVersion
from sqlfront_connectors.memory.store import TableStore
from sqlfront_engine.coordinator import Engine, JobConfig
from sqlfront_engine.dag import DAG
from sqlfront_engine.light_job import LightJob
from sqlfront_engine.members.member import Member
from sqlfront_engine.members.member_list import MemberInfo, MemberList
from sqlfront_engine.network.transport import Part
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_engine.queues import NOTHING
from sqlfront_engine.settings import DEFAULT_PARTITIONS
from sqlfront_engine.testing.simulation import Machine, Simulation

CLIENT = "client"
MEMORY = 1 << 30
MESHED = 10


class CountingSimulation(Simulation):
    """Counts messages and bytes, and the processor time of one machine in nanoseconds."""

    def __init__(self) -> None:
        super().__init__(seed=1)
        self.messages = self.size = self.cpu = 0
        self.sent = self._count

    def _count(self, sender: str, receiver: str, message: msgspec.Struct, body: Sequence[Part]) -> None:
        self.messages += 1
        self.size += len(msgspec.msgpack.encode(message))
        self.size += sum(part.nbytes if isinstance(part, pa.RecordBatch) else len(part) for part in body)

    def at(self, time: float, callback: Callable[[], object], machine: Machine | None = None) -> int:
        """See :meth:`Simulation.at`."""
        if machine is not None and machine.name == CLIENT:
            return super().at(time, lambda: self.timed(callback), machine)
        return super().at(time, callback, machine)

    def timed(self, work: Callable[[], object]) -> object:
        """Do the work on the client's account."""
        began = time.thread_time_ns()
        try:
            return work()
        finally:
            self.cpu += time.thread_time_ns() - began


class SimulatedMembers(Cluster):
    """``size`` members and the session's client, which coordinates. Up to ``MESHED`` members are connected
    with each other, more of them with the client only (and by :meth:`connect`)."""

    def __init__(self, size: int) -> None:
        self.simulation = CountingSimulation()
        names = tuple(f"m{number}" for number in range(size))
        owners = tuple(names[number % size] for number in range(DEFAULT_PARTITIONS))
        infos = (*map(MemberInfo, names), MemberInfo(CLIENT, lite=True))
        self._list = MemberList(1, infos, owners)
        self._stores: dict[str, TableStore] = {}
        self._turns = itertools.count(1)
        self._members = {name: self._start(name, self._store(name)) for name in names}
        super().__init__(self._start(CLIENT, NO_RESOURCES), None)
        for place, name in enumerate(names):
            self.simulation.connect(CLIENT, name)
            for other in names[:place] if size <= MESHED else ():
                self.simulation.connect(other, name)
        self.simulation.pass_time(1)

    def _store(self, member: str) -> TableStore:
        store = self._stores[member] = TableStore(member)
        return store

    def _start(self, name: str, resources: Mapping[str, object]) -> Member:
        machine = self.simulation.machine(name)
        engine = Engine(clock=machine.clock, threads=(machine.workers, machine.workers), memory_limit=MEMORY)
        return Member(engine, machine.transport, self._list, resources)

    def connect_owners(self, partitions: Iterable[int]) -> None:
        """Have the owners of these partitions connected with each other."""
        owners = sorted({self._list.owners[number] for number in partitions})
        for pair in itertools.combinations(owners, 2):
            if pair not in self.simulation.connections() and pair[::-1] not in self.simulation.connections():
                self.simulation.connect(*pair)
        self.simulation.pass_time(1)

    # ---- counting

    def reset(self) -> None:
        """Count anew."""
        self.simulation.messages = self.simulation.size = self.simulation.cpu = 0

    def sent(self) -> tuple[int, int, float]:
        """Messages and bytes since then, and the client's processor time in microseconds."""
        return self.simulation.messages, self.simulation.size, self.simulation.cpu / 1000

    # ---- a session's cluster

    def submit(self, dag: DAG, config: JobConfig) -> LightJob:
        """Run a DAG to its end; nothing is inline, since no thread reads."""
        config = replace(config, inline=False)
        job = self.simulation.timed(lambda: super(SimulatedMembers, self).submit(dag, config))
        assert isinstance(job, LightJob)
        batches: list[pa.RecordBatch] = []

        def at_end() -> bool:
            while (batch := job.poll()) is not NOTHING:
                if batch is None:
                    return True
                batches.append(batch)
            return False

        assert self.simulation.run(at_end), "the job hangs"
        return _Ended(job, batches)

    def table(self, name: str, schema: pa.Schema, partitioning: Partitioning | None) -> SpreadTable:
        """A new memory table, spread over the members."""
        return SpreadTable(name, schema, partitioning, self)

    def begin_turn(self, table: SpreadTable) -> str:
        """See :class:`~sqlfront_connectors.memory.spread.Members`: there is one session."""
        return str(next(self._turns))

    def end_turn(self, table: SpreadTable) -> None:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""

    def publish(self, table: SpreadTable, version: TableVersion) -> None:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""
        table.adopt(version)

    def dropped(self, table: SpreadTable) -> None:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""

    def release(self, key: str) -> None:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""
        for store in tuple(self._stores.values()):
            store.free(key)

    def close(self) -> None:
        """End the members."""
        for member in (*self._members.values(), self.coordinator):
            member.close()


class _Ended(LightJob):
    """A job that has ended, with its result."""

    def __init__(self, job: LightJob, batches: list[pa.RecordBatch]) -> None:
        super().__init__(job._execution)
        self._rows = batches

    def batches(self) -> Iterator[pa.RecordBatch]:  # type: ignore[override]
        """The result."""
        return iter(self._rows)
