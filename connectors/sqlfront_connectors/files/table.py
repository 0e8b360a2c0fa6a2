"""File tables: ``CREATE TABLE ... USING parquet|csv|json`` and ``parquet.`path` ``."""

import contextlib
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import (
    Location,
    Partitioning,
    Pieces,
    ScanPlan,
    ScanRequest,
    TableDefinition,
    TableStatistics,
)
from sqlfront_connectors.files import csv_format, json_format, parquet
from sqlfront_connectors.files.listing import NULL_DIRECTORY, DataFile, escape, list_files
from sqlfront_connectors.files.options import check_options
from sqlfront_connectors.files.partition_values import partition_fields
from sqlfront_connectors.files.scan import EXPANSION, FileScan
from sqlfront_connectors.files.version import FileVersion, delete_file, delete_when_unread
from sqlfront_engine.columns.batches import gather_batch
from sqlfront_engine.columns.grouping import group_rows
from sqlfront_engine.errors import NotSupportedError, OperationalError, ProgrammingError
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column, Expr
from sqlfront_engine.settings import Settings
from sqlfront_engine.types import STRING, is_decimal, is_string

#: Names and texts of the partition directories above a file; None = null.
_Partition = tuple[tuple[str, str | None], ...]


class FileSnapshot:
    """One version of a file table."""

    def __init__(self, name: str, version: FileVersion) -> None:
        self._name = name
        self.files = version
        self._statistics: TableStatistics | None = None

    @property
    def version(self) -> int:
        """Grows with every insert and refresh."""
        return self.files.number

    @property
    def statistics(self) -> TableStatistics:
        """Rows by the footers of Parquet files; bytes by the files' sizes."""
        if self._statistics is None:
            size = sum(file.size for file in self.files.files)
            self._statistics = TableStatistics(rows=self._rows(), size=size * EXPANSION)
        return self._statistics

    def _rows(self) -> int | None:
        if self.files.format != "parquet":
            return None
        return sum(parquet.row_count(file.path) for file in self.files.files)

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """None: filters only skip files and row groups."""
        return ()

    def pieces(self, request: ScanRequest) -> tuple[Pieces, ...]:
        """Files, and row groups of those that are read; opens the footers of Parquet files."""
        return FileScan(self.files, self._name, request.columns, request.filters).pieces()

    def scan(self, request: ScanRequest) -> ScanPlan:
        """A scan of the files that the filters leave."""
        source = FileScan(self.files, self._name, request.columns, request.filters, request.limit)
        return ScanPlan(source, location=Location.ANYWHERE)


class FileTable:
    """A directory of files. ``managed``: the table owns the directory and removes it when dropped.
    ``on_insert`` is called by every insert when its files are there."""

    def __init__(self, name: str, location: str, version: FileVersion, *, managed: bool = False) -> None:
        self.name = name
        self.location = location
        self.managed = managed
        self.on_insert: Callable[[], None] = _nothing
        self._writer = threading.Lock()
        # Invariant: replaced as a whole under _writer; readers take the reference once.
        self._current = FileSnapshot(name, version)

    @property
    def schema(self) -> pa.Schema:
        """Data columns, then partition columns."""
        return self.version.schema

    @property
    def format(self) -> str:
        """``parquet``, ``csv`` or ``json``."""
        return self.version.format

    @property
    def partitioning(self) -> Partitioning | None:
        """None: files have no hash partitions."""
        return None

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Names of the hive partition columns."""
        return tuple(self.version.partition_schema.names)

    def snapshot(self) -> FileSnapshot:
        """The files as they were listed last."""
        return self._current

    def refresh(self) -> None:
        """List the files anew (REFRESH TABLE)."""
        with self._writer:
            known = {file: file for file in self.version.files}
            found = list_files(self.location) if os.path.exists(self.location) else ()
            self._publish(tuple(known.get(file, file) for file in found))

    def drop(self) -> None:
        """Remove the directory of a managed table once no reader holds a file of it; others' files stay."""
        with self._writer:
            last = self.version
            self._publish(())
        if self.managed:
            for file in last.files:
                delete_when_unread(file, self.location)
            if not last.files:
                with contextlib.suppress(OSError):
                    os.rmdir(self.location)

    def begin_insert(self, *, overwrite: bool = False) -> "FileWrite":
        """An insert whose files appear together at its commit."""
        return FileWrite(self, overwrite=overwrite)

    def adopt(self, version: FileVersion) -> None:
        """Somebody else has published this version. Of a known one nobody waits for writers here."""
        if version.number <= self.version.number:
            return
        with self._writer:
            if version.number > self.version.number:
                self._current = FileSnapshot(self.name, version)

    def add_files(self, files: tuple[DataFile, ...], *, overwrite: bool) -> None:
        """Publish a version with the files added, or with only them."""
        with self._writer:
            last = self.version
            self._publish(files if overwrite else last.files + files)
        self.on_insert()
        if overwrite:
            for file in last.files:
                delete_when_unread(file)

    def _publish(self, files: tuple[DataFile, ...]) -> None:
        last = self.version
        version = FileVersion(
            last.number + 1,
            last.format,
            files,
            last.data_schema,
            last.partition_schema,
            last.schema,
            last.options,
        )
        self._current = FileSnapshot(self.name, version)

    @property
    def version(self) -> FileVersion:
        """The current version."""
        return self._current.files


