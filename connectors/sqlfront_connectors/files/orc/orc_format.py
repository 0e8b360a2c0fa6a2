"""The reader of ORC files, stripe by stripe. Values that Arrow and Spark would read differently raise
NotSupportedError, which names the reason."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from sqlfront_connectors.files.contents import Charges
from sqlfront_connectors.files.failures import FILE_UNREADABLE, file_unreadable, footer_unreadable, reading
from sqlfront_connectors.files.format_options import merges_schemas
from sqlfront_connectors.files.orc.footer import (
    CHAR,
    UNION,
    Description,
    NoFooter,
    TooLarge,
    description,
)
from sqlfront_connectors.files.orc.streams import check_streams
from sqlfront_connectors.files.schemas.merging import is_certain, merged_schema
from sqlfront_connectors.files.schemas.nested_columns import (
    Conversion,
    converted_list,
    converted_map,
    converted_struct,
)
from sqlfront_connectors.files.schemas.recorded_types import named_type
from sqlfront_connectors.files.varints import MalformedData
from sqlfront_connectors.files.version import FileVersion
from sqlfront_connectors.forms import logical_type, to_physical
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.room import Account
from sqlfront_values.types import (
    BIGINT,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRALS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ddl,
    is_decimal,
    is_string,
)

if TYPE_CHECKING:
    from pyarrow import orc

#: The first day of the Gregorian calendar; Arrow and Spark count earlier days differently.
_GREGORIAN: Final = -141_427
#: Rows that Spark reads at a time, from the beginning of a stripe
#: (``spark.sql.orc.columnarReaderBatchSize``).
_SPARK_BATCH: Final = 4096
#: Arrow's message for timestamps that nanoseconds can't represent.
_OUT_OF_RANGE: Final = "is out of range for nanosecond resolution"
#: Names of the zone in which the clock shows UTC.
_UTC: Final = frozenset({"UTC", "GMT", "Etc/UTC", "Etc/GMT"})
#: The metadata key of the type that Spark has written.
_WRITTEN: Final = b"spark.sql.catalyst.type"
#: The type that Spark writes as a number of microseconds.
_NTZ: Final = b"timestamp_ntz"
#: The sorts of types as which a column of each sort can be read.
_READABLE: Final = {
    "number": ("number", "string", "timestamp"),
    "string": ("number", "string", "binary", "date", "timestamp"),
    "binary": ("string", "binary"),
    "date": ("string", "date", "timestamp"),
    "timestamp": ("number", "string", "date", "timestamp"),
}
#: The prefix of columns that Hive wrote before ORC kept names: they go by position.
_POSITIONAL: Final = "_col"


def open_file(path: str, access: FileAccess) -> tuple["orc.ORCFile", Description]:
    """Open the file with Arrow; returns the file and the contents of its footers. Raises OperationalError,
    which names the file, for an unreadable file; NotSupportedError for damaged footers, for which Arrow may
    end the process, and for columns of an unsupported type."""
    from pyarrow import orc  # noqa: PLC0415 - loaded when an ORC file is read

    with reading(path), access.reading(path) as file:
        try:
            described = description(file.source)
        except TooLarge as error:
            raise NotSupportedError(f"{path}: ORC with a damaged footer: {error}") from error
        except NoFooter as error:
            raise file_unreadable(path, error) from error
        except MalformedData as error:
            raise NotSupportedError(f"{path}: ORC with a damaged end: {error}") from error
        if described.fault is not None:
            raise NotSupportedError(f"{path}: ORC with a damaged footer: {described.fault}")
        if CHAR in described.kinds:
            raise NotSupportedError(f"{path}: ORC with columns of type CHAR")
        if UNION in described.kinds:
            raise NotSupportedError(f"{path}: ORC with columns of type UNION")
        try:
            return orc.ORCFile(file.source), described
        except (OSError, pa.ArrowException) as error:
            raise _unread(path, error) from error


def _unread(path: str, error: Exception) -> Exception:
    """Return the error to raise after Arrow has raised ``error`` for the file: ``error`` itself if it comes
    from the system, otherwise NotSupportedError, because Spark, which reads fewer bytes, may be able to read
    a damaged file."""
    if getattr(error, "errno", None) is not None:
        return error
    if _OUT_OF_RANGE in str(error):
        return NotSupportedError(f"{path}: ORC's timestamps before 1678 or after 2261")
    return NotSupportedError(f"{path}: ORC that Arrow can't read: {error}")


def check_partitions(path: str, version: FileVersion) -> None:
    """Raise OperationalError, as Spark does when it reads the file at ``path``, if all values of a partition
    column are null and its type is therefore unknown (VOID): Spark's reader of ORC doesn't have this type."""
    for field in version.partition_schema:
        if pa.types.is_null(field.type):
            raise file_unreadable(
                path, f"ORC does not know the type VOID of the partition column `{field.name}`."
            )


def infer_schema(paths: Sequence[str], options: Mapping[str, str], access: FileAccess) -> pa.Schema:
    """Return the logical schema of a table of the files ``paths``. Without the option ``mergeSchema``, raise
    NotSupportedError for files with different columns: Spark takes the columns of one file, and doesn't
    specify of which. With ``mergeSchema`` the result has the columns of all files; raise NotSupportedError if
    the order of the columns depends on the order of the files."""
    schemas = [_schema(path, access) for path in paths]
    if merges_schemas(options):
        if not is_certain(schemas):
            raise NotSupportedError(
                f"ORC files of one table with columns in different orders, such as {paths[0]}"
            )
        return merged_schema(schemas)
    if any(schema != schemas[0] for schema in schemas):
        raise NotSupportedError(f"ORC files of one table with different columns, such as {paths[0]}")
    return schemas[0]


def _schema(path: str, access: FileAccess) -> pa.Schema:
    try:
        schema = open_file(path, access)[0].schema
    except OperationalError as error:
        if error.condition != FILE_UNREADABLE:
            raise
        raise footer_unreadable(path) from error
    return pa.schema([(field.name, _type(field, path)) for field in schema])


def _type(field: pa.Field, path: str) -> pa.DataType:
    if field.name.startswith(_POSITIONAL):
        raise NotSupportedError(f"{path}: ORC whose columns have no names")
    return _checked(field, field.name, path)


def _checked(field: pa.Field, name: str, path: str) -> pa.DataType:
    """Return Spark's type of ``field``, which is the column ``name`` or a part of it. Raises
    NotSupportedError if Arrow and Spark read the type, or a type inside of it, differently."""
    kind, written = field.type, (field.metadata or {}).get(_WRITTEN)
    if pa.types.is_union(kind):
        raise NotSupportedError(f"{path}: column `{name}` of ORC's type {kind}")
    if pa.types.is_list(kind):
        own: pa.DataType = pa.list_(_checked(kind.value_field, name, path))
    elif pa.types.is_map(kind):
        own = pa.map_(_checked(kind.key_field, name, path), _checked(kind.item_field, name, path))
    elif pa.types.is_struct(kind):
        own = pa.struct([(part.name, _checked(part, name, path)) for part in kind])
    else:
        # Both of ORC's types of timestamps are Spark's TIMESTAMP.
        own = TIMESTAMP if pa.types.is_timestamp(kind) else logical_type(kind, name)
    if written == _NTZ and own == BIGINT:
        return TIMESTAMP_NTZ
    if written is not None and named_type(written.decode()) != own:
        raise NotSupportedError(f"{path}: column `{name}` of {ddl(own)} that is {written.decode()}")
    return own


def _has_floats(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_has_floats(kind.field(index).type) for index in range(kind.num_fields))
    return kind in (FLOAT, DOUBLE)


def _holds_clock_time(kind: pa.DataType) -> bool:
    if pa.types.is_nested(kind):
        return any(_holds_clock_time(kind.field(index).type) for index in range(kind.num_fields))
    return bool(pa.types.is_timestamp(kind) and kind.tz is None)


def _children(array: pa.Array) -> list[pa.Array]:
    """Return the arrays of a nested array's parts (fields, elements, keys and values), without the values
    that belong to a null; empty for an array that isn't nested."""
    kinds = pa.types
    if kinds.is_struct(array.type):
        return list(array.flatten())
    if kinds.is_map(array.type):
        return [array.keys, array.items]
    return [array.flatten()] if kinds.is_nested(array.type) else []


