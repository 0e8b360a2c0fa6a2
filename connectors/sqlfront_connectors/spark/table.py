"""A table whose rows Spark has: a relation of the Spark session's catalog, or a query. sqlfront reads the
rows through Spark, or copies them."""

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
    """A read-only table whose rows Spark computes.

    ``frame``: returns the present rows as a DataFrame, or raises one of sqlfront's errors. ``reference``: the
    text that stands for the rows in a FROM clause of Spark's SQL. ``named``: True if ``reference`` is a name,
    False if it is a query. Raises NotSupportedError for a column of a type that sqlfront can't read as Spark
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
        """Return a snapshot of the rows that Spark reads now. Raises an error of sqlfront if Spark's table or
        view no longer exists."""
        with ours():
            return SparkSnapshot(self.name, self.schema, self._link, self._frame())

    def refresh(self) -> None:
        """Make Spark list the table's files again, so that changes by other programs become visible; do
        nothing if ``reference`` is a query."""
        if self.named:
            with ours():
                self._link.spark.catalog.refreshTable(self.reference)

    def drop(self) -> None:
        """Do nothing: the rows belong to Spark."""


def _comments(kind: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and the comment of each field with a comment in ``kind``, a type of PySpark. ``path``:
    the path of ``kind`` itself, with which all yielded paths begin."""
    for field in getattr(kind, "fields", ()):
        if "comment" in field.metadata:
            yield (*path, field.name), str(field.metadata["comment"])
        yield from _comments(field.dataType, (*path, field.name))
    for attribute, step in (("elementType", "element"), ("keyType", "key"), ("valueType", "value")):
        if hasattr(kind, attribute):
            yield from _comments(getattr(kind, attribute), (*path, step))


class SparkSnapshot:
    """The rows of a Spark DataFrame, ``frame``. They are the same for as long as the frame's plan and the
    files that it reads are the same.

    Spark computes the rows again for each scan; a view with ``rand()``, for example, gives different rows
    each time.
    """

    repeatable: Final = False

    def __init__(self, name: str, schema: pa.Schema, link: SparkLink, frame: "DataFrame") -> None:
        self.frame = frame
        self._name = name
        self._schema = schema
        self._link = link

    @cached_property
    def version(self) -> int:
        """A hash of the frame's plan and of the state of the files that it reads: two different numbers mean
        that the rows may differ."""
        with ours():
            return zlib.crc32(self._link.version(self.frame).encode())

    @cached_property
    def statistics(self) -> TableStatistics:
        """The statistics of the rows: only ``size`` is known, in bytes, as Spark's optimizer estimates it (a
        very large number if it can't tell)."""
        with ours():
            return TableStatistics(size=self._link.size(self.frame))

    def exact_filters(self, filters: "tuple[Expr, ...]") -> "tuple[Expr, ...]":
        """Return no filter: the scan reads all rows, so that the plan has to apply all filters."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Run Spark's query for all rows now, and return a source of these rows, which stay in this process's
        memory."""
        batches: list[pa.RecordBatch] = []
        with ours():
            batches += self._link.collect(self.frame, self._schema, batches.append)
        return ArrowSnapshot(self._name, self._schema, tuple(batches)).scan(request)
