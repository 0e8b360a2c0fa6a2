"""An object shared by the instances of one vertex on one member, such as a connection pool."""

import logging
from collections.abc import Callable
from threading import RLock
from typing import TypeVar, cast

T = TypeVar("T")

logger = logging.getLogger(__name__)


class SharedObject:
    """An object that all instances of a vertex on a member share. The first instance that calls :meth:`open`
    makes the object. The object is closed when all instances have ended, with or without an error, even if
    some of them never began. ``name``: the vertex; ``instances``: their number on this member."""

    __slots__ = ("_close", "_left", "_lock", "_made", "_name", "_value")

    def __init__(self, name: str, instances: int) -> None:
        self._name = name
        self._left = instances
        self._lock = RLock()
        self._made = False
        self._value: object = None
        self._close: Callable[[], object] | None = None

    def open(self, make: Callable[[], T], close: Callable[[T], object] | None = None) -> T:
        """Return the shared object. The first call makes the object by ``make()``, while other instances
        wait. ``close`` (None = nothing to do) is called with the object at the end of the last instance. All
        instances pass equal arguments. If ``make`` raises, this call raises the error, and the next call
        tries again."""
        with self._lock:
            if not self._made:
                made = make()
                self._value, self._made = made, True
                if close is not None:
                    self._close = lambda: close(made)
            return cast("T", self._value)

    def leave(self) -> None:
        """Record that an instance has ended; to be called once per instance. The last call closes the
        object, if there is one; errors of closing are logged and ignored."""
        with self._lock:
            self._left -= 1
            if self._left:
                return
            close, self._close, self._value = self._close, None, None
        if close is not None:
            close_quietly(close, self._name)


def close_quietly(close: Callable[[], object], name: str) -> None:
    """Call ``close`` for an object of the vertex ``name``. Errors are logged and ignored, since the job has
    its result or another error."""
    try:
        close()
    except Exception:
        logger.warning("closing %s failed", name, exc_info=True)