def _nothing() -> None:
    """What happens after an insert into a table of one session."""


class FileWrite:
    """Rows on their way into a file table; its files have hidden names until they are all there."""

    def __init__(self, table: FileTable, *, overwrite: bool) -> None:
        self._table = table
        self._overwrite = overwrite
        self._batches: list[pa.RecordBatch] = []

    def append(self, batch: pa.RecordBatch) -> None:
        """Keep the batch until the commit."""
        self._batches.append(batch)

    def abort(self) -> None:
        """Forget the rows."""
        self._batches.clear()

    def commit(self) -> int:
        """Write all files under hidden names, then rename them into place and publish them together."""
        written: list[tuple[str, DataFile]] = []
        try:
            os.makedirs(self._table.location, exist_ok=True)
            for partition, batches in self._by_partition():
                hidden, file = self._place(partition)
                written.append((hidden, file))
                self._write(hidden, batches)
            for hidden, file in written:
                os.rename(hidden, file.path)
            files = tuple(replace(file, size=os.path.getsize(file.path)) for _, file in written)
        except BaseException as error:
            for hidden, file in written:
                delete_file(hidden)
                delete_file(file.path)
            if not isinstance(error, OSError | pa.ArrowException):
                raise
            raise OperationalError(
                f"table {self._table.name}: can't write to {self._table.location}: {error}"
            ) from error
        self._table.add_files(files, overwrite=self._overwrite)
        return sum(batch.num_rows for batch in self._batches)

    def _by_partition(self) -> Iterator[tuple[_Partition, list[pa.RecordBatch]]]:
        """Rows by the texts of their partition directories, without the partition columns."""
        version = self._table.version
        width = len(version.data_schema)
        if not len(version.partition_schema):
            yield (), self._batches
            return
        names = version.partition_schema.names
        groups: dict[_Partition, list[pa.RecordBatch]] = {}
        for batch in self._batches:
            data = batch.select(list(range(width)))
            texts = [
                evaluate(Cast(STRING, Column(field.type, width + index)), batch, Settings()).cast(STRING)
                for index, field in enumerate(version.partition_schema)
            ]
            grouping = group_rows(texts, batch.num_rows)
            order = np.argsort(grouping.ids, kind="stable")
            starts = np.searchsorted(grouping.ids[order], np.arange(grouping.size + 1)).tolist()
            for number, row in enumerate(grouping.rows.tolist()):
                # An empty text has no directory of its own, as in Spark.
                key = tuple(
                    (name, column[row].as_py() or None) for name, column in zip(names, texts, strict=True)
                )
                rows = gather_batch(data, order[starts[number] : starts[number + 1]])
                groups.setdefault(key, []).append(rows)
        yield from groups.items()

    def _place(self, partition: _Partition) -> tuple[str, DataFile]:
        """The hidden path of a new file, and the file."""
        directories = [
            f"{escape(name)}={NULL_DIRECTORY if value is None else escape(value)}"
            for name, value in partition
        ]
        directory = os.path.join(self._table.location, *directories)
        name = f"part-{uuid.uuid4()}.{self._table.format}"
        return os.path.join(directory, f".{name}"), DataFile(os.path.join(directory, name), 0, partition)

    def _write(self, hidden: str, batches: list[pa.RecordBatch]) -> None:
        version = self._table.version
        os.makedirs(os.path.dirname(hidden), exist_ok=True)
        match version.format:
            case "parquet":
                plain = [_plain(batch, version.data_schema) for batch in batches]
                parquet.write(hidden, plain, version.data_schema)
            case "csv":
                csv_format.write(hidden, batches, version.data_schema, version.options)
            case _:
                plain = [_plain(batch, version.data_schema) for batch in batches]
                json_format.write(hidden, plain)


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch in logical types."""
    columns = [
        column.cast(field.type) if is_decimal(field.type) or is_string(field.type) else column
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class FileConnector:
    """``USING parquet|csv|json [OPTIONS (...)] [LOCATION '...'] [PARTITIONED BY (...)]``."""

    def __init__(self, format_name: str) -> None:
        self._format = format_name

    @property
    def format(self) -> str:
        """``parquet``, ``csv`` or ``json``."""
        return self._format

    def create(self, definition: TableDefinition) -> FileTable:
        """A table over the files at the location, or an empty one. Without LOCATION the table owns a new
        directory."""
        if definition.clustered_by:
            raise NotSupportedError(
                f"table {definition.name}: CLUSTERED BY with USING {self._format}; "
                "use USING memory, or CACHE TABLE ... CLUSTERED BY"
            )
        options = {key: value for key, value in definition.options.items() if key.lower() != "path"}
        path = next((value for key, value in definition.options.items() if key.lower() == "path"), None)
        check_options(self._format, options)
        location = definition.location or path
        managed = location is None
        if location is None:
            home = definition.home or tempfile.gettempdir()
            location = os.path.join(home, f"{definition.name}-{uuid.uuid4()}")
        exists = not managed and (os.path.exists(location) or definition.schema is None)
        files = list_files(location) if exists else ()
        version = self._version(definition, options, location, files)
        if managed:
            os.makedirs(location)
        return FileTable(definition.name, location, version, managed=managed)

    def _version(
        self, definition: TableDefinition, options: dict[str, str], location: str, files: tuple[DataFile, ...]
    ) -> FileVersion:
        found = partition_fields(files)
        if definition.schema is None:
            if not files:
                raise ProgrammingError(
                    f"Unable to infer schema for {self._format} at {location}. "
                    "It must be specified manually.",
                    condition="UNABLE_TO_INFER_SCHEMA",
                    sqlstate="42KD9",
                )
            inferred = self._infer([file.path for file in files], options)
            taken = {field.name.lower() for field in found}
            data = pa.schema([field for field in inferred if field.name.lower() not in taken])
            partition = pa.schema(found)
        else:
            data, partition = _split(definition, found)
        schema = pa.schema([*data, *partition])
        return FileVersion(0, self._format, files, data, partition, schema, options)

    def _infer(self, paths: list[str], options: dict[str, str]) -> pa.Schema:
        match self._format:
            case "parquet":
                return parquet.infer_schema(paths, options)
            case "csv":
                return csv_format.infer_schema(paths, options)
            case _:
                return json_format.infer_schema(paths, options)


def _split(definition: TableDefinition, found: tuple[pa.Field, ...]) -> tuple[pa.Schema, pa.Schema]:
    """Data and partition columns of a declared schema; partition columns go last, as in Spark."""
    assert definition.schema is not None
    wanted = [name.lower() for name in definition.partitioned_by] or [field.name.lower() for field in found]
    declared = {field.name.lower(): field for field in definition.schema}
    missing = [name for name in definition.partitioned_by if name.lower() not in declared]
    if missing:
        raise ProgrammingError(
            f"table {definition.name}: PARTITIONED BY names no column `{missing[0]}`; "
            f"its columns are {', '.join(definition.schema.names)}"
        )
    extra = [field for field in found if field.name.lower() not in declared]
    partition = [declared[name] for name in wanted if name in declared] + extra
    data = [field for name, field in declared.items() if name not in wanted]
    return pa.schema(data), pa.schema(partition)
