"""The readers of files: the protocol of a reader, and the choice of a reader by the file's format."""

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
    """A reader of one file, piece by piece. A piece is a row group of Parquet, a stripe of ORC, or a whole
    text file; the pieces are numbered from 0."""

    @property
    def piece_count(self) -> int:
        """The number of pieces of the file."""

    def pieces(self) -> Sequence[int]:
        """Return the numbers of the pieces that may have rows that match the filters."""

    def check(self, piece: int) -> None:
        """Raise the errors that :meth:`read` would raise for the piece, as far as the file's metadata show
        them. A reader of text files, which have no metadata, reads the rows to find the errors."""

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a piece: the wanted columns that the file has, in the physical form of the
        table's types."""


class WholeText:
    """A reader of a text file (CSV, JSON or text) as a single piece. ``read``: a function that returns a new
    iterator over the file's rows."""

    piece_count = 1

    def __init__(self, read: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._read = read

    def pieces(self) -> Sequence[int]:
        """Return a sequence of one number: 0, the number of the file's only piece."""
        return (0,)

    def check(self, piece: int) -> None:
        """Raise the errors of reading the file, by reading it to its end and dropping the rows."""
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
    """Return a reader of ``file``, chosen by the format of ``version``. The reader gives those columns of
    ``names`` that are columns of the files and not of directories' names. ``filters``: conjuncts over the
    ordinals of the table; the reader may leave out pieces without matching rows, and doesn't drop single
    rows. ``context``: the context of the processor that reads; None = only the reader's numbers of pieces are
    needed, which is possible for Parquet and ORC only."""
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