def _check_values(array: pa.Array) -> None:
    """Raise ArrowInvalid if the array, or a part of it, has texts that are not UTF-8, or decimals with more
    digits than their type."""
    for child in _children(array):
        _check_values(child)
    if is_decimal(array.type) or (is_string(array.type) and not _is_ascii(array)):
        array.validate(full=True)


def _is_ascii(texts: pa.Array) -> bool:
    data = texts.buffers()[2]
    return data is None or not len(data) or int(np.frombuffer(data, np.uint8).max()) < 128


def _conversion(own: pa.DataType, wanted: pa.DataType) -> Conversion | None:
    """Return a function that converts arrays of a file's column, of the Spark type ``own``, into the physical
    form of the Spark type ``wanted``; None for an unsupported conversion."""
    kinds = pa.types
    if own == wanted or _widens(own, wanted):
        return partial(to_physical, logical=wanted)
    if kinds.is_struct(own) and kinds.is_struct(wanted):
        return _struct_conversion(own, wanted)
    if kinds.is_list(own) and kinds.is_list(wanted):
        element = _conversion(own.value_type, wanted.value_type)
        return element and partial(converted_list, wanted=wanted, element=element)
    if kinds.is_map(own) and kinds.is_map(wanted):
        key = _conversion(own.key_type, wanted.key_type)
        item = _conversion(own.item_type, wanted.item_type)
        return key and item and partial(converted_map, wanted=wanted, key=key, item=item)
    return None


