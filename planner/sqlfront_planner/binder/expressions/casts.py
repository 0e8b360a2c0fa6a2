"""Binding of CAST, TRY_CAST, ``::``, and typed literals (``DATE '2020-01-01'``)."""

import re
from datetime import UTC, date, datetime
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.expressions import calendar_intervals
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees.handlers import failure, handles, unsupported
from sqlfront_planner.binder.trees.type_names import data_type_of
from sqlfront_planner.coercion import rules
from sqlfront_planner.types import DATETIMES
from sqlfront_values import types
from sqlfront_values.casts import times, variants
from sqlfront_values.errors import Error
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Call, Cast, Expr, Literal, Parameter, RunValue
from sqlfront_values.room import NotConstantError
from sqlfront_values.types import (
    BINARY,
    BOOLEAN,
    DATE,
    STRING,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    is_decimal,
    is_integral,
    is_interval,
    is_numeric,
    is_string,
    is_time,
    is_variant,
    is_year_month,
)

_TYPED_LITERALS: Final = frozenset({DATE, TIMESTAMP, TIMESTAMP_NTZ, TIME})
#: The functions by which a time becomes a timestamp of the current day.
_BESIDE_TODAY: Final = {
    TIMESTAMP: "timestamp of a date and a time",
    TIMESTAMP_NTZ: "timestamp_ntz of a date and a time",
}
_DATE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")


@handles(exp.TryCast, arguments="this to safe")
def bind_cast(binder: ExpressionBinder, node: exp.TryCast) -> Expr:
    """Bind CAST, TRY_CAST and ``::``; TRY_CAST, which has ``safe`` set in the node, gives null in place of an
    error."""
    maker = calendar_intervals.maker_of(node.this)
    if maker is not None and data_type_of(node.args["to"]) == STRING:
        return calendar_intervals.text(binder, maker)
    operand = binder.bind(node.this)
    return explicit_cast(
        binder, operand, data_type_of(node.args["to"]), node, safe=bool(node.args.get("safe"))
    )


@handles(exp.Cast, arguments="this to")
def bind_typed_literal(binder: ExpressionBinder, node: exp.Cast) -> Expr:
    """Bind ``DATE '...'``, ``TIMESTAMP '...'``, ``TIMESTAMP_NTZ '...'``, ``TIME '...'`` to a literal; to a
    cast if Python's dates can't represent the year.

    Raises INVALID_TYPED_LITERAL for a text that is no such value, UNSUPPORTED_TYPED_LITERAL for another type,
    and NotSupportedError for a value that differs from run to run, such as ``DATE 'today'``.
    """
    kind = data_type_of(node.args["to"])
    if not isinstance(node.this, exp.Literal) or kind not in _TYPED_LITERALS:
        raise failure(
            "UNSUPPORTED_TYPED_LITERAL",
            f'Literals of the type "{types.sql_name(kind)}" are not supported. Supported types are "DATE", '
            '"TIMESTAMP_NTZ", '
            '"TIMESTAMP_LTZ", "TIMESTAMP", "INTERVAL", "X".',
            node,
        )
    text = str(node.this.this)
    if kind == TIME:
        return _time(text, node)
    value: object = _date(text) if kind == DATE else None
    if value is None:
        constant = Cast(kind, Literal(STRING, text), safe=True)
        try:
            value = evaluate_scalar(constant, binder.context.settings.evaluation)
        except OverflowError:
            # A year that Python's dates can't represent.
            return constant
        except NotConstantError:
            raise unsupported(f"The typed literal '{text}'", node) from None
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC)
    if value is None:
        raise _invalid(types.sql_name(kind), text, node)
    return Literal(kind, value)


def _time(text: str, node: exp.Expr) -> Literal:
    """Return the literal of ``TIME '...'``, whose precision is 6, or more if the text has more digits. Raises
    INVALID_TYPED_LITERAL for a text that is no time, INVALID_TIME_LITERAL_PRECISION for more than 9
    digits."""
    try:
        nanos = times.parse_time(text)
    except ValueError:
        raise _invalid("TIME", text, node) from None
    precision = max(times.fraction_digits(text), TIME.precision)
    if precision >= len(types.TIMES):
        raise failure(
            "INVALID_TIME_LITERAL_PRECISION",
            f"The time literal '{text}' has more than 9 fractional-second digits. The maximum supported "
            "fractional-second precision of a time literal is 9 (nanoseconds).",
            node,
        )
    return Literal(types.TIMES[precision], nanos)


