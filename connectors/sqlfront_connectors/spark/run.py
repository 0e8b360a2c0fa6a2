"""A statement while Spark runs it: in a thread of its own, tagged, so that it can be stopped.

The thread that asked only waits, so it can be interrupted: PySpark's own Ctrl-C leaves the job running. What
stops a run (:meth:`SparkRun.cancel`, its timeout, the query it belongs to, being forgotten) ends the waiting
at once, and another thread cancels the run's jobs until there are no more of them; that one alone talks to
Spark, since a finalizer must not. Who closes a session waits until nothing of its runs runs, and so does this
process when it ends: a thread that reads Arrow's data then would take the interpreter down with it.
"""

import atexit
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cache
from queue import SimpleQueue
from typing import Final, Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa

from sqlfront_connectors.spark.failures import ours, quiet, translated
from sqlfront_engine.forks import inherited, when_forgotten
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.query_run import Progress, QueryRun, stopped_error
from sqlfront_values.errors import InterfaceError, OperationalError

#: How often a stopped run's jobs are cancelled, which may start new ones until it has noticed (s).
_AGAIN: Final = 0.05
#: How long the end of runs is waited for (s).
_PATIENCE: Final = 5.0
#: How the names of all threads begin that talk to Spark for us.
THREADS: Final = "sqlfront-spark-"
_T = TypeVar("_T")
#: Takes a batch that has come.
Arrive = Callable[[pa.RecordBatch], None]


#: What runs in this process.
_running: "Final[set[_Attempt]]" = set()
os.register_at_fork(after_in_child=_running.clear)


class Jobs(Protocol):
    """What a run needs of a session."""

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """A thread in which the session answers as it does in this one."""

    def tag(self, tag: str) -> None:
        """Mark the jobs that this thread starts from now on."""

    def cancel(self, tag: str) -> None:
        """Stop the jobs with that tag that are there now."""

    def progress(self, tag: str) -> Progress:
        """How far the jobs with that tag are."""

    def forget(self, tag: str) -> None:
        """Nobody will ask for that tag any more."""


