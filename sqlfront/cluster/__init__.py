"""A session's members, if it has several: who runs its jobs, and holds the shares of its tables.

``embedded`` has members in this process, ``processes`` those of a cluster that other sessions may use, too.
There the catalog and the versions of tables are documents that the cluster's keeper replicates (``relations``
and ``sqlfront_connectors.memory.documents`` say what they hold, ``documents`` how they are changed);
``catalog`` is the session's picture of them. ``service`` is what a member process does for tables beside
running jobs, ``caretaker`` sees to it that tables outlive lost members. ``addresses`` finds clusters.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec.structs import replace

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the members
from sqlfront.config import Config, Launcher
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.member_list import MemberList
from sqlfront_connectors.base import Partitioning, Table
from sqlfront_connectors.memory.share import ShareScan, StoreShare
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.catalog import Catalog, PathTables
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sqlfront.cluster import embedded, processes
    from sqlfront.session import Session
    from sqlfront_cluster.members import outsider
    from sqlfront_planner.explain import explanation as explanations
else:
    embedded = lazy_module("sqlfront.cluster.embedded")
    processes = lazy_module("sqlfront.cluster.processes")
    explanations = lazy_module("sqlfront_planner.explain.explanation")


class Cluster:
    """Members, and the one in this process that coordinates the session's jobs.

    Half of what :class:`~sqlfront_connectors.memory.spread.Members` asks; subclasses have the other half.
    """

    #: How others reach the members; None if they are in this process.
    door: "outsider.Door | None" = None

    def __init__(self, coordinator: Member, query_memory_limit: int | None) -> None:
        self.coordinator = coordinator
        self._query_memory_limit = query_memory_limit

    @property
    def engine(self) -> Engine:
        """The engine of the member that coordinates, for what needs no other."""
        return self.coordinator.engine

    @property
    def member_list(self) -> MemberList:
        """Who is in the cluster now, and how the partitions are dealt."""
        return self.coordinator.members

    def submit(self, dag: DAG, config: JobConfig) -> LightJob:
        """Run a DAG on all members; one that only looks up keys, on the owners of these."""
        if config.required_partitions is None:
            config = replace(config, required_partitions=required_partitions(dag))
        return self.coordinator.submit(dag, config)

    def participants(self, dag: DAG) -> "explanations.Participants":
        """The members that a job of the DAG needs, for EXPLAIN; the coordinator counts if it holds rows."""
        members = self.member_list
        config = JobConfig(required_partitions=required_partitions(dag))
        names = tuple(name for name in self.coordinator.needed(dag, config) if name in members.owners)
        scans = {}
        for vertex in dag:
            if isinstance(vertex.processor, ShareScan):
                required = vertex.processor.required_partitions()
                numbers = range(len(members.owners)) if required is None else required
                scans[vertex.name] = len({members.owners[number] for number in numbers})
        return explanations.Participants(names, len(set(members.owners)), scans)

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""
        config = JobConfig(resources=resources, memory_limit=self._query_memory_limit)
        return self.submit(dag, config).batches()

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: QueryRun | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """See :class:`~sqlfront_connectors.memory.spread.Members`."""
        return self.coordinator.requests.ask(service, questions, query)

    def catalog(self, path_tables: PathTables, files: FileAccess) -> Catalog:
        """The catalog of a session that opens these files."""
        return Catalog(path_tables)

    @property
    def files(self) -> FileAccess:
        """The files that all members open for jobs."""
        limits = [info.files.roots for info in self.member_list.members if not info.lite]
        known = [roots for roots in limits if roots is not None]
        if not known:
            return EVERYWHERE
        return FileAccess(tuple(root for root in known[0] if all(root in roots for roots in known)))

    def table(self, name: str, schema: pa.Schema, partitioning: Partitioning | None) -> SpreadTable:
        """A new memory table, spread over the members."""
        raise NotImplementedError

    def writing(self, table: Table) -> AbstractContextManager[bool]:
        """While it lasts no other session writes to the table's files; at its end all know of them. Gives
        True if a copy of the table may lack what somebody has added who is gone."""
        return nullcontext(False)

    def look_after(self, session: "Callable[[], Session | None]") -> None:
        """Have the temporary tables of the session looked after, as long as there is one."""

    def await_change(self, seconds: float) -> None:
        """Wait until something of the cluster has changed, but no longer."""

    def close(self) -> None:
        """Leave the members, or end them if they are the session's own."""
        raise NotImplementedError


def open_cluster(
    config: Config, spark: "SparkSession | None" = None, files: FileAccess = EVERYWHERE
) -> Cluster | None:
    """The members of a new session, None if it is to have but itself; ``spark``: whose executors they may
    live on; ``files``: those that members of its own open.

    Raises OperationalError if there is no such cluster, or its members can't be started.
    """
    if config.cluster is not None or config.launcher is not Launcher.EMBEDDED:
        return processes.Client(config, spark, files)
    return embedded.EmbeddedMembers(config, files) if (config.members or 1) > 1 else None


def required_partitions(dag: DAG) -> frozenset[int] | None:
    """The partitions that a DAG reads, if all that it reads on the members are keys of their tables; else
    None."""
    found: set[int] = set()
    reads_keys = False
    for vertex in dag:
        if isinstance(vertex.processor, StoreShare):
            return None
        if isinstance(vertex.processor, ShareScan) and vertex.processor.keys_from is not None:
            return None
        if vertex.only_on is not None or dag.inbound(vertex):
            continue
        scan = vertex.processor
        partitions = scan.required_partitions() if isinstance(scan, ShareScan) else None
        if partitions is None:
            return None
        found |= partitions
        reads_keys = True
    return frozenset(found) if reads_keys else None
