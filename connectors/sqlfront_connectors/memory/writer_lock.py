"""The lock of the threads of one process that write to one memory table."""

import threading
from types import TracebackType
from typing import Final

from sqlfront_values import room

#: Seconds after which a writer that waits looks whether its statement is still wanted.
_LOOK: Final = 0.05


class WriterLock:
    """A context manager that one thread at a time is in; the same thread may enter again. Entering waits for
    the thread within; it raises :class:`~sqlfront_values.room.StoppedError` if the statement of the waiting
    thread is cancelled or its timeout is over."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            while not self._lock.acquire(timeout=_LOOK):
                room.check()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()
