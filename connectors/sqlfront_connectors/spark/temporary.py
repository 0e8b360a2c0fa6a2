"""Frames under names of their own, while a statement is analysed."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from sqlfront_connectors.spark.types import quoted
from sqlfront_connectors.spark.watch import unwatched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TemporaryViews:
    """Temporary views of a session that are there for one statement only. All who use the session share them
    (:func:`temporary_views`), so that nobody takes those of another for its own."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._lock = threading.Lock()
        #: The names of those that are there, in lower case.
        self._names: set[str] = set()

    def has(self, name: str) -> bool:
        """Whether a view of that name is one of these, and so nothing that the session itself knows."""
        return name.lower() in self._names

    @contextmanager
    def named(self, views: "Mapping[str, DataFrame]") -> Iterator[None]:
        """Each frame is a view of its name inside of the block, in which only one thread is at a time.
        Spark's error if the session has a view of that name."""
        with self._lock, ExitStack() as undo:
            for name, frame in views.items():
                # Invariant: others don't take one for the session's, as long as it is there.
                self._names.add(name.lower())
                undo.callback(self._names.discard, name.lower())
                try:
                    self.make(name, frame)
                    undo.callback(self.drop, name)
                except KeyboardInterrupt:  # it may be there nevertheless
                    self.drop(name)
                    raise
            yield

    def make(self, name: str, frame: "DataFrame") -> None:
        """Give the frame a name; nobody is told."""
        with unwatched():
            frame.createTempView(quoted(name))

    def drop(self, name: str) -> None:
        """Forget a name; nobody is told."""
        with unwatched():
            self._spark.catalog.dropTempView(name)


def temporary_views(spark: "SparkSession", session_id: str) -> TemporaryViews:
    """Those of the session with that id."""
    with _lock:
        found = _of_sessions.get(session_id)
        if found is None:
            found = _of_sessions[session_id] = TemporaryViews(spark)
        return found


_lock: Final = threading.Lock()
_of_sessions: Final[WeakValueDictionary[str, TemporaryViews]] = WeakValueDictionary()
