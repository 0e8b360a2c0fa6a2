"""The reader and writer of Parquet files, and the inference of their schema."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.bounds import ColumnBounds, may_match
from sqlfront_connectors.files.contents import Charges
from sqlfront_connectors.files.failures import FILE_UNREADABLE, file_unreadable, footer_unreadable, reading
from sqlfront_connectors.files.format_options import merges_schemas
from sqlfront_connectors.files.locations.listing import SUMMARIES
from sqlfront_connectors.files.parquet.footer import RowGroup, may_have_schema, read_footer
from sqlfront_connectors.files.parquet.odd_floats import float_conditions
from sqlfront_connectors.files.parquet.pages import check_pages
from sqlfront_connectors.files.parquet.types import (
    Leaf,
    Mismatch,
    conversion,
    count_leaves,
    leaf_type,
    leaves_of,
    spark_type,
    value_of,
)
from sqlfront_connectors.files.schemas.merging import merged_schema
from sqlfront_connectors.files.schemas.nested_columns import Conversion
from sqlfront_connectors.files.schemas.recorded_types import written_schema
from sqlfront_connectors.files.varints import MalformedData
from sqlfront_connectors.files.version import FileVersion
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.expressions import EngineExpr
from sqlfront_values.room import MOST_AT_ONCE, Account
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: Bytes per value below which a string column chunk with a dictionary is read as a dictionary: so few bytes
#: are repeated codes rather than texts.
_DICTIONARY_BYTES = 1.5
#: The compressions that every Spark installation reads.
_CODECS: Final = frozenset({"UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "LZ4", "LZ4_RAW"})
#: Arrow's messages for files without a footer, or with a footer that is not valid Thrift.
_NO_PARQUET: Final = ("Parquet magic bytes not found", "Parquet file size is", "Couldn't deserialize thrift")
#: The order in which summaries follow the files that hold rows when schemas are merged.
_MERGED_LAST: Final = {"_metadata": 1, "_common_metadata": 2}
#: The metadata key of the schema that Spark has written.
_WRITTEN: Final = b"org.apache.spark.sql.parquet.row.metadata"
#: The annotations of leaves whose statistics are in the order of Spark's values.
_ORDERED: Final = frozenset({"None", "Int", "Date", "Decimal", "String"})


def open_file(
    path: str, access: FileAccess, dictionaries: Sequence[str] = ()
) -> tuple["pq.ParquetFile", tuple[RowGroup, ...]]:
    """Open the file with Arrow; returns the file and its row groups. ``dictionaries``: the columns to read as
    dictionaries. Raises OperationalError, which names the file, for an unreadable file; NotSupportedError for
    a footer that Arrow can't read, or that :func:`~sqlfront_connectors.files.parquet.footer.read_footer`
    finds damaged, because Spark may be able to read it.

    Invariant: no caller asks the ParquetFile's metadata for a row group or a column; Arrow ends the process
    over damaged metadata.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded when a Parquet file is read

    with reading(path), access.reading(path) as file:
        try:
            # In nanoseconds, Arrow's usual unit, years before 1677 and after 2262 are lost.
            opened = pq.ParquetFile(
                file.source, read_dictionary=list(dictionaries), coerce_int96_timestamp_unit="us"
            )
        except (OSError, pa.ArrowException) as error:
            if getattr(error, "errno", None) is not None or str(error).startswith(_NO_PARQUET):
                raise
            raise NotSupportedError(f"{path}: Parquet with a footer that Arrow can't read") from error
        try:
            return opened, read_footer(file.source)
        except MalformedData as error:
            raise NotSupportedError(f"{path}: Parquet with a damaged footer: {error}") from error


def infer_schema(paths: Sequence[str], options: Mapping[str, str], access: FileAccess) -> pa.Schema:
    """Return the logical schema that Spark infers for a table of the files ``paths``: the schema of a summary
    file (``_metadata`` or ``_common_metadata``) if there is one, otherwise of the first file; with
    ``mergeSchema`` the merged schema of all files, summary files last. Raises OperationalError for a file
    without a readable footer, NotSupportedError for a footer that Spark may read and Arrow can't."""
    if merges_schemas(options):
        order = sorted(paths, key=lambda path: _MERGED_LAST.get(os.path.basename(path), 0))
        return merged_schema(_schema(path, access) for path in order)
    by_name = {os.path.basename(path): path for path in reversed(paths)}
    summary = next((by_name[name] for name in SUMMARIES if name in by_name), None)
    return _schema(summary or paths[0], access)


