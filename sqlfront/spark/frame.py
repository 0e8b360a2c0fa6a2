"""The class of a result that has the methods of Spark's DataFrame."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, overload

import pyarrow as pa

from sqlfront.results.result import Result, Statistics
from sqlfront.results.row import Row
from sqlfront_connectors.spark.exceptions import of_both
from sqlfront_engine.closing import ClosingContext

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
    from pyspark.sql.types import StructType

    from sqlfront_connectors.arrow import ArrowSource
    from sqlfront_connectors.spark.rows import HeldFrame
    from sqlfront_engine.jobs.query_run import Progress


#: Attributes of PySpark's DataFrames by which its methods reach other DataFrames (classic, then Connect).
_SPARKS_OWN: Final = frozenset({"_jdf", "_plan", "_session"})


class FrameSession(Protocol):
    """The methods that a frame needs of its session, :class:`~sqlfront.spark.attached.AttachedSession`."""

    @property
    def has_sparks_zone(self) -> bool:
        """Whether Spark's time zone is one that sqlfront doesn't know, so that Spark must format
        timestamps."""

    def register(self, name: str, frame: "ArrowSource") -> None:
        """Make the frame a temporary view ``name``, which replaces a view with the same name."""

    def unregister(self, name: str) -> None:
        """Drop a temporary view of this session or of Spark; no error if no view has the name."""

    def query_of(self, result: Result) -> "DataFrame | None":
        """Return the Spark DataFrame of the query that gave ``result``, if Spark runs the query; else
        None."""

    def schema_of(self, result: Result) -> "StructType":
        """Return the result's schema as a StructType."""

    def spark_frame(self, result: Result) -> "HeldFrame":
        """Return a Spark DataFrame with the rows of a result, in an object that can close the DataFrame."""


