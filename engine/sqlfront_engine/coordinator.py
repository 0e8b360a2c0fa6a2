"""The engine of one process: it runs light jobs on the member that it is.

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

import itertools
import os
from collections.abc import Mapping
from threading import RLock
from types import TracebackType
from typing import Final, Self

import msgspec

from sqlfront_engine.dag import DAG
from sqlfront_engine.errors import InterfaceError
from sqlfront_engine.execution import Execution
from sqlfront_engine.execution_plan import DEFAULT_SETTINGS, plan_execution
from sqlfront_engine.job_statistics import JobStatistics, JobStatus
from sqlfront_engine.light_job import LightJob
from sqlfront_engine.memory import MemoryBudget, MemoryStatistics
from sqlfront_engine.partitions import DEFAULT_PARTITIONS
from sqlfront_engine.processor import NO_RESOURCES
from sqlfront_engine.scheduler import (
    Clock,
    CooperativeWorkers,
    DedicatedThreads,
    InlineRunner,
    SystemClock,
    available_cores,
)
from sqlfront_engine.settings import Settings

#: The part of the machine's memory that operators may hold unless the engine is told otherwise.
MEMORY_SHARE: Final = 0.6


class JobConfig(msgspec.Struct, frozen=True):
    """How to run a job.

    ``resources``: objects for the processors' contexts, such as pinned table snapshots. ``memory_limit``:
    bytes, None = the member's limit. ``timeout``: seconds, None = none. ``inline``: everything on the
    thread that reads the result or joins, also non-cooperative processors; one instance per vertex unless
    the DAG says otherwise. ``parallelism``: the default number of instances of a vertex, None = as many as
    there are workers (one for inline jobs). ``order_seed``: run an inline job's tasklets in a random order.
    """

    settings: Settings = DEFAULT_SETTINGS
    resources: Mapping[str, object] = NO_RESOURCES
    memory_limit: int | None = None
    timeout: float | None = None
    inline: bool = False
    parallelism: int | None = None
    partition_count: int = DEFAULT_PARTITIONS
    order_seed: int | None = None


DEFAULT_CONFIG: Final = JobConfig()


class EngineStatistics(msgspec.Struct, frozen=True):
    """An engine now: its threads and memory, the jobs that run and how many were submitted."""

    workers: int
    worker_threads: int
    memory: MemoryStatistics
    submitted: int
    running: tuple[JobStatistics, ...]


class Engine:
    """Runs DAGs in this process. ``workers``: cooperative threads (None = one per core), started with the
    first job that needs them. ``memory_limit``: bytes that all jobs' operators may hold together (None =
    six tenths of the machine's)."""

    def __init__(
        self, workers: int | None = None, clock: Clock | None = None, memory_limit: int | None = None
    ) -> None:
        self._workers = CooperativeWorkers(available_cores() if workers is None else workers)
        self._dedicated = DedicatedThreads()
        self._clock: Clock = SystemClock() if clock is None else clock
        limit = int(_machine_memory() * MEMORY_SHARE) if memory_limit is None else memory_limit
        self.memory = MemoryBudget("the member", limit)
        self._numbers = itertools.count(1)
        self._submitted = 0
        self._running: dict[int, Execution] = {}
        self._closed = False
        # So that no job is handed to workers that are being ended; reentrant for finalizers.
        self._threads_lock = RLock()

    @property
    def workers(self) -> int:
        """The number of cooperative workers: the default parallelism of a vertex."""
        return self._workers.count

    def run(self, dag: DAG, config: JobConfig = DEFAULT_CONFIG) -> LightJob:
        """Submit the DAG, which is locked from then on. An inline job begins to run when its result is
        read."""
        self._check_open()
        limit = self.memory.limit if config.memory_limit is None else config.memory_limit
        budget = MemoryBudget("the query", limit, self.memory)
        number = self._submitted = next(self._numbers)
        execution = Execution(number, budget, self._clock, config.timeout)
        parallelism = config.parallelism or (1 if config.inline else self._workers.count)
        plan = plan_execution(
            dag,
            default_parallelism=parallelism,
            listener=execution,
            reader=execution,
            budget=budget,
            settings=config.settings,
            resources=config.resources,
            partition_count=config.partition_count,
        )
        if config.inline:
            self._running[number] = execution
            execution.start(plan, self._forget, InlineRunner(config.order_seed))
            return LightJob(execution)
        with self._threads_lock:
            self._check_open()
            self._running[number] = execution
            self._workers.start()
            execution.start_on_threads(plan, self._forget, self._workers, self._dedicated)
        return LightJob(execution)

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the engine is closed")

    def _forget(self, execution: Execution) -> None:
        self._running.pop(execution.id, None)

    def statistics(self) -> EngineStatistics:
        """Threads, memory and jobs now."""
        running = tuple(execution.statistics() for execution in tuple(self._running.values()))
        return EngineStatistics(
            self._workers.count, self._workers.threads, self.memory.statistics(), self._submitted, running
        )

    def close(self) -> None:
        """Cancel what runs and end the threads; they end by themselves once their tasklets have."""
        with self._threads_lock:
            if self._closed:
                return
            self._closed = True
        for execution in tuple(self._running.values()):
            execution.stop(JobStatus.CANCELLED)
        self._workers.close()
        self._dedicated.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _machine_memory() -> int:
    """Bytes of this machine's memory, 8 GiB if it doesn't tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 1024**3