def _schema(path: str, access: FileAccess) -> pa.Schema:
    try:
        file, _ = open_file(path, access)
    except OperationalError as error:
        if error.condition != FILE_UNREADABLE:
            raise
        with reading(path), access.reading(path) as opened:
            if may_have_schema(opened.source):
                raise NotSupportedError(f"{path}: Parquet with a footer that Arrow can't read") from error
        raise footer_unreadable(path) from error
    written = (file.metadata.metadata or {}).get(_WRITTEN)
    if written is not None:
        return written_schema(written.decode())
    leaves = iter(leaves_of(file.schema))
    return pa.schema([(field.name, spark_type(field.type, leaves)) for field in file.schema_arrow])


def row_count(path: str, access: FileAccess) -> int:
    """Return the number of rows that the footer of the file states. Raises OperationalError for an unreadable
    file, NotSupportedError for a footer that Arrow can't read or that is damaged."""
    return sum(group.rows for group in open_file(path, access)[1])


class ParquetReader:
    """A reader of one Parquet file; each of its pieces is a row group. Row groups that the filters rule out
    are not read."""

    def __init__(
        self,
        path: str,
        names: tuple[str, ...],
        version: FileVersion,
        filters: tuple[EngineExpr, ...],
        access: FileAccess,
        settings: Settings,
        memory: Account,
    ) -> None:
        """Open the file. ``names``: the wanted columns; those that the file lacks are left out. ``filters``:
        conjuncts over the ordinals of the table's schema, by which row groups are left out; no single row is
        dropped by them. A row group with nested columns is read at once, and charged to ``memory`` meanwhile.
        Raises the errors of :func:`open_file`.
        """
        self._path = path
        self._memory = memory
        plain, self._groups = open_file(path, access)
        self._columns = _columns_of(plain, path)
        self._version = version
        self._wanted = [name for name in names if name.lower() in self._columns]
        for name in self._wanted:
            if pa.types.is_nested(self._columns[name.lower()].type) != pa.types.is_nested(
                self._field(name).type
            ):
                raise NotSupportedError(f"{path}: column `{name}`, nested in the file or the table only")
        dictionaries = [
            self._columns[name.lower()].name
            for name in self._wanted
            if self._field(name).type == STRING and self._has_few_values(name)
        ]
        self._file = open_file(path, access, dictionaries)[0] if dictionaries else plain
        self._access = access
        self._dictionaries = frozenset(dictionaries)
        self._data = frozenset(version.data_ordinals)
        self._filters = filters
        self._settings = settings
        fields = {version.schema.field(ordinal).name: ordinal for ordinal in self._data}
        places = {fields[name]: place for place, name in enumerate(self._wanted)}
        self._float_conditions = float_conditions(filters, places)

    def _field(self, name: str) -> pa.Field:
        return self._version.data_schema.field(name)

    @property
    def piece_count(self) -> int:
        """The number of all row groups."""
        return len(self._groups)

    def pieces(self) -> Sequence[int]:
        """Return the numbers of the row groups that may have matching rows, by the filters and the
        statistics; empty row groups are left out."""
        return [number for number in range(len(self._groups)) if self._may_match(number)]

    def _may_match(self, row_group: int) -> bool:
        if not self._groups[row_group].rows:
            return False
        return all(may_match(condition, partial(self._bounds, row_group)) for condition in self._filters)

    def check(self, piece: int) -> None:
        """Raise NotSupportedError if the row group has a compression for which Spark needs an additional
        codec, OperationalError if a wanted column can't be read as the table's type."""
        self._check_codecs(piece, [self._columns[name.lower()] for name in self._wanted])
        for name in self._wanted:
            self._conversion(name)

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the row group ``piece``: the wanted columns that the file has, in the physical
        form of the table's types. Raises OperationalError for unreadable rows, NotSupportedError for rows
        that Spark may read differently."""
        columns = [self._columns[name.lower()] for name in self._wanted]
        self._check_codecs(piece, columns)
        self._check_pages(piece, columns)
        conversions = self._conversions(piece, columns)
        found = 0
        for batch in self._batches(piece, columns):
            found += batch.num_rows
            if not columns:
                yield batch.select([])
                continue
            try:
                arrays = [
                    convert(batch.column(batch.schema.get_field_index(column.name)))
                    for column, convert in zip(columns, conversions, strict=True)
                ]
            except pa.ArrowException as error:
                raise file_unreadable(self._path, error) from error
            rows = pa.RecordBatch.from_arrays(arrays, names=self._wanted)
            self._check_floats(piece, rows)
            yield rows
        if found != self._groups[piece].rows:
            raise NotSupportedError(
                f"{self._path}: the columns and the footer of the file have different numbers of rows"
            )

    def _batches(self, piece: int, columns: Sequence["_FileColumn"]) -> Iterator[pa.RecordBatch]:
        # Arrow takes a name for a column or a path: `a.b` is a column or a field of `a`.
        dotted = any("." in column.name for column in self._columns.values())
        names = None if dotted and columns else [column.name for column in columns]
        with reading(self._path), _decoding(self._path):
            if any(pa.types.is_nested(column.type) for column in columns):
                # An error of Arrow in nested columns must come before the first row is delivered.
                charges = Charges(self._memory)
                charges.charge(self._size(piece, columns))
                table = self._file.read_row_group(piece, columns=names, use_threads=False)
                charges.charge(max(0, table.nbytes - charges.held))
                if table.num_rows == self._groups[piece].rows:
                    yield from table.to_batches(BATCH_ROWS)
                charges.give_back()
                return
            rows = self._rows_at_once(piece, columns)
            yield from self._file.iter_batches(rows, row_groups=[piece], columns=names, use_threads=False)

    def _size(self, piece: int, columns: Sequence["_FileColumn"]) -> int:
        """Return the uncompressed bytes of the columns in the row group ``piece``."""
        chunks = self._groups[piece].chunks
        return sum(
            chunk.size
            for column in columns
            for chunk in chunks[column.first : column.first + len(column.leaves)]
        )

    def _rows_at_once(self, piece: int, columns: Sequence["_FileColumn"]) -> int:
        """Return the number of rows to read as one batch of the row group ``piece``: BATCH_ROWS, or fewer if
        a dictionary has a long text, since each row of a batch may repeat that text."""
        chunks, most = self._groups[piece].chunks, min(BATCH_ROWS, self._groups[piece].rows)
        large = [
            column.name
            for column in columns
            if column.leaves[0].physical == "BYTE_ARRAY"
            and chunks[column.first].has_dictionary
            and chunks[column.first].size * most > MOST_AT_ONCE
            and column.name not in self._dictionaries
        ]
        if not large:
            return BATCH_ROWS
        file, _ = open_file(self._path, self._access, large)
        names = None if any("." in name for name in large) else large
        first = next(file.iter_batches(1, row_groups=[piece], columns=names, use_threads=False), None)
        texts = [] if first is None else [first.column(name).dictionary for name in large]
        longest = max((pc.max(pc.binary_length(each)).as_py() or 0 for each in texts), default=0)
        return max(1, min(BATCH_ROWS, MOST_AT_ONCE // max(longest, 1)))

    def _conversions(self, piece: int, columns: Sequence["_FileColumn"]) -> list[Conversion]:
        try:
            return [self._conversion(name) for name in self._wanted]
        except OperationalError:
            # Spark checks a column's type after reading a page, so the order of the two errors is unknown.
            next(self._batches(piece, columns), None)
            raise

    def _conversion(self, name: str) -> Conversion:
        column = self._columns[name.lower()]
        try:
            return conversion(column.type, iter(column.leaves), self._field(name).type)
        except Mismatch as error:
            raise OperationalError(
                f"Encountered error while reading file {self._path}. {error}",
                condition="FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
            ) from error

    def _check_floats(self, piece: int, rows: pa.RecordBatch) -> None:
        """Raise NotSupportedError if ``rows`` has rows that match a filter and that Spark may leave out, see
        :mod:`~sqlfront_connectors.files.parquet.odd_floats`."""
        for condition in self._float_conditions:
            chunks = {
                place: self._groups[piece].chunks[self._columns[self._wanted[place].lower()].first]
                for place in condition.places
            }
            if condition.may_be_left_out(rows, chunks, self._settings):
                raise NotSupportedError(
                    f"{self._path}: a condition that is true for NaN or a zero of the other sign, whose "
                    "row groups Spark skips"
                )

    def _check_codecs(self, piece: int, columns: Sequence["_FileColumn"]) -> None:
        """Raise NotSupportedError for a compression for which Spark needs an additional codec."""
        chunks = self._groups[piece].chunks
        for column in columns:
            for chunk in chunks[column.first : column.first + len(column.leaves)]:
                if chunk.codec not in _CODECS:
                    raise NotSupportedError(f"{self._path}: Parquet with the compression {chunk.codec}")

    def _check_pages(self, piece: int, columns: Sequence["_FileColumn"]) -> None:
        """Raise NotSupportedError if a page of the columns has a header that Arrow accepts and Spark
        may not."""
        chunks = self._groups[piece].chunks
        with reading(self._path), self._access.reading(self._path) as file:
            try:
                for column in columns:
                    for chunk in chunks[column.first : column.first + len(column.leaves)]:
                        check_pages(file.source, chunk)
            except MalformedData as error:
                raise NotSupportedError(f"{self._path}: Parquet with a damaged page: {error}") from error

    def _has_few_values(self, name: str) -> bool:
        column = self._columns[name.lower()]
        if pa.types.is_nested(column.type) or not self._groups:
            return False
        chunk = self._groups[0].chunks[column.first]
        return chunk.has_dictionary and chunk.size < _DICTIONARY_BYTES * chunk.values

    def _bounds(self, row_group: int, ordinal: int) -> ColumnBounds | None:
        if ordinal not in self._data:
            return None
        field = self._version.schema.field(ordinal)
        column = self._columns.get(field.name.lower())
        if column is None or not column.has_bounds_of(field.type):
            return None
        chunk = self._groups[row_group].chunks[column.first]
        least, most = (value_of(bound, column.leaves[0]) for bound in (chunk.minimum, chunk.maximum))
        return ColumnBounds(least, most, chunk.nulls, chunk.values)


@contextmanager
def _decoding(path: str) -> Iterator[None]:
    """Return a context manager that turns errors of Arrow about pages into NotSupportedError, since Spark may
    be able to read these pages. Errors of the system are raised unchanged."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise NotSupportedError(f"{path}: Parquet with pages that Arrow can't read: {error}") from error


