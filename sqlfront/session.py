"""A session: composes the state that statements work on, and runs statements by the lanes.

:meth:`Session.execute` takes every step of a statement: the request, the decision of its way
(:mod:`sqlfront.decide`), the run (:mod:`sqlfront.walk`).
"""

import os
import weakref
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlfront.config import Config
from sqlfront.lanes.request import StatementRequest
from sqlfront.late_context import LateContext, path_table
from sqlfront.results.result import Parameters, Result
from sqlfront.results.spark_names import SESSION_NAMES, NeedsSpark
from sqlfront.session_members import has_members, open_members
from sqlfront.state.context import Context
from sqlfront.state.home import Home, files_of, files_of_client
from sqlfront.state.options import Options
from sqlfront.walk import walk
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.forks import inherited, when_forgotten
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import NO_ARGUMENTS, Arguments
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan_cache import PlanCache
from sqlfront_planner.statement import is_query
from sqlfront_values.errors import NO_MEMORY, Error, InterfaceError, NotSupportedError, ProgrammingError
from sqlfront_values.expressions import Literal
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    import pyarrow as pa

    from sqlfront import frames as frame_names
    from sqlfront import hints, prepared, query_nulls
    from sqlfront import pipeline as pipelines
    from sqlfront.cluster import Cluster
    from sqlfront.cluster import caretaker as caretakers
    from sqlfront.commands import copies
    from sqlfront.commands import jobs as job_commands
    from sqlfront.created_frames import forms as created_frames
    from sqlfront.jobs import service as job_services
    from sqlfront.jobs.durable_job import DurableJob
    from sqlfront.lanes import light
    from sqlfront.light_jobs import found_jobs
    from sqlfront.light_jobs import submission as light_submission
    from sqlfront.light_jobs.job import Job
    from sqlfront.observability import watching
    from sqlfront.observability.observation import Observation
    from sqlfront.observability.observer import Observer
    from sqlfront.spark import lane as spark_lane
    from sqlfront.spark import start as spark_start
    from sqlfront.spark.frame import Frame
    from sqlfront.state.plans import Plan
    from sqlfront_connectors import arrow, registry
    from sqlfront_engine.dag import DAG
    from sqlfront_planner import planning
    from sqlfront_planner.nullability import Nulls
    from sqlfront_values import evaluation_errors
else:
    created_frames = lazy_module("sqlfront.created_frames.forms")
    frame_names = lazy_module("sqlfront.frames")
    pipelines = lazy_module("sqlfront.pipeline")
    hints = lazy_module("sqlfront.hints")
    prepared = lazy_module("sqlfront.prepared")
    query_nulls = lazy_module("sqlfront.query_nulls")
    caretakers = lazy_module("sqlfront.cluster.caretaker")
    copies = lazy_module("sqlfront.commands.copies")
    watching = lazy_module("sqlfront.observability.watching")
    job_services = lazy_module("sqlfront.jobs.service")
    job_commands = lazy_module("sqlfront.commands.jobs")
    light = lazy_module("sqlfront.lanes.light")
    found_jobs = lazy_module("sqlfront.light_jobs.found_jobs")
    light_submission = lazy_module("sqlfront.light_jobs.submission")
    planning = lazy_module("sqlfront_planner.planning")
    spark_lane = lazy_module("sqlfront.spark.lane")
    spark_start = lazy_module("sqlfront.spark.start")
    registry = lazy_module("sqlfront_connectors.registry")
    evaluation_errors = lazy_module("sqlfront_values.evaluation_errors")
    arrow = lazy_module("sqlfront_connectors.arrow")


