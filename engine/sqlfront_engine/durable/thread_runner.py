"""A runner of tasks on threads of this process."""

from collections.abc import Callable, Collection
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final

from msgspec.structs import replace

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.event_store.events import Manifest
from sqlfront_engine.durable.files import remove_output
from sqlfront_engine.durable.runner import Holdings, TaskEnd
from sqlfront_engine.durable.split_assignments import RunSplits, SplitAssignments
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.durable.tasks import RunId, TaskJob, TaskRun
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.memory import MemoryBudget
from sqlfront_engine.processors.sources.split_scan import TASK_SPLITS
from sqlfront_values.evaluation_errors import foreign_error


class ThreadRunner(ClosingContext):
    """A runner of a job's tasks on ``threads`` threads of this process, one task at a time on each.
    ``config``: the options of the job; all tasks together may hold ``config.memory_limit`` bytes. ``member``
    and ``incarnation`` name this process in the job's log. ``splits``: the splits that the job's coordinator
    gives to tasks; None = it gives none."""

    #: The runs end with the process.
    is_lasting: Final = False

    def __init__(
        self,
        engine: Engine,
        plan: StagePlan,
        config: JobConfig,
        *,
        threads: int,
        member: str,
        incarnation: str,
        splits: SplitAssignments | None = None,
    ) -> None:
        self.capacity, self.member, self.incarnation = threads, member, incarnation
        limit = config.memory_limit
        self._memory = engine.memory if limit is None else MemoryBudget("the job", limit, engine.memory)
        free = engine.memory.limit - engine.tables.used
        self.task_memory = max(0, min(self._memory.limit, free)) // threads
        self._engine, self._plan, self._config, self._splits = engine, plan, config, splits
        self._waiting: SimpleQueue[tuple[TaskRun, Callable[[TaskEnd], None]] | None] = SimpleQueue()
        # Daemons: the interpreter's end waits for no task, but leaves the job to a successor.
        self._threads = [
            Thread(target=self._work, name=f"sqlfront-task-{number}", daemon=True)
            for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()
        self._lock = Lock()
        # Guarded by the lock: the jobs that run; the runs to cancel, which may not have begun; and whether no
        # further run may begin.
        self._jobs: dict[RunId, TaskJob] = {}
        self._cancelled: set[RunId] = set()
        self._stopped = False

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        """Have a thread run a task, and return at once; ``ended`` is then called on that thread."""
        self._waiting.put((run, ended))

    def retain(self, awaits: Callable[[Holdings], bool]) -> Holdings:
        """Return no outputs: this process has none of former coordinators, and reaches no members."""
        return Holdings()

    def adopt(
        self,
        wants: Callable[[TaskRun], bool],
        ended: Callable[[TaskEnd], None],
        kept: Collection[str],
    ) -> None:
        """Do nothing: the runs of former coordinators have ended with their processes."""

    def release(self) -> None:
        """Do nothing: all files of the runs are in the job's folder."""

    def settle(self, end: TaskEnd, *, counts: bool) -> None:
        """Remove the files of a run that doesn't count, at once. A file that can't be removed stays until the
        end of the job."""
        if not counts:
            with suppress(OSError):
                remove_output(end.output)

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None:
            self._run(*task)
            del task  # which holds the run until the next one

    def _run(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        try:
            end = TaskEnd(run, self._output(run))
        except Exception as error:  # noqa: BLE001 - the coordinator decides what an error means
            end = TaskEnd(run, None, foreign_error(error))
        ended(end)

    def _output(self, run: TaskRun) -> Manifest:
        splits = None if self._splits is None else self._splits.of(run.run_id)
        query = self._engine.begin_query(text=self._config.description, within=self._memory)
        config = replace(self._config, query=query)
        if splits is not None:
            config = replace(config, resources={**config.resources, TASK_SPLITS: splits})
        job = TaskJob(self._engine, self._plan, run, config)
        with self._lock:
            self._jobs[run.run_id] = job
            if self._stopped or run.run_id in self._cancelled:
                job.cancel()
        try:
            return _with_splits(job.run(), splits)
        finally:
            with self._lock:
                del self._jobs[run.run_id]
                self._cancelled.discard(run.run_id)

    def cancel(self, run: RunId) -> None:
        """Cancel one run that was started and has not ended: it ends soon, with an error unless it is
        complete already. Returns at once."""
        with self._lock:
            self._cancelled.add(run)
            job = self._jobs.get(run)
        if job is not None:
            job.cancel()

    def stop(self) -> None:
        """Cancel all tasks, including those that have not begun; their runs end with an error."""
        with self._lock:
            self._stopped = True
            for job in self._jobs.values():
                job.cancel()

    def end_threads(self) -> None:
        """Have the threads end as soon as all tasks have ended, and return at once; no task may be started
        any more."""
        for _ in self._threads:
            self._waiting.put(None)

    def close(self) -> None:
        """Wait until all tasks have ended, then end the threads; call :meth:`stop` first to cancel the
        tasks."""
        self.end_threads()
        for thread in self._threads:
            thread.join()


def _with_splits(output: Manifest, splits: RunSplits | None) -> Manifest:
    """Return the output of a run when the record of the ``splits`` that the run has read is prepared; if it
    can't be, remove the output's files and raise the error."""
    if splits is not None:
        try:
            splits.complete()
        except BaseException:
            remove_output(output)
            raise
    return output
