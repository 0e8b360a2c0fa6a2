"""Members of a session: they run the session's jobs and hold the shares of its tables.

``embedded`` has members in this process, ``processes`` the members of a cluster that other sessions may use,
too. In such a cluster the catalog and the versions of tables are documents, which the keeper replicates
(``relations`` and ``sqlfront_connectors.memory.spread.documents`` define the content, ``documents`` changes
documents); ``catalog`` is the session's view of the catalog. ``service`` serves tables in a member's process
besides running jobs, ``caretaker`` keeps tables alive when members are lost. ``addresses`` finds clusters,
``opening`` opens the members of a new session.
"""

from sqlfront_values.lazy_modules import lazy_module, lazy_submodules

lazy_submodules(__name__, "caretaker", "embedded", "processes")

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from msgspec.structs import replace

import sqlfront_connectors.registry  # noqa: F401 - makes the connectors' processors known to the members
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.member_list import MemberList
from sqlfront_connectors.base import Partitioning, Table
from sqlfront_connectors.memory.spread.processors import ShareScan, StoreShare
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.catalog import Catalog, PathTables

if TYPE_CHECKING:
    from sqlfront.cluster.documents import Documents
    from sqlfront_cluster.members import outsider
    from sqlfront_planner.explain import explanation as explanations
else:
    explanations = lazy_module("sqlfront_planner.explain.explanation")


class TableCaretaker(Protocol):
    """A caretaker of tables: :class:`~sqlfront.cluster.caretaker.Caretaker`."""

    def wake(self) -> None:
        """Ask the caretaker to examine the tables after a change of the cluster; returns at once."""

    def close(self) -> None:
        """End the caretaker: no further work begins. Work that has begun goes on."""


class MakeTableCaretaker(Protocol):
    """A function that makes a caretaker: of the cluster's permanent tables if ``everybodys``, else of one
    session's temporary tables."""

    def __call__(self, documents: "Documents", *, everybodys: bool) -> TableCaretaker: ...


class Cluster:
    """The members of a session, and the member in this process that coordinates the session's jobs.

    Half of the interface :class:`~sqlfront_connectors.memory.spread.table.ClusterAccess`; subclasses have the
    other half.
    """

    #: The door by which other processes reach the members; None if the members are in this process.
    door: "outsider.ServiceAccess | None" = None

    def __init__(self, coordinator: Member, query_memory_limit: int | None) -> None:
        self.coordinator = coordinator
        self._query_memory_limit = query_memory_limit

    @property
    def engine(self) -> Engine:
        """The engine of the coordinator, for work that needs no other member."""
        return self.coordinator.engine

    @property
    def member_list(self) -> MemberList:
        """The current members, and the owners of the partitions."""
        return self.coordinator.members

    def submit(self, dag: DAG, config: JobConfig) -> LightJob:
        """Run a DAG on all members; a DAG that only looks up keys, on the owners of the keys' partitions."""
        if config.required_partitions is None:
            config = replace(config, required_partitions=required_partitions(dag))
        return self.coordinator.submit(dag, config)

    def participants(self, dag: DAG) -> "explanations.Participants":
        """The members that a job of the DAG needs, for EXPLAIN; the coordinator counts if it owns
        partitions."""
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
        """See :meth:`~sqlfront_connectors.memory.spread.table.ClusterAccess.run`."""
        config = JobConfig(resources=resources, memory_limit=self._query_memory_limit)
        return self.submit(dag, config).batches()

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: QueryRun | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """See :meth:`~sqlfront_connectors.memory.spread.table.ClusterAccess.ask`."""
        return self.coordinator.requests.ask(service, questions, query)

    def catalog(self, path_tables: PathTables, files: FileAccess) -> Catalog:
        """Make the catalog of a new session. ``path_tables`` makes the tables of names such as
        ``parquet.`path```; ``files`` are the files that the session may open."""
        return Catalog(path_tables)

    @property
    def files(self) -> FileAccess:
        """The files that every member may open for jobs: the files below the root folders that all limited
        members have in common. All files if no member is limited. Lite members don't count."""
        limits = [info.files.roots for info in self.member_list.members if not info.lite]
        known = [roots for roots in limits if roots is not None]
        if not known:
            return EVERYWHERE
        return FileAccess(tuple(root for root in known[0] if all(root in roots for roots in known)))

    def table(self, name: str, schema: pa.Schema, partitioning: Partitioning | None) -> SpreadTable:
        """Create an empty memory table, spread over the members; None as ``partitioning`` = no CLUSTERED
        BY."""
        raise NotImplementedError

    def writing(self, table: Table) -> AbstractContextManager[bool]:
        """A context in which no other session writes to the table's files; at its end all sessions know of
        the files. Yields True if a writer is gone whose rows a copy of the table may lack."""
        return nullcontext(False)

    def look_after(self, caretaker: "MakeTableCaretaker") -> None:
        """Begin to look after the session's temporary tables when members are lost, until the session is
        closed. ``caretaker`` makes the caretakers. Members in this process need none."""

    def await_change(self, seconds: float) -> None:
        """Wait until the cluster has changed, but at most ``seconds``."""

    def close(self) -> None:
        """Leave the cluster, or end the members if they belong to the session."""
        raise NotImplementedError


def required_partitions(dag: DAG) -> frozenset[int] | None:
    """The partitions that a job of the DAG needs, if the DAG only looks up known keys in tables on the
    members. None if the job needs all members."""
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
