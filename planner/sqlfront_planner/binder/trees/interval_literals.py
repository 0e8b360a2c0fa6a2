"""Interval literals in all of Spark's forms, as values and as text.

Source: the pages "Interval literals" of Spark's SQL reference. A literal is a number of months or of
microseconds; its units determine its type.
"""

import re
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Final

import msgspec
from sqlglot import exp

from sqlfront_planner.binder.trees.handlers import failure, span, unsupported
from sqlfront_values.casts.interval_texts import check_bound, interval_text
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import Literal
from sqlfront_values.types import INTERVALS, MICROS_OF, MONTHS_OF, IntervalType, is_year_month

_MICROS: Final = {"WEEK": 604_800_000_000, **MICROS_OF, "MILLISECOND": 1_000, "MICROSECOND": 1}
_FIELDS: Final = tuple(MICROS_OF)
_SHOWN_AS: Final = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
_PAIR: Final = re.compile(r"\s*([+-]?\s*\d*\.?\d+)\s+([a-zA-Z]+)(?:\s+|$)")
#: The text of ``INTERVAL '...' DAY TO SECOND`` by its first unit, up to any last unit.
_SPAN: Final = {
    "YEAR": re.compile(r"\s*([+-])?(\d+)-(\d+)\s*"),
    "DAY": re.compile(r"\s*([+-])?(\d+)\s+(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d{1,9})?))?)?\s*"),
    "HOUR": re.compile(r"\s*([+-])?(\d+):(\d{1,2})(?::(\d{1,2}(?:\.\d{1,9})?))?\s*"),
    "MINUTE": re.compile(r"\s*([+-])?(\d+):(\d{1,2}(?:\.\d{1,9})?)\s*"),
}


class IntervalLiteral(msgspec.Struct, frozen=True):
    """A literal of an interval type: ``amount`` is a number of months, or of microseconds, as the type
    says."""

    amount: int
    type: IntervalType

    def negated(self) -> "IntervalLiteral":
        """Return the interval of the opposite sign."""
        return IntervalLiteral(-self.amount, self.type)

    def literal(self) -> Literal:
        """Return the bound expression of the interval, whose value is a whole number of months or a
        timedelta."""
        in_months = is_year_month(self.type)
        return Literal(self.type, self.amount if in_months else timedelta(microseconds=self.amount))

    def text(self) -> str:
        """Return the interval's text as Spark writes it in names, such as ``INTERVAL '1 02' DAY TO HOUR``.

        >>> from sqlfront_values.types import DAY_TIME_INTERVAL
        >>> IntervalLiteral(93_784_000_000, DAY_TIME_INTERVAL).text()
        "INTERVAL '1 02:03:04' DAY TO SECOND"

        The units in the text are those of the interval's type.
        """
        return interval_text(self.amount, self.type)


def interval_literal(node: exp.Interval) -> IntervalLiteral:
    """Convert sqlglot's node to an interval literal.

    Raises ProgrammingError (INVALID_TYPED_LITERAL, INVALID_INTERVAL_FORMAT) for a text that isn't an
    interval. Raises NotSupportedError for an interval that mixes months with days or is out of its type's
    range, and for a value that isn't a literal.
    """
    value, unit = node.this, node.args.get("unit")
    sign = 1
    if isinstance(value, exp.Neg):
        value, sign = value.this, -1
    if not isinstance(value, exp.Literal):
        raise unsupported("INTERVAL with a value that is not a literal", node)
    text = str(value.this)
    if isinstance(unit, exp.IntervalSpan):
        result = _span(text, _unit(unit.this, node), _unit(unit.expression, node), node)
    elif unit is None:
        result = _pairs(text, node)
    else:
        result = _of_units([(_number(text, node), _unit(unit, node))], node)
    result = result.negated() if sign < 0 else result
    bits = 31 if is_year_month(result.type) else 63
    if not -(1 << bits) <= result.amount < 1 << bits:
        raise unsupported("An interval out of the range of its type", node)
    return result


