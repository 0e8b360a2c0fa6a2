"""Decimal expressions over int64, for results of any precision.

``price * (1 - discount) * (1 + tax)`` over decimals of 12 digits has a result type of 38, though the values
fit 64 bits. So a tree of additions, multiplications, casts and CASE over decimals is computed on unscaled
int64 values, and only the result is converted to the form of the result type. Arrow's plain kernels wrap
silently, the checked kernels are about three times slower: a plain kernel runs where the operands' types or,
in large batches, the actual magnitudes prove that nothing overflows. After an overflow, the expression is
computed again in a wider form (:mod:`sqlfront_values.functions.numbers.decimals`).
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import (
    FALSE,
    INT64,
    Datum,
    from_scaled,
    is_scalar,
    narrow_words,
    scaled,
    unscale,
)
from sqlfront_values.evaluate.fallible import can_fail
from sqlfront_values.evaluate.rows import LEVELS_OF_A_STACK, Evaluator, Rows
from sqlfront_values.expressions import Call, Case, Cast, Expr, Literal
from sqlfront_values.functions.numbers.decimals import natural_scale
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import MAX_SHORT_PRECISION, is_decimal, is_integral

#: The greatest int64, as a bound of absolute values.
INT64_MAX: Final = 2**63 - 1
#: Rows: for smaller batches computing their magnitudes costs more than exact arithmetic.
_MANY_ROWS: Final = 4096
_OPERATIONS: Final = ("add", "subtract", "multiply")
_PLAIN: Final = {name: pc.get_function(name) for name in _OPERATIONS}
_CHECKED: Final = {name: pc.get_function(f"{name}_checked") for name in _OPERATIONS}
_IF_ELSE: Final = pc.get_function("if_else")
_COALESCE: Final = pc.get_function("coalesce")
_TO_INT64: Final = pc.CastOptions.unsafe(INT64)
_CAST: Final = pc.get_function("cast")
_COALESCES: Final = frozenset({"coalesce", "nvl", "ifnull"})
#: Digits of an integer by its bits.
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 19}


class TooWideError(Exception):
    """An error for an unscaled value that does not fit int64."""


class ScaledValues:
    """The unscaled values of a decimal expression as an int64 datum, and an upper bound of their absolute
    values (None = not computed yet)."""

    __slots__ = ("_bound", "values")

    def __init__(self, values: Datum, bound: int | None = None) -> None:
        self.values = values
        self._bound = bound

    def bound(self) -> int:
        """Return an upper bound of the absolute unscaled values. Without a bound from the constructor, the
        bound is the greatest absolute value, computed at the first call."""
        if self._bound is None:
            self._bound = _magnitude(self.values)
        return self._bound


def _magnitude(values: Datum) -> int:
    if is_scalar(values):
        return abs(values.as_py() or 0)
    if len(values) == 0:
        return 0
    numbers = numpy_view(values).astype(np.int64, copy=False)
    return max(int(numbers.max()), -int(numbers.min()))


Run = Callable[[Rows], ScaledValues]


class Plan:
    """A compiled decimal expression. ``run`` computes the unscaled values, at the scale of the expression's
    type, for given rows, or raises TooWideError; ``bound`` is an upper bound of their absolute values that
    follows from the types alone."""

    __slots__ = ("bound", "run")

    def __init__(self, run: Run, bound: int) -> None:
        self.run = run
        self.bound = bound


def _on_another_stack(plan: Plan) -> Plan:
    return Plan(lambda rows: on_fresh_stack(plan.run, rows), plan.bound)


class ScaledCompiler:
    """A compiler of decimal expressions to plans. ``node`` compiles the operands that are not decimal
    arithmetic. ``slot`` returns the number under which a repeated expression's value is stored in the rows'
    memo, None for an expression that is not repeated."""

    def __init__(self, node: Callable[[Expr], Evaluator], slot: Callable[[Expr], int | None]) -> None:
        self._node = node
        self._slot = slot
        self._depth = 0

    def evaluator(
        self, expression: Expr, fallback: Callable[[], Evaluator], *, compact: bool = False
    ) -> Evaluator:
        """Compile a decimal expression to an evaluator that computes in int64. When a batch has a value that
        does not fit int64, this batch and all later batches are computed by the evaluator that ``fallback``
        makes.

        The result has the physical form of the expression's type. If ``compact``, values computed in int64
        come as a decimal64 of 18 digits and the type's scale instead, whatever the type's precision.
        """
        plan = self.plan(expression)
        wide: Evaluator | None = None
        data_type = pa.decimal128(MAX_SHORT_PRECISION, expression.type.scale) if compact else expression.type

        def run(rows: Rows) -> Datum:
            nonlocal wide
            if wide is None:
                try:
                    return from_scaled(plan.run(rows).values, data_type)
                except TooWideError:
                    wide = fallback()
            return wide(rows)

        return run

    def plan(self, expression: Expr) -> Plan:
        """Make the plan of a decimal expression. An expression that :func:`is_plannable` refuses is evaluated
        by the compiler's ``node``, and its values are converted to unscaled values."""
        self._depth += 1
        if self._depth % LEVELS_OF_A_STACK:
            plan = self._plan(expression)
        else:
            plan = _on_another_stack(on_fresh_stack(self._plan, expression))
        self._depth -= 1
        slot = self._slot(expression)
        if slot is None:
            return plan
        inner, key = plan.run, -1 - slot

        def run(rows: Rows) -> ScaledValues:
            kept = rows.memo.get(key)
            if kept is None:
                kept = rows.memo[key] = inner(rows)
            assert isinstance(kept, ScaledValues)
            return kept

        return Plan(run, plan.bound)

    def _plan(self, expression: Expr) -> Plan:
        if not is_plannable(expression):
            return self._leaf(expression)
        match expression:
            case Call(function="add" | "subtract" | "multiply"):
                return self._arithmetic(expression)
            case Call(function="negative" | "abs", arguments=(operand,)):
                return _unary("negate" if expression.function == "negative" else "abs", self.plan(operand))
            case Call(arguments=arguments):
                return self._coalesce(arguments)
            case Cast(operand=operand):
                return self._cast(operand, expression.type)
            case Case():
                return self._case(expression)
            case _:
                return self._leaf(expression)

    def _leaf(self, expression: Expr) -> Plan:
        if isinstance(expression, Literal):
            return _constant(expression)
        node, short = self._node(expression), expression.type.precision <= MAX_SHORT_PRECISION
        bound = 10 ** min(expression.type.precision, MAX_SHORT_PRECISION + 1)
        return Plan(lambda rows: ScaledValues(scaled(node(rows)) if short else _narrow(node(rows))), bound)

    def _arithmetic(self, call: Call) -> Plan:
        scale = call.type.scale
        left, right = (
            self.plan(argument)
            if call.function == "multiply"
            else _rescaled(self.plan(argument), scale - argument.type.scale)
            for argument in call.arguments
        )
        return _combined(call.function, left, right)

    def _coalesce(self, arguments: tuple[Expr, ...]) -> Plan:
        plans = [self.plan(argument) for argument in arguments]

        def run(rows: Rows) -> ScaledValues:
            values = [plan.run(rows).values for plan in plans]
            return ScaledValues(_COALESCE.call(values))

        return Plan(run, max(plan.bound for plan in plans))

    def _cast(self, operand: Expr, target: pa.DataType) -> Plan:
        if is_integral(operand.type):
            node = self._node(operand)
            whole = Plan(
                lambda rows: ScaledValues(_CAST.call([node(rows)], _TO_INT64)),
                10 ** _DIGITS[operand.type.bit_width],
            )
            return _rescaled(whole, target.scale)
        return _rescaled(self.plan(operand), target.scale - operand.type.scale)

    def _case(self, case: Case) -> Plan:
        branches = [(self._node(condition), self.plan(value)) for condition, value in case.branches]
        otherwise = self.plan(case.otherwise)

        def run(rows: Rows) -> ScaledValues:
            result = otherwise.run(rows).values
            for condition, value in reversed(branches):
                mask = condition(rows)
                if is_scalar(mask):
                    result = value.run(rows).values if mask.as_py() else result
                    continue
                if mask.null_count:
                    mask = _COALESCE.call([mask, FALSE])
                result = _IF_ELSE.call([mask, value.run(rows).values, result])
            return ScaledValues(result)

        return Plan(run, max(otherwise.bound, *(value.bound for _, value in branches)))


