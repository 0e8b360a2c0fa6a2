"""The table of the table function ``range``."""

import pyarrow as pa

from sqlfront_connectors.base import (
    ColumnStatistics,
    Location,
    Partitioning,
    ScanPlan,
    ScanRequest,
    TableStatistics,
)
from sqlfront_engine.processors.sources.range import Range
from sqlfront_values.expressions import Expr
from sqlfront_values.types import BIGINT

_SCHEMA = pa.schema([("id", BIGINT)])


class RangeTable:
    """A table of the bigints from ``start`` (inclusive) to ``end`` (exclusive) by ``step`` (not 0), in a
    column ``id``. The table has one version, which is the table itself."""

    #: One bigint column, ``id``.
    schema = _SCHEMA
    #: The name of the format, ``range``.
    format = "range"
    #: None: the rows are not partitioned by key.
    partitioning: Partitioning | None = None
    #: The version, always 0.
    version = 0

    def __init__(self, start: int, end: int, step: int) -> None:
        self._numbers = range(start, end, step)

    @property
    def statistics(self) -> TableStatistics:
        """The exact statistics: the number of rows, their bytes, and the bounds of ``id``."""
        numbers = self._numbers
        count = len(numbers)
        ends = (numbers[0], numbers[-1]) if numbers else (None, None)
        column = ColumnStatistics(count, 0, *(sorted(ends) if numbers else ends))  # type: ignore[type-var]
        return TableStatistics(count, 8 * count, {"id": column})

    def snapshot(self) -> "RangeTable":
        """Return the table itself, since it never changes."""
        return self

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return an empty tuple: the scan applies none of the ``filters`` exactly."""
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """Return the plan of a source that generates the numbers, at most as many as the request's limit."""
        numbers = self._numbers
        count = len(numbers) if request.limit is None else min(len(numbers), request.limit)
        source = Range(numbers.start, numbers.step, count, bool(request.columns))
        return ScanPlan(source, location=Location.ANYWHERE)

    def drop(self) -> None:
        """Do nothing: the table has nothing to free."""
