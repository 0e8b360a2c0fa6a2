"""The statements of durable jobs: CREATE JOB, SHOW JOBS, DESCRIBE, CANCEL, RESUME and DROP JOB.

CREATE JOB holds a statement, such as INSERT or CREATE TABLE AS. The job runs the statement's query durably.
When the query has ended, the statement itself runs, and takes the job's rows in place of its query's.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands import caching, directories, insertions, tables
from sqlfront.commands.inspection.names import matches
from sqlfront.commands.run import NOTHING, CommandOutcome, StatementRun, origin_of, shown
from sqlfront.commands.spark_sources import spark_sources, with_spark_reads
from sqlfront.commands.spark_targets import SparkTarget, spark_target
from sqlfront.config import Config
from sqlfront.jobs import listing
from sqlfront.jobs.job_options import job_settings
from sqlfront.jobs.job_plan import JobPlan, PlannedJob, plan_job, schema_of, settings_of, spark_target_of
from sqlfront.jobs.job_status import DurableJobStatus, JobPhase, as_error, job_time
from sqlfront.jobs.spooled_rows import SpooledRows
from sqlfront.jobs.spread_sources import VersionTable
from sqlfront.lanes.request import StatementRequest
from sqlfront.state.cached_table import writable
from sqlfront.state.options import Options
from sqlfront_connectors.base import Table
from sqlfront_connectors.files import FileTable
from sqlfront_connectors.files.directory import absolute_path
from sqlfront_connectors.files.table import has_files_of
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_engine.durable.event_store.events import JobSubmitted
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_planner.binder import bind
from sqlfront_planner.catalog import Entry, TableEntry, already_exists
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.directories import directory_target
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_planner.statements.structs import (
    CancelJob,
    CreateJob,
    CreateTable,
    DescribeJob,
    DropJob,
    ExplainJob,
    Insert,
    InsertDirectory,
    JobStatement,
    Query,
    RefreshTable,
    ResumeJob,
    ShowJobs,
)
from sqlfront_planner.table_changes.insertion import inserted
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, STRING, TIMESTAMP

if TYPE_CHECKING:
    from sqlfront.jobs.durable_job import DurableJob
    from sqlfront.jobs.service import JobService
    from sqlfront.state.context import Context

_JOB: Final = pa.schema([("id", STRING), ("name", STRING), ("state", STRING)])
_JOBS: Final = pa.schema(
    [
        *_JOB,
        ("created", TIMESTAMP),
        ("stages_done", BIGINT),
        ("stages", BIGINT),
        ("tasks_done", BIGINT),
        ("tasks", BIGINT),
        ("statement", STRING),
    ]
)
#: Seconds for which a statement that puts a job's rows into its target is repeated while the cluster changes,
#: and seconds to wait for a change before the next attempt: members that were lost come back within some
#: seconds, and a lost client, which may hold the table, leaves the cluster after the silence limit.
_PATIENCE: Final = 60.0
_CHANGE: Final = 0.5
#: The SQLSTATEs of errors of a cluster that is changing: it has changed, there is no member, a member or the
#: keeper was lost, or was lost before its answer.
_CHANGING: Final = frozenset({"40001", "08001", "08006", "08007"})
_FACTS: Final = pa.schema([("fact", STRING), ("value", STRING)])
_STAGES: Final = pa.schema(
    [("stage", BIGINT), ("tasks", STRING), ("reads", STRING), ("materialised", STRING), ("vertices", STRING)]
)


def create_job(run: StatementRun, statement: CreateJob) -> CommandOutcome:
    """CREATE JOB: store a job, durably, and begin to run it. The outcome has the job's id, name and state.
    Raises ProgrammingError for a name that another job has, unless OR REPLACE or IF NOT EXISTS is given, and
    for wrong options; NotSupportedError for a statement that no durable job can run."""
    present = service_of(run).find(statement.name)
    if present is not None and statement.mode is CreateMode.SKIP:
        return _shown_job(present)
    replaced = present if statement.mode is CreateMode.REPLACE else None
    return _shown_job(
        _submitted(run, statement.name, statement.text, statement.statement, statement.options, replaced)
    )


def submit(
    context: "Context", request: StatementRequest, name: str | None, options: Mapping[str, str | float]
) -> "DurableJob":
    """Store a job for the statement of the request, and begin to run it; return the job. ``name``: the job's
    name, None = a new, random name. ``options``: the options of CREATE JOB, by name. Raises ProgrammingError
    for a name that another job has and for wrong options, NotSupportedError for a statement that no durable
    job can run."""
    statement = parse(request.text)
    if not isinstance(statement, JobStatement):
        raise ProgrammingError(
            "a durable job runs a query, CREATE TABLE ... AS, INSERT INTO, INSERT OVERWRITE"
        )
    if name is None:
        name = f"job-{secrets.token_hex(4)}"
    if not name:
        raise ProgrammingError("the name of a job is not empty")
    texts = {option: str(value) for option, value in options.items()}
    return _submitted(StatementRun(context, request), name, request.text, statement, texts)


def _submitted(
    run: StatementRun,
    name: str,
    text: str,
    statement: JobStatement,
    options: Mapping[str, str],
    replaced: "DurableJob | None" = None,
) -> "DurableJob":
    service, settings = service_of(run), run.context.settings
    planned = _planned(run, statement, settings)
    job_settings(options)
    if replaced is not None:
        return service.replace(replaced.id, name, text, planned, settings, options)
    return service.submit(name, text, planned, settings, options)


def removed(service: "JobService", job: "DurableJob") -> None:
    """Cancel the job if it has not ended, wait for its end, and remove it from the store."""
    if job.status().phase is not JobPhase.UNREADABLE:
        job.cancel()
        job.wait()
    service.remove(job.id)


def explain_job(run: StatementRun, statement: ExplainJob) -> CommandOutcome:
    """EXPLAIN CREATE JOB: show the stages of the job, and which rows each stage materialises for later
    stages."""
    service_of(run)
    return shown(_STAGES, _stages(_planned(run, statement.job.statement, run.context.settings).stages))


def show_jobs(run: StatementRun, statement: ShowJobs) -> CommandOutcome:
    """SHOW JOBS: show the stored jobs whose names match the pattern, in the order of their creation."""
    found = [job for job in service_of(run).jobs() if matches(job.name, statement.pattern)]
    return shown(
        _JOBS,
        [
            (
                job.id,
                job.name,
                job.phase.value,
                job_time(job.created),
                job.stages_done,
                job.stages,
                job.tasks_done,
                job.tasks,
                job.statement,
            )
            for job in found
        ],
    )


def describe_job(run: StatementRun, statement: DescribeJob) -> CommandOutcome:
    """DESCRIBE JOB: show the facts about a stored job, such as its state and its error; EXTENDED adds its
    stages. Raises ProgrammingError for an unknown name."""
    job = _found(run, statement.name)
    facts = _facts(job.status())
    if statement.extended:
        stages = [row for row in listing.stages(service_of(run)) if row[0] == job.id]
        facts += [(f"stage {stage}", f"{done} of {tasks} tasks") for _, stage, tasks, done, _ in stages]
    return shown(_FACTS, facts)


def cancel_job(run: StatementRun, statement: CancelJob) -> CommandOutcome:
    """CANCEL JOB: ask for the end of a job, durably; a job that has ended stays as it is. The job may still
    run when the statement returns. Raises ProgrammingError for an unknown name, unless IF EXISTS is given."""
    job = _found_or_none(run, statement.name, if_exists=statement.if_exists)
    if job is not None:
        job.cancel()
    return NOTHING


def resume_job(run: StatementRun, statement: ResumeJob) -> CommandOutcome:
    """RESUME JOB: take over a job whose coordinator has died, and run it to its end; finished tasks don't run
    again. The outcome has the job's id, name and state. Raises ProgrammingError for an unknown name, unless
    IF EXISTS is given."""
    job = _found_or_none(run, statement.name, if_exists=statement.if_exists)
    if job is None:
        return NOTHING
    service_of(run).resume(job.id)
    return _shown_job(job)


def drop_job(run: StatementRun, statement: DropJob) -> CommandOutcome:
    """DROP JOB: cancel a job if it has not ended, and remove it with its files and its log. Raises
    ProgrammingError for an unknown name, unless IF EXISTS is given."""
    job = _found_or_none(run, statement.name, if_exists=statement.if_exists)
    if job is not None:
        removed(service_of(run), job)
    return NOTHING


# ---- jobs by name


def service_of(run: StatementRun) -> "JobService":
    """Return the service for the durable jobs of the session's store. Raises NotSupportedError if the session
    has no store."""
    if run.context.jobs is None:
        raise NotSupportedError("durable jobs need a store: connect(job_store=...), --job-store")
    return run.context.jobs


def _found(run: StatementRun, name: str) -> "DurableJob":
    job = service_of(run).find(name)
    if job is None:
        raise ProgrammingError(f"there is no job `{name}` in {service_of(run).address}")
    return job


def _found_or_none(run: StatementRun, name: str, *, if_exists: bool) -> "DurableJob | None":
    return service_of(run).find(name) if if_exists else _found(run, name)


def _shown_job(job: "DurableJob") -> CommandOutcome:
    return shown(_JOB, [(job.id, job.name, job.status().phase.value)])


def _facts(job: DurableJobStatus) -> list[tuple[str, str | None]]:
    return [
        ("id", job.id),
        ("name", job.name),
        ("state", job.phase.value),
        ("statement", job.statement),
        ("user", job.user),
        ("created", _text(job_time(job.created))),
        ("stages", f"{job.stages_done} of {job.stages}"),
        ("tasks", f"{job.tasks_done} of {job.tasks}"),
        ("tasks restored", str(job.restored)),
        ("tasks run again", str(job.rerun)),
        *(("plan changed", change) for change in job.plan_changes),
        ("epoch", str(job.epoch)),
        ("bytes", str(job.bytes)),
        ("rows", None if job.rows is None else str(job.rows)),
        ("error", None if job.error is None else str(as_error(job.error))),
    ]


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat(" ", "milliseconds")


def _stages(plan: StagePlan) -> Iterator[tuple[object, ...]]:
    for stage in plan.stages:
        yield (
            stage.number,
            "several" if stage.is_parallel else "one",
            ", ".join(f"stage {source.stage} ({source.output})" for source in stage.inputs) or None,
            ", ".join(f"{output.vertex}: {output.kind.value}" for output in stage.outputs),
            ", ".join(stage.vertices),
        )


# ---- plans and targets


def _planned(run: StatementRun, statement: JobStatement, settings: Settings) -> PlannedJob:
    query = statement if isinstance(statement, Query) else statement.query
    assert query is not None
    rows = bound_for_job(run, query)
    into = spark_target(run, statement, rows) if isinstance(statement, Insert) else None
    if into is None:
        _check_target(run, statement, rows)
    return plan_job(rows, run.arguments.values, settings, run.context.config.collect_rows, into)


def bound_for_job(run: StatementRun, query: Query) -> LogicalPlan:
    """Return the logical plan of a query that a durable job runs. The plan reads relations themselves, not
    CACHE TABLE's copies: the process that takes the job over has no such copies. Of a spread table, the plan
    reads one version, the present one; of tables of Spark, the rows that Spark gives to the job's tasks."""
    context = run.context
    catalog = context.catalog.mapped(partial(_for_job, holder=_holder(context)))
    return with_spark_reads(run, bind(query, catalog, context.bind_settings, run.arguments))


