"""The plan of a durable job, which the job's log stores so that any process can run the job."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256

import msgspec
import pyarrow as pa

from sqlfront.jobs.job_dag import job_dag
from sqlfront.jobs.spark_reads import SparkRead, SparkReadTable
from sqlfront.jobs.spread_sources import SourceVersion, VersionTable
from sqlfront.state.cached_table import CachedTable
from sqlfront_cluster import codec
from sqlfront_cluster.codec.dags import decode_dag, encode_dag
from sqlfront_connectors.arrow import ArrowTable
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.scan import FileScan
from sqlfront_connectors.files.table_files import TableFiles
from sqlfront_connectors.memory import MemoryTable
from sqlfront_engine.dag import DAG, Vertex
from sqlfront_engine.durable.event_store.events import JobSubmitted
from sqlfront_engine.durable.stages import JobStage, StagePlan, cut
from sqlfront_engine.processors.sources.split_scan import SourceUnavailableError
from sqlfront_planner.binder.relations.range_table import RangeTable
from sqlfront_planner.logical import LogicalPlan, LogicalScan, all_nodes
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import PlanTarget, plan_logical
from sqlfront_planner.recursion import LevelRows
from sqlfront_planner.shared_rows import SharedRows, shared_rows
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.settings import Settings


class SourceFile(msgspec.Struct, frozen=True, array_like=True):
    """A file that a job reads, as it was when the job was planned: ``size`` in bytes, ``modified`` in
    nanoseconds since 1970."""

    path: str
    size: int
    modified: int


class JobPlan(msgspec.Struct, frozen=True, array_like=True):
    """The plan of a job. ``dag``: the encoded DAG of the statement's query, with the values of the query's
    parameters. ``schema``: the logical schema of the query's rows. ``files``: the files that the DAG reads.
    ``held``: the names of the memory tables that the DAG reads; only the process that planned the job has
    their rows. ``input_size``: the estimated bytes that the DAG's scans read. ``versions``: the versions of
    spread tables that the DAG reads. ``target``: the table of Spark into which the job puts its rows; None
    for another target. ``reads``: the queries by which the DAG reads tables and views of Spark."""

    dag: bytes
    schema: pa.Schema
    files: tuple[SourceFile, ...]
    held: tuple[str, ...]
    input_size: float = 0.0
    versions: tuple[SourceVersion, ...] = ()
    target: TableFiles | None = None
    reads: tuple[SparkRead, ...] = ()

    def encoded(self) -> bytes:
        """Return the plan as bytes, for :func:`decode_job_plan`."""
        return codec.encode(self)

    @property
    def fingerprint(self) -> str:
        """A hash of the encoded DAG."""
        return sha256(self.dag).hexdigest()

    def stages(self) -> StagePlan:
        """Cut the DAG into stages, and return the plan of the stages."""
        return cut(decode_dag(self.dag))

    def check_files(self, paths: Collection[str] | None = None) -> None:
        """Raise SourceUnavailableError (40001) if a file that the job reads has changed since the job was
        planned: the job would mix rows of two versions. ``paths``: the files to look at, None = all."""
        for file in self.files:
            if (paths is None or file.path in paths) and _source_file(file.path) != file:
                raise SourceUnavailableError(
                    f"{file.path}, which the job reads, has changed since the job was created; "
                    "create the job anew",
                    sqlstate="40001",
                )


def decode_job_plan(data: bytes) -> JobPlan:
    """Decode the bytes of :meth:`JobPlan.encoded`. Raises OperationalError for other bytes."""
    return codec.decode(data, JobPlan)


def schema_of(submitted: JobSubmitted) -> pa.Schema:
    """Return the logical schema of the rows of the job that the event ``submitted`` has stored."""
    return decode_job_plan(submitted.plan).schema


def spark_target_of(submitted: JobSubmitted) -> TableFiles | None:
    """Return the table of Spark into which the job that the event ``submitted`` has stored puts its rows;
    None for a job with another target, or without one."""
    return decode_job_plan(submitted.plan).target


def settings_of(submitted: JobSubmitted) -> Settings:
    """Return the evaluation settings under which the job was created; ``submitted``: the event that stored
    it."""
    return msgspec.structs.replace(Settings(), **submitted.settings)


class PlannedJob(msgspec.Struct, frozen=True):
    """A statement's query, planned as a durable job. ``query``: the plan of the query, from which ``plan``
    and ``stages`` are made. ``resources``: by key, the rows of the memory tables that the job reads, which
    only this process has, a :class:`~sqlfront.jobs.spread_sources.VersionSource` for each version of a spread
    table, and a source for each query of ``plan.reads``."""

    query: QueryPlan

    plan: JobPlan
    stages: StagePlan
    resources: Mapping[str, object]


def plan_job(
    bound: LogicalPlan,
    values: Sequence[object],
    settings: Settings,
    collect_rows: float,
    into: TableFiles | None = None,
    *,
    divides: bool = False,
) -> PlannedJob:
    """Plan a bound query as a durable job. ``values``: the values of the query's parameters;
    ``collect_rows``: the greatest estimated number of rows of an input that one member collects, instead of
    members exchanging rows. ``into``: the table of Spark into which the job puts its rows, None for another
    target or none. ``divides``: memory is short, so that tasks divide even few rows, which may be large,
    whatever ``collect_rows`` is. Raises NotSupportedError for a query that no durable job can run: a query
    that calls Python functions of the user, or reads rows that are neither in files nor in a memory table."""
    tables = [*_tables(bound)]
    for name, table in tables:
        _check_durable(name, table)
    target = PlanTarget(workers=1, distributed=True, collect_rows=collect_rows, divides=divides)
    plan = plan_logical(bound, settings, target)
    dag, resources = job_dag(plan, values, settings)
    files = tuple(dict.fromkeys(_source_file(path) for path in _paths(dag)))
    held = tuple(dict.fromkeys(name for name, table in tables if isinstance(table, MemoryTable)))
    read = dict.fromkeys(table.source for _, table in tables if isinstance(table, VersionTable))
    versions = tuple(version for version in read if version is not None)
    reads = tuple(dict.fromkeys(table.read for _, table in tables if isinstance(table, SparkReadTable)))
    job = JobPlan(encode_dag(dag), plan.schema, files, held, plan.input_size, versions, into, reads)
    return PlannedJob(plan, job, cut(dag), resources)


def _tables(bound: LogicalPlan) -> Iterator[tuple[str, Table]]:
    """Yield the name and the table of each scan of a bound query; for a cached table, yield the copy that the
    scan reads."""
    for plan in (bound, *(rows.plan for rows in shared_rows(bound))):
        for node in all_nodes(plan):
            if isinstance(node, LogicalScan):
                table = node.table
                yield node.name, table.copy if isinstance(table, CachedTable) else table


def _check_durable(name: str, table: Table) -> None:
    if isinstance(table, FileTable | MemoryTable | RangeTable | SharedRows | SparkReadTable | VersionTable):
        return
    if isinstance(table, LevelRows):
        raise NotSupportedError("WITH RECURSIVE in a durable job")
    kind = "a DataFrame or Arrow table of this session" if isinstance(table, ArrowTable) else table.format
    error = NotSupportedError(
        f"a durable job that reads `{name}` ({kind}), whose rows another process can't read again"
    )
    error.hint = "write the rows into a table of files, and read that table"
    raise error


def check_of_sources(plan: JobPlan, dag: DAG) -> Callable[[JobStage], None]:
    """Return a function that raises SourceUnavailableError (40001) if a file that the tasks of a stage read
    has changed since the job was planned. ``dag``: the DAG of the ``plan``."""
    paths = {vertex.name: frozenset(_paths([vertex])) for vertex in dag}

    def check(stage: JobStage) -> None:
        if read := frozenset[str]().union(*(paths[name] for name in stage.vertices)):
            plan.check_files(read)

    return check


def _paths(vertices: Iterable[Vertex]) -> Iterator[str]:
    for vertex in vertices:
        if isinstance(vertex.processor, FileScan):
            yield from (file.path for file in vertex.processor.version.files)


def _source_file(path: str) -> SourceFile:
    try:
        found = os.stat(path)
    except FileNotFoundError as error:
        raise SourceUnavailableError(
            f"{path}, which the job reads, has been removed since the job was created", sqlstate="40001"
        ) from error
    except OSError as error:
        raise SourceUnavailableError(
            f"{path}, which the job reads, can't be read: {error.strerror}"
        ) from error
    return SourceFile(path, found.st_size, found.st_mtime_ns)