def is_plannable(expression: Expr) -> bool:
    """Return whether the expression is decimal arithmetic that int64 values can compute without rounding."""
    if not is_decimal(expression.type) or expression.type.scale > MAX_SHORT_PRECISION:
        return False
    match expression:
        case Call(function="add" | "subtract" | "multiply" as function, arguments=(left, right)):
            return (
                is_decimal(left.type)
                and is_decimal(right.type)
                and natural_scale(function, left.type, right.type) == expression.type.scale
            )
        case Call(function="negative" | "abs"):
            return True
        case Call(function=function, arguments=arguments) if function in _COALESCES:
            return all(argument.type.equals(expression.type) for argument in arguments) and not any(
                map(can_fail, arguments[1:])
            )
        case Cast(operand=operand):
            source, target = operand.type, expression.type
            if is_integral(source):
                return bool(_DIGITS[source.bit_width] <= target.precision - target.scale)
            return (
                is_decimal(source)
                and bool(source.scale <= target.scale)
                and bool(source.precision - source.scale <= target.precision - target.scale)
            )
        case Case():
            return not any(map(can_fail, expression.children()[1:]))
        case _:
            return False


def _constant(literal: Literal) -> Plan:
    value = None if literal.value is None else unscale(literal.value, literal.type.scale)  # type: ignore[arg-type]
    if value is not None and abs(value) > INT64_MAX:
        return Plan(_too_wide, abs(value))
    known = ScaledValues(scalar(value, INT64), abs(value or 0))
    return Plan(lambda rows: known, abs(value or 0))


