"""Insertion of a pipeline's rows into a table, by the writer that the table's ``begin_insert`` returns."""

import pyarrow as pa

from sqlfront_connectors.base import TableWrite, WritableTable
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.user_code.values import to_physical
from sqlfront_values.errors import InternalError


class Insertion:
    """A factory of writers that insert a pipeline's rows into a table; the sink of the DAG
    (:class:`~sqlfront_engine.processors.user_code.sinks.ResourceSink`) finds the factory among the job's
    resources. ``overwrite``: the inserted rows replace the table's rows."""

    def __init__(self, table: WritableTable, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite

    def open(self, context: ProcessorContext) -> "_Insert":
        """Begin an insert, and return the writer of its rows. A table that stores times as text, such as a
        CSV file, gets them in the time zone of the session."""
        zone = context.settings.time_zone
        write = self._table.begin_insert(overwrite=self._overwrite, time_zone=zone)
        return _Insert(write, self._table.schema)


class _Insert:
    """The writer of an atomic insert: ``finish`` commits the insert; ``close`` without ``finish`` aborts
    it."""

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