def _widens(own: pa.DataType, wanted: pa.DataType) -> bool:
    if own in INTEGRALS and wanted in INTEGRALS:
        return bool(own.bit_width <= wanted.bit_width)
    if is_decimal(own) and is_decimal(wanted):
        return bool(own.scale == wanted.scale and own.precision <= wanted.precision)
    return (own, wanted) == (FLOAT, DOUBLE)


def _struct_conversion(own: pa.DataType, wanted: pa.DataType) -> Conversion | None:
    found = {own.field(index).name.lower(): index for index in range(own.num_fields)}
    if len(found) < own.num_fields:
        return None
    parts: list[tuple[int, Conversion] | None] = []
    for position in range(wanted.num_fields):
        field = wanted.field(position)
        place = found.get(field.name.lower())
        if place is None:
            parts.append(None)
            continue
        part = _conversion(own.field(place).type, field.type)
        if part is None:
            return None
        parts.append((place, part))
    return partial(converted_struct, wanted=wanted, parts=parts)


def _sort(kind: pa.DataType) -> str:
    """Return the name of the group of types to which a Spark type belongs; :data:`_READABLE` lists the
    possible conversions by these names."""
    kinds = pa.types
    if kinds.is_struct(kind) or kinds.is_map(kind) or kinds.is_list(kind):
        return str(ddl(kind)).split("<")[0]
    if is_string(kind):
        return "string"
    if kinds.is_binary(kind) or kinds.is_large_binary(kind):
        return "binary"
    return "date" if kind == DATE else "timestamp" if kind == TIMESTAMP else "number"


