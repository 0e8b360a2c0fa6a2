"""Constants: literals from the text of numbers, and Spark's text of values."""

import re
import struct
import sys
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner import types as coercion
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_values import types
from sqlfront_values.errors import Error
from sqlfront_values.expressions import Literal
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.types import (
    BIGINT,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TINYINT,
    VALUE_BITS,
    IntervalType,
    is_time,
)
from sqlfront_values.zones import names as zone_names

if TYPE_CHECKING:
    from sqlfront_values.casts import interval_texts, times
else:
    interval_texts = lazy_module("sqlfront_values.casts.interval_texts")
    times = lazy_module("sqlfront_values.casts.times")

_NUMBER: Final = r"(-?)(\d+|\d*\.\d*)(e[+-]?\d+)?(bd|[lsydf])?"
#: Digits: a number of at most this many digits is an INT (the largest has ten).
INT_DIGITS: Final = 9
_TICK: Final = timedelta(microseconds=1)
#: The digits of the largest bigint.
_MOST_DIGITS: Final = 19
_SUFFIXES: Final = {"L": BIGINT, "S": SMALLINT, "Y": TINYINT}
_LARGEST: Final = {FLOAT: 3.4028234663852886e38, DOUBLE: sys.float_info.max}

#: The functions and types of ``current_date`` and ``current_timestamp`` without parentheses, if no column has
#: the name.
CURRENT: Final[dict[type[exp.Expr], tuple[str, pa.DataType]]] = {
    exp.CurrentDate: ("current_date", types.DATE),
    exp.CurrentTimestamp: ("current_timestamp", types.TIMESTAMP),
}
#: The functions and types of all words that call a function without parentheses if no column has the name.
IMPLIED: Final[dict[str, tuple[str, pa.DataType]]] = {
    **dict.fromkeys(("user", "current_user", "session_user"), ("current_user", types.STRING)),
    **{name: (name, kind) for name, kind in CURRENT.values()},
    **dict.fromkeys(("current_time", "localtime"), ("current_time", types.TIME)),
}


def number(text: str, node: exp.Expr) -> Literal:
    """Return the literal of a number in the text, with its sign and suffix, such as ``-1L``. Raises
    INVALID_NUMERIC_LITERAL_RANGE for a value out of the suffix's range,
    DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION for more than 38 digits."""
    if len(text) <= INT_DIGITS and text.isascii() and text.isdigit():
        return Literal(INT, int(text))
    match = re.fullmatch(_NUMBER, text, re.IGNORECASE)
    if match is None:
        raise unsupported(f"The number {text}", node)
    sign, digits, exponent, suffix = match.groups()
    body, suffix = f"{sign}{digits}{exponent or ''}", (suffix or "").upper()
    if suffix in _SUFFIXES:
        if not body.lstrip("-").isdigit():
            raise unsupported(f"The number {text}", node)
        return _integer(sign, digits, _SUFFIXES[suffix], text, node)
    if suffix == "F":
        return Literal(FLOAT, single(_finite(body, text, FLOAT, node)))
    if suffix == "D" or (exponent and suffix != "BD"):
        return Literal(DOUBLE, _finite(body, text, DOUBLE, node))
    if suffix != "BD" and digits.isdigit() and len(digits.lstrip("0")) <= _MOST_DIGITS:
        value = int(digits.lstrip("0") or "0") * (-1 if sign else 1)
        for kind in (INT, BIGINT):
            if -(1 << VALUE_BITS[kind]) <= value < 1 << VALUE_BITS[kind]:
                return Literal(kind, value)
    try:
        exact = Decimal(body)
    except InvalidOperation:  # an exponent with more digits than Python accepts
        raise _too_precise(exponent or "", node) from None
    return _decimal(exact, node)


def _finite(body: str, text: str, kind: pa.DataType, node: exp.Expr) -> float:
    value, bound = float(body), _LARGEST[kind]
    if abs(value) > bound:
        raise _out_of_range(text, kind, -bound, bound, node)
    return value


def _integer(sign: str, digits: str, kind: pa.DataType, text: str, node: exp.Expr) -> Literal:
    bound = 1 << VALUE_BITS[kind]
    significant = digits.lstrip("0") or "0"
    value = int(significant[: _MOST_DIGITS + 1]) * (-1 if sign else 1)  # int() refuses long texts
    if not -bound <= value < bound:
        raise _out_of_range(text, kind, -bound, bound - 1, node)
    return Literal(kind, value)


