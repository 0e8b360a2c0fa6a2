"""Tables and views of Spark as sources of durable jobs.

Spark filters, projects and groups the rows of each table, as in mixed queries; the tasks of a stage get the
batches of the answer one after the other. No one can read such an answer a second time and be sure to get the
same batches, so that a stage's outputs always come from one run of Spark's query.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.run import StatementRun, scans_of
from sqlfront.jobs.job_plan import JobPlan
from sqlfront.jobs.spark_reads import SparkRead, SparkReadTable
from sqlfront.state.context import Context
from sqlfront.state.options import TIME_ZONE
from sqlfront_connectors.base import TableStatistics
from sqlfront_engine.processors.sources.split_scan import SourceUnavailableError, SplitEnumerator
from sqlfront_planner.logical import LogicalPlan, LogicalScan
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sqlfront.spark import mixed
    from sqlfront_connectors.spark import failures, query_splits
    from sqlfront_connectors.spark import link as spark_link
    from sqlfront_connectors.spark import types as spark_types
    from sqlfront_connectors.spark.link import SparkLink
else:
    mixed = lazy_module("sqlfront.spark.mixed")
    failures = lazy_module("sqlfront_connectors.spark.failures")
    spark_link = lazy_module("sqlfront_connectors.spark.link")
    spark_types = lazy_module("sqlfront_connectors.spark.types")
    query_splits = lazy_module("sqlfront_connectors.spark.query_splits")

#: The format of tables whose rows only Spark can read.
_SPARK = "spark"
_CHANGED = "40001"


def with_spark_reads(run: StatementRun, bound: LogicalPlan) -> LogicalPlan:
    """Return the plan of a durable job's query with the tables and views of Spark that the query reads
    replaced by tables from which a job can read. The query's parameters are literals then. Raises
    NotSupportedError for the copy of a query of Spark, while a setting makes Spark's answers differ from
    sqlfront's, and if no SQL text can be written for the scan of a table; and Spark's errors."""
    found = [scan for scan in scans_of(bound) if scan.table.format == _SPARK]
    if not found:
        return bound
    for scan in found:
        if not getattr(scan.table, "named", True):
            raise NotSupportedError(f"a durable job that reads `{scan.name}`, the copy of a query of Spark")
    context, values = run.context, run.arguments.values
    cardinality = Cardinality()

    def scan_of(part: "mixed.SparkPart") -> LogicalScan:
        read = SparkRead(part.select.table, part.select.text, part.schema, None)
        source = SparkSource(context, read, context.settings)
        source = SparkSource(context, replace(read, state=source.state()), context.settings)
        statistics = TableStatistics(rows=int(cardinality.rows(part.plan)))
        table = SparkReadTable(source.read_of, source, statistics)
        return LogicalScan(table.read.table, table, table, tuple(range(part.plan.width)))

    return mixed.split_plan(bound, values, context.settings, group=False).with_scans(scan_of)


def spark_sources(context: Context, plan: JobPlan, settings: Settings) -> Mapping[str, "SparkSource"]:
    """Return the sources of a job that reads tables of Spark, by key; Spark isn't asked for them yet.
    ``settings``: those of the job."""
    return {read.key: SparkSource(context, read, settings) for read in plan.reads}


class SparkSource:
    """The rows of a table or view of Spark that a job reads: a
    :class:`~sqlfront_engine.processors.sources.split_scan.SplitSource`. ``read_of``: the query; ``settings``:
    those of the job."""

    def __init__(self, context: Context, read: SparkRead, settings: Settings) -> None:
        self._run, self.read_of, self._settings = StatementRun(context), read, settings

    def check(self) -> None:
        """Raise the error for which a pass over the rows can't begin; see :meth:`enumerator`."""
        with self._asking() as link:
            self._analysed(link)

    def state(self) -> str | None:
        """Return the present state of the table's files; None if changes can't be detected. Raises the errors
        of :meth:`enumerator`."""
        with self._asking() as link, failures.ours():
            return link.state(self._analysed(link))

    def enumerator(self) -> SplitEnumerator:
        """Begin the query in Spark, and return the batches of its answer as splits. Raises
        SourceUnavailableError without a Spark session; OperationalError (40001) if the table has changed
        since the job was created, or if Spark has another time zone; and Spark's errors."""
        with self._asking() as link:
            frame = self._analysed(link)
            return _Splits(self, link, query_splits.QuerySplits(link.read_files(lambda: frame)))

    def read(self, split: bytes) -> Iterable[pa.RecordBatch]:
        """Return the rows of a split."""
        return query_splits.read_split(split)

    def _analysed(self, link: "SparkLink") -> "DataFrame":
        """Return the query as a DataFrame, which has the columns of the job's creation, over the same files.
        Raises OperationalError (40001) if that isn't possible."""
        read = self.read_of
        spark, zone = self._run.context.spark, link.setting(TIME_ZONE)
        assert spark is not None
        if spark.other_answers is not None:
            raise NotSupportedError(f"{self._need}, while {spark.other_answers}")
        if zone != self._settings.time_zone:
            raise OperationalError(
                f"{self._need}, with {TIME_ZONE} {self._settings.time_zone}; that of Spark is {zone}",
                sqlstate=_CHANGED,
            )
        with failures.ours():
            frame = link.analysed(read.text)
            types = spark_types.logical_schema(frame.schema).types
            state = None if read.state is None else link.state(frame)
        if types != read.types.types or state != read.state:
            raise OperationalError(
                f"the table {read.table} of Spark, which the job reads, has changed since the job was"
                " created; create the job anew",
                sqlstate=_CHANGED,
            )
        return frame

    @property
    def _need(self) -> str:
        return f"the job reads the table {self.read_of.table} of Spark"

    @contextmanager
    def _asking(self) -> "Iterator[SparkLink]":
        """A context for calls to Spark, whose value is the link to the Spark session; it starts Spark if
        needed. Raises SourceUnavailableError without a Spark session."""
        spark = self._run.context.spark
        if spark is None:
            raise SourceUnavailableError(
                f"{self._need}, and this session has no Spark session", sqlstate="08003"
            )
        with self.while_it_lasts(None):
            spark.start(self._run.request, self._need)
        with self.while_it_lasts(spark.link):
            yield spark.link

    @contextmanager
    def while_it_lasts(self, link: "SparkLink | None") -> Iterator[None]:
        """A context for calls to Spark, which raises SourceUnavailableError in place of the error of a
        session that has ended; PySpark's errors of such a session are of all kinds. ``link``: to the session;
        None = Spark is being started."""
        try:
            yield
        except Exception as error:
            state = error.sqlstate if isinstance(error, OperationalError) else None
            is_gone = (state or "").startswith("08") or (
                link is not None and spark_link.is_stopped(link.spark)
            )
            if not is_gone:
                raise
            raise SourceUnavailableError(f"{self._need}: {error}", sqlstate=failures.GONE) from error


class _Splits:
    """The batches of a source's query, and the errors of a Spark that has ended as such."""

    def __init__(self, source: SparkSource, link: "SparkLink", splits: "query_splits.QuerySplits") -> None:
        self._source, self._link, self._splits = source, link, splits

    def next_split(self) -> bytes | None:
        """Return the next batch as a split, None after the last one."""
        with self._source.while_it_lasts(self._link):
            return self._splits.next_split()

    def close(self) -> None:
        """Cancel the query unless it has ended."""
        self._splits.close()
