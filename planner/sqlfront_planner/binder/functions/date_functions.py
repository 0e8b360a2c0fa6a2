"""Binding of date functions with a special syntax: EXTRACT's fields, and units as the first argument."""

from collections.abc import Callable
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import (
    WHERE_FUNCTIONS_ARE,
    CallBinder,
    CallBinders,
    argument_error,
    call_function,
    unresolved_routine,
    wrong_argument,
)
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.functions.times import check_taken
from sqlfront_planner.binder.names.call_names import UNIT_FUNCTIONS
from sqlfront_planner.binder.trees.handlers import failure, unsupported
from sqlfront_values import types
from sqlfront_values.expressions import Call, Case, Cast, Expr, Literal, columns_used
from sqlfront_values.types import BIGINT, BOOLEAN, INT, STRING, is_integral, units_of

Special = Callable[[ExpressionBinder, exp.Anonymous], Expr]

#: The function that computes each of EXTRACT's fields.
_FIELDS: Final = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "year"),
    **dict.fromkeys(("QUARTER", "QTR"), "quarter"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "month"),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), "weekofyear"),
    **dict.fromkeys(("DAY", "D", "DAYS"), "dayofmonth"),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), "dayofweek"),
    **dict.fromkeys(("DAYOFWEEK_ISO", "DOW_ISO"), "dayofweek_iso"),
    "DOY": "dayofyear",
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "hour"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "minute"),
    **dict.fromkeys(("SECOND", "S", "SEC", "SECONDS", "SECS"), "second_with_fraction"),
    "YEAROFWEEK": "year_of_week",
}

#: The units of intervals, by the function that extracts them from dates and timestamps.
_INTERVAL_FIELDS: Final = {
    "year": "YEAR",
    "month": "MONTH",
    "dayofmonth": "DAY",
    "hour": "HOUR",
    "minute": "MINUTE",
    "second_with_fraction": "SECOND",
}


#: The functions of the fields that times of day have.
_TIME_FIELDS: Final = frozenset({"hour", "minute", "second_with_fraction"})


