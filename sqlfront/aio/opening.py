"""``connect``: the opening of a connection on a thread."""

from collections.abc import Callable, Generator
from concurrent.futures import Future
from functools import partial, wraps
from types import TracebackType
from typing import ParamSpec

from sqlfront import api
from sqlfront.aio.connection import AsyncConnection
from sqlfront.aio.threads import THREADS, CallThreads
from sqlfront.connection import Connection

_Arguments = ParamSpec("_Arguments")


class Opening:
    """A connection that is being opened. ``await`` returns the open connection; ``async with`` also closes
    the connection at the end of the block."""

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
    """Return the asynchronous form of ``opener``, which opens a blocking connection: a function of the same
    arguments that returns an :class:`Opening`."""

    @wraps(opener)
    def connect(*arguments: _Arguments.args, **keywords: _Arguments.kwargs) -> Opening:
        return Opening(partial(opener, *arguments, **keywords))

    connect.__doc__ = """Open a new session for asyncio: ``await connect(...)`` gives an
    :class:`AsyncConnection`, and ``async with connect(...) as connection`` closes it as well. Arguments and
    errors are those of :func:`sqlfront.connect`."""
    return connect


connect = _asynchronous(api.connect)


def _nothing() -> None:
    """Do nothing to stop the opening of a connection for a cancelled task, since :func:`_close_made` closes
    the connection. Passed as ``stop`` to :meth:`.CallThreads.run`."""


def _close_made(future: "Future[Connection]") -> None:
    """Close the connection, if it was opened, of a task that was cancelled meanwhile. Passed as ``discard``
    to :meth:`.CallThreads.run`."""
    if not future.cancelled() and future.exception() is None:
        future.result().close()
