"""Temporary views that make DataFrames readable by name while a statement is analysed."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from sqlfront_connectors.spark.sessions.watch import unwatched
from sqlfront_connectors.spark.types import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TemporaryViews:
    """The temporary views that sqlfront makes in one Spark session.

    All users of the session share one object (:func:`temporary_views`), so that each can tell sqlfront's
    views from the views of the session's user."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._lock = threading.Lock()
        #: The names of the present temporary views, in lower case.
        self._names: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether ``name`` (in upper or lower case) is now a temporary view that sqlfront has made by
        :meth:`named`, not a view of the session's user."""
        return name.lower() in self._names

    @contextmanager
    def named(self, views: "Mapping[str, DataFrame]") -> Iterator[None]:
        """Return a context manager within which each frame in ``views`` is a temporary view of its name.
        Other threads that enter wait until the block has ended. Raises Spark's error if the session has a
        view of such a name."""
        with self._lock, ExitStack() as undo:
            for name, frame in views.items():
                # Invariant: the name is listed for as long as the view exists.
                self._names.add(name.lower())
                undo.callback(self._names.discard, name.lower())
                try:
                    self.make(name, frame)
                    undo.callback(self.drop, name)
                except KeyboardInterrupt:  # the view may exist nevertheless
                    self.drop(name)
                    raise
            yield

    def make(self, name: str, frame: "DataFrame") -> None:
        """Make the frame a temporary view of the Spark session. Callbacks for changes of the session's views
        (:class:`~sqlfront_connectors.spark.sessions.watch.Watcher`) are not called. Raises Spark's error if
        the session has a view of the name."""
        with unwatched():
            frame.createTempView(quoted(name))

    def drop(self, name: str) -> None:
        """Drop the temporary view ``name`` of the Spark session; does nothing if there is none. Callbacks for
        changes of the session's views (:class:`~sqlfront_connectors.spark.sessions.watch.Watcher`) are not
        called."""
        with unwatched():
            self._spark.catalog.dropTempView(name)


def temporary_views(spark: "SparkSession", session_id: str) -> TemporaryViews:
    """Return the :class:`TemporaryViews` of the session with the id ``session_id``. All callers get the same
    object, as long as one of them has a reference to it."""
    with _lock:
        found = _of_sessions.get(session_id)
        if found is None:
            found = _of_sessions[session_id] = TemporaryViews(spark)
        return found


_lock: Final = threading.Lock()
_of_sessions: Final[WeakValueDictionary[str, TemporaryViews]] = WeakValueDictionary()