class Frame(ClosingContext):
    """The rows of a statement, as ``sql`` of a session with Spark returns them.

    The methods here need no Spark and read the rows of the result; every other public method of Spark's
    DataFrame (``filter``, ``groupBy``, ``write``, ...) belongs to a real DataFrame of the same rows, which is
    made at its first use. Spark can read the rows until the frame or the session is closed.
    """

    def __init__(self, result: Result, session: "FrameSession") -> None:
        self._result = result.as_local()
        self._result.translate = of_both
        self._attached = session
        self._held: HeldFrame | None = None

    def to_spark(self) -> "DataFrame":
        """Return a Spark DataFrame with the rows; later calls return the same DataFrame.

        If no row was read from this frame before, Spark may get the rows more directly: a query that Spark
        runs becomes the DataFrame of ``spark.sql`` (not over Spark Connect), and Spark's tasks read large
        results without ORDER BY from members in separate processes.
        """
        if self._held is None:
            self._held = self._attached.spark_frame(self._result)
        return self._held.data

    def source(self) -> "Frame | DataFrame":
        """Return the object from which another statement should read this frame's rows: the Spark DataFrame
        of the query, if Spark runs the query and no row has been read; else this frame."""
        is_query = not self._result.is_read and self._attached.query_of(self._result) is not None
        return self.to_spark() if is_query else self

    def close(self) -> None:
        """Cancel the statement if it runs. Afterwards only rows that were read from this frame before can be
        read again; Spark's DataFrames of its rows fail. Closing twice is no error."""
        self._result.close()
        if self._held is not None:
            self._held.close()

    def __getattr__(self, name: str) -> Any:
        # Notebooks probe for display methods; Spark isn't started for a probe.
        if name.startswith("_") and name not in _SPARKS_OWN and name not in self.columns:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return getattr(self.to_spark(), name)

    @overload
    def __getitem__(self, item: int | str) -> "Column": ...

    @overload
    def __getitem__(self, item: "Column | list[Column | str] | tuple[Column | str, ...]") -> "DataFrame": ...

    def __getitem__(self, item: object) -> object:
        """Return what the same index of Spark's DataFrame returns: a Column for a name or a position, a
        DataFrame for a list of columns or a condition."""
        return self.to_spark()[cast("str", item)]

    # ---- what it is

    @property
    def schema(self) -> "StructType":
        """The columns as a schema of Spark (``StructType``)."""
        return self._attached.schema_of(self._result)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._result.columns

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """The name of each column, with the name of its type as Spark writes types."""
        return self._result.dtypes

    @property
    def stats(self) -> Statistics:
        """Lane, reason and time of the statement."""
        return self._result.stats

    @property
    def affected(self) -> int | None:
        """The number of rows that the statement wrote; None for a statement that writes none."""
        return self._result.affected

    @property
    def progress(self) -> "Progress | None":
        """Spark's progress with the statement; None if Spark doesn't run the statement."""
        return self._result.progress

    def printSchema(self, level: int | None = None) -> None:
        """Print the schema as a tree, as Spark does. ``level``: the number of nested levels to print, None =
        all."""
        tree = self.schema.treeString() if level is None else self.schema.treeString(level)
        print(tree)  # noqa: T201 - it is what the method is for

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Print the lane, the reason for the lane, and the plan of the statement's run. ``extended`` true,
        or any ``mode``: print the logical plans, too."""
        self._result.explain(extended, mode)

    def __repr__(self) -> str:
        return f"DataFrame[{', '.join(f'{name}: {kind}' for name, kind in self.dtypes)}]"

    def _repr_html_(self) -> str:
        return self._result._repr_html_()

    # ---- rows

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first ``n`` rows as Spark does. ``truncate``: True cuts values to 20 characters, a number
        to that many characters, False or 0 cuts nothing. ``vertical``: one line per value instead of one line
        per row."""
        print(self.show_string(n, truncate, vertical))  # noqa: T201 - it is what the method is for

    def show_string(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> str:
        """Return the text that :meth:`show` prints."""
        if self._attached.has_sparks_zone:
            return cast("ClassicDataFrame", self.to_spark())._show_string(n, truncate, vertical)
        return self._result.show_string(n, truncate, vertical)

    def collect(self) -> list[Row]:
        """Return all rows."""
        return self._result.collect()

    def take(self, num: int) -> list[Row]:
        """Return the first ``num`` rows, or all if there are fewer."""
        return self._result.take(num)

    def head(self, n: int | None = None) -> Row | list[Row] | None:
        """Return a list of the first ``n`` rows; without ``n``, the first row, or None if there is no row."""
        return self._result.head(n)

    def first(self) -> Row | None:
        """Return the first row; None if there is no row."""
        return self._result.first()

    def tail(self, num: int) -> list[Row]:
        """Return the last ``num`` rows, for which all rows are read."""
        return self._result.tail(num)

    def limit(self, num: int) -> "Frame":
        """Read the first ``num`` rows, and return them as a frame."""
        return Frame(self._result.limit(num), self._attached)

    def createOrReplaceTempView(self, name: str) -> None:
        """Make the rows a temporary view, in place of a view of this session or of Spark with the same name.
        If Spark runs the query and no row was read from this frame, the view is Spark's (not over Spark
        Connect); else it is this session's."""
        source = self.source()
        if source is self:
            self._result.wait()  # the statement may read the relation that has the name now
        self._attached.unregister(name)
        self._attached.register(name, source)

    def count(self) -> int:
        """Return the number of rows."""
        return self._result.count()

    def isEmpty(self) -> bool:
        """Return whether the result has no rows."""
        return self._result.isEmpty()

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Row]:  # noqa: N803 - Spark's
        """Yield the rows one by one, as batches arrive. ``prefetchPartitions`` has no effect."""
        return self._result.toLocalIterator(prefetchPartitions)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows as batches in logical types. Each batch is yielded once: the rows can't be read
        again."""
        return self._result.batches()

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows one by one, as batches arrive. Each row is yielded once: the rows can't be read
        again."""
        return iter(self._result)

    def toArrow(self) -> pa.Table:
        """Return all rows as an Arrow table."""
        return self._result.toArrow()

    def toPandas(self) -> "pandas.DataFrame":
        """Return all rows as a pandas DataFrame, as PySpark converts them: times in nanoseconds, a TIMESTAMP
        as a time without a zone in the session's time zone, a map as a dict."""
        return self.to_spark().toPandas() if self._attached.has_sparks_zone else self._result.toPandas()

    def toPolars(self) -> "polars.DataFrame":
        """Return all rows as a polars DataFrame."""
        return self._result.toPolars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._result.__arrow_c_stream__(requested_schema)
