"""Transfer of rows from Spark and to Spark, through the driver's memory or as files
(:mod:`~.parquet_exchange`)."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from sqlfront_connectors.spark import parquet_exchange
from sqlfront_connectors.spark.run import Arrive
from sqlfront_connectors.spark.sessions.watch import unwatched
from sqlfront_connectors.spark.types import (
    carrier,
    in_months,
    numbered,
    physical_batch,
    sent_type,
    spark_schema,
    spark_type,
    to_send,
)
from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.forks import when_forgotten
from sqlfront_values.arrow.exchange import exported_schema
from sqlfront_values.errors import OperationalError

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Bytes: answers that Spark estimates to be larger come as files, because Spark limits the results that pass
#: through its driver.
LARGE: Final = 256 << 20
#: The setting by which Spark ends a job that brings too many bytes into the driver's memory; the error names
#: it.
MAX_RESULT_SIZE: Final = "spark.driver.maxResultSize"
_REBASE_MODES: Final = (
    "spark.sql.parquet.int96RebaseModeInWrite",
    "spark.sql.parquet.datetimeRebaseModeInWrite",
)


class SparkLocation(Protocol):
    """The operations of a Spark session that the transfer of rows needs."""

    @property
    def shares_files(self) -> bool:
        """True if the executors can read and write the files of this machine."""

    def size(self, frame: "DataFrame") -> int | None:
        """Return the size of the DataFrame's rows in bytes, as Spark's optimizer estimates it; None without
        an estimate."""

    def batches(self, frame: "DataFrame") -> Iterator[pa.RecordBatch]:
        """Run the frame's query, and yield its batches in the order of Spark's partitions, each as soon as
        all batches of earlier partitions have come. The columns have the Arrow types that Spark itself gives
        them."""


class SparkRows:
    """The transfer of rows from and to the DataFrames of a Spark session."""

    def __init__(self, spark: "SparkSession", place: SparkLocation, directory: str | None) -> None:
        """``place``: the operations of the session. ``directory``: a directory that this process and Spark's
        executors both can read and write; None = the system's directory for temporary files if executors see
        it, else no files are used."""
        self.exchange = parquet_exchange.ParquetExchange(directory)
        self.large = LARGE
        self._spark = spark
        self._place = place
        self._shared = directory is not None or place.shares_files

    def collect(self, frame: "DataFrame", schema: pa.Schema, arrive: Arrive) -> Iterator[pa.RecordBatch]:
        """Run the frame's query at once, and pass its rows to ``arrive`` or return them; ``schema`` is the
        frame's logical schema.

        ``arrive`` is called with the rows in physical form and in the order of Spark's partitions, each batch
        as soon as all rows before it have come; then the returned iterator is empty. But if Spark estimates a
        large answer, all rows come as files, and the returned iterator yields them. If an answer turns out to
        exceed the limit of the driver's memory, the query runs again, and the returned iterator yields, from
        files, the rows that ``arrive`` has not received.
        """
        carriers = [carrier(kind) for kind in schema.types]
        if carriers != schema.types:
            frame = as_carriers(frame, schema)
        fits = self._shared and parquet_exchange.fits(schema) and self._writes_dates_as_they_are()
        size = self._place.size(frame) if fits else None
        if size is not None and size > self.large:
            return self._as_files(frame, schema)
        arrived: list[pa.RecordBatch] = []
        try:
            for batch in self._place.batches(frame):
                arrived.append(physical_batch(batch, schema))
                arrive(arrived[-1])
        except Exception as error:
            if not fits or MAX_RESULT_SIZE not in str(error):
                raise
            return behind(arrived, self._as_files(frame, schema))
        return iter(())

    def collect_files(
        self, frame: "DataFrame", schema: pa.Schema, arrive: Arrive
    ) -> Iterator[pa.RecordBatch]:
        """Do as :meth:`collect`, but let the rows come as files whatever their size, if Spark's executors can
        write the files: the rows need no memory then until they are read."""
        if not self._shared or not parquet_exchange.fits(schema) or not self._writes_dates_as_they_are():
            return self.collect(frame, schema, arrive)
        carriers = [carrier(kind) for kind in schema.types]
        return self._as_files(frame if carriers == schema.types else as_carriers(frame, schema), schema)

    def _writes_dates_as_they_are(self) -> bool:
        """Return whether the session's settings let Spark write dates and timestamps to Parquet unchanged, in
        the proleptic Gregorian calendar, instead of the older Julian one."""
        return all(self._spark.conf.get(key) == "CORRECTED" for key in _REBASE_MODES)

    def _as_files(self, frame: "DataFrame", schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        path = self.exchange.place()
        rows = parquet_exchange.WrittenRows(path, schema)
        with unwatched():
            frame.toDF(*_numbers(schema)).write.parquet(f"file:{path}", compression="snappy")
        return rows

    def frame(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> "HeldFrame":
        """Return the batches as a DataFrame of the logical ``schema``; the batches' columns are in physical
        form. The rows travel as a Parquet file if Spark's executors see the file and Parquet can hold the
        schema, otherwise through the driver's memory."""
        if not self._shared or not parquet_exchange.fits(schema):
            return HeldFrame(self._sent(schema, batches), lambda: None)
        path = self.exchange.place()
        parquet_exchange.write(path, schema, batches)
        return HeldFrame(self._read(path, schema), partial(_remove, path))

    def _read(self, path: str, schema: pa.Schema) -> "DataFrame":
        """Return the rows of the Parquet file at ``path``, written by :func:`~.parquet_exchange.write`, as a
        DataFrame with the names and types of ``schema``."""
        form = pa.schema([(f"c{i}", numbered(kind)) for i, kind in enumerate(schema.types)])
        reader = self._spark.read.schema(spark_schema(form)).option("datetimeRebaseMode", "CORRECTED")
        frame = reader.parquet(f"file:{path}")
        columns = [
            frame[name] if there == kind else frame[name].cast(spark_type(kind))
            for name, there, kind in zip(form.names, form.types, schema.types, strict=True)
        ]
        return frame.select(columns).toDF(*schema.names)

    def _sent(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> "DataFrame":
        """Return the batches, in physical form, as a DataFrame of the logical ``schema``, by way of the
        driver's memory: the executors need not see this machine's files."""
        form = pa.schema([(f"c{i}", sent_type(kind)) for i, kind in enumerate(schema.types)])
        rows = [to_send(batch, form) for batch in batches]
        table = pa.Table.from_batches(rows, exported_schema(form))
        return from_sent(self._spark.createDataFrame(table, spark_schema(form)), schema)


def behind(first: Sequence[pa.RecordBatch], rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query that come after its rows ``first``, which were received before the query had
    to run again. ``rows``: the output of the second run, from its beginning. Raises OperationalError if the
    second run begins with other rows than ``first``, as is possible where Spark doesn't define the order, and
    where a value is NaN."""
    again = pa.RecordBatch.from_arrays([], [])
    for batch in first:
        done = 0
        while done < batch.num_rows:
            again = again if again.num_rows else next(rows, again)
            count = min(batch.num_rows - done, again.num_rows)
            if not count or not batch.slice(done, count).equals(again.slice(0, count)):
                raise OperationalError(
                    f"the result is larger than {MAX_RESULT_SIZE}, and Spark's second run gave other rows "
                    f"or another order: order the rows, or raise {MAX_RESULT_SIZE}"
                )
            done, again = done + count, again.slice(count)
    if again.num_rows:
        yield again
    yield from rows


class HeldFrame(ClosingContext):
    """A DataFrame, ``data``, made from rows of sqlfront; Spark can read the rows until :meth:`close` is
    called or the :class:`~sqlfront_connectors.spark.link.SparkLink` is closed. ``free``: a function that
    deletes the rows; calling it twice is no error."""

    def __init__(self, data: "DataFrame", free: Callable[[], None]) -> None:
        self.data = data
        self._free = free

    def close(self) -> None:
        """Delete the rows; from now on Spark can't read :attr:`data`."""
        self._free()

    def close_with_data(self, call: Callable[[Callable[[], None]], None]) -> None:
        """Close the frame once :attr:`data` is no longer referenced, even if DataFrames derived from
        :attr:`data` still are. ``call``: receives the function that deletes the rows, and has to call it
        later, outside of the finalizer."""
        when_forgotten(self.data, call, self._free).atexit = False


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)


def _numbers(schema: pa.Schema) -> list[str]:
    return [f"c{ordinal}" for ordinal in range(len(schema))]


def as_carriers(frame: "DataFrame", schema: pa.Schema) -> "DataFrame":
    """Return the frame with columns named ``c0``, ``c1`` and so on, each cast to the type in which Spark
    sends its values (:func:`~sqlfront_connectors.spark.types.carrier`). ``schema``: the frame's logical
    schema."""
    names = _numbers(schema)
    frame = frame.toDF(*names)
    columns = [_to_carrier(frame[name], kind) for name, kind in zip(names, schema.types, strict=True)]
    return frame.select(columns)


def _to_carrier(column: "Column", kind: pa.DataType) -> "Column":
    form, months = carrier(kind), in_months(kind)
    if form == kind:
        return column
    return (column if months == kind else column.cast(spark_type(months))).cast(spark_type(form))


def from_sent(frame: "DataFrame", schema: pa.Schema) -> "DataFrame":
    """Return the frame with the names and types of the logical ``schema``; the given frame's columns have the
    types in which sqlfront sends values to Spark (:func:`~sqlfront_connectors.spark.types.sent_type`)."""
    names = _numbers(schema)
    frame = frame.toDF(*names)
    columns = [_from_sent(frame[name], kind) for name, kind in zip(names, schema.types, strict=True)]
    return frame.select(columns).toDF(*schema.names)


def _from_sent(column: "Column", kind: pa.DataType) -> "Column":
    if sent_type(kind) == kind:
        return column
    months = in_months(kind)
    return (column if months == kind else column.cast(spark_type(months))).cast(spark_type(kind))
