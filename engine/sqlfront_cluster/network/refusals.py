"""The log of refused connections: by count, since a refused party can come back arbitrarily often."""

import logging
from collections.abc import Callable
from threading import Lock
from typing import Final

logger = logging.getLogger(__name__)

#: Characters of a reason that are logged: a stranger may have written some of them, and must not fill the
#: log.
_LONGEST: Final = 300


class Refusals:
    """A counter of refused connections of the member ``name``. The first refusal is logged at once, with its
    reason; the refusals of the next ``period`` seconds by one line with their number and the last reason."""

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
        """Count a refused connection from the address ``remote``. Log all refusals since the last log line,
        unless that line is less than a period old. Return True if this refusal is not logged and no earlier
        refusal waits for its log line: the caller then arranges a later call of :meth:`tell`."""
        with self._lock:
            self.total += 1
            self._unlogged += 1
            self._latest = f"from {remote}: {_printable(reason)}"
            first = self._unlogged == 1
        return self.tell() is not None and first

    def tell(self) -> float | None:
        """Log the refusals since the last line, if a line is due. Returns the seconds until the next call is
        needed, None if no call is needed since no refusal is left to log."""
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
    """The reason as one line of printable characters.

    >>> _printable("a\\nforged line")
    'a\\\\nforged line'
    """
    shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in reason[:_LONGEST])
    return shown if len(reason) <= _LONGEST else f"{shown}..."