def _for_job(entry: Entry, holder: str | None) -> Entry:
    """Return a catalog's entry as a durable job reads it. ``holder``: the name of this process in the
    cluster; None if the members are in this process."""
    origin = origin_of(entry)
    if isinstance(origin, TableEntry) and isinstance(origin.table, SpreadTable):
        return replace(origin, table=VersionTable(origin.table, holder))
    return origin


def _holder(context: "Context") -> str | None:
    """Return the name of this process in the cluster of other processes; None if the members are in this
    process, and without members."""
    cluster = context.cluster
    return None if cluster is None or cluster.door is None else cluster.coordinator.name


def sources_of(
    context: "Context", plan: JobPlan, settings: Settings, *, versions: bool
) -> Mapping[str, object]:
    """Return the sources that a job reads, by key, for the takeover of the job: the tables of Spark, and if
    ``versions``, the versions of spread tables. ``plan`` and ``settings``: those of the job. Raises
    OperationalError if a spread table has changed (SQLSTATE 40001), or this session has no such table."""
    sources = spark_sources(context, plan, settings)
    if not versions:
        return sources
    tables = [table for table in map(_table_of, context.catalog.entries()) if isinstance(table, SpreadTable)]
    found = {version.key: version.find(tables, _holder(context)) for version in plan.versions}
    return {**sources, **found}