class Session(ClosingContext):
    """Tables, views and settings with a common lifetime; threads may share a session.

    :meth:`close` ends the session's threads and removes its temporary files; so does garbage collection of
    the session. ``cluster``: the session's members, None = the members that the configuration asks for.
    ``spark``: a Spark session that runs the statements that sqlfront can't. Spark's names are visible in this
    session, and the session's members may live on Spark's executors.
    """

    def __init__(
        self,
        config: Config | None = None,
        cluster: "Cluster | None" = None,
        spark: "spark_start.SparkSource | None" = None,
    ) -> None:
        self.config = config = config or Config()
        self.options = options = Options(config)
        if spark is not None and config.file_access not in (None, "all"):
            raise ProgrammingError(
                "file_access does not limit the files that Spark reads: give spark=... or file_access=..."
            )
        start = None if spark is None else spark_start.SparkStart(spark, options.of_spark)
        home = Home(config.warehouse)
        with ExitStack() as undo:
            undo.callback(home.remove)
            if start is not None:
                undo.callback(start.close)
            files = files_of(config, home) if cluster is None else cluster.engine.files
            own = None
            if cluster is None and has_members(config):
                own = cluster = open_members(config, start, files)
            if cluster is None:
                engine = Engine(config.workers, memory_limit=config.memory_limit, files=files)
            else:
                engine = cluster.engine
            undo.callback((cluster or engine).close)
            if own is not None and config.cluster is not None:
                engine.files = files = files_of_client(config, own)
            plans: PlanCache[Plan] = PlanCache(config.plan_cache)
            runner = engine if cluster is None else cluster.coordinator
            parts = LateContext()
            store = None
            if config.job_store is not None:
                members = cluster if cluster is not None and cluster.door is not None else None
                limit = config.query_memory_limit
                address = os.fspath(config.job_store)
                store = job_services.JobService(address, engine, parts, members, limit, config.job_options)
                undo.callback(store.close)
            find_table = partial(path_table, runner, plans, store, files, engine.memory, parts)
            observer = None
            if config.is_observed:
                observer = watching.observer_of(config, runner, plans, lambda: options.settings)
                undo.callback(observer.close)
            catalog = Catalog(find_table) if cluster is None else cluster.catalog(find_table, files)
            #: The lane to the Spark session beside this session; None without Spark.
            self.spark = None if start is None else spark_lane.SparkLane(start)
            #: The state that the session's statements work on.
            self.context = context = Context(
                config, options, engine, cluster, files, home, catalog, plans, {}, self.spark, observer, store
            )
            parts.context = weakref.ref(context)
            self.cluster, self.engine = cluster, engine
            if self.spark is not None:
                self.spark.join(context)
                catalog.elsewhere = self.spark
            # The reason why the session can't be used any more; empty while the session is open.
            self._closed = ""
            _sessions.add(self)
            # Results keep the context, and so the engine, alive until their last row is read.
            self._finalizer = when_forgotten(context, _free, cluster or engine, home, start, observer, store)
            if own is not None:
                own.look_after(partial(caretakers.Caretaker, weakref.ref(context)))
            if store is not None and config.job_recovery:
                store.watch()
            undo.pop_all()

    @property
    def settings(self) -> Settings:
        """The settings with which expressions are evaluated, such as the time zone, as SET left them."""
        return self.options.settings

    @property
    def parameter_zone(self) -> str | None:
        """The time zone in which datetimes without a zone are taken when they are parameters; None means this
        machine's time zone."""
        return self.options.settings.time_zone

    @property
    def closed(self) -> bool:
        """Whether the session takes no more statements: :meth:`close` or :meth:`leave` was called. In a
        forked process, the sessions of the parent process are closed."""
        return bool(self._closed)

    @property
    def metrics_address(self) -> str | None:
        """The address ``host:port`` at which the session's metrics are served; None without metrics."""
        return None if self.context.observer is None else self.context.observer.metrics_address

    def check_open(self) -> None:
        """Raise InterfaceError if the session takes no more statements, since it is closed or belongs to the
        process from which this process was forked."""
        if self._closed:
            raise InterfaceError(self._closed)

    def sql(self, text: str, args: Parameters | None = None, **frames: object) -> "Result | Frame":
        """Run one statement, as ``spark.sql`` does, and return its result. ``args``: the values of the
        parameters ``:name`` or ``?``; values without a parameter are ignored. ``{name}`` in the text stands
        for the Arrow data that is passed as the keyword ``name``."""
        result = self.answer(text, args, frames)
        result.register = weakref.WeakMethod(self.register)
        result.nullability = partial(_nulls_of, weakref.ref(self.context), text, args)
        return result

    def answer(
        self,
        text: str,
        args: Parameters | None,
        frames: Mapping[str, object],
        query: QueryRun | None = None,
    ) -> Result:
        """Run one statement in which ``{name}`` stands for the frame ``frames[name]``, and return the
        statement's result. ``args``: the values of the parameters. The frames are temporary views until the
        method returns. ``query``: the statement's run from :meth:`begin`, None = a new run. Raises
        ProgrammingError for a ``{name}`` without a frame, and the statement's errors."""
        if not frames:
            return self.execute(text, args, query=query)
        replaced, views = frame_names.replace_frames(text, frames)
        try:
            for name, frame in views.items():
                self.register(name, frame)
            return self.execute(replaced, args, query=query)
        finally:
            for name in views:
                self.unregister(name)

    def begin(self, text: str) -> QueryRun:
        """Begin a run for the statement ``text``, and return the run, which :meth:`execute` takes as
        ``query``. Other threads can cancel the statement by the run."""
        return self.context.begin(text)

    def execute(
        self,
        text: str,
        parameters: Parameters | Arguments | None = None,
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> Result:
        """Run one statement, and return its result. ``parameters``: a sequence of values for ``?``, or a
        mapping for ``:name``. ``timeout`` in seconds overrides the session's timeout. ``query``: the
        statement's run from :meth:`begin`, None = a new run; logs and ``sys.queries`` show the text of the
        run.

        Raises the errors of PEP 249; an error with a position in the text ends with the line and a caret. A
        failed statement leaves tables and session unchanged; with SQLSTATE 08007 (no answer about a change of
        the cluster) the change may have been made.
        """
        if self._closed:
            self.check_open()
        observer = self.context.observer
        if observer is None:
            return self._execute(text, parameters, timeout, query)
        run, query = partial(self._execute, text, parameters, timeout), query or self.begin(text)
        return observer.observe(well_formed(query.text), query, run)

    def _execute(
        self,
        text: str,
        parameters: Parameters | Arguments | None,
        timeout: float | None,
        query: QueryRun | None,
        observation: "Observation | None" = None,
    ) -> Result:
        """Run one statement as :meth:`execute` does. ``observation`` collects metrics and traces of the
        statement; None = nobody observes the statement."""
        context = self.context
        text = context.usual(well_formed(text))
        try:
            if context.bases:
                copies.follow(context)
            query = context.limited(text, timeout, query)
            arguments = self.arguments(parameters)
            request = StatementRequest(text, arguments, timeout, query, observation=observation)
            return walk(request, context)
        except Error as error:
            self.locate(error, text)
            raise
        except Exception as error:
            raise self.locate(evaluation_errors.foreign_error(error), text) from error

    def arguments(self, parameters: Parameters | Arguments | None) -> Arguments:
        """Return ``parameters`` with their types, in the form that the planner takes, and the session's SQL
        variables; Arguments are returned unchanged. Naive datetimes are in the time zone
        :attr:`parameter_zone`. Raises Error for a value that has no SQL type."""
        if isinstance(parameters, Arguments):
            return parameters
        given = NO_ARGUMENTS if parameters is None else Arguments.of(parameters, self.parameter_zone)
        variables = self.context.variables
        return variables.added_to(given) if variables else given

    def locate(self, error: Error, text: str) -> Error:
        """Add to ``error`` the line and the caret that show its position in ``text``, and return the same
        error. Also add a hint where another setup would help: Spark for a statement that this session doesn't
        support, if it has no Spark session; a durable job for a query that lacked memory, if the session has
        a job store."""
        error.locate(text)
        if error.sqlstate == NO_MEMORY and error.hint is None and self._may_be_durable(text):
            error.hint = "SET sqlfront.lane = durable runs the query as a durable job"
        if self.spark is None and error.hint is None and isinstance(error, NotSupportedError):
            error.hint = hints.spark_hint(error, text)
        return error

    def _may_be_durable(self, text: str) -> bool:
        return self.context.jobs is not None and self.options.lane != Lane.DURABLE and is_query(text)

    def prepare(self, text: str) -> "prepared.PreparedStatement":
        """Return a prepared statement of ``text``. The text is parsed and planned at the first execution,
        not here."""
        return prepared.PreparedStatement(self, text, self._execute)

    def run_pipeline(
        self,
        pipeline: "pipelines.Pipeline",
        arguments: "Sequence[Literal]" = (),
        *,
        required_partitions: Collection[int] | None = None,
        timeout: float | None = None,
    ) -> Result:
        """Plan a pipeline (:mod:`sqlfront.pipeline`), run it as a light job, and return its result. The job
        runs on the members that own the partitions ``required_partitions``; None = on all members.
        ``arguments`` are the values of the pipeline's ``OwnerOf`` keys. ``timeout`` in seconds overrides the
        session's timeout.

        The result reads the rows that the pipeline collects; a pipeline that collects nothing has ended on
        return. Errors in user code are DataErrors, or OperationalErrors for errors of the environment; the
        messages name step and function. Raises ProgrammingError if ``required_partitions`` are given and a
        table of the pipeline has no CLUSTERED BY.
        """
        self.check_open()
        run = partial(pipelines.run, self.context, pipeline, arguments, required_partitions, timeout)
        observer = self.context.observer
        if observer is None:
            return run()
        return observer.observe(pipelines.NAME, self.begin(pipelines.NAME), run)

    def submit(
        self,
        work: "DAG | pipelines.Pipeline",
        config: JobConfig | None = None,
        *,
        arguments: "Sequence[Literal]" = (),
        **options: object,
    ) -> "Job":
        """Start a DAG or a pipeline as a light job, and return the job at once; the DAG can't be changed
        afterwards. The job runs on all members that it needs, and goes on without its object unless it has a
        result that nobody has read.

        ``config``: the job's options (:class:`~sqlfront_engine.engine.JobConfig`), None = the defaults; the
        session's settings, timeout and memory limit apply where the options say nothing. ``arguments``: the
        values of a pipeline's ``OwnerOf`` keys. ``options``: a ``name``, a ``processing_guarantee`` and other
        options of durable jobs raise NotSupportedError.

        Raises InterfaceError for a DAG or pipeline that can't run, ProgrammingError for an option out of its
        range, OperationalError if a member that the DAG names is missing.
        """
        self.check_open()
        return light_submission.submit(self.context, work, config, arguments, options)

    def job(self, number: int) -> "Job":
        """Return the running light job with the id ``number``, as ``sys.light_jobs`` lists it, of any session
        and any coordinator: to cancel it, to wait for its end, and to see how it ends. Its result is read
        where it was submitted. If the end of a job of another process can't be told, because an answer was
        lost, :meth:`.Job.join` and :attr:`.Job.status` raise OperationalError (42704). Raises
        ProgrammingError (42704) if no such job runs, OperationalError if a member that may have the job gives
        no answer."""
        self.check_open()
        return found_jobs.find(self.context, number)

    def register(self, name: str, frame: "arrow.ArrowSource") -> None:
        """Make the Arrow data ``frame`` a temporary view ``name``, which replaces a temporary view with the
        same name. ``frame``: a table, reader or Dataset of pyarrow, a frame of pandas, polars or DuckDB, or
        any object with the Arrow PyCapsule interface."""
        context, table = self.context, arrow.ArrowTable(name, frame)
        replaces = context.catalog.own((name,)) is not None
        context.catalog.add(TableEntry(name, table, temporary=True), replace=True)
        if replaces:
            context.plans.sweep(context.catalog)  # cached plans keep the rows of the view before

    def createDataFrame(
        self,
        data: object,
        schema: object = None,
        samplingRatio: float | None = None,  # noqa: N803 - PySpark's names
        verifySchema: bool = True,  # noqa: N803
    ) -> "Result | Frame":
        """Return a result whose rows are the Python values or the frame ``data``, as
        ``spark.createDataFrame`` makes a DataFrame of them. ``data``: a list of tuples, dicts, Rows or named
        tuples, or a frame of pandas, polars or pyarrow. ``schema``: names, a text such as
        ``"a INT, b STRING"``, or a StructType; None: the types follow from the values, as in PySpark. A
        datetime without a zone is in the session's time zone. ``samplingRatio`` has no effect, as for
        PySpark's lists.

        Raises ProgrammingError for data or a schema of another form, DataError for values that don't fit the
        schema, and NotSupportedError for ``verifySchema=False``, with which Spark makes nulls of values that
        don't fit.

        >>> import sqlfront
        >>> rows = sqlfront.Session().createDataFrame([(1, "x"), (2, None)], ["k", "v"])
        >>> rows.dtypes, rows.collect()
        ([('k', 'bigint'), ('v', 'string')], [Row(k=1, v='x'), Row(k=2, v=None)])
        """
        self.check_open()
        if not verifySchema:
            raise NotSupportedError("createDataFrame verifies all values: verifySchema=False isn't supported")
        made = created_frames.created(data, schema, self.parameter_zone)
        return self.sql(made.query, data=made.table)

    def unregister(self, name: str) -> None:
        """Drop a temporary view; no error if no view has the name."""
        context = self.context
        entry = context.catalog.own((name,))
        if entry is not None and entry.temporary:
            context.catalog.remove((name,))
            context.plans.sweep(context.catalog)  # cached plans keep the view's rows

    def submit_job(
        self,
        text: str,
        args: Parameters | None = None,
        *,
        name: str | None = None,
        options: Mapping[str, str | float] | None = None,
    ) -> "DurableJob":
        """Begin a durable job that runs a query, CREATE TABLE ... AS, or an INSERT, and return the job's
        handle; the job goes on when the session is gone. ``args``: the values of the query's parameters.
        ``name``: the job's name, None = a generated name. ``options``: the options of CREATE JOB. Raises
        ProgrammingError for a name that another job has and for wrong options, NotSupportedError for a
        statement that no durable job can run and without a job store.

        >>> import tempfile, sqlfront
        >>> with sqlfront.connect(job_store=tempfile.mkdtemp()) as connection:
        ...     job = connection.session.submit_job("SELECT id * 2 AS n FROM range(3)")
        ...     job.result().collect()
        [Row(n=0), Row(n=2), Row(n=4)]
        """
        self.check_open()
        text = self.context.usual(well_formed(text))
        request = StatementRequest(text, self.arguments(args))
        try:
            return job_commands.submit(self.context, request, name, options or {})
        except Error as error:
            error.locate(text)  # without a hint: Spark runs no durable job
            raise

    def close(self) -> None:
        """Cancel running queries, stop the threads, and remove temporary files; closing twice is no error.
        Durable jobs that haven't ended stay in the job store, where another session can take them over."""
        self._closed = self._closed or "the session is closed"
        self._finalizer()

    def leave(self) -> None:
        """Mark this copy of the session as closed, in a process that was forked from the session's process.
        The session's jobs, threads and files belong to the parent process and go on there."""
        self._closed = f"{inherited('the session')}; open one here"


for _name, _instead in SESSION_NAMES.items():
    setattr(Session, _name, NeedsSpark(_name, "session", _instead))


#: The sessions of this process.
_sessions: "Final[weakref.WeakSet[Session]]" = weakref.WeakSet()


def _leave_sessions() -> None:
    for session in tuple(_sessions):
        session.leave()


os.register_at_fork(after_in_child=_leave_sessions)


def _free(
    engine: "Engine | Cluster",
    home: Home,
    start: "spark_start.SparkStart | None",
    observer: "Observer | None",
    store: "job_services.JobService | None",
) -> None:
    if store is not None:
        store.close()
    engine.close()
    if observer is not None:
        observer.close()
    home.remove()
    if start is not None:
        start.close()


def _nulls_of(
    context: "weakref.ref[Context]", text: str, args: Parameters | None, schema: "pa.Schema"
) -> "Sequence[Nulls] | None":
    return query_nulls.nulls_of_text(context, text, args, schema)
