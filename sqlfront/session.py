"""A session: a catalog, settings and an engine; runs texts and returns results.

:meth:`Session.execute` and, for a query, :meth:`Session.run` take every step of a statement: parse, plan,
bind, submit, result.
"""

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.config import Config, Launcher
from sqlfront.options import Options
from sqlfront.prepared import PreparedStatement
from sqlfront.queries import Plan, SessionQueries
from sqlfront.result import Parameters, Result, Statistics
from sqlfront_engine.closing import Closing
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.forks import inherited, when_forgotten
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.memory import MemoryBudget
from sqlfront_planner.binder import NO_ARGUMENTS, Arguments, BindSettings
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_planner.plan import QueryPlan, Template
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_planner.planning import PlanTarget, plan_query
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statement import Query, is_query
from sqlfront_values import room
from sqlfront_values.errors import (
    Error,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from sqlfront_values.evaluation_errors import foreign_error
from sqlfront_values.expressions import Literal
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront import cluster as clusters
    from sqlfront import frames as frame_names
    from sqlfront import pipeline as pipelines
    from sqlfront import system_tables
    from sqlfront.commands import caching
    from sqlfront.spark import lane as spark_lane
    from sqlfront.spark import start as spark_start
    from sqlfront.spark.frame import Frame
    from sqlfront_cluster.members.member import Member
    from sqlfront_connectors import arrow, registry
    from sqlfront_connectors import base as tables
    from sqlfront_engine.dag import DAG
    from sqlfront_engine.jobs.light_job import LightJob
    from sqlfront_engine.processors.sources.held_rows import HeldBatches
else:
    clusters = lazy_module("sqlfront.cluster")
    frame_names = lazy_module("sqlfront.frames")
    pipelines = lazy_module("sqlfront.pipeline")
    system_tables = lazy_module("sqlfront.system_tables")
    caching = lazy_module("sqlfront.commands.caching")
    spark_lane = lazy_module("sqlfront.spark.lane")
    spark_start = lazy_module("sqlfront.spark.start")
    registry = lazy_module("sqlfront_connectors.registry")
    arrow = lazy_module("sqlfront_connectors.arrow")
    tables = lazy_module("sqlfront_connectors.base")


#: Attempts to plan a query while the cluster changes, and seconds to wait for a change before the next
#: attempt.
_ATTEMPTS: Final = 5
_CHANGE: Final = 0.5


class _Watched(room.watched):
    """The context manager of :meth:`Session.watched`; ``now``: the engine's clock."""

    __slots__ = ("_now", "_query")

    def __init__(self, query: QueryRun, now: Callable[[], float]) -> None:
        super().__init__(partial(_is_over, query, now))
        self._query = query
        self._now = now

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, room.StoppedError):
            stopped = self._query.stopped(self._now)
            raise stopped or InternalError("a query stopped that was not to stop") from None


def _is_over(query: QueryRun, now: Callable[[], float]) -> bool:
    return query.cancelled or (query.timeout is not None and query.stopped(now) is not None)


