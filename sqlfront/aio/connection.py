"""A connection whose methods are coroutines."""

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from functools import partial, wraps
from types import TracebackType
from typing import TYPE_CHECKING, ParamSpec, Self

from sqlfront import api
from sqlfront.aio.cursor import AsyncCursor
from sqlfront.aio.threads import THREADS, CallThreads
from sqlfront.connection import Connection
from sqlfront.results.result import Parameters
from sqlfront.session import PreparedStatement, Session

if TYPE_CHECKING:
    from sqlfront_connectors.arrow import ArrowSource

_Arguments = ParamSpec("_Arguments")


class AsyncConnection:
    """A session for tasks; tasks may share the connection, each with cursors of its own. Every statement is
    its own transaction. Any event loop may use the connection, also several loops one after the other or at
    once."""

    def __init__(self, connection: Connection, threads: CallThreads | None = None) -> None:
        """``connection``: the blocking connection, which is closed with this one. ``threads``: the threads
        for statements, None = up to :data:`~sqlfront.aio.threads.THREADS` new ones."""
        self._blocking = connection
        self._threads = CallThreads(THREADS) if threads is None else threads

    @property
    def session(self) -> Session:
        """The session behind the connection; its methods block."""
        return self._blocking.session

    @property
    def closed(self) -> bool:
        """Whether :meth:`close` was called, or the connection was opened by the parent of this forked
        process."""
        return self._blocking.closed

    def cursor(self) -> AsyncCursor:
        """A new cursor."""
        self._blocking.check_open()
        return AsyncCursor(self, self._blocking, self._threads)

    async def execute(
        self,
        operation: str | PreparedStatement,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
    ) -> AsyncCursor:
        """Run one statement on a new cursor, and return the cursor; see
        :meth:`sqlfront.connection.Cursor.execute`."""
        return await self.cursor().execute(operation, parameters, timeout=timeout)

    async def executemany(self, operation: str, seq_of_parameters: Sequence[Parameters]) -> AsyncCursor:
        """Run a statement once per set of parameters on a new cursor, and return the cursor."""
        return await self.cursor().executemany(operation, seq_of_parameters)

    def prepare(self, operation: str) -> PreparedStatement:
        """A statement to run many times with other parameters: ``execute`` of connection and cursors takes
        the prepared statement in place of a text. Its own ``execute`` blocks."""
        return self._blocking.prepare(operation)

    async def register(self, name: str, frame: "ArrowSource") -> None:
        """Make Arrow data a temporary view ``name``; see :meth:`sqlfront.connection.Connection.register`."""
        await self._threads.run(partial(self._blocking.register, name, frame), _nothing, _ignore)

    async def unregister(self, name: str) -> None:
        """Drop the temporary view ``name``."""
        await self._threads.run(partial(self._blocking.unregister, name), _nothing, _ignore)

    async def commit(self) -> None:
        """Do nothing: every statement is its own transaction."""
        self._blocking.commit()

    async def rollback(self) -> None:
        """Raise NotSupportedError: every statement is its own transaction."""
        self._blocking.rollback()

    async def close(self) -> None:
        """Cancel running statements, and free tables and threads; closing twice is no error."""
        await self._threads.close(self._blocking.close)

    async def __aenter__(self) -> Self:
        self._blocking.check_open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Opening:
    """A connection that is being opened: ``await`` gives the connection, and ``async with`` closes the
    connection at its end as well."""

    def __init__(self, opener: Callable[[], Connection]) -> None:
        self._opener = opener
        self._made: AsyncConnection | None = None

    def __await__(self) -> Generator[object, None, AsyncConnection]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncConnection:
        self._made = await self._open()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.close()

    async def _open(self) -> AsyncConnection:
        threads = CallThreads(THREADS)
        try:
            return AsyncConnection(await threads.run(self._opener, _nothing, _close_made), threads)
        except BaseException:
            await threads.close(_nothing)
            raise


def _asynchronous(opener: Callable[_Arguments, Connection]) -> Callable[_Arguments, Opening]:
    """The function that opens an asynchronous connection with the arguments of ``opener``."""

    @wraps(opener)
    def connect(*arguments: _Arguments.args, **keywords: _Arguments.kwargs) -> Opening:
        return Opening(partial(opener, *arguments, **keywords))

    connect.__doc__ = """Open a new session for asyncio: ``await connect(...)`` gives an
    :class:`AsyncConnection`, and ``async with connect(...) as connection`` closes it as well. Arguments and
    errors are those of :func:`sqlfront.connect`."""
    return connect


connect = _asynchronous(api.connect)


def _nothing() -> None:
    pass


def _ignore(_: "Future[None]") -> None:
    pass


def _close_made(future: "Future[Connection]") -> None:
    """Close the connection of a task that was cancelled while the connection was opened."""
    if not future.cancelled() and future.exception() is None:
        future.result().close()
