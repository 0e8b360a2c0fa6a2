"""Cached tables: a table or view with a copy in memory, which CACHE TABLE has made."""

import msgspec
import pyarrow as pa

from sqlfront_connectors.base import Partitioning, Snapshot, Table, TableWrite, WritableTable
from sqlfront_connectors.memory.keyed_table import KeyedTable
from sqlfront_planner.catalog import Entry, TableEntry
from sqlfront_values.errors import Error, ProgrammingError


class CachedTable(msgspec.Struct, frozen=True):
    """A table or view after CACHE TABLE, with a copy in memory, which queries read. ``origin`` is the
    catalog's entry of the table or view without the copy. Inserts go to the origin first, then to the
    ``copy``, so that the copy never has rows that the origin lacks."""

    origin: Entry
    copy: KeyedTable

    @property
    def schema(self) -> pa.Schema:
        """The columns of the copy, which equal the columns of the origin."""
        return self.copy.schema

    @property
    def format(self) -> str:
        """The name of the format of the copy, which queries read: ``memory``."""
        return "memory"

    @property
    def partitioning(self) -> Partitioning | None:
        """The partitioning of the copy, by the CLUSTERED BY of CACHE TABLE; None without one."""
        return self.copy.partitioning

    def snapshot(self) -> Snapshot:
        """Return the copy's current version."""
        return self.copy.snapshot()

    def drop(self) -> None:
        """Free the copy's memory; if the origin is a table, drop it, too."""
        self.copy.drop()
        if isinstance(self.origin, TableEntry):
            self.origin.table.drop()

    def begin_insert(
        self, *, overwrite: bool = False, time_zone: str = "UTC", token: str | None = None
    ) -> "CachedWrite":
        """Begin an insert into the origin and the copy, and return the write. ``overwrite``: the rows replace
        all present rows. ``time_zone``: the time zone of times that are written as text. ``token``: a text
        that the names of the written files have in common, None = each name is unique. Raises
        ProgrammingError if the origin is a view, or a table that takes no rows."""
        return CachedWrite(
            writable(self.origin).begin_insert(overwrite=overwrite, time_zone=time_zone, token=token),
            self.copy.begin_insert(overwrite=overwrite, time_zone=time_zone),
        )


class CopyBehind(Exception):
    """The exception after an insert whose ``rows`` rows were written to the origin but, because of ``error``,
    not to the copy. The caller can then drop the copy; no user sees the exception."""

    def __init__(self, rows: int, error: Error) -> None:
        super().__init__(rows, error)
        self.rows, self.error = rows, error


class CachedWrite:
    """An insert into a table and its copy. The rows are visible after :meth:`commit`."""

    def __init__(self, origin: TableWrite, copy: TableWrite) -> None:
        self._origin = origin
        self._copy = copy

    def append(self, batch: pa.RecordBatch) -> None:
        """Append the batch to the origin and to the copy."""
        self._origin.append(batch)
        self._copy.append(batch)

    def commit(self) -> int:
        """Publish the origin's rows, then the copy's; return the number of rows written to the origin. If
        the origin's commit fails, the copy's rows are discarded. Raises CopyBehind if only the origin's rows
        were published."""
        try:
            written = self._origin.commit()
        except BaseException:
            self._copy.abort()
            raise
        try:
            self._copy.commit()
        except Error as error:
            raise CopyBehind(written, error) from error
        return written

    def abort(self) -> None:
        """Discard the rows in the origin and in the copy."""
        self._origin.abort()
        self._copy.abort()


def writable(entry: Entry) -> WritableTable:
    """Return the entry's table, if rows can be inserted into it. Raises ProgrammingError for a view, and for
    a table that takes no rows."""
    if not isinstance(entry, TableEntry):
        raise ProgrammingError(
            f"`{entry.name}` is a view; INSERT needs a table",
            condition="EXPECT_TABLE_NOT_VIEW.NO_ALTERNATIVE",
        )
    table: Table = entry.table
    if not isinstance(table, WritableTable):
        raise ProgrammingError(f"`{entry.name}` (format {table.format}) takes no rows")
    return table
