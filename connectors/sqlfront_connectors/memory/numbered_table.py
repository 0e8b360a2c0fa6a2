"""A memory table with the number of each row behind its columns: what DELETE and UPDATE read.

See :mod:`~sqlfront_connectors.memory.numbering`.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import (
    KeyAccess,
    Partitioning,
    RowPath,
    RowValues,
    ScanPlan,
    ScanRequest,
    Snapshot,
    Table,
    TableStatistics,
)
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_connectors.memory.spread import SpreadSnapshot, SpreadTable
from sqlfront_connectors.memory.table import MemorySnapshot
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sources.values import Values
from sqlfront_values.expressions import Expr
from sqlfront_values.types import BIGINT

#: What comes behind a table's columns; the first only where a row has one.
HOME: Final = pa.field("home of the row", BIGINT)
NUMBER: Final = pa.field("number of the row", BIGINT)


class NumberedTable:
    """A memory table with the number of each row behind its columns."""

    def __init__(self, table: Table) -> None:
        self._table = table
        has_home = table.partitioning is None and isinstance(table, SpreadTable)
        self._schema = pa.schema([*table.schema, *((HOME, NUMBER) if has_home else (NUMBER,))])

    @property
    def schema(self) -> pa.Schema:
        """The table's columns, :data:`HOME` if it is needed to find the row, and :data:`NUMBER`."""
        return self._schema

    @property
    def format(self) -> str:
        """``memory``."""
        return self._table.format

    @property
    def partitioning(self) -> Partitioning | None:
        """The table's."""
        return self._table.partitioning

    def snapshot(self) -> "NumberedSnapshot":
        """The version that was published last: that which is to be changed, if it is the asker's turn."""
        return NumberedSnapshot(self._table.snapshot(), self._schema, len(self._table.schema))

    def drop(self) -> None:
        """Nothing: the rows are the table's."""


class NumberedSnapshot:
    """A version of a memory table, spread or not, that can be asked for the rows' numbers."""

    def __init__(self, snapshot: Snapshot, schema: pa.Schema, width: int) -> None:
        self._snapshot = snapshot
        self._width = width
        self._has_homes = HOME in schema
        self.schema = schema

    @property
    def version(self) -> int:
        """The version's."""
        return self._snapshot.version

    @property
    def statistics(self) -> TableStatistics:
        """The version's; none of the numbers."""
        return self._snapshot.statistics

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """Those of the version."""
        return self._snapshot.keys if isinstance(self._snapshot, KeyAccess) else ()

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """The version's, unless rows have homes."""
        if self._has_homes or not isinstance(self._snapshot, MemorySnapshot | SpreadSnapshot):
            return None
        return self._snapshot.row_path(by, columns, query)

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """The version's, if it is one that finds numbers, too."""
        return (
            self._snapshot.small_rows(columns, limit) if isinstance(self._snapshot, MemorySnapshot) else None
        )

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Those that the version's scan applies."""
        return self._snapshot.exact_filters(filters)

    def scan(self, request: ScanRequest) -> ScanPlan:
        """The version's scan, with the rows' numbers."""
        known = tuple(place for place in request.columns if place < self._width)
        planned = self._snapshot.scan(replace(request, columns=known))
        if isinstance(planned.source, MemoryScan):
            return replace(planned, source=replace(planned.source, columns=request.columns, numbered=True))
        # There are no rows.
        assert isinstance(planned.source, Values)
        empty = Values(pa.schema([self.schema.field(place) for place in request.columns]), ())
        return replace(planned, source=empty)
