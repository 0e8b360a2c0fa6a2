"""The log of refused connections. Repeated refusals are counted and logged together, since a refused process
may connect again and again."""

import logging
from collections.abc import Callable
from threading import Lock
from typing import Final

logger = logging.getLogger(__name__)

#: Characters of a reason that are logged: a stranger may have written some of them, and must not fill the
#: log.
_LONGEST: Final = 300


class Refusals:
    """A counter and log of the connections that the member ``name`` has refused. The first refusal is logged
    at once, with its reason; all refusals of the next ``period`` seconds are logged in one line, with their
    number and the last reason. ``now``: returns the clock's time (s)."""

    def __init__(self, name: str, period: float, now: Callable[[], float]) -> None:
        #: The number of all refusals.
        self.total = 0
        self._name = name
        self._period = period
        self._now = now
        self._lock = Lock()
        self._unlogged = 0
        self._latest = ""
        self._quiet_until = now()

    def add(self, remote: str, reason: str) -> bool:
        """Count a refused connection from the address ``remote``, and log it at once unless the last line is
        less than a period old. Return True if the caller has to call :meth:`tell` later: this refusal was not
        logged, and no earlier one waits to be logged."""
        with self._lock:
            self.total += 1
            self._unlogged += 1
            self._latest = f"from {remote}: {_printable(reason)}"
            first = self._unlogged == 1
        return self.tell() is not None and first

    def tell(self) -> float | None:
        """Log the refusals since the last line, unless that line is less than a period old. Returns the
        seconds after which to call this method again, None if no refusal waits to be logged."""
        with self._lock:
            remaining = self._quiet_until - self._now()
            if not self._unlogged or remaining > 0:
                return remaining if self._unlogged else None
            count, self._unlogged = self._unlogged, 0
            self._quiet_until = self._now() + self._period
            latest = self._latest
        if count == 1:
            logger.warning("member %s refused a connection %s", self._name, latest)
        else:
            logger.warning("member %s refused %d connections, the last one %s", self._name, count, latest)
        return None


def _printable(reason: str) -> str:
    """Return the reason as one line of printable characters, cut off if it is long.

    >>> _printable("a\\nforged line")
    'a\\\\nforged line'
    """
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in reason[:_LONGEST])
    return shown if len(reason) <= _LONGEST else f"{shown}..."
