"""What the instances of one vertex on one member have in common, such as a connection pool."""

import logging
from collections.abc import Callable
from threading import RLock
from typing import Protocol, TypeVar, cast

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Closable(Protocol):
    """What is closed on every exit."""

    def close(self) -> object:
        """Free what it holds."""


class Share:
    """One object for all instances of a vertex on a member: made for the first that asks, closed when the
    last of them has ended, in whatever way and whether or not it ever began."""

    __slots__ = ("_close", "_left", "_lock", "_made", "_name", "_value")

    def __init__(self, name: str, instances: int) -> None:
        self._name = name
        self._left = instances
        self._lock = RLock()
        self._made = False
        self._value: object = None
        self._close: Callable[[], object] | None = None

    def open(self, make: Callable[[], T], close: Callable[[T], object] | None = None) -> T:
        """The object; the others wait while it is being made. All instances ask for it in the same way. If
        making fails, the next one tries again."""
        with self._lock:
            if not self._made:
                made = make()
                self._value, self._made = made, True
                if close is not None:
                    self._close = lambda: close(made)
            return cast("T", self._value)

    def leave(self) -> None:
        """An instance has ended; each says so once. What goes wrong in closing is logged and ignored."""
        with self._lock:
            self._left -= 1
            if self._left:
                return
            close, self._close, self._value = self._close, None, None
        if close is not None:
            close_quietly(close, self._name)


def close_quietly(close: Callable[[], object], name: str) -> None:
    """Close something of the vertex ``name``. The job has done its work, or has a better error: what goes
    wrong now is logged and ignored."""
    try:
        close()
    except Exception:
        logger.warning("closing %s failed", name, exc_info=True)
