"""Connections and cursors whose methods are coroutines."""

import asyncio
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TypeVar

import pyarrow as pa

from sqlfront.aio.lookups import Declined, KnownLookup, Lookups
from sqlfront.aio.threads import THREADS, CallThreads
from sqlfront.aio.turns import turns_of
from sqlfront.connection import Connection, Cursor
from sqlfront.db_types import ColumnDescription
from sqlfront.prepared import PreparedStatement
from sqlfront.results.result import Parameters, Statistics
from sqlfront.session import Session
from sqlfront_engine.jobs.query_run import Progress, QueryRun
from sqlfront_values.errors import InterfaceError

if TYPE_CHECKING:
    import pandas
    import polars

    from sqlfront_connectors.arrow import ArrowSource

_Value = TypeVar("_Value")
#: Rows that the first and the following fetches of an iteration read ahead.
_FIRST_ROWS: Final = 100
_MOST_ROWS: Final = 2000


class AsyncConnection:
    """A connection to a session, for the tasks of asyncio; tasks may share the connection, but each task
    needs a cursor of its own. Every statement is its own transaction. Any event loop may use the connection,
    also several loops, one after the other or at the same time."""

    def __init__(self, connection: Connection, threads: CallThreads | None = None) -> None:
        """Wrap the blocking connection ``connection``, which is closed together with this one. ``threads``:
        the threads that run statements, None = up to :data:`~sqlfront.aio.threads.THREADS` new ones."""
        self._blocking = connection
        self._threads = CallThreads(THREADS) if threads is None else threads
        self._lookups = Lookups(connection.session)

    @property
    def session(self) -> Session:
        """The session of the connection; its methods block the event loop."""
        return self._blocking.session

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called, or this process is a fork of the process that opened the
        connection."""
        return self._blocking.closed

    def cursor(self) -> "AsyncCursor":
        """Make a cursor."""
        self._blocking.check_open()
        return AsyncCursor(self, self._blocking, self._threads, self._lookups)

    async def execute(
        self,
        operation: str | PreparedStatement,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
    ) -> "AsyncCursor":
        """Run one statement on a new cursor, and return the cursor. ``operation``: a text or a prepared
        statement; ``parameters``: a sequence of values for ``?``, a mapping from names for ``:name``;
        ``timeout``: in seconds. Raises ProgrammingError if there are more values than the statement has
        parameters, OperationalError after the timeout, and the statement's errors."""
        return await self.cursor().execute(operation, parameters, timeout=timeout)

    async def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> "AsyncCursor":
        """Run a statement once for each element of ``seq_of_parameters`` on a new cursor, and return the
        cursor, whose ``rowcount`` is then the sum over all runs. Raises ProgrammingError if the statement
        gives rows."""
        return await self.cursor().executemany(operation, seq_of_parameters)

    def prepare(self, operation: str) -> PreparedStatement:
        """Make a prepared statement, to run many times with different parameters: pass it to :meth:`execute`
        of this connection or a cursor instead of a text. The prepared statement's own ``execute`` blocks the
        event loop."""
        return self._blocking.prepare(operation)

    async def register(self, name: str, frame: "ArrowSource") -> None:
        """Make Arrow data available as the temporary view ``name``. ``frame``: a pyarrow table, reader or
        Dataset, a frame of pandas, polars or DuckDB, or any object with the Arrow PyCapsule interface; its
        rows are read by this call, and never again."""
        await self._threads.run(partial(self._blocking.register, name, frame), _run_to_its_end, _keep)

    async def unregister(self, name: str) -> None:
        """Drop the temporary view ``name``; no error if there is none."""
        await self._threads.run(partial(self._blocking.unregister, name), _run_to_its_end, _keep)

    async def commit(self) -> None:
        """Do nothing: every statement is its own transaction."""
        self._blocking.commit()

    async def rollback(self) -> None:
        """Raise NotSupportedError: every statement is its own transaction."""
        self._blocking.rollback()

    async def close(self) -> None:
        """Cancel running statements, and free the session's tables and the threads; closing twice is no
        error."""
        await self._threads.close(self._blocking.close)

    async def __aenter__(self) -> Self:
        self._blocking.check_open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class _Run:
    """A blocking cursor, with the query that it runs. After :meth:`stop` every query that the cursor begins
    is cancelled at once, so that a stop between two statements is not lost."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._query: QueryRun | None = None
        self.stopped = False
        self.cursor = Cursor(connection, self._begin)

    def _begin(self, text: str) -> QueryRun:
        # Invariant: the query is set before the flag is read, and stop() sets the flag before it reads the
        # query; so one of the two sees the other.
        self._query = query = self._connection.session.begin(text)
        if self.stopped:
            query.cancel()
        return query

    def stop(self) -> None:
        """Cancel the running query, and every query that the cursor begins later."""
        self.stopped = True
        query = self._query
        if query is not None:
            query.cancel()

    def discard(self, _: "Future[_Value]") -> None:
        """Close the cursor, which frees the rows of a cancelled call. The future of the call is not used."""
        self.cursor.close()


class AsyncCursor:
    """A cursor that runs statements and fetches their rows without blocking the event loop, with the
    parameters, values and errors of the blocking :class:`~sqlfront.connection.Cursor`. Only one task at a
    time can use a cursor; a second task gets an InterfaceError.

    Cancelling the task cancels its query. The query's rows are lost then, and the cursor can run another
    statement. :meth:`AsyncConnection.cursor` makes cursors.
    """

    def __init__(
        self,
        connection: "AsyncConnection",
        blocking: Connection,
        threads: CallThreads,
        lookups: Lookups,
    ) -> None:
        self._connection = connection
        self._blocking = blocking
        self._threads = threads
        self._lookups = lookups
        self._run = _Run(blocking)
        self._busy = threading.Lock()
        self._closed = False
        # Rows that were read ahead, and whether those are the last.
        self._ahead: deque[tuple[object, ...]] = deque()
        self._at_end = False
        self._step = _FIRST_ROWS
        #: Default number of rows for :meth:`fetchmany`.
        self.arraysize = 1

    @property
    def connection(self) -> "AsyncConnection":
        """The connection that made the cursor."""
        return self._connection

    @property
    def description(self) -> list[ColumnDescription] | None:
        """The columns of the last statement's rows, each as PEP 249's tuple of name, type code and so on;
        None if the statement gives no rows, or no statement was run."""
        return self._run.cursor.description

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement wrote; -1 if no statement was run, or if the statement
        writes no rows, as a query."""
        return self._run.cursor.rowcount

    @property
    def stats(self) -> Statistics | None:
        """Lane, reason and time of the last statement; None if no statement was run."""
        return self._run.cursor.stats

    @property
    def progress(self) -> Progress | None:
        """Spark's progress with the current statement or, if none runs, with the last one; None if it isn't
        Spark that runs that statement."""
        return self._run.cursor.progress

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called."""
        return self._closed

    async def execute(
        self,
        operation: str | PreparedStatement,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
    ) -> Self:
        """Run one statement, and return this cursor. ``operation``: a text or a prepared statement;
        ``parameters``: a sequence of values for ``?``, a mapping from names for ``:name``; ``timeout``: in
        seconds. Raises ProgrammingError if there are more values than the statement has parameters,
        OperationalError after the timeout, and the statement's errors."""
        with self._use(begins=True):
            lookup = self._lookups.find(operation, parameters)
            if lookup is None or not await self._look_up(lookup, parameters):
                await self._call(partial(self._execute, self._run.cursor, operation, parameters, timeout))
        return self

    async def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> Self:
        """Run the statement once for each element of ``seq_of_parameters``, and return this cursor, whose
        :attr:`rowcount` is then the sum over all runs. Raises ProgrammingError if the statement gives rows.
        """
        with self._use(begins=True):
            await self._call(partial(self._run.cursor.executemany, operation, seq_of_parameters))
        return self

    async def fetchone(self) -> tuple[object, ...] | None:
        """Return the next row; None after the last row."""
        if not self._ahead and not self._at_end:
            with self._use():
                step, self._step = self._step, min(self._step * 2, _MOST_ROWS)
                await self._read_ahead(step)
        if self._ahead:
            return self._ahead.popleft()
        self._check_open()
        return None

    async def fetchmany(self, size: int | None = None) -> list[tuple[object, ...]]:
        """Return the next ``size`` rows (None: ``arraysize`` rows); at the end fewer rows, or an empty
        list."""
        wanted = self.arraysize if size is None else size
        if wanted > len(self._ahead) and not self._at_end:
            with self._use():
                await self._read_ahead(wanted - len(self._ahead))
        self._check_open()
        return [self._ahead.popleft() for _ in range(min(wanted, len(self._ahead)))]

    async def fetchall(self) -> list[tuple[object, ...]]:
        """Return all remaining rows."""
        rest: list[tuple[object, ...]] = []
        if not self._at_end:
            with self._use():
                rest = await self._fetch(self._run.cursor.fetchall)
                self._at_end = True
        self._check_open()
        rows = [*self._ahead, *rest] if self._ahead else rest
        self._ahead.clear()
        return rows

    async def fetch_arrow_table(self) -> pa.Table:
        """Return all rows as an Arrow table of logical types. Raises InterfaceError if a row was fetched
        before."""
        return await self._whole(self._run.cursor.fetch_arrow_table)

    async def fetch_df(self) -> "pandas.DataFrame":
        """Return all rows as a pandas DataFrame (install the extra ``pandas``). Raises InterfaceError if a
        row was fetched before."""
        return await self._whole(self._run.cursor.fetch_df)

    async def fetch_polars(self) -> "polars.DataFrame":
        """Return all rows as a polars DataFrame (install the extra ``polars``). Raises InterfaceError if a
        row was fetched before."""
        return await self._whole(self._run.cursor.fetch_polars)

    async def batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Yield all rows as Arrow batches of logical types; each batch is read when the iteration reaches
        it."""
        reader = await self._whole(self._run.cursor.fetch_record_batch)
        while (batch := await self._whole(partial(next, reader, None))) is not None:
            yield batch

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> tuple[object, ...]:
        row = await self.fetchone()
        if row is None:
            raise StopAsyncIteration
        return row

    def cancel(self) -> None:
        """Cancel the running statement, whose task gets an OperationalError (SQLSTATE HY008). Any task and
        any thread may call this method."""
        self._run.stop()

    async def close(self) -> None:
        """Cancel the running statement, and close the cursor for good. Closing twice is no error."""
        self._closed = True
        self._run.stop()
        if self._busy.acquire(blocking=False):  # else the call that runs closes the cursor at its end
            try:
                self._run.cursor.close()
            finally:
                self._busy.release()
        self._ahead.clear()

    async def __aenter__(self) -> Self:
        self._check_open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @contextmanager
    def _use(self, *, begins: bool = False) -> Iterator[None]:
        """Reserve the cursor for a call of one task. ``begins``: the call runs a new statement, so that the
        rows of the last one are dropped. Raises InterfaceError if the cursor is closed, or if another task
        uses it."""
        self._check_open()
        if not self._busy.acquire(blocking=False):
            raise InterfaceError(
                "another task uses the cursor; give each task a cursor of its own: connection.cursor()"
            )
        try:
            if begins:
                self._forget_rows()
            yield
        finally:
            if self._closed:
                self._run.cursor.close()
            self._busy.release()

    async def _look_up(self, lookup: KnownLookup, parameters: Parameters | None) -> bool:
        """Run a lookup on the event loop, perhaps after a wait for a later pass of the loop. Return True if
        the lookup was run, False if a thread has to run the statement."""
        loop = asyncio.get_running_loop()
        turns = turns_of(loop)
        if not turns.take(loop):
            await turns.wait(loop)
            self._check_open()
            if not self._lookups.is_ready(lookup.cached):
                return False
        try:
            self._run.cursor.execute(lookup, parameters)
        except Declined:
            return False
        return True

    def _execute(
        self,
        cursor: Cursor,
        operation: str | PreparedStatement,
        parameters: Parameters | None,
        timeout: float | None,
    ) -> None:
        """Run a statement on the calling thread. If the statement is a lookup, record the versions of the
        tables that it reads, so that the event loop may run the same lookup next time."""
        reading = self._lookups.reading(operation, parameters)
        cursor.execute(operation, parameters, timeout=timeout)
        if reading is not None and cursor.rows_at_hand:
            self._lookups.learn(reading)

    def _forget_rows(self) -> None:
        if self._run.stopped:
            self._run.cursor.close()
            self._renew()
        self._ahead.clear()
        self._at_end, self._step = False, _FIRST_ROWS

    def _renew(self) -> None:
        self._run = _Run(self._blocking)
        self._ahead.clear()
        self._at_end = False

    async def _call(self, call: Callable[[], _Value]) -> _Value:
        """Run a call of the blocking cursor on a thread, and return its value. If the task is cancelled, the
        thread may still use the blocking cursor, so that a new one replaces it."""
        run = self._run
        try:
            return await self._threads.run(call, run.stop, run.discard)
        except asyncio.CancelledError:
            self._renew()
            raise

    async def _fetch(self, call: Callable[[], _Value]) -> _Value:
        """Run a call that fetches rows, and return its value. The call runs on the event loop if all rows are
        in memory as Python values, else on a thread."""
        return call() if self._run.cursor.rows_at_hand else await self._call(call)

    async def _read_ahead(self, count: int) -> None:
        rows = await self._fetch(partial(self._run.cursor.fetchmany, count))
        self._ahead.extend(rows)
        self._at_end = len(rows) < count

    async def _whole(self, call: Callable[[], _Value]) -> _Value:
        with self._use():
            return await self._call(call)

    def _check_open(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")
        self._blocking.check_open()


def _run_to_its_end() -> None:
    """Do nothing to stop the call of a cancelled task, which ends soon by itself. Passed as ``stop`` to
    :meth:`.CallThreads.run`."""


def _keep(_: "Future[None]") -> None:
    """Do nothing after the call of a cancelled task, which leaves nothing to free. Passed as ``discard`` to
    :meth:`.CallThreads.run`."""
