"""The members of a session: they run the session's jobs and hold the shares of its tables.

``embedded`` makes members in this process; ``processes`` uses the members of a cluster, which other sessions
may use, too. In such a cluster the catalog and the versions of tables are documents, which the keeper
replicates (``relations`` and ``sqlfront_connectors.memory.spread.documents`` define the content,
``documents`` changes documents); ``catalog`` is the session's view of the catalog. ``service`` lets a
member's process serve tables besides running jobs, ``caretaker`` keeps tables alive when members are lost.
``addresses`` finds clusters, ``opening`` opens the members of a new session.
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
from sqlfront_cluster.members.protocol.member_list import MemberList
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_connectors.base import Partitioning, Table
from sqlfront_connectors.memory.spread.move_processors import CopyShare, MoveShare
from sqlfront_connectors.memory.spread.processors import ShareScan, StoreShare
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.dag import DAG
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_planner.catalog import Catalog, PathTables

if TYPE_CHECKING:
    from sqlfront.cluster.documents import Documents
    from sqlfront_cluster.members.questions import outsider
    from sqlfront_planner.explain import explanation as explanations
else:
    explanations = lazy_module("sqlfront_planner.explain.explanation")


class TableCaretaker(Protocol):
    """An object that repairs tables when members are lost; :class:`~sqlfront.cluster.caretaker.Caretaker`
    implements it."""

    def wake(self) -> None:
        """Ask the caretaker to examine the tables after a change of the cluster; returns at once."""

    def close(self) -> None:
        """End the caretaker: it begins no further repair, but finishes the present one."""


class MakeTableCaretaker(Protocol):
    """A function that makes a caretaker: for the cluster's permanent tables if ``everybodys``, else for one
    session's temporary tables."""

    def __call__(self, documents: "Documents", *, everybodys: bool) -> TableCaretaker: ...


class Cluster:
    """The members of a session, and the member in this process that coordinates the session's jobs. ``door``:
    the access by which processes that are not members, such as Spark's, exchange rows with the members; None
    if the members are in this process.

    This class implements a part of
    :class:`~sqlfront_connectors.memory.spread.published_table.ClusterAccess`, by which tables use the
    members; the subclasses implement the rest.
    """

    #: The door by which other processes reach the members; None if the members are in this process.
    door: "outsider.ServiceAccess | None" = None

    def __init__(self, coordinator: Member, query_memory_limit: int | None) -> None:
        self.coordinator = coordinator
        self._query_memory_limit = query_memory_limit

    @property
    def usual_backups(self) -> int:
        """The number of backups of a new table that says nothing about backups and can't be loaded again from
        a source: 0 for members in this process, which are all lost together."""
        return 0

    @property
    def engine(self) -> Engine:
        """The engine of the coordinating member, for jobs that need no other member."""
        return self.coordinator.engine

    @property
    def member_list(self) -> MemberList:
        """The current members, and the owners of the partitions."""
        return self.coordinator.members

    def submit(self, dag: DAG, config: JobConfig) -> LightJob:
        """Run a DAG as a light job on all members. A DAG that only looks up known keys runs on the owners of
        the keys' partitions alone."""
        if config.required_partitions is None:
            config = replace(config, required_partitions=required_partitions(dag))
        readers = required_readers(dag)
        if readers:
            config = replace(config, required_members=(*config.required_members, *readers))
        return self.coordinator.submit(dag, config)

    def participants(self, dag: DAG) -> "explanations.Participants":
        """Return for EXPLAIN the members that a job of the DAG needs, the number of members that own
        partitions, and the members that each scan needs. Members that neither own partitions nor have rows
        that a scan reads don't count."""
        owners = self.member_list.owners
        config = JobConfig(required_partitions=required_partitions(dag))
        scans = {
            vertex.name: vertex.processor.read_on(owners)
            for vertex in dag
            if isinstance(vertex.processor, ShareScan)
        }
        counted = {*owners}.union(*scans.values())
        names = tuple(name for name in self.coordinator.needed(dag, config) if name in counted)
        return explanations.Participants(names, len(counted), scans)

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterable[pa.RecordBatch]:
        """Run a DAG as a light job, with the session's memory limit for a query, and return the result's
        batches. ``resources``: the objects that the DAG's processors use, by name."""
        config = JobConfig(resources=resources, memory_limit=self._query_memory_limit)
        return self.submit(dag, config).batches()

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: Wait | None = None
    ) -> Mapping[str, bytes | memoryview]:
        """Send ``questions``, by the names of members, to the service named ``service`` on these members
        (:class:`sqlfront_cluster.members.questions.requests.RequestService`), and return the answers by the
        names of members. ``query``: the query at whose end the waiting stops. Raises the first error among
        the answers; OperationalError if a member is lost, the cluster has changed, or the query is
        stopped."""
        return self.coordinator.requests.ask(service, questions, query)

    def catalog(self, path_tables: PathTables, files: FileAccess) -> Catalog:
        """Make the catalog of a new session. ``path_tables(format, path)`` makes the tables of names such as
        ``parquet.`path```; ``files`` are the files that the session may open."""
        return Catalog(path_tables)

    @property
    def files(self) -> FileAccess:
        """The files that every member may open for jobs: those below the root folders that all members with a
        limit have in common, or all files if no member has a limit. Lite members don't count."""
        limits = [info.files.roots for info in self.member_list.members if not info.lite]
        known = [roots for roots in limits if roots is not None]
        if not known:
            return EVERYWHERE
        return FileAccess(tuple(root for root in known[0] if all(root in roots for roots in known)))

    def table(
        self, name: str, schema: pa.Schema, partitioning: Partitioning | None, backups: int = 0
    ) -> SpreadTable:
        """Create an empty memory table whose rows are distributed over the members. ``partitioning`` None:
        the table has no CLUSTERED BY. ``backups``: the number of backups of each row, 0 to 2."""
        raise NotImplementedError

    def writing(self, table: Table) -> AbstractContextManager[bool]:
        """Return a context for writing to the table's files: in the context no other session writes to them,
        and at its end all sessions know the new files. The context yields True if an earlier writer was lost
        before it had finished, so that a cached copy of the table may lack rows which that writer added to
        the files; else False."""
        return nullcontext(False)

    def look_after(self, caretaker: "MakeTableCaretaker") -> None:
        """Repair the session's temporary tables when members are lost, from now on until the session is
        closed; ``caretaker`` makes the object that does this. This implementation, for members in this
        process, does nothing."""

    def await_change(self, seconds: float) -> None:
        """Wait until a document or the member list of the cluster has changed, but at most ``seconds``. This
        implementation, for members in this process, returns at once."""

    def close(self) -> None:
        """Leave the cluster; members that were started for the session end."""
        raise NotImplementedError


def required_readers(dag: DAG) -> tuple[str, ...]:
    """Return the members with rows of partitions that others own by now, if a job of the DAG reads or moves
    the rows: the job may not run without the members, since rows would be missing from its result."""
    names = set[str]()
    for vertex in dag:
        match vertex.processor:
            case ShareScan(holders=holders) as scan if holders is not None:
                names.update(scan.read_on(()))
            case MoveShare() | CopyShare() as share:
                names.update(share.step.owners)
    return tuple(sorted(names))


def required_partitions(dag: DAG) -> frozenset[int] | None:
    """Return the partitions that a job of the DAG needs, if all its sources look up known keys in tables on
    the members. Return None if the job needs all members."""
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
