"""The rows that a durable job has left in spool files, as a table that a plan can read."""

import pyarrow as pa

from sqlfront_connectors import base
from sqlfront_engine.processors.spool.spool_scan import SpoolScan
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_planner.logical import LogicalScan
from sqlfront_values.expressions import Expr


class SpooledRows:
    """The rows of a finished job as a table with a single version, which is also the table's snapshot.
    ``schema``: the logical schema. ``files``: the files with the rows, in order."""

    #: The name of the format, ``spooled``.
    format = "spooled"
    #: None: the rows are not partitioned by key.
    partitioning: base.Partitioning | None = None
    #: The version, always 0.
    version = 0

    def __init__(self, name: str, schema: pa.Schema, files: tuple[SpoolFile, ...]) -> None:
        self.name, self.schema = name, schema
        self._files = files

    @property
    def statistics(self) -> base.TableStatistics:
        """The statistics of the table: the number of rows."""
        return base.TableStatistics(rows=sum(file.rows for file in self._files))

    def snapshot(self) -> "SpooledRows":
        """Return the table itself, which never changes."""
        return self

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return an empty tuple: :meth:`scan` applies no filter itself, so the query has to apply all of
        them."""
        return ()

    def scan(self, request: base.ScanRequest) -> base.ScanPlan:
        """Plan a source that reads the requested columns from the files, one after the other."""
        buckets = max((len(file.bucket_rows) for file in self._files), default=1)
        return base.ScanPlan(SpoolScan(self._files, 0, buckets, columns=request.columns))

    def drop(self) -> None:
        """Do nothing: the files belong to the job."""

    def plan(self) -> LogicalScan:
        """Return a logical plan that reads all columns of the table."""
        return LogicalScan(self.name, self, self, tuple(range(len(self.schema))))