def _is_readable(own: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether ORC's Java library can read a column of type ``own`` as type ``wanted``, by the rules of
    its ``SchemaEvolution`` and ``ConvertTreeReaderFactory``. The library checks the types before it reads
    rows, and fails even on a file without rows."""
    kinds = pa.types
    if kinds.is_struct(own) and kinds.is_struct(wanted):
        parts = {own.field(index).name.lower(): own.field(index).type for index in range(own.num_fields)}
        fields = [wanted.field(index) for index in range(wanted.num_fields)]
        return all(
            _is_readable(parts[field.name.lower()], field.type)
            for field in fields
            if field.name.lower() in parts
        )
    if kinds.is_list(own) and kinds.is_list(wanted):
        return _is_readable(own.value_type, wanted.value_type)
    if kinds.is_map(own) and kinds.is_map(wanted):
        return _is_readable(own.key_type, wanted.key_type) and _is_readable(own.item_type, wanted.item_type)
    return _sort(wanted) in _READABLE.get(_sort(own), ())


class OrcReader:
    """A reader of one ORC file; each of its pieces is a stripe."""

    def __init__(
        self,
        path: str,
        names: tuple[str, ...],
        version: FileVersion,
        access: FileAccess,
        memory: Account,
    ) -> None:
        """Open the file and check the types of the wanted columns. ``names``: the wanted columns; those that
        the file lacks are left out. While a stripe is read, its size is charged to ``memory``. Raises the
        errors of :func:`open_file`, OperationalError for a column that Spark can't read as the table's type,
        NotSupportedError for a file or conversion that is not supported."""
        self._path = path
        self._access = access
        self._memory = memory
        self._file, self._described = open_file(path, access)
        self._version = version
        found: dict[str, pa.Field] = {}
        for field in self._file.schema:
            if field.name.lower() in found:
                raise NotSupportedError(f"{path}: two columns `{field.name.lower()}` in one ORC file")
            found[field.name.lower()] = field
        if found and all(name.startswith(_POSITIONAL) for name in found):
            raise NotSupportedError(f"{path}: ORC whose columns have no names")
        if not found:
            raise NotSupportedError(f"{path}: an ORC file without columns")
        self._columns = [(name, found[name.lower()]) for name in names if name.lower() in found]
        # Spark fails even on a file without stripes if it doesn't read the types so.
        self._conversions = [self._conversion(name, field) for name, field in self._columns]

    @property
    def piece_count(self) -> int:
        """The number of stripes."""
        return int(self._file.nstripes)

    def pieces(self) -> Sequence[int]:
        """Return the numbers of all stripes."""
        return range(self.piece_count)

    def check(self, piece: int) -> None:
        """Do nothing for the stripe ``piece``: the constructor has checked the columns' types, and all
        further errors show only when rows are read."""

    def read(self, piece: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the stripe ``piece``: the wanted columns that the file has, in the physical form
        of the table's types. Raises OperationalError for unreadable rows, NotSupportedError for rows that
        Spark may read differently."""
        names = [field.name for _, field in self._columns]
        if not names:
            rows = pa.nulls(self._described.stripes[piece].rows)
            yield pa.RecordBatch.from_arrays([rows], names=["_"]).select([])
            return
        charges = Charges(self._memory)
        charges.charge(self._described.size(piece, names))
        with reading(self._path):
            stripe = self._stripe(piece, names)
        charges.charge(max(0, stripe.nbytes - charges.held))
        for start in range(0, stripe.num_rows, BATCH_ROWS):
            part = stripe.slice(start, BATCH_ROWS)
            try:
                arrays = [
                    convert(self._checked(part.column(field.name)))
                    for (_, field), convert in zip(self._columns, self._conversions, strict=True)
                ]
            except pa.ArrowException as error:
                raise file_unreadable(self._path, error) from error
            yield pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in self._columns])
        charges.give_back()

    def _stripe(self, piece: int, names: list[str]) -> pa.RecordBatch:
        places = frozenset(map(self._file.schema.names.index, names))
        try:
            with self._access.reading(self._path) as file:
                check_streams(file.source, self._described, piece, places)
        except MalformedData as error:
            raise NotSupportedError(f"{self._path}: ORC with damaged rows: {error}") from error
        try:
            stripe = self._file.read_stripe(piece, names)
            for column in stripe.columns:
                _check_values(column)
        except (OSError, pa.ArrowException) as error:
            raise _unread(self._path, error) from error
        return stripe

    def _conversion(self, name: str, field: pa.Field) -> Conversion:
        own, wanted = _type(field, self._path), self._version.data_schema.field(name).type
        found = _conversion(own, wanted)
        if _holds_clock_time(field.type):
            self._check_zones()
        if not _is_readable(own, wanted):
            raise file_unreadable(
                self._path,
                f"ORC does not support type conversion from file type {ddl(own)} to reader type "
                f"{ddl(wanted)} of column `{name}`.",
            )
        if found is None:
            raise NotSupportedError(f"{self._path}: ORC's {ddl(own)} that is read as {ddl(wanted)}")
        return found

    def _checked(self, array: pa.Array) -> pa.Array:
        self._check_days(array)
        self._check_moments(array)
        if _has_floats(array.type):
            for start in range(0, len(array), _SPARK_BATCH):
                self._check_zeros(array.slice(start, _SPARK_BATCH))
        return array

    def _check_zeros(self, array: pa.Array) -> None:
        """Raise NotSupportedError if the array, or a part of it, has no numbers except zeros, and zeros of
        both signs: Spark then reads all zeros with the sign of the first. ``array``: the rows that Spark
        reads as one batch."""
        for child in _children(array):
            self._check_zeros(child)
        if array.type in (FLOAT, DOUBLE):
            values = numpy_view(array.drop_null())
            if not values.any() and len(set(np.signbit(values).tolist())) > 1:
                raise NotSupportedError(f"{self._path}: ORC's zeros of both signs without another number")

    def _check_days(self, array: pa.Array) -> None:
        """Raise NotSupportedError if the array, or a part of it, has dates before 1582-10-15, which ORC files
        may have as days of the Julian calendar."""
        for child in _children(array):
            self._check_days(child)
        if array.type == DATE:
            first = pc.min(array.cast(pa.int32())).as_py()
            if first is not None and first < _GREGORIAN:
                raise NotSupportedError(f"{self._path}: ORC's dates before 1582-10-15")

    def _check_moments(self, array: pa.Array) -> None:
        """Raise NotSupportedError for timestamps that Arrow and Spark read differently: those with fractions
        of microseconds, and, in files not written by ORC's Java library, those before 1970 with fractions of
        seconds."""
        for child in _children(array):
            self._check_moments(child)
        if not pa.types.is_timestamp(array.type):
            return
        nanos = numpy_view(array.drop_null()).astype(np.int64, copy=False)
        if (nanos % 1000).any():
            raise NotSupportedError(f"{self._path}: ORC's timestamps with parts of microseconds")
        if not self._described.is_java and ((nanos < 0) & (nanos % 1_000_000_000 != 0)).any():
            raise NotSupportedError(
                f"{self._path}: ORC's timestamps before 1970 with parts of seconds, not written by Java"
            )

    def _check_zones(self) -> None:
        """Raise NotSupportedError unless both the zone of the file's timestamps and the machine's zone are
        UTC: Spark shifts timestamps from the one zone to the other."""
        zone = next(iter(sorted(self._described.zones - _UTC)), "UTC")
        if zone != "UTC" or time.tzname != ("UTC", "UTC"):
            raise NotSupportedError(
                f"{self._path}: ORC's timestamps written in the time zone {zone}, on a machine whose time "
                f"zone is {time.tzname[0]}; both have to be UTC"
            )
