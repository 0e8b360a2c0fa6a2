"""Tables of which only the outline is known: columns, key and indexes."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sqlfront_connectors.base import ColumnStatistics, Partitioning, RowValues, TableStatistics
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.table import MemorySnapshot, MemoryTable
from sqlfront_planner.statistics.cardinality import UNKNOWN_ROWS

#: The assumed number of rows of an outline table.
_ROWS: Final = int(UNKNOWN_ROWS)


class OutlineSnapshot(MemorySnapshot):
    """A version of an :class:`OutlineTable`: its unknown rows can be looked up by key nevertheless."""

    def __init__(
        self,
        name: str,
        schema: pa.Schema,
        partitioning: Partitioning | None,
        indexes: tuple[IndexDefinition, ...],
    ) -> None:
        super().__init__(name, schema, partitioning, (), f"outline:{name}", 0, indexes)

    @property
    def statistics(self) -> TableStatistics:
        """Statistics as if each row had a key of its own."""
        alone = {
            self.schema.names[by[0]]: ColumnStatistics(distinct=_ROWS) for by in self.keys if len(by) == 1
        }
        return TableStatistics(rows=_ROWS, columns=alone)

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """None: the table may have many rows."""
        return None


class OutlineTable(MemoryTable):
    """A stand-in for a memory table; no statement writes to it."""

    def snapshot(self) -> OutlineSnapshot:
        """The only version."""
        return OutlineSnapshot(self.name, self.schema, self.partitioning, super().snapshot().indexes)
