"""A thread that works for the shell while the shell waits for Ctrl-C, too."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Generic, TypeVar, cast

from sqlfront_engine.closing import ClosingContext

T = TypeVar("T")
#: Seconds between two calls of the function that is called while the shell waits.
_TICK: Final = 0.1


class _Task(Generic[T]):
    """A call for the worker's thread, and its outcome."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self.ended = threading.Event()
        self._value: T | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Make the call, on the worker's thread."""
        try:
            self._value = self._function()
        except BaseException as error:  # noqa: BLE001 - raised where the call is waited for
            self._error = error
        self.ended.set()

    def outcome(self) -> T:
        """The value of the call; raises its error."""
        if self._error is not None:
            error, self._error = self._error, None
            try:
                raise error
            finally:
                del error  # the error's traceback would hold itself
        return cast("T", self._value)


class Worker(ClosingContext):
    """A thread that makes calls one after the other. A signal reaches the main thread at once, whatever the
    worker is doing."""

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
        """Have the worker call ``function``; return its value, or raise its error. ``tick`` is called ten
        times a second until then."""
        task = _Task(function)
        self._latest = cast("_Task[object]", task)
        self._tasks.put(self._latest)
        while not task.ended.wait(_TICK):
            tick()
        self._latest = None
        return task.outcome()

    def settle(self, seconds: float) -> bool:
        """Wait for the end of a call that was given up, ``seconds`` at most; return whether it has ended."""
        return self._latest is None or self._latest.ended.wait(seconds)

    def close(self) -> None:
        """Let the thread end after the current call."""
        self._tasks.put(None)
        if self._latest is None:
            self._thread.join()
