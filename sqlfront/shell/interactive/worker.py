"""A thread that runs calls for the shell, so that the main thread is free to receive Ctrl-C."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Generic, TypeVar, cast

from sqlfront_engine.closing import ClosingContext

T = TypeVar("T")
#: Seconds between two calls of the function that is called while the shell waits.
_TICK: Final = 0.1


class _Task(Generic[T]):
    """A call for the worker's thread, and its value or error."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self.ended = threading.Event()
        self._value: T | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Call the function, and store its value or error; on the worker's thread."""
        try:
            self._value = self._function()
        except BaseException as error:  # noqa: BLE001 - raised where the call is waited for
            self._error = error
        self.ended.set()

    def outcome(self) -> T:
        """Return the value of the ended call, or raise its error."""
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # the error's traceback would hold itself
        return cast("T", self._value)


class Worker(ClosingContext):
    """A thread that runs calls one after the other for the main thread, so that the main thread receives
    signals such as Ctrl-C at once, whatever the call is doing."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task[object] | None] = SimpleQueue()
        self._latest: _Task[object] | None = None
        self._thread = threading.Thread(target=self._work, name="sqlfront-statement", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task.run()
            del task

    def call(self, function: Callable[[], T], tick: Callable[[], None] = lambda: None) -> T:
        """Have the thread call ``function``; return its value, or raise its error. ``tick`` is called ten
        times a second in the meantime, on the calling thread; an exception there, as at Ctrl-C, ends the wait
        but not the call."""
        task = _Task(function)
        self._latest = cast("_Task[object]", task)
        self._tasks.put(self._latest)
        while not task.ended.wait(_TICK):
            tick()
        self._latest = None
        return task.outcome()

    def settle(self, seconds: float) -> bool:
        """After an exception has interrupted :meth:`call`, wait until the called function has ended,
        ``seconds`` at most. Return whether it has ended; True if no function is running."""
        return self._latest is None or self._latest.ended.wait(seconds)

    def close(self) -> None:
        """End the thread after the current call. Waits for the thread, unless :meth:`call` was
        interrupted."""
        self._tasks.put(None)
        if self._latest is None:
            self._thread.join()
