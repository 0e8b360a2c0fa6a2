"""A session's members, if it has several: who runs its jobs, and holds the shares of its tables."""

from collections.abc import Iterable, Mapping

import pyarrow as pa
from msgspec.structs import replace

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the members
from sqlfront.config import Config
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.share import ShareScan, StoreShare
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_connectors.memory.store import TableStore
from sqlfront_engine.coordinator import Engine, JobConfig
from sqlfront_engine.dag import DAG
from sqlfront_engine.launchers.embedded import EmbeddedCluster
from sqlfront_engine.light_job import LightJob
from sqlfront_engine.scheduler import available_cores


class Cluster:
    """Members in this process; the first one coordinates all jobs."""

    def __init__(self, config: Config) -> None:
        self._stores: dict[str, TableStore] = {}
        cores = available_cores() if config.workers is None else config.workers
        self._query_memory_limit = config.query_memory_limit
        self._members = EmbeddedCluster(
            config.members,
            workers=max(1, cores // config.members),
            memory_limit=config.memory_limit,
            resources=self._store,
        )

    def _store(self, member: str) -> TableStore:
        store = self._stores[member] = TableStore()
        return store

    @property
    def engine(self) -> Engine:
        """The engine of the member that coordinates, for what needs no other."""
        return self._members.coordinator.engine

    def submit(self, dag: DAG, config: JobConfig) -> LightJob:
        """Run a DAG on all members; one that only looks up keys, on the owners of these."""
        if config.required_partitions is None:
            config = replace(config, required_partitions=_required_partitions(dag))
        return self._members.coordinator.submit(dag, config)

    def table(self, name: str, schema: pa.Schema, partitioning: Partitioning | None) -> SpreadTable:
        """A new memory table, spread over the members."""
        return SpreadTable(name, schema, partitioning, self)

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""
        config = JobConfig(resources=resources, memory_limit=self._query_memory_limit)
        return self.submit(dag, config).batches()

    def free(self, key: str) -> None:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""
        for store in tuple(self._stores.values()):
            store.free(key)

    def close(self) -> None:
        """End the members."""
        self._members.close()


def _required_partitions(dag: DAG) -> frozenset[int] | None:
    """The partitions that a DAG reads, if all that it reads on the members are keys of their tables; else
    None."""
    found: set[int] = set()
    for vertex in dag:
        if isinstance(vertex.processor, StoreShare):
            return None
        if vertex.only_on is not None or dag.inbound(vertex):
            continue
        scan = vertex.processor
        partitions = scan.required_partitions() if isinstance(scan, ShareScan) else None
        if partitions is None:
            return None
        found |= partitions
    return frozenset(found) or None
