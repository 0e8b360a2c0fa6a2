"""The engine of one process, which runs light jobs on this member.

>>> import pyarrow as pa
>>> from sqlfront_engine.dag import DAG, Edge
>>> from sqlfront_engine.processors.sink import ResultSink
>>> from sqlfront_engine.testing import Batches
>>> dag = DAG()
>>> source = dag.vertex("numbers", Batches("numbers"), 1)
>>> _ = dag.edge(Edge.between(source, dag.vertex("result", ResultSink())))
>>> numbers = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})
>>> with Engine() as engine:
...     job = engine.run(dag, JobConfig(resources={"numbers": [numbers]}, inline=True))
...     [batch.to_pydict() for batch in job.batches()]
[{'n': [1, 2, 3]}]
"""

import atexit
import itertools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from threading import RLock
from typing import TYPE_CHECKING, Final
from weakref import WeakSet, WeakValueDictionary

import msgspec

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.job_statistics import JobStatistics, JobStatus, JobSummary
from sqlfront_engine.jobs import execution as executions
from sqlfront_engine.jobs import light_job as light_jobs
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.machine_memory import machine_memory
from sqlfront_engine.memory import MemoryBudget, MemoryStatistics, OperatorAccount
from sqlfront_engine.plans import execution_plan as plans
from sqlfront_engine.plans import placement as placements
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_engine.processors.own_classes import AllowedCode
from sqlfront_engine.processors.sources import held_rows
from sqlfront_engine.scheduler import (
    BlockingRunner,
    Clock,
    CooperativeWorkers,
    DedicatedThreads,
    InlineRunner,
    SystemClock,
    Workers,
    available_cores,
    await_threads,
)
from sqlfront_values.errors import InterfaceError
from sqlfront_values.settings import DEFAULT_PARTITIONS, DEFAULT_SETTINGS, EMBEDDED, Settings

if TYPE_CHECKING:
    from sqlfront_engine.dag import DAG
    from sqlfront_engine.jobs.execution import Execution
    from sqlfront_engine.jobs.light_job import LightJob
    from sqlfront_engine.plans.execution_plan import ExecutionPlan, ExecutionSite
    from sqlfront_engine.processors.sources.held_rows import HeldBatches

#: The part of the machine's memory that operators may hold unless the engine is told otherwise: tables,
#: buffers on the network and the user's own program need the rest.
MEMORY_SHARE: Final = 0.6
#: Seconds that the interpreter's end waits for the steps of running jobs, at most. A step takes milliseconds;
#: a sort, the build of a join and a blocking user function take longer.
LAST_STEPS: Final = 1.0

#: The engines of this process that may have threads.
_engines: "WeakSet[Engine]" = WeakSet()


class JobConfig(msgspec.Struct, frozen=True):
    """The options of a job.

    ``settings``: the session's settings. ``resources``: objects by name for the processors' contexts, such as
    pinned table snapshots. ``memory_limit``: bytes, None = the member's limit. ``timeout``: seconds, None =
    no limit. ``inline``: run all processors, including non-cooperative ones, on the thread that reads the
    result or joins, with a single instance per vertex unless the DAG says otherwise. ``parallelism``: the
    default number of instances of a vertex, None = one per worker (for inline jobs: 1). ``partition_count``:
    the number of partitions among which edges divide keys. ``order_seed``: the seed of a random order of an
    inline job's tasklets, None = oldest first. ``query``: the run of the job's query, whose ``memory_limit``
    and ``description`` then apply; None = the job is its query's only job. ``description``: the text in
    listings.

    In a cluster: ``required_partitions`` are the partitions read by the job (None = all, and all members take
    part), ``required_members`` further members needed by the job. ``statistics``: tasklets also count bytes,
    and in a cluster the other members report their counters.
    """

    settings: Settings = DEFAULT_SETTINGS
    resources: Mapping[str, object] = NO_RESOURCES
    memory_limit: int | None = None
    timeout: float | None = None
    inline: bool = False
    parallelism: int | None = None
    partition_count: int = DEFAULT_PARTITIONS
    order_seed: int | None = None
    required_partitions: frozenset[int] | None = None
    required_members: tuple[str, ...] = ()
    statistics: bool = False
    query: QueryRun | None = None
    description: str = ""