def _date_part(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``date_part('year', d)``, and ``EXTRACT(year FROM d)``, which
    :mod:`sqlfront_planner.tokens.rewriting` turns into a call."""
    field, source = binder.bind_all(node.expressions)
    field = binder.context.known_value(field)
    if isinstance(field, Literal) and field.value is None:
        raise unsupported("date_part of NULL", node)
    if isinstance(field, Call) and not columns_used(field):
        raise unsupported("date_part of a field that is computed", node)
    if not isinstance(field, Literal) or not isinstance(field.value, str):
        raise failure(
            "NON_FOLDABLE_ARGUMENT",
            "The function `date_part` requires a constant string as its first argument.",
            node,
        )
    return extract(binder, field.value, source, node)


def extract(binder: ExpressionBinder, field: str, source: Expr, node: exp.Expr) -> Expr:
    """Bind the extraction of ``field``, such as "YEAR" in any case, from a date, timestamp or interval.
    Raises INVALID_EXTRACT_FIELD if the source's type has no such field."""
    function = _FIELDS.get(field.upper())
    if types.is_time(source.type):
        check_taken(binder)
        function = function if function in _TIME_FIELDS else None
    if isinstance(source.type, types.IntervalType):
        unit = _INTERVAL_FIELDS.get(function or "", "")
        function = f"interval_{unit.lower()}" if unit in units_of(source.type) else None
    if function is None:
        raise failure(
            "INVALID_EXTRACT_FIELD",
            f"Cannot extract `{field}` from a value of type {types.ddl(source.type)}.",
            node,
        )
    return call_function(binder, function, [source], node)


def _unit(node: exp.Anonymous) -> str | None:
    """Return the unit that is the first argument of a call such as ``timestampadd(MONTH, ...)``; None if the
    first argument isn't a unit."""
    first = node.expressions[0] if node.expressions else None
    if len(node.expressions) != 3 or not isinstance(first, exp.Column) or first.args.get("table"):
        return None
    return str(first.name) if first.name.upper() in _UNITS else None


def with_unit(name: str, node: exp.Anonymous) -> str | None:
    """Return ``timestampadd`` or ``timestampdiff``, the registry name of the date function ``name`` when it
    is called with a unit, as in ``dateadd(MONTH, 1, d)``; None if the call ``node`` has no unit, or if
    ``name`` is another function."""
    if _unit(node) is None:
        return None
    return UNIT_FUNCTIONS.get(name)


_UNITS: Final = frozenset(
    (
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "DAYOFYEAR",
        "HOUR",
        "MINUTE",
        "SECOND",
        "MILLISECOND",
        "MICROSECOND",
    )
)
_UNIT_ONLY: Final = frozenset({"timestampadd", "timestampdiff", "timediff"})


def _date_function(name: str) -> CallBinder:
    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        function, unit = with_unit(name, node), _unit(node)
        if function is not None and unit is not None:
            operands = binder.bind_all(node.expressions[1:])
            return call_function(binder, function, [Literal(STRING, unit.upper()), *operands], node)
        if name in _UNIT_ONLY:
            raise unresolved_routine(name, node)
        operands = binder.bind_all(node.expressions)
        plain = {"dateadd": "date_add", "date_diff": "datediff"}.get(name, name)
        if plain == "date_add" and len(operands) == 2:
            operands[1] = _days(binder, operands[1], node)
        return call_function(binder, plain, operands, node)

    return bind


def _date_sub(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    return call_function(binder, "date_sub", [operands[0], _days(binder, operands[1], node)], node)


def _days(binder: ExpressionBinder, operand: Expr, node: exp.Expr) -> Expr:
    """Return the second operand of date_add or date_sub as an INT number of days. It may be an int or a
    smaller type, a string or NULL; any other type raises UNEXPECTED_INPUT_TYPE."""
    small = is_integral(operand.type) and operand.type != BIGINT
    if operand.type == STRING and not binder.context.coercion.ansi:
        raise unsupported("A string as a number of days with ANSI mode off", node)
    if not small and operand.type not in (types.VOID, STRING):
        raise argument_error(binder, 1, '("INT" or "SMALLINT" or "TINYINT")', operand, node)
    return Cast(INT, operand) if operand.type == STRING else cast_to(operand, INT)


#: Functions that make timestamps from six or seven fields, or from a date and a TIME.
_MAKERS: Final = tuple(
    f"{prefix}make_timestamp{suffix}" for prefix in ("", "try_") for suffix in ("", "_ltz", "_ntz")
)


def _timestamp_maker(name: str) -> CallBinder:
    """Return the binder of ``make_timestamp`` or a relative. ``make_timestamp`` and ``try_make_timestamp``
    also take a date alone: its midnight."""
    takes_date = name.endswith("timestamp")

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        operands = binder.bind_all(node.expressions)
        if len(operands) == 1 and takes_date:
            if operands[0].type not in (types.DATE, types.VOID):
                raise wrong_argument(binder, 0, types.DATE, operands[0], node)
            return cast_to(operands[0], types.TIMESTAMP)
        if len(operands) in (2, 3):
            return _at_time(binder, name, operands, node)
        return call_function(binder, name, operands, node)

    return bind


def _at_time(binder: ExpressionBinder, name: str, operands: list[Expr], node: exp.Anonymous) -> Expr:
    """Bind the call of a timestamp's maker with a date, a time, and perhaps a time zone."""
    is_local = name.endswith("_ntz")
    if is_local and len(operands) == 3:
        raise failure(
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            f"The `{name}` requires [2, 6] parameters but the actual number is 3. {WHERE_FUNCTIONS_ARE}",
            node,
        )
    maker = "timestamp_ntz of a date and a time" if is_local else "timestamp of a date and a time"
    return call_function(binder, maker, operands, node)


#: Functions that read a date or timestamp, with its type; of one text they are a cast.
_READERS: Final = {
    "to_date": types.DATE,
    "to_timestamp": types.TIMESTAMP,
    "to_timestamp_ltz": types.TIMESTAMP,
    "to_timestamp_ntz": types.TIMESTAMP_NTZ,
    "try_to_date": types.DATE,
    "try_to_timestamp": types.TIMESTAMP,
}


def _reader(name: str) -> CallBinder:
    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        operands = binder.bind_all(node.expressions)
        if len(operands) == 1 and types.is_string(operands[0].type):
            return Cast(_READERS[name], operands[0], safe=name.startswith("try_"))
        return call_function(binder, name, operands, node)

    return bind


def _truncation(name: str) -> CallBinder:
    """Return the binder of ``trunc`` or ``date_trunc``. A text is cast only in rows whose unit is one of the
    function's; the result is null in others."""
    unit_place, units = _TRUNCATIONS[name]

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        operands = binder.bind_all(node.expressions)
        bound = call_function(binder, name, operands, node)
        if not (isinstance(bound, Call) and types.is_string(operands[1 - unit_place].type)):
            return bound
        unit = Call(STRING, "upper", (bound.arguments[unit_place],))
        is_known = Call(BOOLEAN, "in", (unit, *(Literal(STRING, known) for known in units)))
        return Case(bound.type, ((is_known, bound),), Literal(bound.type, None))

    return bind


_DATE_UNITS: Final = ("YEAR", "YYYY", "YY", "QUARTER", "MONTH", "MM", "MON", "WEEK")
_TIME_UNITS: Final = ("DAY", "DD", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND")
#: The place of the unit among the arguments, and all units.
_TRUNCATIONS: Final = {"trunc": (1, _DATE_UNITS), "date_trunc": (0, _DATE_UNITS + _TIME_UNITS)}

DATE_FUNCTIONS: Final[CallBinders] = {
    **{name: (_reader(name), 1, 2) for name in _READERS},
    **{name: (_truncation(name), 2, 2) for name in _TRUNCATIONS},
    **{name: (_timestamp_maker(name), 0, None) for name in _MAKERS},
    **{name: (_date_function(name), 2, 3) for name in UNIT_FUNCTIONS},
    "date_sub": (_date_sub, 2, 2),
    "date_part": (_date_part, 2, 2),
    "datepart": (_date_part, 2, 2),
    "extract": (_date_part, 2, 2),
}