def _pairs(text: str, node: exp.Expr) -> IntervalLiteral:
    """Parse the text of an interval as pairs of a number and a unit, such as ``'1 day 2 hours'``. Raises
    INVALID_TYPED_LITERAL for a text of another form."""
    body = re.sub(r"^\s*interval\s", "", text, flags=re.IGNORECASE)
    pairs, position = [], 0
    while position < len(body):
        match = _PAIR.match(body, position)
        if match is None:
            raise _bad_format(text, node)
        pairs.append((_number(match[1], node), _known_unit(match[2], node)))
        position = match.end()
    if not pairs:
        raise _bad_format(text, node)
    return _of_units(pairs, node)


def _of_units(pairs: list[tuple[Decimal, str]], node: exp.Expr) -> IntervalLiteral:
    months = [unit for _, unit in pairs if unit in MONTHS_OF]
    if months and len(months) < len(pairs):
        raise unsupported("An interval of months and days together", node)
    scale = MONTHS_OF if months else _MICROS
    amount = sum(quantity * scale[unit] for quantity, unit in pairs)
    if any(quantity % 1 and unit != "SECOND" for quantity, unit in pairs):
        raise _bad_format(" ".join(f"{quantity} {unit}" for quantity, unit in pairs), node)
    order = tuple(MONTHS_OF) if months else _FIELDS
    units = sorted((_SHOWN_AS.get(unit, unit) for _, unit in pairs), key=order.index)
    return IntervalLiteral(int(amount), INTERVALS[units[0], units[-1]])


def _span(text: str, first: str, last: str, node: exp.Expr) -> IntervalLiteral:
    """Parse the text of an interval with one or two units behind it, such as ``'1 02:03:04' DAY TO SECOND``:
    the text has the units from ``first`` to ``last``. Raises INVALID_INTERVAL_FORMAT for a text of another
    form."""
    match = _SPAN[first].fullmatch(text) if first in _SPAN else None
    if match is None:
        raise _bad_span(text, first, last, node)
    sign, *parts = match.groups()
    if first == "YEAR":
        if last != "MONTH" or int(parts[1]) > 11:
            raise _bad_span(text, first, last, node)
        amount = Decimal(int(parts[0]) * 12 + int(parts[1]))
    else:
        fields = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1] if last in _FIELDS else ()
        given = [part for part in parts if part is not None]
        if len(given) != len(fields):
            raise _bad_span(text, first, last, node)
        _check_bounds(dict(zip(fields, given, strict=True)), node)
        amount = sum(
            (Decimal(part) * _MICROS[unit] for part, unit in zip(given, fields, strict=True)), Decimal()
        )
    return IntervalLiteral(-int(amount) if sign == "-" else int(amount), INTERVALS[first, last])


def _check_bounds(parts: dict[str, str], node: exp.Expr) -> None:
    """Raise Spark's error for the first number of a unit that is out of the unit's bounds; of several units,
    in their order, ``parts`` has the numbers, a fraction included."""
    bounded = list(parts)[0 if len(parts) > 1 and "DAY" in parts else 1 :]
    try:
        for unit in bounded:
            check_bound(unit, int(Decimal(parts[unit])))
    except ValueError as error:
        raise ProgrammingError(
            f"{error}.", condition="_LEGACY_ERROR_TEMP_0063", position=span(node)
        ) from None


def _unit(node: exp.Expr, whole: exp.Expr) -> str:
    return _known_unit(node.name, whole)


def _known_unit(word: str, node: exp.Expr) -> str:
    unit = word.upper()
    unit = unit[:-1] if unit.endswith("S") else unit
    if unit not in MONTHS_OF and unit not in _MICROS:
        raise _bad_format(word, node)
    return unit


def _number(text: str, node: exp.Expr) -> Decimal:
    try:
        return Decimal(text.replace(" ", ""))
    except InvalidOperation:
        raise _bad_format(text, node) from None


def _bad_format(text: str, node: exp.Expr) -> Error:
    return failure(
        "INVALID_TYPED_LITERAL", f"The value of the typed literal \"INTERVAL\" is invalid: '{text}'.", node
    )


def _bad_span(text: str, first: str, last: str, node: exp.Expr) -> Error:
    if first == "YEAR" and last == "MONTH" and _SPAN["YEAR"].fullmatch(text):
        return failure(
            "INVALID_INTERVAL_FORMAT.INTERVAL_PARSING", f"Error parsing '{text}' to interval.", node
        )
    return failure(
        "INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE",
        f"Error parsing '{text}' to interval: it does not have the form of {first} TO {last}.",
        node,
    )
