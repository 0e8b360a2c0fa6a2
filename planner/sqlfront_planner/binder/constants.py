"""Constants as SQL writes them and as Spark shows them: numbers by their digits and suffix, and the text of
values."""

import re
import struct
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_engine import types
from sqlfront_engine.expressions import Literal
from sqlfront_engine.lazy_modules import lazy_module
from sqlfront_engine.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, IntervalType
from sqlfront_planner.binder.syntax import failure, syntax_failure

if TYPE_CHECKING:
    from sqlfront_engine.casts import interval_texts
    from sqlfront_planner import types as coercion
else:
    coercion = lazy_module("sqlfront_planner.types")
    interval_texts = lazy_module("sqlfront_engine.casts.interval_texts")

_NUMBER: Final = re.compile(r"(-?)(\d+|\d*\.\d*)(e[+-]?\d+)?(bd|[lsydf])?", re.IGNORECASE)
_TICK: Final = timedelta(microseconds=1)
_SUFFIXES: Final = {"L": BIGINT, "S": SMALLINT, "Y": TINYINT}
_BITS: Final = {TINYINT: 7, SMALLINT: 15, INT: 31, BIGINT: 63}


def number(text: str, node: exp.Expr) -> Literal:
    """The literal of a number as written, with its sign and suffix."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise syntax_failure(f"Syntax error at or near '{text}'.", node)
    sign, digits, exponent, suffix = match.groups()
    body, suffix = f"{sign}{digits}{exponent or ''}", (suffix or "").upper()
    if suffix in _SUFFIXES:
        return _integer(int(body), _SUFFIXES[suffix], text, node)
    if suffix == "F":
        return Literal(FLOAT, single(float(body)))
    if suffix == "D" or (exponent and suffix != "BD"):
        return Literal(DOUBLE, float(body))
    if suffix != "BD" and digits.isdigit():
        value = int(body)
        for kind in (INT, BIGINT):
            if -(1 << _BITS[kind]) <= value < 1 << _BITS[kind]:
                return Literal(kind, value)
    return _decimal(Decimal(body), node)


def _integer(value: int, kind: pa.DataType, text: str, node: exp.Expr) -> Literal:
    bound = 1 << _BITS[kind]
    if not -bound <= value < bound:
        raise failure(
            "INVALID_NUMERIC_LITERAL_RANGE",
            f"Numeric literal {text} is outside the valid range for {types.ddl(kind)} with minimum value of "
            f"{-bound} "
            f"and maximum value of {bound - 1}. Please adjust the value accordingly.",
            node,
        )
    return Literal(kind, value)


def _decimal(value: Decimal, node: exp.Expr) -> Literal:
    kind = coercion.decimal_type_of(value)
    if kind is None:
        raise failure(
            "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
            f"Decimal precision {len(value.as_tuple().digits)} exceeds max precision 38.",
            node,
        )
    if kind.scale == 0:
        return Literal(kind, Decimal(int(value)))
    return Literal(kind, value.copy_abs() if value == 0 else value)


def negative_literal(node: exp.Neg) -> Literal | None:
    """``-1`` is one literal in Spark's grammar; None if the operand isn't a number as written."""
    operand = node.this
    if isinstance(operand, exp.Literal) and not operand.is_string:
        return number(f"-{operand.this}", operand)
    return None


def constant_text(value: object, kind: pa.DataType) -> str:
    """A value as it shows in names of result columns.

    >>> constant_text(date(2020, 1, 1), types.DATE), constant_text(1e3, types.DOUBLE)
    ("DATE '2020-01-01'", '1000.0')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            prefix = "TIMESTAMP" if value.tzinfo is not None else "TIMESTAMP_NTZ"
            return f"{prefix} '{_moment(value)}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case float():
            return _float_text(value, kind)
        case timedelta() | int() if isinstance(kind, IntervalType):
            return interval_texts.interval_text(
                value // _TICK if isinstance(value, timedelta) else value, kind
            )
        case _:
            return str(value)


def _moment(value: datetime) -> str:
    text = value.strftime("%Y-%m-%d %H:%M:%S")
    return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text


def _float_text(value: float, kind: pa.DataType) -> str:
    """A float as Java prints it."""
    shortest = _shortest_single(value) if kind == FLOAT else repr(value)
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
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
    """The value of a double as a float has it.

    >>> single(0.1) == 0.1, single(0.5)
    (False, 0.5)
    """
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _shortest_single(value: float) -> str:
    """The fewest digits that mean the same float."""
    return next(text for digits in range(1, 10) if single(float(text := f"{value:.{digits}g}")) == value)
