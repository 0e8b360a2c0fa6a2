"""Types and values of partition columns, inferred from directory names as Spark does.

Spark's rule (``spark.sql.sources.partitionColumnTypeInference.enabled``, default true): each text is tried as
int, bigint, decimal without fraction, double, timestamp, date, and is a string otherwise; a column's type is
the widest of its values' types, and string if they don't agree. The texts are parsed by Java's rules.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import reduce
from itertools import permutations
from typing import Final

import pyarrow as pa

from sqlfront_connectors.files.locations.partition_directories import RawPartition, unescape
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.errors import NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.settings import Settings
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    VOID,
    ddl,
    decimal,
    is_decimal,
)

_INTEGER: Final = re.compile(r"[+-]?\d+")
_BIG_DECIMAL: Final = re.compile(
    r"[+-]?(?:(?P<whole>\d+)(?:\.(?P<part>\d*))?|\.(?P<rest>\d+))(?:[eE](?P<exponent>[+-]?\d{1,9}))?"
)
_BLANKS: Final = "".join(map(chr, range(33)))
_DOUBLE: Final = re.compile(r"[+-]?(?:NaN|Infinity|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[dDfF]?)", re.ASCII)
_HEXADECIMAL: Final = re.compile(
    r"[+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?\d+[dDfF]?", re.ASCII
)
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP: Final = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d)?", re.ASCII)
#: Dates and times with years of more than four digits, which have no value in Python.
_FAR: Final = re.compile(r"[+-]\d{4,}-\d{2}-\d{2}(?: .*)?", re.ASCII)


def partition_fields(partitions: Iterable[RawPartition]) -> tuple[pa.Field, ...]:
    """Return the partition columns of directories with their inferred types, outermost directory first."""
    kinds: dict[str, set[pa.DataType]] = {}
    for partition in partitions:
        for name, text in partition:
            kinds.setdefault(name, set()).add(VOID if text is None else infer(text))
    return tuple(pa.field(name, _widest(name, types)) for name, types in kinds.items())


def check_partition_names(partitions: Iterable[RawPartition]) -> None:
    """Raise ProgrammingError (COLUMN_ALREADY_EXISTS) if two directories of one path state the same column
    name. Call this function after the columns of the files are inferred: Spark raises the errors of the
    inference first."""
    for partition in partitions:
        names = [name.lower() for name, _ in partition]
        for name in names:
            if names.count(name) > 1:
                raise column_exists(name)


def column_exists(name: str) -> ProgrammingError:
    """Return Spark's error (COLUMN_ALREADY_EXISTS) for a column name that occurs twice when case is
    ignored."""
    return ProgrammingError(
        f"The column `{name.lower()}` already exists. Choose another name or rename the existing column.",
        condition="COLUMN_ALREADY_EXISTS",
    )


def infer(text: str) -> pa.DataType:
    """Return the type that Spark infers for the text of one directory.

    >>> infer("7"), infer("2024-01-31"), infer("1.5"), infer("x")
    (DataType(int32), DataType(date32[day]), DataType(double), DataType(string))
    """
    if _INTEGER.fullmatch(text):
        value = int(text)
        if -(2**31) <= value < 2**31:
            return INT
        if -(2**63) <= value < 2**63:
            return BIGINT
    digits = _whole_digits(text)
    if digits is not None and digits <= MAX_PRECISION:
        return decimal(digits, 0)
    if _double(text) is not None:
        return DOUBLE
    plain = unescape(text)
    if _FAR.fullmatch(plain):
        raise NotSupportedError(f"partition directories with years such as that of {plain!r}")
    if _TIMESTAMP.fullmatch(plain) and _cast(plain, TIMESTAMP, "UTC") is not None:
        return TIMESTAMP
    if _DATE.fullmatch(text) and _cast(text, DATE, "UTC") is not None:
        return DATE
    return STRING


def partition_value(text: str | None, data_type: pa.DataType, name: str, time_zone: str) -> object:
    """Convert the text of a partition directory into a Python value of the column's type. ``text``: escaped
    as in the directory's name; None (null) stays None. ``name``: the column, for the error. ``time_zone``:
    the time zone of times that state none. Raises OperationalError (INVALID_PARTITION_VALUE) for text that
    doesn't fit the type."""
    if text is None:
        return None
    try:
        return _parse(text, data_type, name, time_zone)
    except (ValueError, ArithmeticError) as error:
        raise OperationalError(
            f"Failed to cast value '{text[:100]}' to data type \"{ddl(data_type).upper()}\" for partition "
            f"column `{name}`. Ensure the value matches the expected data type for this partition column.",
            condition="INVALID_PARTITION_VALUE",
        ) from error


