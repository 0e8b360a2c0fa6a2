"""Inserted rows on their way into files: collected in memory, written as files of the table's format, and
made visible together."""

import contextlib
import os
import threading
import uuid
from collections.abc import Iterator
from typing import Final, Protocol

import numpy as np
import pyarrow as pa

from sqlfront_connectors.files.csv import csv_format
from sqlfront_connectors.files.failures import unwritable
from sqlfront_connectors.files.json import json_format
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.locations.partition_directories import NULL_DIRECTORY, RawPartition, escape
from sqlfront_connectors.files.parquet import parquet_format
from sqlfront_connectors.files.version import FileVersion
from sqlfront_values.columns.batches import gather_batch
from sqlfront_values.columns.grouping import group_rows
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING, is_decimal, is_string

#: Bytes of rows that an insert collects in memory before it writes files: as many as Spark's parts of a file
#: (``spark.sql.files.maxPartitionBytes``).
ENOUGH: Final = 128 << 20
#: The formats that can be written.
WRITTEN: Final = ("csv", "json", "parquet")


class Parts(Protocol):
    """A set of files that an insert writes to a location; readers see none of them until :meth:`publish`. A
    part is one of the files."""

    @property
    def first_number(self) -> int:
        """The number in the name of the first file that the insert writes."""

    def part(self, path: str) -> str:
        """Begin a part that will appear at ``path`` below the location, and return the path at which to write
        the part's file now."""

    def publish(self, files: tuple[DataFile, ...]) -> None:
        """Make all parts visible together. ``files``: the parts, with the paths that they have after this
        call."""

    def abort(self) -> None:
        """Discard all parts; do nothing after :meth:`publish`."""


class FileWrite:
    """An insert that writes rows into files of one format; readers see no file until :meth:`commit`."""

    def __init__(
        self,
        label: str,
        location: str,
        version: FileVersion,
        parts: Parts,
        time_zone: str,
        token: str | None = None,
    ) -> None:
        """``label``: what the insert writes to, for error messages, such as ``table t``. ``location``: the
        directory of the files after the commit. ``version``: the schema, the format and the options of the
        files. ``parts``: says where to write each file, and makes all files visible at the commit.
        ``time_zone``: the time zone of timestamps written as text. ``token``: a text that the names of all
        files contain; None = each name contains a random UUID."""
        self._label, self._location = label, location
        self._version, self._parts, self._token = version, parts, token
        self._settings = Settings(time_zone=time_zone)
        # Batches may come from several threads.
        self._lock = threading.Lock()
        self._batches: list[pa.RecordBatch] = []
        self._size = self._rows = 0
        self._files: list[DataFile] = []

    def append(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a batch in physical form. The rows are collected in memory; once there are enough,
        they are written to files, which stay hidden until the commit. Raises OperationalError if the files
        can't be written; then the insert is aborted. Safe to call from several threads."""
        with self._lock:
            self._batches.append(batch)
            self._rows += batch.num_rows
            self._size += batch.nbytes
            if self._size >= ENOUGH:
                with self._writing():
                    self._write_files()

    def abort(self) -> None:
        """Discard the rows and the written files."""
        self._batches.clear()
        self._parts.abort()

    def commit(self) -> int:
        """Write the remaining rows, make all files visible at once, and return the number of inserted rows.
        Raises OperationalError if the files can't be written; then the insert is aborted."""
        with self._writing():
            if self._batches or not self._files:
                self._write_files()
            self._parts.publish(tuple(self._files))
        return self._rows

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """Return a context manager that aborts the insert on any error within its block. Errors of the system
        (OSError) and of Arrow are raised as OperationalError, see
        :func:`~sqlfront_connectors.files.failures.unwritable`."""
        try:
            yield
        except BaseException as error:
            self.abort()
            if not isinstance(error, OSError | pa.ArrowException):
                raise
            raise unwritable(self._label, self._location, error) from error

    def _write_files(self) -> None:
        """Write the collected rows into hidden files, one for each partition, and empty the collection."""
        for partition, batches in self._by_partition(self._batches):
            self._files.append(self._write_file(partition, batches))
        self._batches, self._size = [], 0

    def _by_partition(
        self, batches: list[pa.RecordBatch]
    ) -> Iterator[tuple[RawPartition, list[pa.RecordBatch]]]:
        """Group the rows of the batches by partition: yield each partition with its rows as batches of the
        data columns. A table without partition columns has one group, whose partition is empty."""
        version = self._version
        if not len(version.partition_schema):
            yield (), batches
            return
        names = version.partition_schema.names
        groups: dict[RawPartition, list[pa.RecordBatch]] = {}
        for batch in batches:
            data = batch.select(version.data_ordinals)
            texts = [
                evaluate(Cast(STRING, Column(field.type, ordinal)), batch, self._settings).cast(STRING)
                for field, ordinal in zip(version.partition_schema, version.partition_ordinals, strict=True)
            ]
            grouping = group_rows(texts, batch.num_rows)
            order = np.argsort(grouping.ids, kind="stable")
            starts = np.searchsorted(grouping.ids[order], np.arange(grouping.size + 1)).tolist()
            for number, row in enumerate(grouping.rows.tolist()):
                # An empty text has no directory of its own, as in Spark.
                key = tuple(
                    (name, _directory_text(column[row].as_py()))
                    for name, column in zip(names, texts, strict=True)
                )
                rows = gather_batch(data, order[starts[number] : starts[number + 1]])
                groups.setdefault(key, []).append(rows)
        yield from groups.items()

    def _write_file(self, partition: RawPartition, batches: list[pa.RecordBatch]) -> DataFile:
        """Write one hidden file with the rows of a partition; returns the file with its path after the
        commit."""
        directories = [
            f"{escape(name)}={NULL_DIRECTORY if value is None else value}" for name, value in partition
        ]
        number = len(self._files) + self._parts.first_number
        name = f"part-{number:05}-{self._token or uuid.uuid4()}.{self._version.format}"
        path = os.path.join(*directories, name)
        part = self._parts.part(path)
        self._fill(part, batches)
        return DataFile(os.path.join(self._location, path), os.path.getsize(part), partition)

    def _fill(self, path: str, batches: list[pa.RecordBatch]) -> None:
        version, zone = self._version, self._settings.time_zone
        match version.format:
            case "parquet":
                plain = [_plain(batch, version.data_schema) for batch in batches]
                parquet_format.write(path, plain, version.data_schema)
            case "csv":
                csv_format.write(path, batches, version.data_schema, version.options, zone)
            case _:
                plain = [_plain(batch, version.data_schema) for batch in batches]
                json_format.write(path, plain, version.options, zone)


def _directory_text(text: str | None) -> str | None:
    return escape(text) if text else None


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with columns of the types of ``schema``, the logical schema: columns of decimal64 and
    dictionary columns of strings are cast, other columns stay as they are."""
    columns = [
        column.cast(field.type) if is_decimal(field.type) or is_string(field.type) else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
