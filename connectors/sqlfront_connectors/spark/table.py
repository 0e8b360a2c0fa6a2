"""What Spark has under a name, or by a query, as a table that copies are made from."""

import zlib
from collections.abc import Callable
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
    """``frame`` gives the rows as a DataFrame of now; its errors are ours. ``reference`` is what stands for
    them in a FROM clause of Spark's; ``named``: whether that is a name. Read-only. NotSupportedError for a
    column that sqlfront can't read as Spark does."""

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
        #: The version that a copy was made of, None = there is none.
        self.copied: int | None = None
        self._link = link
        self._frame = frame
        with ours():
            self._schema = table_schema(frame().schema)

    @property
    def schema(self) -> pa.Schema:
        """Logical column names and types."""
        return self._schema

    @property
    def format(self) -> str:
        """``spark``."""
        return "spark"

    @property
    def partitioning(self) -> Partitioning | None:
        """None."""
        return None

    def snapshot(self) -> "SparkSnapshot":
        """What Spark's plan would read now. Spark's error if there is nothing of that name any more."""
        with ours():
            return SparkSnapshot(self.name, self._schema, self._link, self._frame())

    def refresh(self) -> None:
        """Have Spark look again at what it reads, for what others have written."""
        if self.named:
            with ours():
                self._link.spark.catalog.refreshTable(self.reference)

    def drop(self) -> None:
        """Nothing: the rows are Spark's."""


class SparkSnapshot:
    """The rows of a DataFrame, ``frame``: as long as Spark's plan and its files are the same. Spark computes
    them for each scan, of a view with ``rand()``, say, other ones."""

    repeatable: Final = False

    def __init__(self, name: str, schema: pa.Schema, link: SparkLink, frame: "DataFrame") -> None:
        self.frame = frame
        self._name = name
        self._schema = schema
        self._link = link

    @cached_property
    def version(self) -> int:
        """A number of the plan and the files that it reads; a different one means other rows."""
        with ours():
            return zlib.crc32(self._link.version(self.frame).encode())

    @cached_property
    def statistics(self) -> TableStatistics:
        """The bytes that Spark's optimizer takes the rows for; more than anybody has if it can't tell."""
        with ours():
            return TableStatistics(size=self._link.size(self.frame))

    def exact_filters(self, filters: "tuple[Expr, ...]") -> "tuple[Expr, ...]":
        """None: all rows are read."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """All rows, which come through this process."""
        batches: list[pa.RecordBatch] = []
        with ours():
            batches += self._link.collect(self.frame, self._schema, batches.append)
        return ArrowSnapshot(self._name, self._schema, tuple(batches)).scan(request)
