"""Simulated clusters of any size, with tables that are spread over them, and what a query costs there.

Only the client is connected with everybody, and those members with each other that are told to be: a thousand
members have half a million connections.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront.cluster import Cluster
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_cluster.network.frames import FrameKind, encode_frame
from sqlfront_cluster.network.transport import Part
from sqlfront_cluster.simulation import Machine, Simulation
from sqlfront_connectors.base import Partitioning, RowPath
from sqlfront_connectors.memory.segments.segment import build_segments
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.share_statistics import merged, read_reports, report
from sqlfront_connectors.memory.spread.store import TableStore
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_engine.edges.queues import NOTHING
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_planner.binder import BindSettings
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import PlanTarget, plan_query
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, key_hasher, partition_ids
from sqlfront_values.types import BIGINT, STRING

CLIENT: Final = "client"
#: Orders of the tables; each has three lines, and every tenth a customer of its own.
ORDERS: Final = 2000
LINES: Final = 3
PARTITIONING: Final = Partitioning((0,), DEFAULT_PARTITIONS)

LOOKUP: Final = "SELECT o_total FROM orders WHERE o_key = {order}"
JOIN: Final = """
    SELECT o_total, l_price, c_name
    FROM orders JOIN lines ON o_key = l_key JOIN customers ON o_customer = c_key
    WHERE o_key = {order} AND c_key = {customer}
"""
#: Not by any key.
SCAN: Final = "SELECT o_total FROM orders WHERE o_total = {order}"


class Cost(msgspec.Struct, frozen=True):
    """Of one query: messages by kind, bytes that they would have on the wire, and microseconds of the
    processor that the client used."""

    messages: Counter[str]
    bytes: int
    cpu: float


class Metered(Simulation):
    """Measures what each machine uses of the processor, in nanoseconds."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.cpu: Counter[str] = Counter()

    def at(self, time_: float, callback: Callable[[], object], machine: Machine | None = None) -> int:
        """See :meth:`Simulation.at`."""

        def metered() -> None:
            began = time.thread_time_ns()
            callback()
            if machine is not None:
                self.cpu[machine.name] += time.thread_time_ns() - began

        return super().at(time_, metered, machine)


