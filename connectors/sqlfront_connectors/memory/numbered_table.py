"""A memory table with an additional last column, the number of each row: the input of DELETE and UPDATE.

:mod:`~sqlfront_connectors.memory.segments.numbering` defines the numbers.
"""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import (
    Partitioning,
    RowPath,
    RowValues,
    ScanPlan,
    ScanRequest,
    TableStatistics,
)
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_connectors.memory.scan import MemoryScan
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_engine.processors.sources.values import Values
from sqlfront_values.expressions import Expr
from sqlfront_values.types import BIGINT

#: The columns behind a table's columns; HOME only where rows have a home.
HOME: Final = pa.field("home of the row", BIGINT)
NUMBER: Final = pa.field("number of the row", BIGINT)


class NumberedTable:
    """A view of a memory table whose last column is the number of each row, by which UPDATE and DELETE name
    the rows to change. If the table is spread over members and has no partition key, the column :data:`HOME`
    precedes the number: an integer that tells a job on which member the row is."""

    def __init__(self, table: KeyedTable) -> None:
        self._table = table
        has_home = table.partitioning is None and table.is_spread
        #: The table's columns, :data:`HOME` if needed to find the row, and :data:`NUMBER`.
        self.schema = pa.schema([*table.schema, *((HOME, NUMBER) if has_home else (NUMBER,))])

    @property
    def format(self) -> str:
        """The name of the format of memory tables, ``memory``."""
        return self._table.format

    @property
    def partitioning(self) -> Partitioning | None:
        """The partitioning of the memory table; None if it has none."""
        return self._table.partitioning

    def snapshot(self) -> "NumberedSnapshot":
        """Return the version of the memory table that was published last. A caller in a block of
        :meth:`KeyedTable.turn` gets the version that its UPDATE or DELETE changes."""
        return NumberedSnapshot(self._table, self.schema)

    def drop(self) -> None:
        """Do nothing: the rows belong to the memory table."""


class NumberedSnapshot:
    """A version of a memory table whose scans can also emit the number of each row. ``schema``: the schema of
    the :class:`NumberedTable`."""

    def __init__(self, table: KeyedTable, schema: pa.Schema) -> None:
        self._snapshot = table.snapshot()
        self._is_spread = table.is_spread
        self._width = len(table.schema)
        self._has_homes = HOME in schema
        self.schema = schema

    @property
    def version(self) -> int:
        """The number of the memory table's version."""
        return self._snapshot.version

    @property
    def statistics(self) -> TableStatistics:
        """The statistics of the memory table's version; the additional columns have none."""
        return self._snapshot.statistics

    @property
    def keys(self) -> tuple[tuple[int, ...], ...]:
        """The sequences of columns by which rows of the version can be looked up."""
        return self._snapshot.keys

    def row_path(
        self, by: tuple[int, ...], columns: tuple[int, ...], query: QueryRun | None = None
    ) -> RowPath | None:
        """Return a lookup of rows by the values of the columns ``by``, which returns the values of
        ``columns`` (both ordinals of the :class:`NumberedTable`). None if there is no quick lookup by these
        columns, or if the schema has the column :data:`HOME`, whose value a lookup doesn't return. ``query``:
        the query that reads the rows; when the query ends, the lookup stops waiting for members."""
        return None if self._has_homes else self._snapshot.row_path(by, columns, query)

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return the values of ``columns`` of all rows; None if the table is spread or has more than
        ``limit`` rows. Among ``columns`` may be the column after the table's own, which has each row's
        number."""
        return None if self._is_spread else self._snapshot.small_rows(columns, limit)

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the conjuncts that a scan of the memory table's version applies completely."""
        return self._snapshot.exact_filters(filters)

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return the plan of a scan of the memory table's version. ``request.columns`` may have the ordinals
        of the columns after the table's own: each row's number and, if the table has it, :data:`HOME`."""
        known = tuple(place for place in request.columns if place < self._width)
        planned = self._snapshot.scan(replace(request, columns=known))
        if isinstance(planned.source, MemoryScan):
            return replace(planned, source=replace(planned.source, columns=request.columns, numbered=True))
        # The version has no rows.
        assert isinstance(planned.source, Values)
        empty = Values(pa.schema([self.schema.field(place) for place in request.columns]), ())
        return replace(planned, source=empty)