def target_of(context: "Context", submitted: JobSubmitted) -> "StatementTarget | SparkTarget | None":
    """Return the object that puts a job's rows where the job's statement says (INSERT, CREATE TABLE or INSERT
    OVERWRITE DIRECTORY); None for a query, whose rows stay in the job's files. ``submitted``: the event by
    which the job was stored."""
    statement = parse(submitted.statement)
    if not isinstance(statement, CreateTable | Insert | InsertDirectory):
        return None
    assert context.jobs is not None
    delivered = context.jobs.delivered
    settings, schema, table = settings_of(submitted), schema_of(submitted), spark_target_of(submitted)
    # Those of the job, whatever the session's are by now; and no timeout.
    context = replace(context, options=Options(Config(time_zone=settings.time_zone)))
    if table is not None:
        assert isinstance(statement, Insert)
        return SparkTarget(context, statement, table, schema)
    return StatementTarget(context, statement, schema, delivered)


class StatementTarget:
    """The target of a job's rows that runs a statement, such as INSERT, with the job's rows in place of the
    rows of the statement's query. ``context``: the context of the session, with the settings of the job.
    ``schema``: the logical schema of the rows. ``delivered``: the ids of the jobs whose rows this process has
    put into their targets. In the methods, ``token`` is the id of the job."""

    def __init__(
        self,
        context: "Context",
        statement: CreateTable | Insert | InsertDirectory,
        schema: pa.Schema,
        delivered: set[str],
    ) -> None:
        self._context, self._delivered = context, delivered
        self._statement, self._schema = statement, schema

    def check(self, token: str) -> None:
        """Raise the error that the statement would raise for the job's rows, such as for an unknown table or
        other columns; nothing is written."""
        rows = SpooledRows("the job", self._schema, ()).plan()
        _check_target(StatementRun(self._context), self._statement, rows, token)

    def put(self, token: str, files: tuple[SpoolFile, ...]) -> None:
        """Run the statement on the rows of the job's ``files``, in order: all rows are written or none. If
        the cluster changes meanwhile, run the statement again, unless the target has the rows. Raises the
        error of the statement, and SpoolDamaged if one of the files is damaged."""
        rows = SpooledRows(f"job {token}", self._schema, files).plan()
        deadline = time.monotonic() + _PATIENCE
        while not self._is_put(StatementRun(self._context, source=rows, token=token), token, deadline):
            assert self._context.cluster is not None
            self._context.cluster.await_change(_CHANGE)
        self._delivered.add(token)

    def _is_put(self, run: StatementRun, token: str, deadline: float) -> bool:
        """Run the statement once; return True if the target then has the rows, False if the cluster has
        changed and it is not ``deadline`` (of the monotonic clock) yet. Raises the statement's error
        otherwise."""
        try:
            self._run(run)
        except Error as error:
            if self._context.cluster is None:
                raise
            if self.settle(token):
                return True
            if error.sqlstate not in _CHANGING or time.monotonic() > deadline:
                raise
            return False
        return True

    def _run(self, run: StatementRun) -> None:
        statement = self._statement
        match statement:
            case InsertDirectory():
                directories.insert_directory(run, statement)
            case Insert():
                insertions.insert(run, statement)
            case CreateTable():
                tables.create_table(run, statement)

    def settle(self, token: str) -> bool:
        """Return whether the target has the rows of the job already. If another process has written the rows,
        as files or into a memory table of the cluster, also complete that process's work: list the files of
        an INSERT's table again, or enter the table of a CREATE TABLE over files in this session's catalog."""
        if token in self._delivered:
            return True
        run, statement = StatementRun(self._context), self._statement
        if not _has_rows(run, statement, token):
            return False
        match statement:
            case Insert():
                caching.refresh(run, RefreshTable(statement.name))
            case CreateTable():
                again = replace(statement, query=None, schema=self._schema, mode=CreateMode.SKIP)
                tables.create_table(run, again)
        return True