def _too_wide(rows: Rows) -> ScaledValues:
    raise TooWideError


def _narrow(datum: Datum) -> Datum:
    """Return the unscaled values of a decimal128 datum as an int64 datum. Raises TooWideError if a value does
    not fit."""
    if is_scalar(datum):
        value = datum.as_py()
        number = None if value is None else unscale(value, datum.type.scale)
        if number is not None and abs(number) > INT64_MAX:
            raise TooWideError
        return scalar(number, INT64)
    words = narrow_words(datum)
    if words is None:
        raise TooWideError
    return from_numpy(words, INT64, valid_mask(datum))


def _rescaled(plan: Plan, shift: int) -> Plan:
    if shift == 0:
        return plan
    if shift > MAX_SHORT_PRECISION:
        return Plan(_too_wide, plan.bound * 10**shift)
    factor = ScaledValues(scalar(10**shift, INT64), 10**shift)
    return _combined("multiply", plan, Plan(lambda rows: factor, 10**shift))


def _combined(operation: str, left: Plan, right: Plan) -> Plan:
    plain, checked = _PLAIN[operation], _CHECKED[operation]
    times = operation == "multiply"
    bound = left.bound * right.bound if times else left.bound + right.bound
    first, second = left.run, right.run
    if bound <= INT64_MAX:
        return Plan(lambda rows: ScaledValues(plain.call([first(rows).values, second(rows).values])), bound)

    def run(rows: Rows) -> ScaledValues:
        one, other = first(rows), second(rows)
        actual = None
        if rows.length >= _MANY_ROWS:
            actual = one.bound() * other.bound() if times else one.bound() + other.bound()
            if actual <= INT64_MAX:
                return ScaledValues(plain.call([one.values, other.values]), actual)
        try:
            return ScaledValues(checked.call([one.values, other.values]))
        except pa.ArrowInvalid:
            raise TooWideError from None

    return Plan(run, bound)


def _unary(operation: str, plan: Plan) -> Plan:
    inner = plan.run
    # The least bigint has no counterpart.
    kernel = pc.get_function(operation if plan.bound <= INT64_MAX else f"{operation}_checked")

    def run(rows: Rows) -> ScaledValues:
        try:
            return ScaledValues(kernel.call([inner(rows).values]))
        except pa.ArrowInvalid:
            raise TooWideError from None

    return Plan(run, plan.bound)
