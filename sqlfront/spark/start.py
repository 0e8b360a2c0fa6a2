"""The Spark session beside a session: given from the beginning, or started when a statement needs it.

The Spark session starts in a separate thread, so that statements without Spark go on; statements that need
Spark wait for it, and can be cancelled while they wait. PySpark is loaded at the start, not before.
"""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from sqlfront.spark.known import SparkNameCache
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.run import THREADS
from sqlfront_connectors.spark.started_sessions import (
    PendingConnection,
    StartedSession,
    is_there,
    options_of,
    start_session,
)
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.query_run import Progress, QueryRun, stopped_error
from sqlfront_values.errors import DatabaseError, OperationalError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A session, or the means to start a session: a builder, a master (``local[4]``) or a server's address
#: (``sc://host``).
SparkSource: TypeAlias = "SparkSession | SparkSession.Builder | str"


class SparkStart(ClosingContext):
    """The Spark session of one sqlfront session, started on demand. ``source``: the Spark session, or the
    means to start one; ``settings`` returns the settings to give a started session. Safe to use from several
    threads."""

    def __init__(self, source: SparkSource, settings: Callable[[], Mapping[str, str]]) -> None:
        """``source``: a Spark session, or a builder or the address of a master with which one is started.
        ``settings`` is called at the start, and returns the new session's settings by key. If the process
        already has a session for the builder or address, that session is used at once."""
        self._settings = settings
        self._lock = threading.RLock()  # reentrant for the finalizer of a session collected meanwhile
        self._closed = False
        self._future: Future[SparkNameCache] | None = None
        self._started: StartedSession | None = None
        self._connecting = PendingConnection()
        #: The names and settings of the Spark session; None: not started yet.
        self.known: SparkNameCache | None = None
        self._source: SparkSession.Builder | str | None = None
        if isinstance(source, str) or hasattr(source, "getOrCreate"):
            self._source = cast("SparkSession.Builder | str", source)
            if is_there(self._source):
                self.wait("it is there")
        else:
            self.known = SparkNameCache(SparkLink(source))

    @property
    def options(self) -> Mapping[str, str]:
        """The settings that the Spark session will have for certain, by key, as the builder that starts it
        gives them; empty if there is a Spark session already."""
        return {} if self._source is None else options_of(self._source)

    def wait(self, why: str, timeout: float | None = None, query: QueryRun | None = None) -> SparkNameCache:
        """Start the Spark session, unless it is started, wait until it is ready, and return the cache of its
        names and settings. ``why``: the purpose for which Spark is needed, for the message of an error.
        Raises OperationalError if the session can't be started, after ``timeout`` seconds (None = no limit),
        and when ``query`` is cancelled."""
        if self.known is not None:
            return self.known
        waiting = _Waiting(why, self._source if isinstance(self._source, str) else None, query)
        if query is not None:
            query.add(waiting)
        try:
            self._begin().add_done_callback(waiting.note)
            return waiting.ended.result(timeout)
        except TimeoutError:
            raise waiting.stopped(JobStatus.TIMED_OUT, timeout) from None
        finally:
            if query is not None:
                query.remove(waiting)

    def _begin(self) -> "Future[SparkNameCache]":
        """Return the future of the start in progress; if there is none, begin a start."""
        with self._lock:
            if self._future is None:
                self._future = future = Future[SparkNameCache]()
                start = partial(self._start, future)
                threading.Thread(target=start, name=f"{THREADS}start", daemon=True).start()
            return self._future

    def _start(self, future: "Future[SparkNameCache]") -> None:
        try:
            known = self._make()
        except BaseException as error:  # noqa: BLE001 - the waiting statements get the error
            with self._lock:
                self._future = None  # the next statement that needs Spark tries again
            future.set_exception(error)
        else:
            future.set_result(known)

    def _make(self) -> SparkNameCache:
        assert self._source is not None
        given = self._settings()
        started = start_session(self._source, given, self._connecting)
        try:
            known = SparkNameCache(SparkLink(started.spark))
            with self._lock:
                if self._closed:
                    raise OperationalError("the session is closed")
                self._started, self.known = started, known
        except BaseException:
            started.close()
            raise
        for key, value in self._settings().items() - given.items():  # settings that were set meanwhile
            known.link.set(key, value)
        return known

    def close(self) -> None:
        """Remove everything that sqlfront made in the Spark session; stop the Spark session if sqlfront
        started it and nobody else uses it. A start in progress is abandoned."""
        with self._lock:
            self._closed = True
            started, self._started = self._started, None
        self._connecting.close()
        if self.known is not None:
            self.known.link.close()
        if started is not None:
            with suppress(DatabaseError):
                started.close()


class _Waiting:
    """The wait of a statement for the Spark session. It is registered with the statement's run as a job, so
    that a cancellation of the statement ends the wait."""

    def __init__(self, why: str, address: str | None, query: QueryRun | None) -> None:
        """``why`` is the reason for the wait, which the error names; ``address`` is the master's address,
        None without an address."""
        self.query = query
        #: The outcome of the wait; the first outcome counts.
        self.ended: Future[SparkNameCache] = Future()
        self._why = why
        self._address = address
        self._lock = threading.Lock()

    def note(self, start: "Future[SparkNameCache]") -> None:
        """End the wait, since the ``start`` of Spark has ended: with the Spark session, or with an error that
        tells why Spark was needed."""
        error = start.exception()
        if error is None:
            self._end(start.result())
        elif isinstance(error, OperationalError):
            text = f"{error.message} (Spark is needed: {self._why})"
            self._end(OperationalError(text, condition=error.condition, sqlstate=error.sqlstate))
        else:
            self._end(error)

    def progress(self) -> Progress:
        """Return empty progress, since no job of Spark has begun."""
        return Progress()

    def stop(self, status: JobStatus) -> None:
        """End the wait with an error, because the statement was cancelled or has timed out; ``status`` says
        which."""
        self._end(self.stopped(status))

    def stopped(self, status: JobStatus, timeout: float | None = None) -> OperationalError:
        """Return the error for a wait that ended with ``status``: by a cancellation, or by a timeout of
        ``timeout`` seconds."""
        error = stopped_error(status, timeout, "" if self.query is None else self.query.cancelled_by)
        address = "" if self._address is None else f" ({self._address})"
        text = f"{error.message}; it was waiting for Spark{address}"
        return OperationalError(text, condition=error.condition, sqlstate=error.sqlstate)

    def _end(self, outcome: "SparkNameCache | BaseException") -> None:
        with self._lock:
            if self.ended.done():
                return
            if isinstance(outcome, BaseException):
                self.ended.set_exception(outcome)
            else:
                self.ended.set_result(outcome)
