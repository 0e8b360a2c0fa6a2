"""The source of a file table: the processor that reads a version's files."""

from collections.abc import Iterator
from typing import ClassVar, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.base import ScanPieces
from sqlfront_connectors.bounds import ColumnBounds, may_match
from sqlfront_connectors.files.contents import Charges, counted
from sqlfront_connectors.files.failures import FILE_MISSING, FILE_UNREADABLE
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.readers import COLUMNAR, FileReader, open_reader
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.memory import MemoryBudget, OperatorAccount
from sqlfront_engine.processor import END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_values.arrow.arrays import repeat
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.expressions import EngineExpr
from sqlfront_values.settings import DEFAULT_SETTINGS, Settings
from sqlfront_values.types import physical

#: Bytes of text files after which a check reads no further file: a caller waits for the check, and the query
#: itself reads the rest.
_CHECKED_BYTES: Final = 64 << 20


class FileScan(Processor, frozen=True):
    """A source of the rows of the file table ``table`` in its version ``version``. The version is a part of
    the plan, so that every member can read its share of the files.

    ``columns``: ordinals of the table. ``filters``: conjuncts that leave out directories by their values and
    row groups by their statistics; no single row is dropped. ``limit``: the most rows that each instance
    emits. Of n parallel instances each reads every n-th piece, which is a row group, a stripe, or a whole
    text file.
    """

    cooperative: ClassVar[bool] = False
    reads_table: ClassVar[bool] = True

    version: FileVersion
    table: str
    columns: tuple[int, ...]
    filters: tuple[EngineExpr, ...] = ()
    limit: int | None = None

    def run(self, context: ProcessorContext) -> Steps:
        left = self.limit
        for batch in self._read(context):
            if left is not None and batch is not END_OF_PIECE:
                batch = batch.slice(0, left)
                left -= batch.num_rows
            yield batch
            if left == 0:
                return

    def pieces(self, access: FileAccess) -> tuple[ScanPieces, ...]:
        """Return the number of files that the scan reads, and of all files. For Parquet and ORC also return
        the number of row groups or stripes that the scan reads, and of all row groups or stripes in the files
        that it reads. The footers of these files are read for that, but no rows."""
        version = self.version
        files = [file for file in version.files if self._file_may_match(file, DEFAULT_SETTINGS)]
        found = [ScanPieces("files", len(files), len(version.files))]
        if version.format in COLUMNAR:
            readers = [open_reader(file, (), version, self.filters, access) for file in files]
            total = sum(reader.piece_count for reader in readers)
            found.append(
                ScanPieces(COLUMNAR[version.format], sum(len(reader.pieces()) for reader in readers), total)
            )
        return tuple(found)

    def check(self, access: FileAccess, settings: Settings, memory: MemoryBudget) -> None:
        """Raise the errors that reading the files would raise, as far as they are cheap to find. Of Parquet
        and ORC files only the metadata are read; text files are read one after the other, until
        :data:`_CHECKED_BYTES` bytes are read. ``memory``: the budget to which the check's memory is charged.
        """
        left = _CHECKED_BYTES
        for file in self.version.files:
            if not self._file_may_match(file, settings):
                continue
            with counted(OperatorAccount(memory, self.describe())) as charges:
                reader = self._opened(file, ProcessorContext("check", charges, settings, files=access))
                for piece in () if reader is None or left <= 0 else reader.pieces():
                    assert reader is not None
                    reader.check(piece)
            if self.version.format not in COLUMNAR:
                left -= file.size

    def _read(self, context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        number, share, shares = 0, context.global_index, context.total_parallelism
        for file in self.version.files:
            if not self._file_may_match(file, context.settings):
                continue
            charges = Charges(context.memory)
            reader = self._opened(file, replace(context, memory=charges))
            if reader is None:
                continue
            for piece in reader.pieces():
                if number % shares == share:
                    for batch in self._batches(reader, piece, file):
                        yield self._complete(batch, file, context.settings)
                    yield END_OF_PIECE
                number += 1
            charges.give_back()
        yield from last_round(number, share, shares)

    def _opened(self, file: DataFile, context: ProcessorContext) -> FileReader | None:
        """Return a reader of the file; None if the file is missing and the option ignoreMissingFiles is set,
        or unreadable and ignoreCorruptFiles is set."""
        version = self.version
        names = tuple(version.schema.field(column).name for column in self.columns)
        try:
            return open_reader(file, names, version, self.filters, context.files, context)
        except OperationalError as error:
            if error.condition == FILE_MISSING and version.listing.ignore_missing:
                return None
            if error.condition == FILE_UNREADABLE and version.listing.ignore_corrupt:
                return None
            raise

    def _batches(self, reader: FileReader, piece: int, file: DataFile) -> Iterator[pa.RecordBatch]:
        try:
            yield from reader.read(piece)
        except OperationalError as error:
            if error.condition == FILE_UNREADABLE and self.version.listing.ignore_corrupt:
                raise NotSupportedError(
                    f"ignoreCorruptFiles with rows before the fault in {file.path}"
                ) from error
            raise

    def _file_may_match(self, file: DataFile, settings: Settings) -> bool:
        if not self.filters or not file.partition:
            return True
        values = self.version.partition_values(file, settings.time_zone)

        def bounds_of(ordinal: int) -> ColumnBounds | None:
            if ordinal not in values:
                return None
            value = values[ordinal]
            return ColumnBounds(value, value, nulls=1 if value is None else 0, rows=1)

        return all(may_match(condition, bounds_of) for condition in self.filters)

    def _complete(self, batch: pa.RecordBatch, file: DataFile, settings: Settings) -> pa.RecordBatch:
        """Return the batch with exactly the wanted columns, in their order. A column that the file lacks is
        null; a partition column has, in all rows, the value that the file's directory states."""
        present = {name.lower(): index for index, name in enumerate(batch.schema.names)}
        version, rows = self.version, batch.num_rows
        values = version.partition_values(file, settings.time_zone)
        arrays: list[pa.Array] = []
        for ordinal in self.columns:
            field = version.schema.field(ordinal)
            if ordinal in values:
                arrays.append(repeat(values[ordinal], physical(field.type), rows))
            elif field.name.lower() in present:
                arrays.append(batch.column(present[field.name.lower()]))
            else:
                arrays.append(pa.nulls(rows, physical(field.type)))
        if not arrays:
            return batch.select([])
        fields = [
            pa.field(version.schema.field(ordinal).name, array.type)
            for ordinal, array in zip(self.columns, arrays, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))

    def describe(self) -> str:
        return f"FileScan: {self.table}"
