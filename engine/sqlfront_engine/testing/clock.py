"""A clock that a test advances by hand."""

from collections.abc import Callable


class FakeClock:
    """A clock that stands still until a test advances it."""

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def now(self) -> float:
        """Return the seconds since an arbitrary start."""
        return self._now

    def call_at(self, deadline: float, callback: Callable[[], None]) -> Callable[[], None]:
        """Have :meth:`advance` call ``callback`` once the time reaches ``deadline``; returns a function that
        cancels the call."""
        self._count += 1
        timer = (deadline, self._count, callback)
        self._timers.append(timer)

        def forget() -> None:
            if timer in self._timers:
                self._timers.remove(timer)

        return forget

    def advance(self, seconds: float) -> None:
        """Advance the time by ``seconds``, and call all callbacks that are due then, the earliest first."""
        self._now += seconds
        while due := sorted(timer for timer in self._timers if timer[0] <= self._now):
            self._timers.remove(due[0])
            due[0][2]()
