"""The source of a file table."""

from collections.abc import Generator, Iterator
from typing import ClassVar, Final

import pyarrow as pa

from sqlfront_connectors.base import Pieces
from sqlfront_connectors.bounds import Bounds, may_match
from sqlfront_connectors.files import csv_format, json_format, parquet
from sqlfront_connectors.files.failures import file_unreadable
from sqlfront_connectors.files.listing import DataFile
from sqlfront_connectors.files.version import FileVersion
from sqlfront_connectors.forms import to_physical
from sqlfront_engine.arrays import repeat
from sqlfront_engine.expressions import EngineExpr
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.types import physical

#: A byte of a text or Parquet file is about that many in memory.
EXPANSION: Final = 3


class FileScan(Processor, frozen=True):
    """Reads the files of ``version``, which travels with the plan: every member can read its share of them.

    ``columns`` are ordinals of the table (data columns, then partition columns). ``filters`` only skip:
    directories by their values and Parquet row groups by their statistics. Parallel instances take every n-th
    row group (file for CSV and JSON).
    """

    cooperative: ClassVar[bool] = False

    version: FileVersion
    table: str
    columns: tuple[int, ...]
    filters: tuple[EngineExpr, ...] = ()
    limit: int | None = None

    def run(self, context: ProcessorContext) -> Steps:
        left = self.limit
        for batch in self._read(self.version, context):
            if left is not None:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def pieces(self) -> tuple[Pieces, ...]:
        """What is read of the files."""
        files = [file for file in self.version.files if self._file_may_match(file, self.version)]
        found = [Pieces("files", len(files), len(self.version.files))]
        if self.version.format == "parquet":
            readers = [
                parquet.ParquetReader(file.path, (), self.version.data_schema, self.filters) for file in files
            ]
            total = sum(reader.row_group_count for reader in readers)
            found.append(Pieces("row groups", sum(len(reader.row_groups()) for reader in readers), total))
        return tuple(found)

    def _read(self, version: FileVersion, context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        number, share, shares = 0, context.global_index, context.total_parallelism
        for file in version.files:
            if not self._file_may_match(file, version):
                continue
            if version.format == "parquet":
                number = yield from self._read_parquet(file, version, number, share, shares)
                continue
            if number % shares == share:
                # The whole of a text file is in memory while it is read.
                held = file.size * EXPANSION
                context.memory.charge(held)
                for batch in self._read_text(file, version):
                    yield self._complete(batch, file, version)
                context.memory.release(held)
            number += 1

    def _read_parquet(
        self, file: DataFile, version: FileVersion, number: int, share: int, shares: int
    ) -> Generator[pa.RecordBatch, None, int]:
        """The share's row groups; returns the number of the next row group."""
        reader = parquet.ParquetReader(
            file.path, self._data_names(version), version.data_schema, self.filters
        )
        for group in reader.row_groups():
            if number % shares == share:
                for batch in reader.read(group):
                    yield self._complete(batch, file, version)
            number += 1
        return number

    def _read_text(self, file: DataFile, version: FileVersion) -> Iterator[pa.RecordBatch]:
        read = csv_format.read if version.format == "csv" else json_format.read
        return read(file.path, self._data_names(version), version.data_schema, version.options)

    def _data_names(self, version: FileVersion) -> tuple[str, ...]:
        width = len(version.data_schema)
        return tuple(version.data_schema.field(column).name for column in self.columns if column < width)

    def _file_may_match(self, file: DataFile, version: FileVersion) -> bool:
        if not self.filters or not file.partition:
            return True
        values = version.partition_values(file)
        width = len(version.data_schema)

        def bounds_of(ordinal: int) -> Bounds | None:
            if ordinal < width:
                return None
            value = values[ordinal - width]
            return Bounds(value, value, nulls=1 if value is None else 0, rows=1)

        return all(may_match(condition, bounds_of) for condition in self.filters)

    def _complete(self, batch: pa.RecordBatch, file: DataFile, version: FileVersion) -> pa.RecordBatch:
        """The wanted columns in order and physical form: missing ones null, partition columns constant."""
        present = {name.lower(): index for index, name in enumerate(batch.schema.names)}
        width, rows = len(version.data_schema), batch.num_rows
        values = version.partition_values(file) if file.partition else ()
        arrays: list[pa.Array] = []
        for ordinal in self.columns:
            field = version.schema.field(ordinal)
            form = physical(field.type)
            if ordinal >= width:
                arrays.append(repeat(values[ordinal - width], form, rows))
            elif field.name.lower() in present:
                arrays.append(self._convert(batch.column(present[field.name.lower()]), field, file))
            else:
                arrays.append(pa.nulls(rows, form))
        if not arrays:
            return batch.select([])
        fields = [
            pa.field(version.schema.field(ordinal).name, array.type)
            for ordinal, array in zip(self.columns, arrays, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def _convert(self, array: pa.Array, field: pa.Field, file: DataFile) -> pa.Array:
        try:
            return to_physical(array, field.type)
        except pa.ArrowException as error:
            raise file_unreadable(file.path, error) from error

    def describe(self) -> str:
        return f"FileScan: {self.table}"
