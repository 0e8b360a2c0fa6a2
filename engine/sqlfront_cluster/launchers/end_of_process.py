"""The wait of a process, such as a member's, for the signal that ends the process."""

import os
import signal
from types import FrameType, TracebackType
from typing import Final, Self

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class EndOfProcess:
    """A wait of the main thread until SIGTERM or SIGINT comes, or another thread calls :meth:`wake`. A
    context of the main thread: at its end, the signals have the handlers of before.

    The main thread waits for a byte in a pipe, which the interpreter writes as soon as a signal comes. A wait
    for a lock would be over only if the system delivers the signal to the main thread; it may deliver the
    signal to any thread of the process."""

    def __init__(self) -> None:
        #: The signals that have come.
        self.signals: list[int] = []
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        self._former_wakeup = signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The pipe stays open: another thread may still wake the main thread.
        signal.set_wakeup_fd(self._former_wakeup)
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.signals.append(number)

    def wake(self) -> None:
        """End the wait although no signal has come. May be called on any thread."""
        os.write(self._write, b"\0")

    def wait(self) -> None:
        """Wait until a signal comes, or :meth:`wake` is called. :attr:`signals` also gets the signals that
        come later."""
        os.read(self._read, 1)
