"""The contract of memory tables, of one process or spread over the members of a cluster."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from sqlfront_connectors.base import PieceWise, RowAccess, Snapshot, WritableTable
from sqlfront_connectors.memory.segments.index import IndexDefinition


class KeyedSnapshot(Snapshot, RowAccess, PieceWise, Protocol):
    """A version of a memory table."""

    @property
    def indexes(self) -> tuple[IndexDefinition, ...]:
        """The table's secondary indexes."""


class KeyedTable(WritableTable, Protocol):
    """A memory table: readers find rows by key, and writers publish whole versions."""

    @property
    def name(self) -> str:
        """The table's name in messages."""

    @property
    def is_spread(self) -> bool:
        """The placement of the rows: True if each member of a cluster has a share of the rows, False if all
        rows are in this process."""

    def snapshot(self) -> KeyedSnapshot:
        """Return the version that was published last."""

    def turn(self) -> AbstractContextManager[object]:
        """Return a context manager within which nobody else publishes a version."""

    def publish(self, batches: Sequence[pa.RecordBatch], *, overwrite: bool) -> int:
        """Publish the rows (after all present rows, or instead of them) as the next version, at once. Returns
        the number of rows."""

    def set_indexes(self, indexes: tuple[IndexDefinition, ...]) -> None:
        """Publish a version of the same rows with exactly these indexes."""
