"""Tables without rows, which stand for tables of a checked program: only columns, key and indexes are
known."""

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
    """The version of an :class:`OutlineTable`. It offers lookups by key, as a memory table does, so that
    statements are planned alike; it has no rows."""

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
        """Assumed statistics: a usual number of rows, each with a different key."""
        alone = {
            self.schema.names[by[0]]: ColumnStatistics(distinct=_ROWS) for by in self.keys if len(by) == 1
        }
        return TableStatistics(rows=_ROWS, columns=alone)

    def small_rows(self, columns: tuple[int, ...], limit: int) -> Sequence[RowValues] | None:
        """Return None, as for a table of many rows: a statement must not rely on the table being small."""
        return None


class OutlineTable(MemoryTable):
    """A stand-in for a memory table in ``sqlfront check``, which plans statements and runs none: it has
    columns and keys, but no rows."""

    def snapshot(self) -> OutlineSnapshot:
        """Return the only version of the table, with its present indexes."""
        return OutlineSnapshot(self.name, self.schema, self.partitioning, super().snapshot().indexes)
