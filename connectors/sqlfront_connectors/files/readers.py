"""What reads one file, by its format."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.files.listing import DataFile
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.memory import UNLIMITED, OperatorAccount
from sqlfront_engine.processor import ProcessorContext
from sqlfront_values.expressions import EngineExpr, columns_used, map_columns
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.settings import DEFAULT_SETTINGS

if TYPE_CHECKING:
    from sqlfront_connectors.files import csv_format, json_format, orc_format, parquet_format, text_format
else:
    csv_format = lazy_module("sqlfront_connectors.files.csv_format")
    json_format = lazy_module("sqlfront_connectors.files.json_format")
    orc_format = lazy_module("sqlfront_connectors.files.orc_format")
    parquet_format = lazy_module("sqlfront_connectors.files.parquet_format")
    text_format = lazy_module("sqlfront_connectors.files.text_format")

#: The formats that are read by pieces of a file, and what these are called.
COLUMNAR: Final = {"orc": "stripes", "parquet": "row groups"}


class FileReader(Protocol):
    """Reads one file piece by piece."""

    @property
    def piece_count(self) -> int:
        """How many pieces the file has."""

    def pieces(self) -> Sequence[int]:
        """The numbers of those that may hold rows that are wanted."""

    def check(self, piece: int) -> None:
        """Raises what reading the piece would, as far as that is known without doing so."""

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """A piece's rows, in physical form of the table's types: the wanted columns that the file has, by
        their names there."""


class WholeText:
    """A file of text, which is one piece."""

    piece_count = 1

    def __init__(self, read: Callable[[], Iterator[pa.RecordBatch]]) -> None:
        self._read = read

    def pieces(self) -> Sequence[int]:
        """The only one."""
        return (0,)

    def check(self, piece: int) -> None:
        """Nothing is known of a text before it is read."""
        for _ in self._read():
            pass

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """All rows."""
        return self._read()


def open_reader(
    file: DataFile,
    names: tuple[str, ...],
    version: FileVersion,
    filters: tuple[EngineExpr, ...],
    access: FileAccess,
    context: ProcessorContext | None = None,
) -> FileReader:
    """A reader of those of the named columns that are the files'. ``filters`` are over the table's columns;
    they only say what may be left out. ``context``: of who reads, None = only pieces are asked for."""
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
