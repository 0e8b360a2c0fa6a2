"""Arrow data as named tables: ``pa.Table``, record batches, readers, and anything with ``__arrow_c_stream__``
(pandas, polars, DuckDB relations). The data is taken over by reference where its types are the engine's, and
converted once otherwise."""

import itertools
from collections.abc import Iterable
from typing import Final, Protocol, runtime_checkable

import pyarrow as pa

from sqlfront_connectors.base import ColumnStatistics, Partitioning, ScanPlan, ScanRequest, TableStatistics
from sqlfront_connectors.forms import logical_schema, to_physical
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.segment import Segment
from sqlfront_connectors.memory.statistics import LazyStatistics, column_statistics
from sqlfront_engine.errors import ProgrammingError
from sqlfront_engine.expressions import Expr

_identities: Final = itertools.count(1)


@runtime_checkable
class ArrowStream(Protocol):
    """Anything that exports the Arrow C stream (the PyCapsule protocol)."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A capsule that holds an ``ArrowArrayStream``."""


class ArrowSnapshot:
    """The only version of an :class:`ArrowTable`."""

    def __init__(self, name: str, schema: pa.Schema, batches: tuple[pa.RecordBatch, ...]) -> None:
        self._name = name
        self._resource = f"arrow:{next(_identities)}"
        self._batches = batches
        self._statistics = TableStatistics(
            rows=sum(batch.num_rows for batch in batches),
            size=sum(batch.nbytes for batch in batches),
            columns=LazyStatistics(schema, self._look),
        )

    @property
    def version(self) -> int:
        """Always 0."""
        return 0

    @property
    def statistics(self) -> TableStatistics:
        """Exact counts and bounds; estimated distinct counts."""
        return self._statistics

    def _look(self, ordinal: int) -> ColumnStatistics:
        return column_statistics([batch.column(ordinal) for batch in self._batches])

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """None: every filter is left to the plan."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Slices of the batches."""
        segments = tuple(Segment(batch) for batch in self._batches)
        source = MemoryScan(self._resource, self._name, request.columns, limit=request.limit)
        return ScanPlan(source, {self._resource: segments})


class ArrowTable:
    """A read-only table over Arrow data."""

    def __init__(self, name: str, data: ArrowStream) -> None:
        """``data``: see the module. A reader is read to its end, once."""
        if not isinstance(data, ArrowStream):
            raise ProgrammingError(
                f"{name}: a {type(data).__name__} is no Arrow data; expected a pyarrow Table, RecordBatch or "
                "reader, or an object with __arrow_c_stream__ (pandas, polars, DuckDB)"
            )
        source = data if isinstance(data, pa.Table) else pa.RecordBatchReader.from_stream(data).read_all()
        self.name = name
        self._schema = logical_schema(source.schema)
        batches = tuple(_convert(batch, self._schema) for batch in source.to_batches() if batch.num_rows)
        self._snapshot = ArrowSnapshot(name, self._schema, batches)

    @classmethod
    def of(cls, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> "ArrowTable":
        """A table over rows in physical form, whose columns are in the order of the logical schema."""
        table = cls.__new__(cls)
        table.name, table._schema = name, schema
        table._snapshot = ArrowSnapshot(name, schema, tuple(batches))
        return table

    @property
    def schema(self) -> pa.Schema:
        """Logical column names and types."""
        return self._schema

    @property
    def format(self) -> str:
        """``arrow``."""
        return "arrow"

    @property
    def partitioning(self) -> Partitioning | None:
        """None."""
        return None

    def snapshot(self) -> ArrowSnapshot:
        """The data as it was registered."""
        return self._snapshot

    def drop(self) -> None:
        """Nothing: the data belongs to whoever registered it."""


def _convert(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [to_physical(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    types = [field.with_type(column.type) for field, column in zip(schema, columns, strict=True)]
    if not columns:
        return batch.select([])
    return pa.RecordBatch.from_arrays(columns, schema=pa.schema(types))
