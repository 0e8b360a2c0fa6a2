"""Spark's type of a Parquet column, and the other types as which the column can be read: the rules of Spark's
``ParquetToSparkSchemaConverter`` and ``ParquetVectorUpdaterFactory``.

The leaf columns of Parquet's schema determine the types; a schema that Arrow has stored in the file is
ignored. An Arrow type has its leaves in the same order as Parquet's schema.
"""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Context, Decimal
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.schemas.nested_columns import (
    Conversion,
    converted_list,
    converted_map,
    converted_struct,
)
from sqlfront_connectors.forms import to_physical
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.errors import NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_PRECISION,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    ddl,
    decimal,
    is_decimal,
    is_interval,
)

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: Spark's types for annotated integers, by width and sign.
_INTEGERS: Final = {
    (8, True): TINYINT,
    (16, True): SMALLINT,
    (32, True): INT,
    (64, True): BIGINT,
    (8, False): SMALLINT,
    (16, False): INT,
    (32, False): BIGINT,
    (64, False): decimal(20, 0),
}
_PLAIN: Final = {
    "BOOLEAN": BOOLEAN,
    "INT32": INT,
    "INT64": BIGINT,
    "INT96": TIMESTAMP,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "BYTE_ARRAY": BINARY,
    "FIXED_LEN_BYTE_ARRAY": BINARY,
}
#: The further types as which Spark reads a physical type, whatever its annotation: the bits unchanged.
_OTHERS: Final = {
    "INT32": (INT, BIGINT, DOUBLE, TINYINT, SMALLINT, DATE),
    "INT64": (BIGINT,),
    "INT96": (TIMESTAMP, TIMESTAMP_NTZ),
    "FLOAT": (FLOAT, DOUBLE),
    "DOUBLE": (DOUBLE,),
    "BOOLEAN": (BOOLEAN,),
    "BYTE_ARRAY": (STRING, BINARY),
    "FIXED_LEN_BYTE_ARRAY": (BINARY,),
}


_INTEGER_BYTES: Final = {"INT32": 4, "INT64": 8}
_EPOCH: Final = date(1970, 1, 1)
#: A context that keeps all digits.
_EXACT: Final = Context(prec=100)


class Leaf(msgspec.Struct, frozen=True):
    """A leaf column of Parquet. ``physical``: the physical type. ``kind``: the name of the logical type
    (``Int``, ``Date``, ``Decimal``, ..., ``None``); ``Instant`` stands for a timestamp in UTC. ``width`` and
    ``signed``: of an Int. ``unit``: of a time or timestamp. ``precision`` and ``scale``: of a Decimal."""

    path: str
    physical: str
    kind: str
    width: int = 0
    signed: bool = True
    unit: str = ""
    precision: int = 0
    scale: int = 0


class Mismatch(Exception):
    """The error of a column that can't be read as the wanted type."""

    def __init__(self, leaf: Leaf, wanted: pa.DataType) -> None:
        super().__init__(
            f"Data type mismatches when reading Parquet column [{leaf.path.replace('.', ', ')}]. "
            f"Expected Spark type {ddl(wanted)}, actual Parquet type {leaf.physical}."
        )


def leaves_of(schema: "pq.ParquetSchema") -> list[Leaf]:
    """Return the leaf columns of a file's schema, in the schema's order."""
    return [_leaf(schema.column(index)) for index in range(len(schema))]


def _leaf(column: "pq.ColumnSchema") -> Leaf:
    said = json.loads(column.logical_type.to_json())
    is_instant = said["Type"] == "Timestamp" and said["isAdjustedToUTC"]
    return Leaf(
        column.path,
        column.physical_type,
        "Instant" if is_instant else said["Type"],
        said.get("bitWidth", 0),
        said.get("isSigned", True),
        said.get("timeUnit", ""),
        said.get("precision", 0),
        said.get("scale", 0),
    )