class _FileColumn(msgspec.Struct, frozen=True):
    """A top-level column of a file. ``name`` and ``type``: its name and Arrow type in the file. ``leaves``:
    its leaf columns. ``first``: the index of its first leaf among all leaves of the file."""

    name: str
    type: pa.DataType
    leaves: tuple[Leaf, ...]
    first: int

    def has_bounds_of(self, wanted: pa.DataType) -> bool:
        """Return whether the minimum and maximum in the column's statistics are bounds of its values as Spark
        compares them: the column has Spark's type ``wanted``, and its statistics follow that type's order."""
        if pa.types.is_nested(self.type) or pa.types.is_timestamp(wanted) or not self.leaves[0].signed:
            return False
        return self.leaves[0].kind in _ORDERED and leaf_type(self.leaves[0]) == wanted


def _columns_of(file: "pq.ParquetFile", path: str) -> dict[str, _FileColumn]:
    """Return the columns of the file at ``path`` by their names in lower case. Raises NotSupportedError for a
    file without columns, and for two columns whose names are equal but for case."""
    leaves, first = leaves_of(file.schema), 0
    found: dict[str, _FileColumn] = {}
    if not leaves:
        raise NotSupportedError(f"{path}: a Parquet file without columns")
    for field in file.schema_arrow:
        name, count = field.name.lower(), count_leaves(field.type)
        if name in found:
            raise NotSupportedError(f"{path}: two columns `{name}` in one Parquet file")
        found[name] = _FileColumn(field.name, field.type, tuple(leaves[first : first + count]), first)
        first += count
    return found


def write(path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
    """Write the batches to a new file at ``path``, compressed with Snappy as in Spark. ``schema``: the schema
    of the batches and of the file."""
    import pyarrow.parquet as pq  # noqa: PLC0415 - loaded when a Parquet file is written

    with pq.ParquetWriter(path, schema, compression="snappy", version="2.6") as writer:
        for batch in batches:
            writer.write_batch(batch)
