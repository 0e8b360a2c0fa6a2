"""Frames under names of their own, while a statement is analysed."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from sqlfront_connectors.spark.types import quoted
from sqlfront_connectors.spark.watch import unwatched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TemporaryViews:
    """Temporary views of a session that are there for one statement only."""

    def __init__(self, spark: "SparkSession") -> None:
        self._spark = spark
        self._lock = threading.Lock()

    @contextmanager
    def named(self, views: "Mapping[str, DataFrame]") -> Iterator[None]:
        """Each frame is a view of its name inside of the block, in which only one thread is at a time.
        Spark's error if the session has a view of that name."""
        with self._lock, ExitStack() as undo:
            for name, frame in views.items():
                self.make(name, frame)
                undo.callback(self.drop, name)
            yield

    def make(self, name: str, frame: "DataFrame") -> None:
        """Give the frame a name; nobody is told."""
        with unwatched():
            frame.createTempView(quoted(name))

    def drop(self, name: str) -> None:
        """Forget a name; nobody is told."""
        with unwatched():
            self._spark.catalog.dropTempView(name)