class Town(Cluster):
    """So many members, and a client that coordinates; the session's part of the cluster."""

    def __init__(self, size: int) -> None:
        self.simulation = Metered(1)
        self.simulation.watch = self._watch
        self.messages: Counter[str] = Counter()
        self.bytes = 0
        names = [f"m{number}" for number in range(size)]
        owners = tuple(names[partition % size] for partition in range(DEFAULT_PARTITIONS))
        self.stores = {name: TableStore(name, lambda: 1) for name in names}
        everybody = (*map(MemberInfo, names), MemberInfo(CLIENT, lite=True))
        members = MemberList(1, everybody, owners, dealt=1)
        self.members = {name: self._start(name, members) for name in (*names, CLIENT)}
        super().__init__(self.members[CLIENT], None)
        for name in names:
            self.simulation.connect(CLIENT, name)
        self.simulation.pass_time(1)
        self.names = Catalog()
        self.tables = {name: self._fill(name, batch) for name, batch in _tables().items()}
        self._acquainted: set[frozenset[str]] = set()

    def _start(self, name: str, members: MemberList) -> Member:
        machine = self.simulation.machine(name)
        engine = Engine(clock=machine.clock, threads=(machine.workers, machine.workers), memory_limit=1 << 30)
        return Member(engine, machine.transport, members, self.stores.get(name, NO_RESOURCES))

    def _watch(self, sender: str, receiver: str, message: msgspec.Struct, body: Sequence[Part]) -> None:
        self.messages[type(message).__name__] += 1
        parts = [part.serialize() if isinstance(part, pa.RecordBatch) else part for part in body]
        self.bytes += encode_frame(FrameKind.MESSAGE, message, parts).size

    # ---- tables

    def _fill(self, name: str, batch: pa.RecordBatch) -> SpreadTable:
        """A table with these rows, each on the member of its key."""
        table = SpreadTable(name, batch.schema, PARTITIONING, self)
        ids = partition_ids([batch.column(0)], batch.num_rows, DEFAULT_PARTITIONS).tolist()
        owners = self.member_list.owners
        rows: dict[str, list[int]] = {owner: [] for owner in owners}
        for row, partition in enumerate(ids):
            rows[owners[partition]].append(row)
        reports = []
        for owner, own in rows.items():
            segments = build_segments([batch.take(pa.array(own, pa.int64()))], batch.schema, PARTITIONING)
            partitions = tuple(place for place, each in enumerate(owners) if each == owner)
            share = TableShare(batch.schema, PARTITIONING, segments, partitions=partitions)
            self.stores[owner].stage(f"{name}@1", share)
            reports.append(report(share, len(own)))
        known = merged(read_reports(reports)[0], len(batch.schema), PARTITIONING)
        table.adopt(TableVersion(1, f"{name}@1", known, 1, owners))
        self.names.add(TableEntry(name, table))
        return table

    def begin_attempt(self, table: PublishedTable) -> None:
        pass

    def end_attempt(self, table: PublishedTable, *, failed: bool) -> None:
        pass

    def begin_turn(self, table: PublishedTable) -> str:
        """See :class:`~sqlfront_connectors.memory.spread.published_table.ClusterAccess`, as for the
        following: nobody writes."""
        raise NotImplementedError

    def end_turn(self, table: PublishedTable) -> None:
        """Nobody writes."""

    def publish(self, table: PublishedTable, version: TableVersion, dealt: int) -> None:
        """Nobody writes."""

    def dropped(self, table: PublishedTable) -> None:
        """Everything stays."""

    def release(self, key: str) -> None:
        """Everything stays."""

    # ---- queries

    def path(self) -> RowPath:
        """The way to orders by their keys."""
        path = self.tables["orders"].snapshot().row_path((0,), (2,))
        assert path is not None
        return path

    def planned(self, text: str) -> QueryPlan:
        """The query's plan as a job."""
        return plan_query(
            parse_query(text), self.names, BindSettings(), target=PlanTarget(2, distributed=True)
        )

    def answer(self, plan: QueryPlan) -> list[tuple[object, ...]]:
        """The rows, read to the end."""
        dag, resources = plan.bind()
        job = self.submit(dag, JobConfig(resources=resources))
        rows: list[tuple[object, ...]] = []

        def at_end() -> bool:
            while (batch := job.poll()) is not NOTHING:
                if batch is None:
                    return True
                rows.extend(zip(*(column.to_pylist() for column in batch.columns), strict=True))
            return False

        assert self.simulation.run(at_end), "the job hangs"
        return sorted(rows)

    def acquaint(self, *keys: int) -> None:
        """Connect the owners of the keys with each other."""
        hash_key, owners = key_hasher([BIGINT]), self.member_list.owners
        names = sorted({owners[hash_key((key,)) % len(owners)] for key in keys})
        for place, name in enumerate(names):
            for other in names[:place]:
                if frozenset((name, other)) not in self._acquainted:
                    self._acquainted.add(frozenset((name, other)))
                    self.simulation.connect(name, other)
        self.simulation.pass_time(1)

    def cost(self, work: Callable[[], object], times: int = 1) -> Cost:
        """What a piece of work costs, of so many."""
        self.messages, self.bytes = Counter(), 0
        others_before = sum(self.simulation.cpu.values()) - self.simulation.cpu[CLIENT]
        began = time.thread_time_ns()
        for _ in range(times):
            work()
        used = time.thread_time_ns() - began
        # The simulation's own part is within; so is what the members did, which is known.
        others = sum(self.simulation.cpu.values()) - self.simulation.cpu[CLIENT] - others_before
        messages = Counter({kind: count // times for kind, count in self.messages.items()})
        return Cost(messages, self.bytes // times, (used - others) / times / 1000)


def customer_of(order: int) -> int:
    """The key of an order's customer."""
    return order // 10


def _tables() -> Mapping[str, pa.RecordBatch]:
    orders = range(ORDERS)
    lines = [order for order in orders for _ in range(LINES)]
    customers = range(ORDERS // 10)
    return {
        "orders": _batch(
            o_key=(BIGINT, orders),
            o_customer=(BIGINT, map(customer_of, orders)),
            o_total=(BIGINT, (order * 100 for order in orders)),
        ),
        "lines": _batch(l_key=(BIGINT, lines), l_price=(BIGINT, range(len(lines)))),
        "customers": _batch(
            c_key=(BIGINT, customers), c_name=(STRING, (f"customer {key}" for key in customers))
        ),
    }


def _batch(**columns: tuple[pa.DataType, Iterable[object]]) -> pa.RecordBatch:
    arrays = [pa.array(list(values), kind) for kind, values in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))