DEFAULT_CONFIG: Final = JobConfig()


class EngineStatistics(msgspec.Struct, frozen=True):
    """A snapshot of an engine. ``workers``: the most threads that may run tasklets at the same time;
    ``worker_threads``: the number of these threads started so far. ``memory``: the memory of the
    running jobs. ``submitted``: the number of jobs of which this engine has run a part or all; ``running``:
    the jobs among them that have not ended."""

    workers: int
    worker_threads: int
    memory: MemoryStatistics
    submitted: int
    running: tuple[JobStatistics, ...]


class Engine(ClosingContext):
    """A runner of DAGs in this process.

    ``workers``: the number of threads for cooperative processors, started with the first job (None = one per
    core). ``clock``: the source of time, None = the system's. ``memory_limit``: the bytes that the operators
    of all jobs may hold together (None = six tenths of the machine's memory). ``threads``: replaces the
    threads, as a simulation does. ``process_memory``: a memory budget that several engines of the process
    share, None = no shared budget. ``files``: the files that jobs may open here. ``user_code``: whether
    functions that users of other members have written may run here. ``processor_modules``: the modules whose
    processors may run here for other members in any case."""

    def __init__(
        self,
        workers: int | None = None,
        clock: Clock | None = None,
        memory_limit: int | None = None,
        threads: tuple[Workers, BlockingRunner] | None = None,
        process_memory: MemoryBudget | None = None,
        files: FileAccess = EVERYWHERE,
        user_code: bool = False,
        processor_modules: Sequence[str] = (),
    ) -> None:
        self._workers, self._dedicated = threads or (
            CooperativeWorkers(available_cores() if workers is None else workers),
            DedicatedThreads(),
        )
        self._owns_clock = clock is None
        self.clock: Clock = SystemClock() if clock is None else clock
        limit = default_memory_limit() if memory_limit is None else memory_limit
        self.memory = MemoryBudget("the member", limit, process_memory)
        #: The tables' part of ``memory``.
        self.tables = MemoryBudget("the member", limit, self.memory)
        #: The files that jobs may open here.
        self.files = files
        #: Whether functions of other members' jobs may run here.
        self.user_code = user_code
        #: The modules whose processors may run here for other members.
        self.processor_modules = tuple(processor_modules)
        self._numbers = itertools.count(1)
        self._epoch = time.time() - self.clock.now()
        self._submitted = 0
        self._running: dict[int, Execution] = {}
        # Queries of several jobs: between two of its jobs a query is not in ``_running``.
        self._queries: WeakValueDictionary[int, QueryRun] = WeakValueDictionary()
        self._closed = False
        # Prevents a start on workers that are being closed; reentrant for finalizers.
        self._threads_lock = RLock()
        self._process = os.getpid()
        _engines.add(self)

    @property
    def workers(self) -> int:
        """The number of cooperative workers: the default parallelism of a vertex."""
        return self._workers.count

    @property
    def submitted(self) -> int:
        """The number of jobs of which this engine has run a part or all so far."""
        return self._submitted

    def allowed_code(self, member: str) -> AllowedCode:
        """Return the code of users that may run here for other members. ``member``: the name of this process
        for messages."""
        return AllowedCode(self.user_code, self.processor_modules, member)

    def call(self, function: Callable[[], None]) -> None:
        """Have a cooperative worker call ``function`` soon, and return at once. May be called in finalizers,
        and also after the engine is closed, since the memory of jobs is freed by such calls."""
        self._workers.start()
        self._workers.call(function)

    def number_from(self, first: int) -> None:
        """Number the following queries and jobs from ``first`` on. Each member of a cluster uses other
        numbers."""
        self._numbers = itertools.count(first)

    def next_number(self) -> int:
        """Return the next unused number, the id for a new query or job."""
        return next(self._numbers)

    def begin_query(
        self,
        memory_limit: int | None = None,
        text: str = "",
        number: int | None = None,
        within: MemoryBudget | None = None,
    ) -> QueryRun:
        """Return a new run of a query, which consists of one or several jobs; the query's time begins now.
        ``memory_limit``: bytes, None = the limit of ``within``. ``text``: the query's text in listings.
        ``number``: the query's id, None = a new one. ``within``: the budget that the query's memory is a part
        of, None = the member's."""
        found = next(self._numbers) if number is None else number
        return self._query(found, memory_limit, text, self.memory if within is None else within)

    def _query(self, number: int, memory_limit: int | None, text: str, within: MemoryBudget) -> QueryRun:
        return QueryRun(number, memory_limit, within, self.clock.now(), text, self._running)

    def run(self, dag: "DAG", config: JobConfig = DEFAULT_CONFIG) -> "LightJob":
        """Start the DAG as a job on this member, and return the job's handle; the DAG can't be changed
        afterwards. An inline job (``config.inline``), which runs on its caller's thread, begins to run only
        when its result is read or :meth:`LightJob.join` is called.

        Raises InterfaceError if the DAG is invalid, a required partition is out of range, or the engine is
        closed.
        """
        if config.required_partitions is not None:
            placements.check_required(config.required_partitions, config.partition_count)
        execution = self.execution(self.next_number(), config)
        job = light_jobs.LightJob(execution)  # first, so that the start may be interrupted
        self.start(execution, self.plan(dag, execution, config), config)
        return job

    def hold(
        self,
        name: str,
        dag: "DAG",
        config: JobConfig,
        run: "Callable[[DAG, JobConfig], LightJob] | None" = None,
    ) -> "HeldBatches":
        """Run the DAG to its end and return its rows in memory, for later jobs of the same query
        (``config.query``). ``run`` starts the job; None = on this engine.

        The memory of the rows counts for the query under ``name`` until the returned object is garbage.
        Raises the job's error, and OperationalError if the rows exceed the memory limit.
        """
        assert config.query is not None
        self._queries[config.query.id] = config.query
        account = OperatorAccount(config.query.budget, name)
        batches = []
        try:
            job = (run or self.run)(dag, config)
            with job.batches() as reader:
                for batch in reader:
                    account.charge(batch.nbytes)
                    batches.append(batch)
        except BaseException:
            account.close()
            raise
        held = held_rows.HeldBatches(tuple(batches), job.statistics() if config.statistics else None)
        when_forgotten(held, account.close).atexit = False
        return held

    # ---- running in steps, for jobs on several members

    def execution(self, number: int, config: JobConfig, member: str = EMBEDDED) -> "Execution":
        """Return a new run of a job, which has no plan yet and has not begun, with this engine's memory
        budget. ``number``: the job's id; ``member``: the name of this member. Raises InterfaceError if the
        engine is closed."""
        self._check_open()
        query = config.query or self._query(number, config.memory_limit, config.description, self.memory)
        return executions.Execution(number, query, self.clock, config.timeout, member)

    def plan(
        self, dag: "DAG", execution: "Execution", config: JobConfig, member: "ExecutionSite | None" = None
    ) -> "ExecutionPlan":
        """Lock the DAG, and make its tasklets and queues on ``member`` (None: the only member), for
        ``execution`` and the options ``config``. Raises InterfaceError if the DAG can't run."""
        if config.statistics:
            execution.scans = frozenset(vertex.name for vertex in dag if vertex.processor.reads_table)
        return plans.plan_execution(
            dag,
            default_parallelism=self._parallelism(config),
            listener=execution,
            reader=execution,
            budget=execution.query.budget,
            settings=config.settings,
            resources=config.resources,
            partition_count=config.partition_count,
            member=member,
            measured=config.statistics,
            files=self.files,
        )

    def check_plan(self, dag: "DAG", config: JobConfig, member: "ExecutionSite") -> None:
        """Raise the InterfaceError of :meth:`plan` for a DAG that can't run, without an execution. A check of
        a DAG that was planned or checked before for the same placement and parallelism costs a look-up."""
        plans.check_plan(dag, member, self._parallelism(config), config.partition_count)

    def _parallelism(self, config: JobConfig) -> int:
        return config.parallelism or (1 if config.inline else self._workers.count)

    def start(
        self,
        execution: "Execution",
        plan: "ExecutionPlan",
        config: JobConfig,
        on_end: "Callable[[Execution], None] | None" = None,
    ) -> None:
        """Start the tasklets of ``plan``, the plan made for ``execution``: on the engine's threads, or for an
        inline job on the reader's thread. ``on_end`` is called when the execution has ended."""

        def ended(execution: "Execution") -> None:
            self._running.pop(execution.id, None)
            if on_end is not None:
                on_end(execution)

        self._submitted += 1
        jobs = execution.query.jobs
        if jobs is not None:
            jobs.append(execution)
        try:
            if config.inline:
                self._running[execution.id] = execution
                execution.start(plan, ended, InlineRunner(config.order_seed))
                return
            with self._threads_lock:
                self._check_open()
                self._running[execution.id] = execution
                self._workers.start()
                execution.start_on_threads(plan, ended, self._workers, self._dedicated)
        except BaseException:  # such as Ctrl-C: tasklets that have not begun never begin
            execution.stop(JobStatus.CANCELLED)
            self._running.pop(execution.id, None)
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the engine is closed")

    # ---- inspecting and closing

    def executions(self) -> "list[Execution]":
        """Return the runs that have not ended, including this member's parts of jobs of other members."""
        return list(self._running.values())

    def jobs(self) -> tuple[JobSummary, ...]:
        """Return the listing of the queries that have a job running here, for an engine that is not in a
        cluster."""
        return tuple(self.summary(execution, EMBEDDED, (EMBEDDED,)) for execution in self.executions())

    def summary(self, execution: "Execution", coordinator: str, participants: tuple[str, ...]) -> JobSummary:
        """Return the summary by which listings show the query of ``execution``, a run. ``coordinator`` and
        ``participants`` are names of members."""
        query, now = execution.query, self.clock.now()
        started = self._epoch + query.began
        return JobSummary(
            query.id,
            coordinator,
            execution.status,
            started,
            now - query.began,
            participants,
            query.description,
        )

    def cancel(self, query: int, by: str = "") -> bool:
        """Cancel the running query with the id ``query``. Returns whether such a query was running here.
        ``by``: a phrase for the error's text that says who cancels; empty = the user of the query."""
        runs = [execution.query for execution in self.executions() if execution.query.id == query]
        found = runs[0] if runs else self._queries.get(query)
        if found is not None:
            found.cancel(by)
        return found is not None

    def statistics(self) -> EngineStatistics:
        """Return a snapshot of the engine's threads, memory and jobs."""
        running = tuple(execution.statistics() for execution in self.executions())
        return EngineStatistics(
            self._workers.count, self._workers.threads, self.memory.statistics(), self._submitted, running
        )

    def cancel_all(self) -> None:
        """Cancel all running jobs."""
        for execution in self.executions():
            execution.stop(JobStatus.CANCELLED)

    def close(self) -> None:
        """Cancel all running jobs and have the threads end; each thread ends once its tasklets have
        ended."""
        with self._threads_lock:
            if self._closed:
                return
            self._closed = True
        self.cancel_all()
        self._workers.close()
        self._dedicated.close()
        if isinstance(self.clock, SystemClock) and self._owns_clock:
            self.clock.close()


def _end_all() -> None:
    """Close all engines of this process, and wait for their threads. Called when the interpreter ends, which
    might crash while a thread is inside a kernel."""
    for engine in [*_engines]:
        if engine._process == os.getpid():
            engine.close()
    await_threads(LAST_STEPS)


atexit.register(_end_all)


def default_memory_limit() -> int:
    """Return the default limit, in bytes, of the memory of operators and tables: :data:`MEMORY_SHARE` of the
    memory that this process may use."""
    return int(machine_memory() * MEMORY_SHARE)
