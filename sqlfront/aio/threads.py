"""Threads of a connection, on which tasks run blocking calls."""

import asyncio
import contextvars
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from sqlfront_values.errors import InterfaceError

Value = TypeVar("Value")

#: The most threads of a connection: as many as asyncio's own for blocking calls.
THREADS: Final = min(32, (os.cpu_count() or 1) + 4)
#: Seconds that a cancelled task waits for the end of its call; the call then ends without the task.
_PATIENCE: Final = 5.0


class CallThreads:
    """The threads that run blocking calls for a connection's tasks. A thread starts when a call finds no idle
    thread, up to ``count`` threads."""

    def __init__(self, count: int = THREADS) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="sqlfront-aio")

    async def run(
        self,
        call: Callable[[], Value],
        stop: Callable[[], None],
        discard: Callable[[Future[Value]], None],
    ) -> Value:
        """Run the call on a thread, and return its value.

        If the task is cancelled, ``stop()`` asks the call to end soon; after its end, ``discard(future)``
        frees what the call has made or used, and then CancelledError is raised. The task waits a few seconds
        at most; a call that takes longer ends, and is discarded, later. A call that no thread has begun is
        never begun. Raises InterfaceError if the threads are closed.
        """
        try:
            future = self._pool.submit(contextvars.copy_context().run, call)
        except RuntimeError as error:
            raise InterfaceError("the connection is closed") from error
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            stop()
            await _ended(future, discard)
            raise

    async def close(self, before: Callable[[], None]) -> None:
        """Run ``before``, which has to end the running calls, on an additional thread, and wait until all
        threads have ended. If the task is cancelled meanwhile, CancelledError is raised once they have ended.
        Raises the error of ``before``."""
        loop = asyncio.get_running_loop()
        ended = loop.create_future()
        closing = partial(self._close, before, loop, ended)
        thread = threading.Thread(target=closing, name="sqlfront-aio-close")
        thread.start()
        try:
            await _settled(ended)
        finally:
            thread.join()  # which has told its end
            ended.result()

    def _close(
        self, before: Callable[[], None], loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]"
    ) -> None:
        failure: BaseException | None = None
        try:
            before()
        except BaseException as error:  # noqa: BLE001 - raised where close() is awaited
            failure = error
        self._pool.shutdown()
        _tell(loop, ended, failure)


async def _ended(future: "Future[Value]", discard: Callable[[Future[Value]], None]) -> None:
    """Call ``discard`` when the call has ended, and wait for this, but for :data:`_PATIENCE` seconds at
    most."""
    loop = asyncio.get_running_loop()
    ended = loop.create_future()

    def finish(future: "Future[Value]") -> None:
        try:
            discard(future)
        finally:
            _tell(loop, ended)

    timer = loop.call_later(_PATIENCE, _set, ended, None)
    future.add_done_callback(finish)
    try:
        await _settled(ended)
    finally:
        timer.cancel()


async def _settled(future: "asyncio.Future[None]") -> None:
    """Wait for the future. If the task is cancelled meanwhile, the wait goes on, and CancelledError is raised
    after it."""
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.wait([future])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _tell(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[None]", error: BaseException | None = None
) -> None:
    """Complete the future of an event loop, with ``error`` if it isn't None. Any thread may call the
    function; it does nothing if the loop is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(_set, future, error)


def _set(future: "asyncio.Future[None]", error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