def _out_of_range(text: str, kind: pa.DataType, least: float, largest: float, node: exp.Expr) -> Error:
    return failure(
        "INVALID_NUMERIC_LITERAL_RANGE",
        f"Numeric literal {text} is outside the valid range for {types.ddl(kind)} with minimum value of "
        f"{least} and maximum value of {largest}. Please adjust the value accordingly.",
        node,
    )


def _decimal(value: Decimal, node: exp.Expr) -> Literal:
    kind = coercion.decimal_type_of(value)
    if kind is None:
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        raise _too_precise(str(max(len(digits) + max(exponent, 0), -exponent)), node)
    if kind.scale == 0:
        return Literal(kind, Decimal(int(value)))
    return Literal(kind, value.copy_abs() if value == 0 else value)


def _too_precise(precision: str, node: exp.Expr) -> Error:
    return failure(
        "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
        f"Decimal precision {precision} exceeds max precision 38.",
        node,
    )


def negative_literal(node: exp.Neg) -> Literal | None:
    """Return the literal of a minus sign directly before a number, such as ``-1``, which is one literal in
    Spark's grammar; None for a minus sign before anything else."""
    operand = node.this
    if isinstance(operand, exp.Literal) and not operand.is_string:
        return number(f"-{operand.this}", operand)
    return None


def may_be_position(node: exp.Expr) -> bool:
    """Return whether an item of GROUP BY or ORDER BY can be the position of an output column: whether it is a
    literal or a parameter. A whole number there is a position, a negative number an error."""
    if isinstance(node, exp.Neg):
        return negative_literal(node) is not None
    return isinstance(node, exp.Literal | exp.Placeholder)


def constant_text(value: object, kind: pa.DataType, time_zone: str = "UTC") -> str:
    """Return Spark's text of a value of type ``kind`` in names of result columns; timestamps are shown in
    ``time_zone``.

    >>> constant_text(date(2020, 1, 1), types.DATE), constant_text(1e3, types.DOUBLE)
    ("DATE '2020-01-01'", '1000.0')
    >>> constant_text([1, 2], pa.list_(types.INT))
    'array(1, 2)'
    >>> constant_text(float("nan"), types.FLOAT)
    'CAST(NaN AS FLOAT)'
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            if value.tzinfo is None:
                return f"TIMESTAMP_NTZ '{_moment(value)}'"
            return f"TIMESTAMP '{_moment(_in_zone(value, time_zone))}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case float():
            return _float_text(value, kind)
        case list():
            items = (constant_text(item, kind.value_type, time_zone) for item in value)
            return f"array({', '.join(items)})"
        case int() if is_time(kind):
            return times.time_literal(value)
        case timedelta() | int() if isinstance(kind, IntervalType):
            return interval_texts.interval_text(
                value // _TICK if isinstance(value, timedelta) else value, kind
            )
        case _:
            return str(value)


def _in_zone(moment: datetime, name: str) -> datetime:
    """Return the moment as a local time of the zone ``name``; unchanged if the local time is outside of the
    years 1 to 9999."""
    if name == "UTC":
        return moment
    try:
        return moment.astimezone(zone_names.zone_of(name))
    except OverflowError:
        return moment


def _moment(value: datetime) -> str:
    text = value.replace(microsecond=0, tzinfo=None).isoformat(" ")
    return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text


def _float_text(value: float, kind: pa.DataType) -> str:
    """Return the text of a double, or of a float if ``kind`` is FLOAT, as Java prints it; NaN and infinities
    as ``CAST(NaN AS DOUBLE)``."""
    if value != value or value in (float("inf"), float("-inf")):
        text = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
        return f"CAST({text} AS {types.sql_name(kind)})"
    shortest = _shortest_single(value) if kind == FLOAT else repr(value)
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        fixed = format(Decimal(shortest), "f")
        return fixed if "." in fixed else f"{fixed}.0"
    if sum(map(str.isdigit, shortest.partition("e")[0])) == 1:
        shortest = f"{value:.1e}"
    sign, digits, exponent = Decimal(shortest).normalize().as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits))
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{exponent + len(digits) - 1}"


def single(value: float) -> float:
    """Return the double rounded to the nearest value that a float can hold.

    >>> single(0.1) == 0.1, single(0.5)
    (False, 0.5)
    """
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _shortest_single(value: float) -> str:
    """Return the shortest decimal text that reads back as the same float."""
    return next(text for digits in range(1, 10) if single(float(text := f"{value:.{digits}g}")) == value)