class Session(Closing):
    """Tables, views and settings with a common lifetime; threads may share a session.

    :meth:`close` ends the session's threads and removes its temporary files; so does garbage collection of
    the session. ``cluster``: the session's members, None = the members that the configuration asks for.
    ``spark``: a Spark session that runs the statements that sqlfront can't. Spark's names are visible in this
    session, and the session's members may live on Spark's executors.
    """

    def __init__(
        self,
        config: Config | None = None,
        cluster: "clusters.Cluster | None" = None,
        spark: "spark_start.SparkSource | None" = None,
    ) -> None:
        self.config = config or Config()
        self.options = Options(self.config)
        if spark is not None and self.config.file_access not in (None, "all"):
            raise ProgrammingError(
                "file_access can't bind what Spark reads: give spark=... or file_access=..."
            )
        start = None if spark is None else spark_start.SparkStart(spark, self.options.of_spark)
        self._home = _Home(self.config.warehouse)
        #: The files that the session's statements may open.
        self.files = _files(self.config, self._home) if cluster is None else cluster.engine.files
        own = None
        if cluster is None and _has_members(self.config):
            own = _open_cluster(self.config, start, self.files, self._home)
        self.cluster = cluster or own
        if self.cluster is None:
            self._engine = Engine(
                self.config.workers, memory_limit=self.config.memory_limit, files=self.files
            )
        else:
            self._engine = self.cluster.engine
            if own is not None and self.config.cluster is not None:
                self._engine.files = self.files = _files_of_client(self.config, own)
        #: The planner and runner of queries.
        self.queries = SessionQueries(self)
        path_table = partial(_path_table, self.runner, self.queries.plans, self.files, self._engine.memory)
        self.catalog = (
            Catalog(path_table) if self.cluster is None else self.cluster.catalog(path_table, self.files)
        )
        #: The lane to the Spark session beside this session; None without Spark.
        self.spark = None if start is None else spark_lane.SparkLane(self, start)
        self.catalog.elsewhere = self.spark
        #: The basis of each temporary copy of a view, by the view's name, if other sessions can change the
        #: view's tables.
        self.bases: dict[str, caching.Basis] = {}
        # The reason why the session can't be used any more; empty while the session is open.
        self._closed = ""
        _sessions.add(self)
        self._finalizer = when_forgotten(self, _free, self.cluster or self._engine, self._home, start)
        if own is not None:
            own.look_after(weakref.ref(self))

    @property
    def settings(self) -> Settings:
        """The settings for evaluation, as SET left them."""
        return self.options.settings

    @property
    def bind_settings(self) -> BindSettings:
        """The settings for binding, as SET left them."""
        return BindSettings(self.options.settings.time_zone)

    @property
    def parameter_zone(self) -> str | None:
        """The time zone of naive datetimes as parameters; None: this machine's time zone."""
        return self.options.settings.time_zone

    @property
    def engine(self) -> Engine:
        """The engine in this process."""
        return self._engine

    @property
    def runner(self) -> "Engine | Member":
        """The coordinator that runs this session's queries: the engine, or the session's member of a
        cluster."""
        return self._engine if self.cluster is None else self.cluster.coordinator

    @property
    def workers(self) -> int:
        """The number of worker threads of the engine."""
        return self._engine.workers

    @property
    def memory(self) -> int:
        """The memory limit of all members together, in bytes."""
        members = () if self.cluster is None else self.cluster.member_list.members
        # Members in this process report no memory: they share the process's limit.
        return sum(member.memory for member in members if not member.lite) or self._engine.memory.limit

    @property
    def target(self) -> PlanTarget:
        """Capabilities of the cluster that a plan targets."""
        return PlanTarget(
            self.workers, self.cluster is not None, self.config.collect_rows, self.options.most_keys
        )

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called, or the session was opened by the parent of this forked
        process."""
        return bool(self._closed)

    def check_open(self) -> None:
        """Raise InterfaceError if the session is closed."""
        if self._closed:
            raise InterfaceError(self._closed)

    @property
    def home(self) -> str:
        """The directory for tables without LOCATION; made at its first use. Raises ProgrammingError for a
        session of a running cluster without a warehouse, since the cluster's sessions then share no
        directory."""
        if self.config.warehouse is None and self.config.cluster is not None:
            raise ProgrammingError(
                "a table of a cluster needs a LOCATION, unless the session has a warehouse "
                "(connect(..., config=Config(warehouse=...)))"
            )
        return self._home.path()

    def sql(self, text: str, args: Parameters | None = None, **frames: object) -> "Result | Frame":
        """Run one statement, as ``spark.sql`` does; see :func:`sqlfront.sql`."""
        return self.answer(text, args, frames)

    def answer(self, text: str, args: Parameters | None, frames: Mapping[str, object]) -> Result:
        """The result of one statement in which ``{name}`` stands for the frame with the name."""
        if not frames:
            return self.execute(text, args)
        replaced, views = frame_names.replace_frames(text, frames)
        try:
            for name, frame in views.items():
                self.register(name, frame)
            return self.execute(replaced, args)
        finally:
            for name in views:
                self.unregister(name)

    def begin(self, text: str) -> QueryRun:
        """The run of a statement that is about to begin; the run can be cancelled."""
        return self._engine.begin_query(self.config.query_memory_limit, text)

    def limited(self, text: str, timeout: float | None, query: QueryRun | None) -> QueryRun | None:
        """The run of a statement that waits for members without a job, with the statement's timeout set.
        Begins a run if there is a timeout but no ``query``; None if there is neither."""
        seconds = self.options.timeout if timeout is None else timeout
        if seconds is not None:
            query = query or self.begin(text)
            query.timeout = seconds
        return query

    def watched(self, query: QueryRun | None) -> AbstractContextManager[None]:
        """A context for work on the current thread, such as planning, that ends the work with the error of
        the ``query`` once the query is cancelled or its timeout is over."""
        return nullcontext() if query is None else _Watched(query, self._engine.clock.now)

    def execute(
        self,
        text: str,
        parameters: Parameters | Arguments | None = None,
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> Result:
        """Run one statement. ``timeout`` in seconds overrides the session's timeout; ``query``: the
        statement's run from :meth:`begin`.

        Raises the errors of PEP 249; an error with a position in the text ends with the line and a caret. A
        failed statement leaves tables and session unchanged.
        """
        self.check_open()
        text = well_formed(text)
        try:
            if self.bases:
                caching.follow(self)
            arguments = NO_ARGUMENTS if parameters is None else Arguments.of(parameters, self.parameter_zone)
            if self.cluster is None:
                return self._execute(text, arguments, timeout, query)
            return self._execute_among(self.cluster, text, arguments, timeout, query)
        except NotSupportedError as error:
            error.locate(text)
            if self.spark is None:
                error.hint = _spark_hint(error, text)
            raise
        except Error as error:
            error.locate(text)
            raise
        except Exception as error:
            known = foreign_error(error)
            known.locate(text)
            raise known from error

    def _execute_among(
        self,
        cluster: "clusters.Cluster",
        text: str,
        arguments: Arguments,
        timeout: float | None,
        query: QueryRun | None,
    ) -> Result:
        """Run one statement on members; plan a query anew if the cluster has changed meanwhile."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._execute(text, arguments, timeout, query)
            except OperationalError as error:
                if error.sqlstate != "40001" or not is_query(text):
                    raise
            self.queries.plans.clear()
            cluster.await_change(_CHANGE)
        return self._execute(text, arguments, timeout, query)

    def _execute(
        self, text: str, arguments: Arguments, timeout: float | None, query: QueryRun | None
    ) -> Result:
        """Run one statement, with a single attempt."""
        if self.spark is None:
            return self._execute_here(text, arguments, timeout, query)
        return self.spark.execute(text, arguments, timeout, query, self._execute_here)

    def _execute_here(
        self, text: str, arguments: Arguments, timeout: float | None, query: QueryRun | None
    ) -> Result:
        """Run one statement without Spark."""
        answer = self.queries.execute(text, arguments, timeout, query)
        if isinstance(answer, Result):
            return answer
        from sqlfront import commands  # noqa: PLC0415 - loaded with the first command

        query = self.limited(text, timeout, query) or self.begin(text)
        try:
            with self.watched(query):
                return commands.run(self, answer, arguments, timeout, query)
        finally:
            self.queries.plans.sweep(self.catalog)  # cached plans keep old versions of changed tables alive

    def prepare(self, text: str) -> PreparedStatement:
        """The statement as a prepared statement."""
        return PreparedStatement(self, text)

    def plan(self, query: Query, arguments: Arguments) -> QueryPlan:
        """The plan of a query for this session's members."""
        return plan_query(query, self.catalog, self.bind_settings, arguments, self.target)

    def run(
        self,
        plan: QueryPlan,
        values: Sequence[object] = (),
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
        began: float | None = None,
    ) -> Result:
        """Submit a plan as a light job; return a result that reads from the job. Waits for the first batch,
        so that an error in the batch is raised here. ``values`` are the values of the plan's parameters;
        ``began``: the start of the statement (``perf_counter``), None = now."""
        began = began or time.perf_counter()
        job = self.submit(plan, values, timeout=timeout, query=query)
        batches = job.batches()
        first = next(batches, None)
        rest: Iterator[pa.RecordBatch] = iter(()) if first is None else chain((first,), batches)
        statistics = Statistics(plan.lane, plan.reason, time.perf_counter() - began)
        return Result(
            plan.schema,
            rest,
            statistics,
            settings=self.settings,
            job=job,
            plan=plan,
            values=values,
            owner=self,
        )

    def submit(
        self,
        plan: QueryPlan,
        arguments: Sequence[object] = (),
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> "LightJob":
        """Submit a plan as a light job, with the arguments bound and the versions of its tables pinned;
        ``query`` is the run of the statement. The query's shared rows are computed first, by this call,
        within the same timeout and memory."""
        dag, config = self.prepared(plan, arguments, timeout=timeout, query=query)
        return self.runner_of(plan.template)(dag, config)

    def prepared(
        self,
        plan: QueryPlan,
        arguments: Sequence[object] = (),
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
        statistics: bool = False,
    ) -> "tuple[DAG, JobConfig]":
        """Compute the query's shared rows; return the DAG and the configuration of the job of :meth:`submit`.
        The shared rows are among the job's resources, by key. ``statistics``: see
        :class:`~sqlfront_engine.engine.JobConfig`."""
        values = RunValues(self.settings)
        config = JobConfig(
            settings=self.settings,
            timeout=timeout if timeout is not None else self.options.timeout,
            inline=plan.inline,
            query=query or self.begin(""),
            statistics=statistics,
        )
        held: dict[str, HeldBatches] = {}
        for part in plan.shared:
            dag, resources = part.template.bind(arguments, values)
            job = replace(config, resources={**resources, **held})
            run = self.runner_of(part.template)
            held[part.key] = self._engine.hold(f"shared rows {part.name}", dag, job, run)
        dag, resources = plan.bind(arguments, values)
        return dag, replace(config, resources={**resources, **held})

    def run_pipeline(
        self,
        pipeline: "pipelines.Pipeline",
        arguments: "Sequence[Literal]" = (),
        *,
        required_partitions: Collection[int] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Plan a pipeline (:mod:`sqlfront.pipeline`) and run it as a light job, on all members or on the
        members that ``required_partitions`` need. ``arguments`` are for the pipeline's ``OwnerOf`` keys.

        The result reads the rows that the pipeline collects; a pipeline that collects nothing has ended on
        return. Errors in user code are DataErrors, or OperationalErrors for errors of the environment; the
        messages name step and function.
        """
        self.check_open()
        return pipelines.run(self, pipeline, arguments, required_partitions, timeout)

    def runner_of(self, template: Template) -> "Callable[[DAG, JobConfig], LightJob]":
        """The function that runs the template's DAGs: on all members, or in this process alone."""
        if template.distributed:
            assert self.cluster is not None
            return self.cluster.submit
        return self._engine.run

    def register(self, name: str, frame: "arrow.ArrowSource") -> None:
        """Make Arrow data a temporary view; replaces a view with the same name."""
        self.catalog.add(TableEntry(name, arrow.ArrowTable(name, frame), temporary=True), replace=True)

    def unregister(self, name: str) -> None:
        """Drop a temporary view; no error if no view has the name."""
        entry = self.catalog.own((name,))
        if entry is not None and entry.temporary:
            self.catalog.remove((name,))

    def close(self) -> None:
        """Cancel running queries, stop the threads, remove temporary files; closing twice is no error."""
        self._closed = self._closed or "the session is closed"
        self._finalizer()

    def leave(self) -> None:
        """Close this copy of the session in a forked process; the session's jobs, threads and files belong to
        the parent process and stay."""
        self._closed = f"{inherited('the session')}; open one here"


#: The sessions of this process.
_sessions: "Final[weakref.WeakSet[Session]]" = weakref.WeakSet()


def _leave_sessions() -> None:
    for session in tuple(_sessions):
        session.leave()


os.register_at_fork(after_in_child=_leave_sessions)


class _Home:
    """The directory for tables without LOCATION: the configured warehouse, or a temporary directory of the
    session."""

    def __init__(self, warehouse: str | None) -> None:
        self._warehouse = warehouse
        self._temporary: str | None = None
        self._lock = threading.Lock()

    def path(self) -> str:
        """The directory, made at its first use."""
        if self._warehouse is not None:
            os.makedirs(self._warehouse, exist_ok=True)
            return self._warehouse
        with self._lock:
            if self._temporary is None:
                self._temporary = tempfile.mkdtemp(prefix="sqlfront-")
            return self._temporary

    def remove(self) -> None:
        """Remove the temporary directory, if one was made."""
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _spark_hint(error: NotSupportedError, text: str) -> str | None:
    """The hint that a Spark session would run the statement, and how to get a Spark session; None if Spark
    would not run the statement either, since the table belongs to sqlfront."""
    if error.condition == "UNSUPPORTED_FEATURE.TABLE_OPERATION":
        return None
    what = "it" if is_query(text) else "it on its own tables"
    return f"a Spark session runs {what}: connect(spark=...), or sqlfront --spark local[2] in the shell."


def _has_members(config: Config) -> bool:
    """Whether the configuration asks for members beside the session."""
    return (config.members or 1) > 1 or config.cluster is not None or config.launcher is not Launcher.EMBEDDED


def _open_cluster(
    config: Config, start: "spark_start.SparkStart | None", files: FileAccess, home: "_Home"
) -> "clusters.Cluster | None":
    """The members of a session. Starts the Spark session now if the members live on its executors."""
    try:
        if start is None or config.launcher is not Launcher.SPARK:
            return clusters.open_cluster(config, None, files)
        spark = start.wait("members live on its executors").link.spark
        return clusters.open_cluster(config, spark, files)
    except BaseException:
        home.remove()
        if start is not None and config.launcher is Launcher.SPARK:
            start.close()
        raise


def _files(config: Config, home: "_Home") -> FileAccess:
    """The files that a session's statements open: the configured files, and the files of the session's own
    tables."""
    if config.file_access is None:
        return EVERYWHERE
    said = FileAccess.of(config.file_access)
    return said.plus(home.path()) if said.is_limited and config.cluster is None else said


def _files_of_client(config: Config, cluster: "clusters.Cluster") -> FileAccess:
    """The files that a session of a shared cluster opens in its own process: the configured files (default:
    the files that the members open), and the session's warehouse."""
    members = cluster.files
    said = members if config.file_access is None else FileAccess.of(config.file_access)
    return (said if config.warehouse is None else said.plus(config.warehouse)).beside(members)


def _free(engine: "Engine | clusters.Cluster", home: _Home, start: "spark_start.SparkStart | None") -> None:
    engine.close()
    home.remove()
    if start is not None:
        start.close()


def _path_table(
    runner: "Engine | Member",
    plans: PlanCache[Plan],
    files: FileAccess,
    memory: MemoryBudget,
    format_name: str,
    path: str,
) -> "tables.Table | None":
    """The table of ``format.`path``` or ``sys.name``; None if no connector has the format."""
    if format_name == "sys":
        return system_tables.system_table(path, runner, plans)
    definition = tables.TableDefinition(f"{format_name}.`{path}`", location=path, files=files, memory=memory)
    return registry.path_table(format_name, definition)
