"""Arrow data as named tables: ``pa.Table``, record batches, readers, pyarrow datasets, polars LazyFrames, and
any object with ``__arrow_c_stream__`` or ``__arrow_c_array__`` (pandas, polars, DuckDB relations). A column
is used without a copy if its Arrow type is one that the engine computes with; otherwise it is converted once,
when the table is made."""

import itertools
from collections.abc import Iterable
from typing import Final, Protocol, TypeAlias, TypeGuard, runtime_checkable

import pyarrow as pa

from sqlfront_connectors.base import ColumnStatistics, Partitioning, ScanPlan, ScanRequest, TableStatistics
from sqlfront_connectors.forms import logical_schema, to_physical
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.segments.statistics import LazyStatistics, column_statistics
from sqlfront_values.errors import DataError, Error, ProgrammingError
from sqlfront_values.expressions import Expr

_identities: Final = itertools.count(1)


@runtime_checkable
class ArrowStream(Protocol):
    """An object that exports the Arrow C stream (the PyCapsule protocol)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return a capsule that holds an ``ArrowArrayStream``."""


@runtime_checkable
class ArrowArray(Protocol):
    """An object that exports one Arrow C array; an array of structs is a batch of rows."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Return the capsules that hold an ``ArrowSchema`` and an ``ArrowArray``."""


@runtime_checkable
class ArrowScanner(Protocol):
    """A pyarrow Dataset or Scanner."""

    def to_table(self) -> pa.Table:
        """Return all rows."""

    def count_rows(self) -> int:
        """Return the number of rows."""


class LazyFrame(Protocol):
    """A polars LazyFrame."""

    def collect(self) -> ArrowStream:
        """Compute the rows now."""


#: The objects that :class:`ArrowTable` accepts.
ArrowSource: TypeAlias = ArrowStream | ArrowArray | ArrowScanner | LazyFrame


def is_arrow_source(value: object) -> TypeGuard[ArrowSource]:
    """Return whether :class:`ArrowTable` accepts the value."""
    return isinstance(value, ArrowStream | ArrowArray | ArrowScanner) or _is_lazy_frame(value)


def _is_lazy_frame(value: object) -> TypeGuard[LazyFrame]:
    # Compare names: a query without polars must not import polars, and many classes have a method
    # ``collect``.
    kind = type(value)
    return kind.__name__ == "LazyFrame" and kind.__module__.partition(".")[0] == "polars"


def _read(source: ArrowSource) -> pa.Table:
    """Return all rows of a source as one Arrow table. May raise any exception, because the source's code is
    foreign to sqlfront."""
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, ArrowStream):
        return pa.RecordBatchReader.from_stream(source).read_all()
    if isinstance(source, ArrowArray):
        return pa.Table.from_batches([pa.record_batch(source)])
    if isinstance(source, ArrowScanner):
        return source.to_table()
    return _read(source.collect())


class ArrowSnapshot:
    """The only version of an :class:`ArrowTable`."""

    #: Always 0.
    version = 0

    def __init__(self, name: str, schema: pa.Schema, batches: tuple[pa.RecordBatch, ...]) -> None:
        self._name = name
        self._resource = f"arrow:{next(_identities)}"
        self._schema = schema
        self._batches = batches
        #: The exact counts and bounds; estimated distinct counts.
        self.statistics = TableStatistics(
            rows=sum(batch.num_rows for batch in batches),
            size=sum(batch.nbytes for batch in batches),
            columns=LazyStatistics(schema, self._look),
        )

    def _look(self, ordinal: int) -> ColumnStatistics:
        return column_statistics([batch.column(ordinal) for batch in self._batches])

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter: all filters are left to the plan."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return a source that emits the rows of the table: the columns of ``request``, and at most its limit
        of rows. All other fields of ``request`` have no effect."""
        share = TableShare(self._schema, segments=tuple(map(Segment, self._batches)))
        source = MemoryScan(self._resource, self._name, request.columns, limit=request.limit)
        return ScanPlan(source, {self._resource: share})


class ArrowTable:
    """A read-only table over Arrow data."""

    format = "arrow"
    #: No partitioning.
    partitioning: Partitioning | None = None

    def __init__(self, name: str, data: ArrowSource) -> None:
        """Make a table ``name`` of the rows of ``data``. A reader, a dataset or a LazyFrame is read to its
        end, once, here.

        Raises ProgrammingError for objects of other types, DataError for rows that cannot be read and for
        values that Arrow's format doesn't allow, NotSupportedError for types that Spark does not have.
        """
        if not is_arrow_source(data):
            raise ProgrammingError(
                f"{name}: a {type(data).__name__} is not Arrow data; expected a pyarrow Table, RecordBatch, "
                "reader or Dataset, or an object with __arrow_c_stream__ (pandas, polars, DuckDB)"
            )
        try:
            source = _read(data)
        except Error:
            raise
        except Exception as error:
            # The object's own code has failed, for any reason; the first line of the message names the
            # reason.
            reason = str(error).partition("\n")[0]
            raise DataError(f"{name}: reading the {type(data).__name__} failed: {reason}") from error
        self.name = name
        #: The logical column names and types.
        self.schema = logical_schema(source.schema)
        batches = tuple(_convert(batch, self.schema, name) for batch in source.to_batches() if batch.num_rows)
        self._snapshot = ArrowSnapshot(name, self.schema, batches)

    @classmethod
    def of(cls, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> "ArrowTable":
        """Return a table over ``batches``, whose columns are in physical form and in the order of ``schema``,
        the logical schema. The rows are neither converted nor checked."""
        table = cls.__new__(cls)
        table.name, table.schema = name, schema
        table._snapshot = ArrowSnapshot(name, schema, tuple(batches))
        return table

    def snapshot(self) -> ArrowSnapshot:
        """Return the only version: the data with which the table was made."""
        return self._snapshot

    def drop(self) -> None:
        """Do nothing: the data belongs to the caller."""


def _convert(batch: pa.RecordBatch, schema: pa.Schema, table: str) -> pa.RecordBatch:
    for field, column in zip(schema, batch.columns, strict=True):
        _check(column, f"{table}.{field.name}")
    columns = [to_physical(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    types = [field.with_type(column.type) for field, column in zip(schema, columns, strict=True)]
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(types))


def _check(column: pa.Array, name: str) -> None:
    """Raise DataError if a string of the column is not UTF-8, or an offset lies beyond the buffers: kernels
    rely on both, and would give wrong answers or read foreign memory. ``name``: the column's name for the
    error. Takes 0.2 s per GB of text."""
    try:
        column.validate(full=True)
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{name} holds values that are not valid Arrow data: {reason}", sqlstate="22021"
        ) from error