def _has_rows(run: StatementRun, statement: CreateTable | Insert | InsertDirectory, token: str) -> bool:
    """Return whether the target of the statement has the rows of the job ``token``. Raises
    TABLE_OR_VIEW_NOT_FOUND for an INSERT into an unknown table."""
    match statement:
        case InsertDirectory():
            location: str | None = absolute_path(directory_target(statement, _no_parameter).path)
        case Insert():
            table = _table_of(run.entry(statement.name))
            if isinstance(table, SpreadTable):
                return table.has_rows_of(token)
            location = table.location if isinstance(table, FileTable) else None
        case CreateTable():
            made = _table_of(run.context.catalog.own(name_parts(statement.name), temporary=False))
            if isinstance(made, SpreadTable):
                return made.has_rows_of(token)
            location = statement.location
    return location is not None and has_files_of(location, token, run.context.files)


def _table_of(entry: Entry | None) -> Table | None:
    """Return the table of a catalog's entry, the origin if the table is cached; None for a view and without
    an entry."""
    origin = None if entry is None else origin_of(entry)
    return origin.table if isinstance(origin, TableEntry) else None


def _check_target(run: StatementRun, statement: JobStatement, rows: LogicalPlan, token: str = "") -> None:
    """Raise the error that the statement would raise for ``rows`` (their plan) as its query's rows; for use
    before a job is accepted or resumed. ``token``: the id of a job to resume, empty for a new job."""
    match statement:
        case Insert():
            table = writable(run.entry(statement.name))
            inserted(rows, statement, table.schema)
        case CreateTable():
            tables.check_new_table(statement, rows.schema)
            present = run.context.catalog.own(name_parts(statement.name), temporary=False)
            if (
                present is not None
                and statement.mode is CreateMode.ERROR
                and not (token and _has_rows(run, statement, token))
            ):
                raise already_exists(present)
        case InsertDirectory():
            directory_target(statement, _no_parameter)
            directories.output_directory(replace(run, source=rows), statement)
        case _:
            pass


def _no_parameter(name: str) -> NoReturn:
    raise NotSupportedError("a durable job with a parameter for the path or an option of its directory")
