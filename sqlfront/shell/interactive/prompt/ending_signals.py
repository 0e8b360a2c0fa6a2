"""The handling of SIGTERM and SIGHUP, which end the shell."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Final, Self

_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)


class HangUp(BaseException):
    """The exception by which a signal ends the shell; ``number`` is the signal's number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class EndingSignals:
    """A context in which SIGTERM and SIGHUP raise HangUp in the main thread, so that the terminal is restored
    and the session closed. Some code swallows exceptions of signal handlers: event loops, and the loading of
    modules, whose callbacks print them. Such code runs in the context :meth:`held`, which raises HangUp at
    its end."""

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
        """Return a context that delays the end by a signal: SIGTERM or SIGHUP raises nothing inside, but
        ``end`` is called, which may have the code inside end early. At its end, the context raises HangUp if
        a signal has arrived."""
        self._end = end
        try:
            yield
        finally:
            self._end = None
            if self._arrived is not None:
                raise self._arrived

    def repeat(self) -> None:
        """Call the ``end`` of :meth:`held` again if a signal has arrived. For code that was not yet able to
        end early when the signal came: it calls this method once it is able to."""
        if self._arrived is not None and self._end is not None:
            self._end(self._arrived)
