"""Rows of Spark that durable jobs read, and a table that stands for them in plans."""

from hashlib import sha256
from typing import Final, Protocol, runtime_checkable

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import Location, Partitioning, ScanPlan, ScanRequest, TableStatistics
from sqlfront_engine.processors.sources.split_scan import SplitScan, SplitSource
from sqlfront_values.expressions import Expr


class SparkRead(msgspec.Struct, frozen=True, array_like=True):
    """A query by which a job reads a table or view of Spark. ``table``: the name of the table or view, as in
    Spark's SQL. ``text``: the SELECT; ``types``: the logical types of its columns, as a schema. ``state``:
    identifies the files of the table at the creation of the job; None = changes can't be detected."""

    table: str
    text: str
    types: pa.Schema
    state: str | None

    @property
    def key(self) -> str:
        """The key of the rows among a job's resources."""
        return f"spark {sha256(self.text.encode()).hexdigest()}"


@runtime_checkable
class JobSource(SplitSource, Protocol):
    """A source of a job that can be checked before the job goes on."""

    def check(self) -> None:
        """Raise the error for which the source can't be read now, as it was when the job was created."""


class SparkReadTable:
    """The rows of a ``read`` as a table with a single version, which is also the table's snapshot.
    ``source``: gives the rows to tasks. ``statistics``: of the rows, by estimate."""

    #: The name of the format of tables of Spark.
    format: Final = "spark"
    #: None: the rows are not partitioned by key.
    partitioning: Partitioning | None = None
    #: The number of the version, always 0.
    version: Final = 0

    def __init__(self, read: SparkRead, source: SplitSource, statistics: TableStatistics) -> None:
        self.read, self._source = read, source
        #: The logical column names and types.
        self.schema = read.types
        self.statistics = statistics

    def snapshot(self) -> "SparkReadTable":
        """Return the table itself, which has one version only."""
        return self

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: the SELECT has the filters that Spark applies."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Plan a source of the requested columns, whose instances get batches as Spark gives them."""
        read = self.read
        return ScanPlan(
            SplitScan(read.key, read.text, request.columns), {read.key: self._source}, Location.ANYWHERE
        )

    def drop(self) -> None:
        """Do nothing: the rows belong to Spark."""
