"""A table whose rows are Spark's: a relation of the session's catalog, or a query. Copies are made from
it."""

import zlib
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_connectors.arrow import ArrowSnapshot
from sqlfront_connectors.base import Partitioning, ScanPlan, ScanRequest, TableStatistics
from sqlfront_connectors.spark.failures import ours
from sqlfront_connectors.spark.link import SparkLink
from sqlfront_connectors.spark.types import table_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sqlfront_values.expressions import Expr


class SparkTable:
    """A read-only table of Spark's rows. ``frame`` returns the present rows as a DataFrame; it raises our
    errors. ``reference`` stands for the rows in a FROM clause of Spark's; ``named``: whether ``reference`` is
    a name, as opposed to a query. Raises NotSupportedError for a column that sqlfront can't read as Spark
    does."""

    format = "spark"
    #: No partitioning.
    partitioning: Partitioning | None = None

    def __init__(
        self,
        name: str,
        link: SparkLink,
        frame: "Callable[[], DataFrame]",
        *,
        reference: str,
        named: bool = True,
    ) -> None:
        self.name = name
        self.reference = reference
        self.named = named
        #: The version of which a copy was made, None = no copy.
        self.copied: int | None = None
        self._link = link
        self._frame = frame
        with ours():
            fields = frame().schema
            #: The logical column names and types.
            self.schema = table_schema(fields)
        #: The comments of columns and of the fields inside of columns, by paths that begin with the column's
        #: name; the steps into arrays and maps are ``element``, ``key`` and ``value``.
        self.comments = tuple(_comments(fields))

    def snapshot(self) -> "SparkSnapshot":
        """Return the rows that Spark's plan would read now. Raises Spark's error if the name is gone."""
        with ours():
            return SparkSnapshot(self.name, self.schema, self._link, self._frame())

    def refresh(self) -> None:
        """Let Spark list the table's files anew, to see changes by other programs; do nothing if
        ``reference`` is not a name."""
        if self.named:
            with ours():
                self._link.spark.catalog.refreshTable(self.reference)

    def drop(self) -> None:
        """Do nothing: the rows belong to Spark."""


def _comments(kind: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """The comments of all fields inside of a type of PySpark, which is at the path."""
    for field in getattr(kind, "fields", ()):
        if "comment" in field.metadata:
            yield (*path, field.name), str(field.metadata["comment"])
        yield from _comments(field.dataType, (*path, field.name))
    for attribute, step in (("elementType", "element"), ("keyType", "key"), ("valueType", "value")):
        if hasattr(kind, attribute):
            yield from _comments(getattr(kind, attribute), (*path, step))


class SparkSnapshot:
    """The rows of a DataFrame, ``frame``: constant as long as Spark's plan and the plan's files are. Spark
    computes the rows anew for each scan; a view with ``rand()``, for example, gives different rows each time.
    """

    repeatable: Final = False

    def __init__(self, name: str, schema: pa.Schema, link: SparkLink, frame: "DataFrame") -> None:
        self.frame = frame
        self._name = name
        self._schema = schema
        self._link = link

    @cached_property
    def version(self) -> int:
        """A hash of the plan and the plan's files; a different number means different rows."""
        with ours():
            return zlib.crc32(self._link.version(self.frame).encode())

    @cached_property
    def statistics(self) -> TableStatistics:
        """``size``: the estimate of Spark's optimizer in bytes, or its very large default if Spark can't
        tell. The number of rows and the column statistics are unknown."""
        with ours():
            return TableStatistics(size=self._link.size(self.frame))

    def exact_filters(self, filters: "tuple[Expr, ...]") -> "tuple[Expr, ...]":
        """Return no filter: the scan reads all rows."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Run Spark's query for all rows now, and return a source of the rows, which are held in this
        process."""
        batches: list[pa.RecordBatch] = []
        with ours():
            batches += self._link.collect(self.frame, self._schema, batches.append)
        return ArrowSnapshot(self._name, self._schema, tuple(batches)).scan(request)
