"""The end of the interpreter, for job stores on object storages.

Python ends its thread pools before it calls the functions of :mod:`atexit`, and the libraries of object
storages can't send requests without pools. So a store's owner that no program has closed gives its store up
earlier.
"""

import logging
import os
import threading
from functools import cache
from typing import Final, Protocol
from weakref import WeakSet

from sqlfront_values.errors import Error

logger: Final = logging.getLogger(__name__)


class Closing(Protocol):
    """An object that is to be closed before the thread pools end."""

    def close(self) -> None:
        """Release what the object holds; a second call does nothing."""


_open: Final[WeakSet[Closing]] = WeakSet()


def close_before_pools_end(closing: Closing) -> None:
    """Have ``closing`` closed at the end of the interpreter, while requests can still be sent. The object is
    not kept alive for that: if nothing else refers to it, it is not closed. A forked child closes no objects
    of its parent."""
    _register()
    _open.add(closing)


@cache
def _register() -> None:
    # Python has no public function for this; concurrent.futures uses this one. Functions that are registered
    # later are called earlier, and the pools' function was registered when the storage was imported.
    threading._register_atexit(_close_all)  # type: ignore[attr-defined]


def _close_all() -> None:
    for closing in list(_open):
        try:
            closing.close()
        except Error as error:
            logger.warning("a job store was not closed: %s", error)


os.register_at_fork(after_in_child=_open.clear)
