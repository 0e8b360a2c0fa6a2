"""Types and values of partition columns, inferred from directory names as Spark does.

Spark's rule (``spark.sql.sources.partitionColumnTypeInference.enabled``, default true): each value is tried
as int, bigint, decimal without fraction, double, date, timestamp, and is a string otherwise; a column's type
is the widest of its values, and string if they don't agree.
"""

import datetime
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final, TypeVar

import pyarrow as pa

from sqlfront_connectors.files.listing import DataFile
from sqlfront_engine.errors import OperationalError
from sqlfront_engine.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal

Number = TypeVar("Number", int, Decimal)

_INTEGER: Final = re.compile(r"[+-]?\d+")
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?")
_DATE: Final = re.compile(r"\d{4}-\d{1,2}-\d{1,2}")
_TIMESTAMP: Final = re.compile(r"\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{1,2}(:\d{1,2}(\.\d{1,6})?)?")
#: Numbers from narrow to wide.
_NUMERIC_ORDER: Final = (INT, BIGINT, DOUBLE)


def partition_fields(files: Iterable[DataFile]) -> tuple[pa.Field, ...]:
    """The partition columns of a listing with their inferred types, outermost directory first. Files whose
    directories name different columns are an error, as in Spark."""
    names: tuple[str, ...] | None = None
    kinds: dict[str, pa.DataType | None] = {}
    for file in files:
        here = tuple(name for name, _ in file.partition)
        if names is None:
            names = here
        elif names != here:
            raise OperationalError(
                f"Conflicting partition column names detected: {', '.join(names) or '(none)'} and "
                f"{', '.join(here) or '(none)'} in {file.path}.",
                condition="CONFLICTING_PARTITION_COLUMN_NAMES",
                sqlstate="KD009",
            )
        for name, text in file.partition:
            kinds[name] = _wider(kinds.get(name), None if text is None else infer(text))
    return tuple(pa.field(name, kinds[name] or STRING) for name in names or ())


def infer(text: str) -> pa.DataType:
    """The type of one directory value.

    >>> infer("7"), infer("2024-01-31"), infer("1.5"), infer("x")
    (DataType(int32), DataType(date32[day]), DataType(double), DataType(string))
    """
    if _INTEGER.fullmatch(text):
        value = int(text)
        if -(2**31) <= value < 2**31:
            return INT
        if -(2**63) <= value < 2**63:
            return BIGINT
        digits = len(str(abs(value)))
        return decimal(digits, 0) if digits <= 38 else DOUBLE
    if _NUMBER.fullmatch(text):
        return DOUBLE
    if _DATE.fullmatch(text) and _is(text, DATE):
        return DATE
    if _TIMESTAMP.fullmatch(text) and _is(text, TIMESTAMP):
        return TIMESTAMP
    return STRING


def partition_value(text: str | None, data_type: pa.DataType) -> object:
    """The Python value of a directory's text in the column's type; text that doesn't fit a declared type is
    an error."""
    if text is None:
        return None
    try:
        return _parse(text, data_type)
    except (ValueError, ArithmeticError, KeyError) as error:
        raise OperationalError(
            f"partition directory value {text!r} is no {data_type}",
            condition="INVALID_PARTITION_VALUE",
            sqlstate="42846",
        ) from error


def _parse(text: str, data_type: pa.DataType) -> object:
    if pa.types.is_integer(data_type):
        bound = 1 << (data_type.bit_width - 1)
        return _within(int(text), -bound <= int(text) < bound)
    if pa.types.is_floating(data_type):
        return float(text.rstrip("dDfF") or text)
    if pa.types.is_decimal(data_type):
        value = round(Decimal(text), data_type.scale)
        bound = 10 ** (data_type.precision - data_type.scale)
        return _within(value, abs(value) < bound)
    if pa.types.is_boolean(data_type):
        return {"true": True, "false": False}[text.lower()]
    if data_type == DATE:
        return datetime.date(*(int(part) for part in text.split("-")))
    if pa.types.is_timestamp(data_type):
        day, _, clock = text.replace("T", " ").partition(" ")
        hours, minutes, seconds = [*clock.split(":"), "0", "0", "0"][:3]
        year, month, date = (int(part) for part in day.split("-"))
        moment = datetime.datetime(year, month, date, tzinfo=datetime.UTC)
        moment += datetime.timedelta(
            hours=int(hours or 0), minutes=int(minutes), microseconds=round(float(seconds) * 1_000_000)
        )
        return moment if data_type.tz else moment.replace(tzinfo=None)
    return text


def _within(value: Number, fits: bool) -> Number:
    if not fits:
        raise ValueError(f"{value} is out of range")
    return value


def _is(text: str, data_type: pa.DataType) -> bool:
    try:
        _parse(text, data_type)
    except ValueError:
        return False
    return True


def _wider(left: pa.DataType | None, right: pa.DataType | None) -> pa.DataType | None:
    if left is None or right is None or left == right:
        return left if right is None else right
    numeric = [kind for kind in (left, right) if kind in _NUMERIC_ORDER or pa.types.is_decimal(kind)]
    if len(numeric) == 2:
        if DOUBLE in numeric:
            return DOUBLE
        decimals = [kind for kind in numeric if pa.types.is_decimal(kind)]
        if decimals:
            return decimal(max(kind.precision for kind in decimals), 0)
        return BIGINT
    if {left, right} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    return STRING