class Work(Protocol):
    """What Spark is to do, in two steps; both run in the run's thread."""

    def analyse(self) -> pa.Schema:
        """Analyse the statement, and run it if it is a command; the logical schema of its answer."""

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Run the query that was analysed, to its end. ``arrive`` gets its rows, in physical form, as they
        come; those that it returns come behind them, and any thread may read them."""


class SparkRun:
    """A statement that Spark runs; :attr:`schema` and :meth:`batches` wait for it.

    A run that is forgotten before all of its rows are there is cancelled.
    """

    def __init__(
        self, jobs: Jobs, work: Work, *, timeout: float | None = None, query: QueryRun | None = None
    ) -> None:
        """Start it. ``timeout``: seconds from now; ``query``: the run of the statement that it belongs to,
        which stops it too."""
        #: What it does.
        self.work = work
        self._process = os.getpid()
        self._attempt = attempt = _Attempt(jobs, work, timeout, query)
        when_forgotten(self, attempt.release).atexit = False
        attempt.begin()

    @property
    def tag(self) -> str:
        """What Spark's jobs of this statement are tagged with."""
        return self._attempt.tag

    @property
    def schema(self) -> pa.Schema:
        """The logical schema of the answer, without columns if there is none. Waits until Spark has analysed
        the statement, for a command until it has run. Raises its error."""
        return self._wait(self._attempt.analysed.result)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, in physical form, once and as they come. Waits for them; raises the statement's error as
        soon as there is one, after which no job of it is left."""
        attempt = self._attempt
        while (batch := self._wait(attempt.arrived.get)) is not None and not attempt.failed:
            yield batch
        yield from self._wait(attempt.collected.result)

    def cancel(self) -> None:
        """Stop it; no error if it has ended. Returns at once, its jobs end soon after."""
        self._attempt.stop(JobStatus.CANCELLED)

    def progress(self) -> Progress:
        """How far its jobs are. Any thread may call this."""
        return self._attempt.progress()

    def join(self, timeout: float | None = None) -> bool:
        """Wait, at most ``timeout`` seconds, until nothing of it runs; whether that is so."""
        return self._attempt.ended.wait(timeout)

    def _wait(self, wait: Callable[[], _T]) -> _T:
        if self._process != os.getpid():
            raise InterfaceError(inherited("the statement"))
        try:
            return wait()
        except KeyboardInterrupt:
            self.cancel()
            raise


def end_runs(jobs: Jobs) -> None:
    """Cancel what a session runs, and wait until nothing of it does."""
    attempts = [attempt for attempt in tuple(_running) if attempt.jobs is jobs]
    for attempt in attempts:
        attempt.stop(JobStatus.CANCELLED)
    deadline = time.monotonic() + _PATIENCE
    for attempt in attempts:
        attempt.join(deadline)


@cache
def _end_all_runs_at_exit() -> None:
    """Have the process end all runs before it ends, and before sessions are closed for that."""
    atexit.register(_end_all_runs)


def _end_all_runs() -> None:
    """:func:`end_runs` for all sessions, without new threads, which a process that ends may not start."""
    deadline = time.monotonic() + _PATIENCE
    for attempt in tuple(_running):
        attempt.stop_here(deadline)
        attempt.join(deadline)


class _Attempt:
    """What its thread knows of a run: not the run itself, so that that can be forgotten meanwhile."""

    def __init__(self, jobs: Jobs, work: Work, timeout: float | None, query: QueryRun | None) -> None:
        self.jobs = jobs
        self.tag = f"sqlfront-{uuid4()}"
        self.analysed: Future[pa.Schema] = Future()
        #: The batches that have come, and None behind the last of them.
        self.arrived: SimpleQueue[pa.RecordBatch | None] = SimpleQueue()
        #: What comes behind them, once the query has run.
        self.collected: Future[Iterator[pa.RecordBatch]] = Future()
        #: Set when nothing of it runs.
        self.ended = threading.Event()
        self._work = work
        self._query = query
        self._timeout = timeout
        self._timer = threading.Timer(timeout or 0.0, self.stop, (JobStatus.TIMED_OUT,))
        #: Guards the settling of both futures: the first word counts. Reentrant for finalizers, which stop.
        self._lock = threading.RLock()
        self._thread = jobs.thread(self._run, f"{THREADS}{self.tag}")

    @property
    def query(self) -> QueryRun | None:
        """The run of the statement that it belongs to."""
        return self._query

    def progress(self) -> Progress:
        """How far its jobs are."""
        with ours():
            return self.jobs.progress(self.tag)

    @property
    def failed(self) -> bool:
        """Whether it has ended with an error."""
        return self.collected.done() and self.collected.exception() is not None

    def begin(self) -> None:
        """Start the thread, and the clock."""
        try:
            if self._query is not None:
                self._query.add(self)
            if self._timeout is not None:
                self._timer.daemon = True
                self._timer.start()
            _end_all_runs_at_exit()
            _running.add(self)
            self._thread.start()
        except BaseException:  # of Ctrl-C, too, which may come when it has begun
            self.stop(JobStatus.CANCELLED)
            if not self._thread.is_alive():
                self._end()
            raise

    def _run(self) -> None:
        try:
            with quiet():
                self.jobs.tag(self.tag)
                if not self.analysed.done():  # it was stopped before it began
                    self._settle(self.analysed, self._work.analyse())
                if not self.collected.done():
                    self._settle(self.collected, self._work.collect(self.arrived.put))
                    self.arrived.put(None)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self._fail(translated(error) or error)
        finally:
            self._end()

    def _end(self) -> None:
        """Nothing of it runs."""
        _running.discard(self)
        self.ended.set()
        self._timer.cancel()
        if self._query is not None:
            self._query.remove(self)

    def stop(self, status: JobStatus) -> None:
        """End the waiting and, from a thread of its own, the jobs; nothing if it has ended. ``status`` says
        why. Any thread may call this, a finalizer too."""
        if self._stopped(status):
            threading.Thread(target=self._cancel, name=f"{THREADS}stop", daemon=True).start()

    def stop_here(self, deadline: float) -> None:
        """The same in this thread, which waits for the jobs' end, but no longer than to ``deadline``
        (monotonic, s)."""
        if self._stopped(JobStatus.CANCELLED):
            self._cancel(deadline)

    def _stopped(self, status: JobStatus) -> bool:
        by = "" if self._query is None else self._query.cancelled_by
        return not self.ended.is_set() and self._fail(stopped_error(status, self._timeout, by))

    def join(self, deadline: float) -> None:
        """Wait until nothing of it runs, but no longer."""
        if threading.current_thread() is not self._thread:  # which a finalizer may be in
            self.ended.wait(max(deadline - time.monotonic(), 0.0))

    def release(self) -> None:
        """Nobody holds the run any more."""
        self.stop(JobStatus.CANCELLED)
        self.jobs.forget(self.tag)

    def _cancel(self, deadline: float = math.inf) -> None:
        while not self.ended.is_set() and time.monotonic() < deadline:
            try:
                self.jobs.cancel(self.tag)
            except Exception as error:
                if translated(error) is None and not isinstance(error, OperationalError):
                    raise
                return  # nobody is there, so nothing runs
            self.ended.wait(_AGAIN)

    def _settle(self, future: "Future[_T]", value: _T) -> None:
        with self._lock:
            if not future.done():
                future.set_result(value)

    def _fail(self, error: Exception) -> bool:
        """Let those who wait raise the error; whether it is the first word."""
        with self._lock:
            waiting = [future for future in (self.analysed, self.collected) if not future.done()]
            for future in waiting:
                future.set_exception(error)
            self.arrived.put(None)
            return bool(waiting)