def _invalid(name: str, text: str, node: exp.Expr) -> Error:
    return failure(
        "INVALID_TYPED_LITERAL",
        f'The value of the typed literal "{name}" is invalid: {exp.Literal.string(text).sql()}.',
        node,
    )


def _date(text: str) -> date | None:
    """Return the date that a text like ``2020-01-31`` names; None for any other text."""
    match = _DATE.fullmatch(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def explicit_cast(
    binder: ExpressionBinder, operand: Expr, target: pa.DataType, node: exp.Expr, *, safe: bool = False
) -> Expr:
    """Return ``operand`` cast to ``target``, for a cast that the query's text contains; ``safe``: the cast
    gives null where it would fail. An operand that already has the type ``target`` isn't cast, unless it is a
    whole-number literal or parameter.

    Raises DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION, .CAST_WITH_CONF_SUGGESTION or .CAST_WITH_FUNC_SUGGESTION
    if Spark has no such cast in ANSI mode.
    """
    source = operand.type
    if source == target:
        # Beside a decimal, the type of a whole-number literal follows from its digits, but under a cast from
        # its type.
        written = is_integral(target) and isinstance(operand, Literal | Parameter)
        return Cast(target, operand, safe) if written else operand
    if is_time(source) and target in _BESIDE_TODAY:
        return Call(target, _BESIDE_TODAY[target], (RunValue(DATE, "current_date"), operand))
    settings = binder.context.settings
    # TRY_CAST has ANSI mode's casts in both modes.
    coercion = rules(ansi=True, takes_time=settings.takes_time) if safe else settings.coercion
    if not coercion.can_cast(source, target):
        function = _suggested(source, target) if coercion.ansi else None
        if not safe and _is_legacy(source, target):
            raise failure(
                "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION",
                f'Cannot resolve "{binder.name(node)}" due to data type mismatch: cannot cast '
                f'"{types.sql_name(source)}" to '
                f'"{types.sql_name(target)}" with ANSI mode on.',
                node,
            )
        head = (
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: cannot cast '
            f'"{types.sql_name(source)}" to '
            f'"{types.sql_name(target)}".'
        )
        if function is None:
            raise failure("DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", head, node)
        raise failure(
            "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION",
            f'{head}\nTo convert values from "{types.sql_name(source)}" to "{types.sql_name(target)}", you '
            "can use the "
            f"functions `{function}` instead.",
            node,
        )
    if isinstance(operand, Literal) and operand.value is None:
        return Literal(target, None)
    return Cast(target, operand, safe)


def _suggested(source: pa.DataType, target: pa.DataType) -> str | None:
    """Return the name of the function that Spark suggests instead of a cast between a date and a number; None
    for other types."""
    if source == DATE and is_numeric(target):
        return "UNIX_DATE"
    return "DATE_FROM_UNIX_DATE" if is_numeric(source) and target == DATE else None


def _is_legacy(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark allows the cast only if ANSI mode is off."""
    if target == BOOLEAN:
        return source in (DATE, TIMESTAMP)
    if target == TIMESTAMP:
        return source == BOOLEAN
    return target == BINARY and is_integral(source)


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether Spark allows a cast between the types in ANSI mode.

    >>> can_cast(pa.int32(), pa.date32()), can_cast(pa.string(), pa.date32())
    (False, True)
    """
    if source in (target, VOID):
        return True
    if is_variant(source) or is_variant(target):
        return variants.can_cast(source, target)
    if is_string(target):
        return True
    if is_string(source):
        return not pa.types.is_nested(target)
    if is_numeric(source):
        exact = is_integral(source) or is_decimal(source)
        return is_numeric(target) or target in (BOOLEAN, TIMESTAMP) or (exact and is_interval(target))
    if source == BOOLEAN:
        return is_numeric(target)
    if source in DATETIMES:
        return target in DATETIMES or (source == TIMESTAMP and is_numeric(target))
    if is_interval(source):
        same_kind = is_interval(target) and is_year_month(source) == is_year_month(target)
        return same_kind or is_integral(target) or is_decimal(target)
    return _can_cast_nested(source, target)


def _can_cast_nested(source: pa.DataType, target: pa.DataType) -> bool:
    kinds = pa.types
    if kinds.is_list(source) and kinds.is_list(target):
        return can_cast(source.value_type, target.value_type)
    if kinds.is_map(source) and kinds.is_map(target):
        return can_cast(source.key_type, target.key_type) and can_cast(source.item_type, target.item_type)
    if kinds.is_struct(source) and kinds.is_struct(target):
        return source.num_fields == target.num_fields and all(
            can_cast(ours.type, theirs.type) for ours, theirs in zip(source, target, strict=True)
        )
    return False
