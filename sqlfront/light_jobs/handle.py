"""The methods that light and durable jobs have in common as objects: waiting, futures and callbacks."""

import asyncio
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from concurrent.futures import Future

from sqlfront_engine.forks import inherited
from sqlfront_values.errors import InterfaceError

#: Waits for the end of a job, at most the given number of seconds (None = without a limit). Returns whether
#: the job has ended; raises the error of a job that has ended without success.
Wait = Callable[[float | None], bool]
DoneCallback = Callable[["Future[None]"], object]


class JobHandle(ABC):
    """A job as an object for waiting: by :meth:`join`, by :attr:`future`, by ``await``, or by a callback."""

    def __init__(self) -> None:
        self._future: Future[None] | None = None
        self._making = threading.Lock()
        self._process = os.getpid()

    @abstractmethod
    def _waiter(self) -> Wait:
        """Return the function that waits for the job's end. The function must not refer to this object: a job
        whose last handle is dropped may be cancelled, although a future waits for its end."""

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the job's end, and return True; return False if the job still runs after ``timeout``
        seconds (None = no limit; zero or less: don't wait). The job goes on after the timeout. Raises the
        job's error, OperationalError if the job was cancelled or its own timeout is over, and InterfaceError
        for a timeout that is no number."""
        return self._waiter()(checked_timeout(timeout))

    @property
    def future(self) -> "Future[None]":
        """The future that completes at the job's end: with None, or with the error that :meth:`join` raises.

        A thread of its own waits for the end and calls the future's callbacks, so that a callback may run
        statements or wait for other jobs. The future can't be cancelled; :meth:`cancel` cancels the job. So
        ``asyncio.wait_for(asyncio.wrap_future(job.future), 1)`` gives up the wait, and the job goes on.
        Raises InterfaceError in a forked process, in which nobody would complete the future.
        """
        if os.getpid() != self._process:
            raise InterfaceError(inherited("the job"))
        with self._making:
            if self._future is None:
                self._future = completed_by(self._waiter())
            return self._future

    def add_done_callback(self, callback: DoneCallback) -> None:
        """Call ``callback`` with :attr:`future` when the job has ended: at once if it has. An error that the
        callback raises is logged, and the other callbacks are called all the same."""
        self.future.add_done_callback(callback)

    def __await__(self) -> Generator[object, None, None]:
        """Wait for the job's end in an event loop, as :meth:`join` does. Any number of tasks may wait; the
        cancellation of a task doesn't cancel the job."""
        return asyncio.wrap_future(self.future).__await__()


def completed_by(wait: Wait) -> "Future[None]":
    """Return a running future that a new daemon thread completes when ``wait`` returns or raises."""
    future: Future[None] = Future()
    future.set_running_or_notify_cancel()
    threading.Thread(target=_complete, args=(future, wait), name="sqlfront-job-end", daemon=True).start()
    return future


def _complete(future: "Future[None]", wait: Wait) -> None:
    try:
        wait(None)
    except BaseException as error:  # noqa: BLE001 - the future's reader raises the error
        future.set_exception(error)
    else:
        future.set_result(None)


def checked_timeout(timeout: float | None) -> float | None:
    """Return ``timeout``, a number of seconds or None; a negative one as 0, and one that threads can't wait
    for as the longest one. Raises InterfaceError for another value."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or timeout != timeout:
        raise InterfaceError(f"a timeout is a number of seconds or None, not {timeout!r}")
    return float(max(0.0, min(timeout, threading.TIMEOUT_MAX)))
