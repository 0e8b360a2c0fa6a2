"""Type objects and constructors of PEP 249, and the type codes of ``Cursor.description``."""

import datetime
import time
from typing import Final

import pyarrow as pa

from sqlfront_values.types import BINARY as SQL_BINARY
from sqlfront_values.types import ddl, is_interval, is_numeric, is_string, is_time

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:  # noqa: N802 - PEP 249's name
    """Return the date, in this machine's time zone, of a time in seconds since the epoch."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:  # noqa: N802 - PEP 249's name
    """Return the time of day, in this machine's time zone, of a time in seconds since the epoch."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:  # noqa: N802 - PEP 249's name
    """Return the date and time, in this machine's time zone but without ``tzinfo``, of a time in seconds
    since the epoch."""
    return Timestamp(*time.localtime(ticks)[:6])


class TypeGroup:
    """A type object of PEP 249, such as NUMBER; it compares equal to every :class:`SqlType` of its group."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"sqlfront.{self._name}"


STRING: Final = TypeGroup("STRING")
BINARY: Final = TypeGroup("BINARY")
NUMBER: Final = TypeGroup("NUMBER")
DATETIME: Final = TypeGroup("DATETIME")
ROWID: Final = TypeGroup("ROWID")


class SqlType:
    """A column's type: ``ddl`` is Spark's name (``"decimal(12,2)"``), ``arrow`` the logical Arrow type. Equal
    to its PEP 249 group (``code == sqlfront.NUMBER``), and to an equal type.

    >>> code = SqlType(pa.decimal128(12, 2))
    >>> code, code == NUMBER, code == STRING
    (decimal(12,2), True, False)
    """

    __slots__ = ("arrow", "ddl")

    def __init__(self, data_type: pa.DataType) -> None:
        self.arrow = data_type
        self.ddl = ddl(data_type)

    @property
    def group(self) -> TypeGroup | None:
        """The PEP 249 group; None for nested types, booleans and void."""
        if is_string(self.arrow):
            return STRING
        if is_numeric(self.arrow):
            return NUMBER
        if self.arrow == SQL_BINARY:
            return BINARY
        if pa.types.is_temporal(self.arrow) or is_interval(self.arrow) or is_time(self.arrow):
            return DATETIME
        return None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeGroup):
            return self.group is other
        if isinstance(other, SqlType):
            return bool(self.arrow == other.arrow)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(self.arrow)

    def __repr__(self) -> str:
        return self.ddl


ColumnDescription = tuple[str, SqlType, None, int | None, int | None, int | None, bool | None]


def describe(schema: pa.Schema) -> list[ColumnDescription]:
    """Return the ``Cursor.description`` of a result with this schema, a tuple for each column: name, type
    code, None, internal size in bytes, precision, scale, null_ok."""
    return [(field.name, SqlType(field.type), None, *_sizes(field.type), True) for field in schema]


def _sizes(data_type: pa.DataType) -> tuple[int | None, int | None, int | None]:
    size = None if pa.types.is_null(data_type) or pa.types.is_nested(data_type) else _width(data_type)
    if pa.types.is_decimal(data_type):
        return size, data_type.precision, data_type.scale
    return size, None, None


def _width(data_type: pa.DataType) -> int | None:
    try:
        return max(1, data_type.bit_width // 8)
    except ValueError:
        return None
