"""Insertion of a pipeline's rows into a table, by the table's own insert."""

import pyarrow as pa

from sqlfront_connectors.base import TableWrite, WritableTable
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.user_code.values import to_physical
from sqlfront_values.errors import InternalError


class Insertion:
    """A factory of inserts into a table: the job's resource of a
    :class:`~sqlfront_engine.processors.user_code.sinks.ResourceSink`."""

    def __init__(self, table: WritableTable, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite

    def open(self, context: ProcessorContext) -> "_Insert":
        """Begin an insert, with the session's time zone for times that are written as text; return the
        insert's writer."""
        zone = context.settings.time_zone
        write = self._table.begin_insert(overwrite=self._overwrite, time_zone=zone)
        return _Insert(write, self._table.schema)


class _Insert:
    """An atomic insert: committed after the last row, else aborted."""

    def __init__(self, write: TableWrite, schema: pa.Schema) -> None:
        self._write = write
        self._schema = schema
        self._complete = False

    def write(self, batch: pa.RecordBatch) -> None:
        named = batch.rename_columns(self._schema.names)
        self._write.append(to_physical(named, self._schema, InternalError))

    def finish(self) -> None:
        self._complete = True
        self._write.commit()

    def close(self) -> None:
        if not self._complete:
            self._write.abort()
