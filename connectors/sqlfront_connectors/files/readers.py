"""The readers of files, by format."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, Protocol

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.files.csv import csv_format
from sqlfront_connectors.files.json import json_format
from sqlfront_connectors.files.locations.listing import DataFile
from sqlfront_connectors.files.orc import orc_format
from sqlfront_connectors.files.parquet import parquet_format
from sqlfront_connectors.files.text import text_format
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.memory import UNLIMITED, OperatorAccount
from sqlfront_engine.processor import ProcessorContext
from sqlfront_values.expressions import EngineExpr, columns_used, map_columns
from sqlfront_values.settings import DEFAULT_SETTINGS

#: The formats that are read by pieces of a file, and the names of these pieces.
COLUMNAR: Final = {"orc": "stripes", "parquet": "row groups"}


class FileReader(Protocol):
    """A reader of one file, piece by piece."""

    @property
    def piece_count(self) -> int:
        """The number of pieces of the file."""

    def pieces(self) -> Sequence[int]:
        """Return the numbers of the pieces that may hold wanted rows."""

    def check(self, piece: int) -> None:
        """Raise the errors of reading the piece, as far as they are known without reading its rows; a reader
        that knows no error before the reading reads the rows."""

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece: the wanted columns that the file has, in the physical form of the
        table's types."""


class WholeText:
    """A reader of a text file as a single piece. ``read`` yields the file's rows anew with each call."""

    piece_count = 1

    def __init__(self, read: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._read = read

    def pieces(self) -> Sequence[int]:
        """Return a sequence of one number: 0, that of the file's only piece."""
        return (0,)

    def check(self, piece: int) -> None:
        """Read the whole file and drop its rows: errors of a text are unknown before the reading."""
        for _ in self._read():
            pass

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """Return an iterator over all rows of the file."""
        return self._read()


def open_reader(
    file: DataFile,
    names: tuple[str, ...],
    version: FileVersion,
    filters: tuple[EngineExpr, ...],
    access: FileAccess,
    context: ProcessorContext | None = None,
) -> FileReader:
    """Return a reader of ``file``, by the format of ``version``, that gives the columns of ``names`` that the
    files' schema has. ``filters`` are over the table's columns, and allow the reader to leave out pieces or
    rows without a match. ``context``: the context of the processor that reads; None = only the numbers of
    pieces are asked for, which text formats don't allow."""
    data = version.data_schema
    known = frozenset(data.names)
    wanted = tuple(name for name in names if name in known)
    memory = OperatorAccount(UNLIMITED, "pieces") if context is None else context.memory
    if version.format == "parquet":
        settings = DEFAULT_SETTINGS if context is None else context.settings
        return parquet_format.ParquetReader(file.path, wanted, version, filters, access, settings, memory)
    if version.format == "orc":
        if context is not None:
            orc_format.check_partitions(file.path, version)
        return orc_format.OrcReader(file.path, wanted, version, access, memory)
    assert context is not None
    read = {"csv": csv_format, "json": json_format, "text": text_format}[version.format].read
    places = {ordinal: place for place, ordinal in enumerate(version.data_ordinals)}
    moved = tuple(
        map_columns(condition, lambda column: replace(column, ordinal=places[column.ordinal]))
        for condition in filters
        if columns_used(condition) <= places.keys()
    )
    return WholeText(lambda: read(file.path, wanted, data, version.options, context, moved))
