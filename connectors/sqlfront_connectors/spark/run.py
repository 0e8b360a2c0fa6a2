"""Execution of one statement by Spark in a separate thread, so that the statement can be stopped at any time.

The calling thread only waits, so Ctrl-C can interrupt it; a caller that waited in PySpark would be
interrupted, too, but Spark's job would go on. A stop of a run (:meth:`SparkRun.cancel`, a timeout, a stop of
the run's query, garbage collection of the run) ends the caller's wait at once. Another thread cancels the
run's jobs until no job is left; only that thread talks to Spark, since a finalizer must not. Closing a
session waits until the session's runs have ended, and so does the exit of this process: a thread that reads
Arrow's data during the exit would crash the interpreter.
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

#: Interval at which a stopped run's jobs are cancelled; the run may start new jobs until it notices the stop
#: (s).
_AGAIN: Final = 0.05
#: Time limit of the wait for the end of runs (s): closing waits so long.
_PATIENCE: Final = 5.0
#: The prefix of the names of all our threads that talk to Spark.
THREADS: Final = "sqlfront-spark-"
_T = TypeVar("_T")
#: A consumer of arriving batches.
Arrive = Callable[[pa.RecordBatch], None]


#: The runs under way in this process.
_running: "Final[set[_Attempt]]" = set()
os.register_at_fork(after_in_child=_running.clear)


class Jobs(Protocol):
    """The operations of a Spark session that a run needs: threads, and jobs marked with a tag."""

    def thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        """Return a new thread that calls ``work``, not started yet. In the thread the session has the same
        thread-local state, such as tags of jobs, as in the calling thread."""

    def tag(self, tag: str) -> None:
        """Mark the jobs that the calling thread starts from now on with ``tag``."""

    def cancel(self, tag: str) -> None:
        """Stop the jobs with the tag that run now; jobs started later are not affected."""

    def progress(self, tag: str) -> Progress:
        """Return how many stages and tasks of the jobs marked with ``tag`` there are, and how many are
        done."""

    def forget(self, tag: str) -> None:
        """Discard the data that the session stores about jobs marked with ``tag``."""


class Work(Protocol):
    """The part of a run that Spark executes, in two steps; the run's thread calls both."""

    def analyse(self) -> pa.Schema:
        """Analyse the statement, and run it at once if it is a command. Returns the logical schema of the
        answer."""

    def collect(self, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Run the analysed query to its end, and deliver its rows, in physical form, in two steps.

        First, ``arrive`` is called in this thread with each batch as soon as the batch has come from Spark.
        Then the returned iterator yields the batches that were not given to ``arrive``, such as rows that
        Spark wrote as files; any thread may read the iterator.
        """


class SparkRun:
    """A statement that Spark executes in another thread; :attr:`schema` and :meth:`batches` wait for its
    results.

    A run that is garbage-collected before all its rows have come is cancelled.
    """

    def __init__(
        self, jobs: Jobs, work: Work, *, timeout: float | None = None, query: QueryRun | None = None
    ) -> None:
        """Start the run. ``timeout``: seconds from now after which the run is stopped, None = never.
        ``query``: the query to which the run belongs; a stop of the query stops the run, too."""
        #: The work of the run.
        self.work = work
        self._process = os.getpid()
        self._attempt = attempt = _Attempt(jobs, work, timeout, query)
        when_forgotten(self, attempt.release).atexit = False
        attempt.begin()

    @property
    def tag(self) -> str:
        """The tag that marks Spark's jobs of this run."""
        return self._attempt.tag

    @property
    def schema(self) -> pa.Schema:
        """The logical schema of the answer, without columns if the statement has no answer. Reading this
        property waits until Spark has analysed the statement or, for a command, has run it. Raises the error
        of the statement."""
        return self._wait(self._attempt.analysed.result)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the answer, in physical form; each batch is yielded as soon as it has come from
        Spark. Can be called once only. Raises the error of the statement as soon as the statement fails; by
        then no job of the statement runs any more."""
        attempt = self._attempt
        while (batch := self._wait(attempt.arrived.get)) is not None and not attempt.failed:
            yield batch
        yield from self._wait(attempt.collected.result)

    def cancel(self) -> None:
        """Stop the run; do nothing if it has ended. Returns at once; the run's jobs end soon after."""
        self._attempt.stop(JobStatus.CANCELLED)

    def progress(self) -> Progress:
        """Return how many stages and tasks the run's jobs have, and how many are done. Safe to call from any
        thread."""
        return self._attempt.progress()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the run has ended, at most ``timeout`` seconds (None = without limit); returns whether
        it has ended."""
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
    """Cancel all runs of a session, and wait at most :data:`_PATIENCE` seconds until they have ended.
    ``jobs``: the session's operations on jobs, with which the runs were made."""
    attempts = [attempt for attempt in tuple(_running) if attempt.jobs is jobs]
    for attempt in attempts:
        attempt.stop(JobStatus.CANCELLED)
    deadline = time.monotonic() + _PATIENCE
    for attempt in attempts:
        attempt.join(deadline)


@cache
def _end_all_runs_at_exit() -> None:
    """Arrange that all runs are ended at the exit of the process, before sessions are closed."""
    atexit.register(_end_all_runs)


def _end_all_runs() -> None:
    """Cancel the runs of all sessions, and wait at most :data:`_PATIENCE` seconds until they have ended. No
    new thread is started, since an exiting process may not start threads."""
    deadline = time.monotonic() + _PATIENCE
    for attempt in tuple(_running):
        attempt.stop_here(deadline)
        attempt.join(deadline)


class _Attempt:
    """The state of a run that the run's thread works on. It doesn't refer to the :class:`SparkRun`, which can
    therefore be garbage-collected while the thread works."""

    def __init__(self, jobs: Jobs, work: Work, timeout: float | None, query: QueryRun | None) -> None:
        self.jobs = jobs
        self.tag = f"sqlfront-{uuid4()}"
        self.analysed: Future[pa.Schema] = Future()
        #: The batches that have arrived, and None behind the last batch.
        self.arrived: SimpleQueue[pa.RecordBatch | None] = SimpleQueue()
        #: The rows that follow the arrived batches, once the query has run.
        self.collected: Future[Iterator[pa.RecordBatch]] = Future()
        #: Set when the run has ended.
        self.ended = threading.Event()
        self._work = work
        #: The query that owns the run.
        self.query = query
        self._timeout = timeout
        self._timer = threading.Timer(timeout or 0.0, self.stop, (JobStatus.TIMED_OUT,))
        #: Guards the settling of both futures: the first result counts. Reentrant for finalizers, which stop
        #: runs.
        self._lock = threading.RLock()
        self._thread = jobs.thread(self._run, f"{THREADS}{self.tag}")

    def progress(self) -> Progress:
        """Return how many stages and tasks the run's jobs have, and how many are done. Raises errors of Spark
        as sqlfront's errors."""
        with ours():
            return self.jobs.progress(self.tag)

    @property
    def failed(self) -> bool:
        """True if the run has ended with an error."""
        return self.collected.done() and self.collected.exception() is not None

    def begin(self) -> None:
        """Start the run's thread, and the timer of the timeout if there is one."""
        try:
            if self.query is not None:
                self.query.add(self)
            if self._timeout is not None:
                self._timer.daemon = True
                self._timer.start()
            _end_all_runs_at_exit()
            _running.add(self)
            self._thread.start()
        except BaseException:  # Ctrl-C, too, which may come after the thread's start
            self.stop(JobStatus.CANCELLED)
            if not self._thread.is_alive():
                self._end()
            raise

    def _run(self) -> None:
        try:
            with quiet():
                self.jobs.tag(self.tag)
                if not self.analysed.done():  # false if stopped before the start
                    self._settle(self.analysed, self._work.analyse())
                if not self.collected.done():
                    self._settle(self.collected, self._work.collect(self.arrived.put))
                    self.arrived.put(None)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self._fail(translated(error) or error)
        finally:
            self._end()

    def _end(self) -> None:
        """Mark the run as ended: threads that wait for it continue, the timer stops, and the query forgets
        the run."""
        _running.discard(self)
        self.ended.set()
        self._timer.cancel()
        if self.query is not None:
            self.query.remove(self)

    def stop(self, status: JobStatus) -> None:
        """Make the threads that wait for the run raise an error now, and cancel the run's jobs in a new
        thread; do nothing if the run has ended. ``status``: the reason, which selects the error. Safe to call
        from any thread and from finalizers."""
        if self._stopped(status):
            threading.Thread(target=self._cancel, name=f"{THREADS}stop", daemon=True).start()

    def stop_here(self, deadline: float) -> None:
        """Make the threads that wait for the run raise an error now, and cancel the run's jobs in this
        thread, until they have ended or ``deadline`` (s, of ``time.monotonic``) has passed."""
        if self._stopped(JobStatus.CANCELLED):
            self._cancel(deadline)

    def _stopped(self, status: JobStatus) -> bool:
        by = "" if self.query is None else self.query.cancelled_by
        return not self.ended.is_set() and self._fail(stopped_error(status, self._timeout, by))

    def join(self, deadline: float) -> None:
        """Wait until the run has ended or ``deadline`` (s, of ``time.monotonic``) has passed. Returns at once
        if called in the run's thread."""
        if threading.current_thread() is not self._thread:  # a finalizer may run in it
            self.ended.wait(max(deadline - time.monotonic(), 0.0))

    def release(self) -> None:
        """Stop the run, and discard what the session stores about its jobs; called when the :class:`SparkRun`
        is garbage-collected."""
        self.stop(JobStatus.CANCELLED)
        self.jobs.forget(self.tag)

    def _cancel(self, deadline: float = math.inf) -> None:
        while not self.ended.is_set() and time.monotonic() < deadline:
            try:
                self.jobs.cancel(self.tag)
            except Exception as error:
                if translated(error) is None and not isinstance(error, OperationalError):
                    raise
                return  # no session, so nothing runs
            self.ended.wait(_AGAIN)

    def _settle(self, future: "Future[_T]", value: _T) -> None:
        with self._lock:
            if not future.done():
                future.set_result(value)

    def _fail(self, error: Exception) -> bool:
        """Make all threads that wait for the schema or the rows raise ``error``. Returns True if the schema
        or the rows were still missing; False if the run already had its result, so that the error reaches
        nobody."""
        with self._lock:
            waiting = [future for future in (self.analysed, self.collected) if not future.done()]
            for future in waiting:
                future.set_exception(error)
            self.arrived.put(None)
            return bool(waiting)