def _parse(text: str, data_type: pa.DataType, name: str, time_zone: str) -> object:
    if data_type == STRING:
        return unescape(text)
    if data_type == BINARY:
        return text.encode()
    if pa.types.is_integer(data_type):
        return _integer(text, data_type.bit_width)
    if pa.types.is_floating(data_type):
        return _required(_double(text))
    if is_decimal(data_type):
        return _decimal(text, data_type, name)
    if data_type == BOOLEAN:
        return _required({"true": True, "false": False}.get(text.lower()))
    if data_type == DATE:
        return _required(_cast(text, DATE, time_zone))
    if pa.types.is_timestamp(data_type):
        moment = _cast(unescape(text), data_type, time_zone)
        return _required(_cast(text, data_type, time_zone) if moment is None else moment)
    raise NotSupportedError(f"partition column `{name}` of type {ddl(data_type)}")


def _required(value: object) -> object:
    if value is None:
        raise ValueError("it doesn't fit")
    return value


def _integer(text: str, width: int) -> int:
    """Parse an integer of ``width`` bits as Spark does: Java's parseInt or parseLong, of which narrower types
    take the lower bits. Raises ValueError for a text that is no integer, or beyond the bounds of int or
    bigint."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("no integer")
    value, bound = int(text), 1 << (max(width, 32) - 1)
    if not -bound <= value < bound:
        raise ValueError("out of range")
    half = 1 << (width - 1)
    return (value + half) % (2 * half) - half


def _decimal(text: str, data_type: pa.DataType, name: str) -> Decimal:
    """Parse a decimal of the type ``data_type``. ``name``: the column, for the error. Raises ValueError for a
    text that is no number, NotSupportedError for a number with another scale than the type or too many
    digits: Spark would read the digits as if they had the type's scale."""
    match = _BIG_DECIMAL.fullmatch(text)
    if match is None:
        raise ValueError("no number")
    value = Decimal(text)
    scale = len(match["part"] or match["rest"] or "") - int(match["exponent"] or 0)
    if scale != data_type.scale or abs(value) >= 10 ** (data_type.precision - data_type.scale):
        raise NotSupportedError(
            f"partition column `{name}` of type {ddl(data_type)} over the text {text[:100]!r}"
        )
    return value


def _whole_digits(text: str) -> int | None:
    """Return the number of digits of the number in ``text``, as Java's BigDecimal counts digits; None if the
    text is not a number or has a fraction."""
    match = _BIG_DECIMAL.fullmatch(text)
    if match is None:
        return None
    fraction = match["part"] or match["rest"] or ""
    scale = len(fraction) - int(match["exponent"] or 0)
    if scale > 0:
        return None
    digits = len(str(int((match["whole"] or "") + fraction)))
    return digits if digits == 1 and int((match["whole"] or "") + fraction) == 0 else digits - scale


def _double(text: str) -> float | None:
    """Parse a floating-point number as Java's parseDouble does; None if the text is not a number."""
    trimmed = text.strip(_BLANKS)
    if _HEXADECIMAL.fullmatch(trimmed):
        try:
            return float.fromhex(trimmed.rstrip("dDfF"))
        except OverflowError:
            return float("-inf" if trimmed.startswith("-") else "inf")
    if not _DOUBLE.fullmatch(trimmed):
        return None
    return float(trimmed if trimmed.endswith(("NaN", "Infinity")) else trimmed.rstrip("dDfF"))


def _cast(text: str, data_type: pa.DataType, time_zone: str) -> object:
    """Return ``TRY_CAST(text AS data_type)`` as a Python value, None if the cast fails. Raises
    NotSupportedError for a value that Python cannot represent."""
    batch = pa.RecordBatch.from_arrays([from_values([text], STRING)], names=["text"])
    found = evaluate(Cast(data_type, Column(STRING, 0), safe=True), batch, Settings(time_zone))
    try:
        return found[0].as_py()
    except (OverflowError, ValueError):
        raise NotSupportedError(f"partition directories with years such as that of {text[:100]!r}") from None


def _widest(name: str, kinds: set[pa.DataType]) -> pa.DataType:
    """Return the type that holds values of all the types ``kinds`` that the texts of the column ``name``
    have. Spark widens two types at a time, in an unspecified order; NotSupportedError is raised if the order
    matters."""
    decimals = [kind for kind in kinds if is_decimal(kind)]
    few = [kind for kind in kinds if not is_decimal(kind) and kind != VOID]
    if decimals:
        few.append(decimal(max(kind.precision for kind in decimals), 0))
    if not few:
        return VOID
    if STRING in few:
        return STRING
    outcomes = {reduce(_wider, order) for order in permutations(few)}
    if len(outcomes) > 1:
        raise NotSupportedError(
            f"partition column `{name}` with values of the types {', '.join(sorted(map(ddl, few)))}"
        )
    return outcomes.pop()


def _wider(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    kinds = {left, right}
    if left == right:
        return left
    if kinds == {INT, BIGINT}:
        return BIGINT
    if kinds == {INT, DOUBLE}:
        return DOUBLE
    if kinds == {DATE, TIMESTAMP}:
        return TIMESTAMP
    if all(is_decimal(kind) or kind in (INT, BIGINT) for kind in kinds):
        return decimal(max(_digits(kind) for kind in kinds), 0)
    return STRING


def _digits(kind: pa.DataType) -> int:
    """Return the number of digits that a whole number of the type (int, bigint or decimal) may have."""
    return {INT: 10, BIGINT: 20}.get(kind) or kind.precision