def leaf_type(leaf: Leaf) -> pa.DataType:
    """Return Spark's type of a leaf. Raises ProgrammingError if the leaf has no Spark type, OperationalError
    for a decimal of too many digits."""
    match leaf.kind:
        case "Int":
            return _INTEGERS[leaf.width, leaf.signed]
        case "Date":
            return DATE
        case "Decimal" if leaf.precision <= MAX_PRECISION:
            return decimal(leaf.precision, leaf.scale)
        case "Decimal":
            raise OperationalError(
                f"Decimal precision {leaf.precision} exceeds max precision {MAX_PRECISION}.",
                condition="DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            )
        case "Timestamp" | "Instant" if leaf.unit != "nanoseconds":
            return TIMESTAMP if leaf.kind == "Instant" else TIMESTAMP_NTZ
        case "String" | "Enum" | "JSON":
            return STRING
        case "None" | "Null" | "BSON":
            return _PLAIN[leaf.physical]
        case "Time" if leaf.unit != "milliseconds":
            raise ProgrammingError("The data type TIME is not supported.", condition="UNSUPPORTED_TIME_TYPE")
        case _:
            raise ProgrammingError(
                f"Illegal Parquet type: {leaf.physical} ({leaf.kind.upper()}) of column {leaf.path}.",
                condition="PARQUET_TYPE_ILLEGAL",
            )


def value_of(plain: bytes | None, leaf: Leaf) -> object:
    """Decode a value in Parquet's encoding PLAIN, of a leaf of integers, dates, decimals, texts or bytes.
    Returns None for None, for leaves of other types, and for invalid bytes."""
    if plain is None:
        return None
    match leaf.physical:
        case "INT32" | "INT64" if len(plain) == _INTEGER_BYTES[leaf.physical]:
            number = int.from_bytes(plain, "little", signed=True)
        case "BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY" if leaf.kind == "Decimal" and plain:
            number = int.from_bytes(plain, "big", signed=True)
        case "BYTE_ARRAY" | "FIXED_LEN_BYTE_ARRAY" if leaf.kind in ("None", "String"):
            return _text_of(plain) if leaf.kind == "String" else plain
        case _:
            return None
    match leaf.kind:
        case "Decimal":
            return Decimal(number).scaleb(-leaf.scale, _EXACT)
        case "Date":
            return _day(number)
        case "Int" | "None":
            return number
    return None


def _day(number: int) -> date | None:
    """Return the date of a number of days since 1970; None for a day beyond Python's dates."""
    try:
        return _EPOCH + timedelta(number)
    except OverflowError:
        return None


def _text_of(plain: bytes) -> str | None:
    """Decode a text that bounds a column's values; None if it was cut within a character, as some writers cut
    bounds."""
    try:
        return plain.decode()
    except UnicodeDecodeError:
        return None


def spark_type(kind: pa.DataType, leaves: Iterator[Leaf]) -> pa.DataType:
    """Return Spark's type of a column whose Arrow type is ``kind``. ``leaves``: an iterator over the leaves
    of Parquet's schema; the column's leaves are taken from it. Raises ProgrammingError if a leaf has no Spark
    type, OperationalError for a decimal of too many digits."""
    kinds = pa.types
    if kinds.is_map(kind):
        return pa.map_(spark_type(kind.key_type, leaves), spark_type(kind.item_type, leaves))
    if kinds.is_struct(kind):
        fields = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([(field.name, spark_type(field.type, leaves)) for field in fields])
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        return pa.list_(spark_type(kind.value_type, leaves))
    return leaf_type(next(leaves))


def count_leaves(kind: pa.DataType) -> int:
    """Return the number of Parquet leaves of a column whose Arrow type is ``kind``."""
    if not pa.types.is_nested(kind):
        return 1
    return sum(count_leaves(kind.field(index).type) for index in range(kind.num_fields))


def conversion(kind: pa.DataType, leaves: Iterator[Leaf], wanted: pa.DataType) -> Conversion:
    """Return a function that converts arrays of a file's column into the physical form of Spark's type
    ``wanted``. ``kind``: the Arrow type of the column. ``leaves``: an iterator over leaves of Parquet's
    schema; the column's leaves are taken from it. Raises Mismatch for a conversion that Spark refuses,
    NotSupportedError for one that isn't implemented."""
    kinds = pa.types
    if kinds.is_map(kind) and kinds.is_map(wanted):
        taken = list(_taken(kind, leaves))
        if _is_natural(kind, taken, wanted):
            return partial(to_physical, logical=wanted)
        rest = iter(taken)
        key = conversion(kind.key_type, rest, wanted.key_type)
        item = conversion(kind.item_type, rest, wanted.item_type)
        return partial(converted_map, wanted=wanted, key=key, item=item)
    if kinds.is_struct(kind) and kinds.is_struct(wanted):
        return _struct_conversion(kind, leaves, wanted)
    if kinds.is_nested(kind) and kinds.is_list(wanted) and not kinds.is_struct(kind):
        taken = list(_taken(kind, leaves))
        inner = conversion(kind.value_type, iter(taken), wanted.value_type)
        if _is_natural(kind, taken, wanted):
            return partial(to_physical, logical=wanted)
        return partial(converted_list, wanted=wanted, element=inner)
    if kinds.is_nested(kind) or kinds.is_nested(wanted):
        raise NotSupportedError(f"a Parquet column of another type that is read as {ddl(wanted)}")
    return _leaf_conversion(next(leaves), wanted)


def _taken(kind: pa.DataType, leaves: Iterator[Leaf]) -> Iterator[Leaf]:
    for _ in range(count_leaves(kind)):
        yield next(leaves)


def _is_natural(kind: pa.DataType, leaves: list[Leaf], wanted: pa.DataType) -> bool:
    try:
        return spark_type(kind, iter(leaves)) == wanted
    except (ProgrammingError, OperationalError):
        return False


def _struct_conversion(kind: pa.DataType, leaves: Iterator[Leaf], wanted: pa.DataType) -> Conversion:
    found = {}
    for index in range(kind.num_fields):
        field = kind.field(index)
        if field.name.lower() in found:
            raise NotSupportedError(f"a struct in Parquet with two fields {field.name.lower()}")
        found[field.name.lower()] = index, list(_taken(field.type, leaves))
    parts: list[tuple[int, Conversion] | None] = []
    for position in range(wanted.num_fields):
        field = wanted.field(position)
        place = found.get(field.name.lower())
        if place is None:
            parts.append(None)
        else:
            index, own = place
            parts.append((index, conversion(kind.field(index).type, iter(own), field.type)))
    return partial(converted_struct, wanted=wanted, parts=parts)


def _leaf_conversion(leaf: Leaf, wanted: pa.DataType) -> Conversion:
    if is_interval(wanted):
        raise NotSupportedError(f"Parquet's integers that are read as {ddl(wanted)}")
    try:
        natural = leaf_type(leaf)
    except (ProgrammingError, OperationalError):
        natural = None
    if natural == wanted:
        return partial(to_physical, logical=wanted)
    if leaf.physical in ("INT32", "INT64") and wanted in (TIMESTAMP, TIMESTAMP_NTZ):
        return _moments(leaf, wanted)
    if is_decimal(wanted):
        _check_decimal(leaf, wanted)
        return partial(_as_decimal, wanted=wanted)
    if wanted not in _OTHERS[leaf.physical]:
        raise Mismatch(leaf, wanted)
    if not leaf.signed or (leaf.kind == "Decimal" and leaf.physical not in ("INT32", "INT64")):
        raise NotSupportedError(f"Parquet's {leaf.kind} column {leaf.path} that is read as {ddl(wanted)}")
    return partial(_as_bits, leaf=leaf, wanted=wanted)


def _moments(leaf: Leaf, wanted: pa.DataType) -> Conversion:
    is_moment = leaf.kind in ("Timestamp", "Instant") and leaf.unit != "nanoseconds"
    if not is_moment and not (leaf.kind == "Date" and wanted == TIMESTAMP_NTZ):
        raise Mismatch(leaf, wanted)
    return partial(_as_moment, wanted=wanted)


def _as_moment(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return the timestamps as the timestamp type ``wanted``, with unchanged microseconds since 1970: between
    a type with time zone and one without, nothing is shifted."""
    return array.cast(TIMESTAMP_NTZ).cast(BIGINT).cast(wanted)


def _check_decimal(leaf: Leaf, wanted: pa.DataType) -> None:
    if leaf.kind == "Decimal":
        scale, digits = wanted.scale - leaf.scale, wanted.precision - leaf.precision
        fits = scale >= 0 and digits >= scale
    else:
        whole = {"INT32": 10, "INT64": 20}.get(leaf.physical, MAX_PRECISION + 1)
        is_integer = leaf.kind in ("None", "Null") or (leaf.kind == "Int" and leaf.signed)
        fits = is_integer and wanted.precision - wanted.scale >= whole
    if not fits:
        raise Mismatch(leaf, wanted)


def _as_decimal(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    wide = array if is_decimal(array.type) else array.cast(BIGINT).cast(decimal(19, 0))
    return to_physical(wide.cast(pa.decimal256(60, wanted.scale)).cast(wanted), wanted)


def _as_bits(array: pa.Array, leaf: Leaf, wanted: pa.DataType) -> pa.Array:
    """Return the stored integers as values of ``wanted``; a narrower type gets their lower bits. What
    ``leaf`` makes of the integers (dates, times or decimals) is ignored. Values that aren't integers are
    converted to the physical form of ``wanted``."""
    if leaf.physical in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"):
        return _as_text(array.storage if isinstance(array, pa.ExtensionArray) else array, wanted)
    if leaf.physical in ("FLOAT", "DOUBLE", "BOOLEAN", "INT96"):
        return to_physical(array, wanted)
    whole = _whole(array, leaf)
    if wanted in (TINYINT, SMALLINT):
        half = 1 << (wanted.bit_width - 1)
        moved = pc.add(whole, scalar(half, BIGINT))
        whole = pc.subtract(pc.bit_wise_and(moved, scalar(2 * half - 1, BIGINT)), scalar(half, BIGINT))
    return whole.cast(INT).cast(DATE) if wanted == DATE else whole.cast(wanted)


def _as_text(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Return the bytes unchanged as type ``wanted``, STRING or BINARY. Raises NotSupportedError for bytes
    that are not UTF-8 but are read as STRING."""
    try:
        return to_physical(array, wanted)
    except pa.ArrowInvalid as error:
        raise NotSupportedError(f"Parquet's bytes that are no UTF-8 and are read as {ddl(wanted)}") from error


def _whole(array: pa.Array, leaf: Leaf) -> pa.Array:
    kinds = pa.types
    if is_decimal(array.type):
        return to_physical(array, decimal(array.type.precision, array.type.scale)).view(BIGINT)
    if kinds.is_timestamp(array.type):
        units = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}
        return array.cast(pa.timestamp(units[leaf.unit])).cast(BIGINT)
    if kinds.is_date64(array.type):
        array = array.cast(DATE)
    if kinds.is_date(array.type) or kinds.is_time32(array.type):
        return array.cast(INT).cast(BIGINT)
    return array.cast(BIGINT)
