"""SIGTERM and SIGHUP, which end the shell."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Final, Self

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class HangUp(BaseException):
    """The end of the shell by a signal; ``number`` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class EndingSignals:
    """A context in which SIGTERM and SIGHUP raise HangUp in the main thread, so that the terminal is restored
    and the session closed. Code that swallows exceptions of signal handlers runs in :meth:`held`: an event
    loop, and the loading of modules, whose callbacks print the exceptions."""

    def __init__(self) -> None:
        self._arrived: HangUp | None = None
        #: The function that a signal calls instead of raising HangUp.
        self._end: Callable[[HangUp], None] | None = None

    def __enter__(self) -> Self:
        self._former = {number: signal.signal(number, self._receive) for number in _SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._former.items():
            signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._arrived = HangUp(number)
        if self._end is None:
            raise self._arrived
        self._end(self._arrived)

    @contextmanager
    def held(self, end: Callable[[HangUp], None] = lambda arrived: None) -> Iterator[None]:
        """A context whose end raises the HangUp of a signal that arrives inside. The signal calls ``end``,
        which may have the code inside end early."""
        self._end = end
        try:
            yield
        finally:
            self._end = None
            if self._arrived is not None:
                raise self._arrived

    def repeat(self) -> None:
        """Call the function of :meth:`held` again if a signal has arrived before the code inside was able to
        end early."""
        if self._arrived is not None and self._end is not None:
            self._end(self._arrived)
