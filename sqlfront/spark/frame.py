"""A result with the methods of Spark's DataFrame."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast, overload

import pyarrow as pa

from sqlfront.result import Result, Statistics
from sqlfront.row import Row
from sqlfront.spark.pandas_frames import to_pandas
from sqlfront_engine.closing import Closing

if TYPE_CHECKING:
    import pandas
    import polars
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame
    from pyspark.sql.types import StructType

    from sqlfront.spark.attached import AttachedSession
    from sqlfront_connectors.spark.rows import HeldFrame
    from sqlfront_engine.jobs.query_run import Progress


class Frame(Closing):
    """What ``sql`` of a session with Spark gives: the rows of a statement.

    The methods here need no Spark and read the rows that there are; every other public method of Spark's
    DataFrame (``filter``, ``groupBy``, ``write``, ...) is that of a real one of the same rows, which is made
    when it is first asked for. What holds the rows for Spark is there until the frame or the session is
    closed.
    """

    def __init__(self, result: Result, session: "AttachedSession") -> None:
        self._result = result.as_local()
        self._session = session
        self._held: HeldFrame | None = None

    def to_spark(self) -> "DataFrame":
        """The rows as a Spark DataFrame.

        Unless rows were read here before, a query that Spark runs is that query, as ``spark.sql`` gives it
        (not over Spark Connect), and many rows that members in processes of their own have or compute are
        read there by Spark's tasks (not those that have an order).
        """
        if self._held is None:
            self._held = self._session.spark_frame(self._result)
        return self._held.data

    def source(self) -> "Frame | DataFrame":
        """What another statement is to read in place of these rows: the query, if it is one that Spark runs
        and of which nobody has read rows; else this."""
        is_query = not self._result.is_read and self._session.query_of(self._result) is not None
        return self.to_spark() if is_query else self

    def close(self) -> None:
        """Cancel what is still running; neither these rows nor Spark's DataFrames of them can be read any
        more, but for those that were read here before. Closing twice is no error."""
        self._result.close()
        if self._held is not None:
            self._held.close()

    def __getattr__(self, name: str) -> Any:
        # Notebooks ask for ways to show what they have; Spark isn't started for that.
        if name.startswith("_") and name != "_jdf" and name not in self.columns:
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        return getattr(self.to_spark(), name)

    @overload
    def __getitem__(self, item: int | str) -> "Column": ...

    @overload
    def __getitem__(self, item: "Column | list[Column | str] | tuple[Column | str, ...]") -> "DataFrame": ...

    def __getitem__(self, item: object) -> object:
        """A column, or the rows with some columns, or of a condition, as a DataFrame of Spark's has them."""
        return self.to_spark()[cast("str", item)]

    # ---- what it is

    @property
    def schema(self) -> "StructType":
        """Spark's schema."""
        return self._session.schema_of(self._result)

    @property
    def columns(self) -> list[str]:
        """Column names."""
        return self._result.columns

    @property
    def dtypes(self) -> list[tuple[str, str]]:
        """Column names with Spark's type names."""
        return self._result.dtypes

    @property
    def stats(self) -> Statistics:
        """Lane, reason and time."""
        return self._result.stats

    @property
    def progress(self) -> "Progress | None":
        """How far Spark is with the statement; None if it isn't Spark's."""
        return self._result.progress

    def printSchema(self, level: int | None = None) -> None:
        """Print the schema as a tree."""
        tree = self.schema.treeString() if level is None else self.schema.treeString(level)
        print(tree)  # noqa: T201 - it is what the method is for

    def explain(self, extended: bool | str | None = None, mode: str | None = None) -> None:
        """Print how the statement was run: lane and reason, then the plan."""
        self._result.explain(extended=bool(extended) or mode is not None)

    def __repr__(self) -> str:
        return f"DataFrame[{', '.join(f'{name}: {kind}' for name, kind in self.dtypes)}]"

    def _repr_html_(self) -> str:
        return self._result._repr_html_()

    # ---- rows

    def show(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> None:
        """Print the first ``n`` rows as Spark does."""
        print(self.show_string(n, truncate, vertical))  # noqa: T201 - it is what the method is for

    def show_string(self, n: int = 20, truncate: bool | int = True, vertical: bool = False) -> str:
        """What :meth:`show` prints."""
        if self._session.has_sparks_zone:
            return cast("ClassicDataFrame", self.to_spark())._show_string(n, truncate, vertical)
        return self._result.show_string(n, truncate, vertical)

    def collect(self) -> list[Row]:
        """All rows."""
        return self._result.collect()

    def take(self, num: int) -> list[Row]:
        """The first ``num`` rows."""
        return self._result.take(num)

    def head(self, n: int | None = None) -> Row | list[Row] | None:
        """The first row or None; with ``n`` a list of the first ``n`` rows."""
        return self._result.first() if n is None else self._result.take(n)

    def first(self) -> Row | None:
        """The first row, or None."""
        return self._result.first()

    def tail(self, num: int) -> list[Row]:
        """The last ``num`` rows."""
        return self._result.collect()[-num:] if num > 0 else []

    def limit(self, num: int) -> "Frame":
        """The first ``num`` rows."""
        return Frame(self._result.limit(num), self._session)

    def createOrReplaceTempView(self, name: str) -> None:
        """Make the rows a temporary view of this session's, in place of one of the same name, Spark's
        included. A query that Spark runs becomes a view of Spark's, unless rows of it were read here before
        (or over Spark Connect)."""
        source = self.source()
        if source is self:
            self._result.wait()  # it may read what has that name now
        self._session.unregister(name)
        self._session.register(name, source)

    def count(self) -> int:
        """The number of rows."""
        return self._result.count()

    def isEmpty(self) -> bool:
        """Whether there are no rows."""
        return self._result.first() is None

    def toLocalIterator(self, prefetchPartitions: bool = False) -> Iterator[Row]:  # noqa: N803 - Spark's
        """The rows one by one, as they come."""
        return self._result.toLocalIterator()

    def toArrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self._result.toArrow()

    def toPandas(self) -> "pandas.DataFrame":
        """All rows as a pandas DataFrame, as Spark makes them of Arrow: times in nanoseconds, a TIMESTAMP
        without a zone in the session's, a map as a dict."""
        if self._session.has_sparks_zone:
            return self.to_spark().toPandas()
        return to_pandas(self._result.toArrow(), self._result.settings.time_zone)

    def toPolars(self) -> "polars.DataFrame":
        """All rows as a polars DataFrame."""
        return self._result.toPolars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._result.__arrow_c_stream__(requested_schema)
