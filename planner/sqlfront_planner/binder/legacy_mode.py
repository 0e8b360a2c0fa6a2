"""ANSI mode off (``spark.sql.ansi.enabled=false``): a bound plan's operations that raise an error become
operations that wrap around or give null.

The binder binds a query by the same rules in both modes, but for the implicit casts
(:mod:`sqlfront_planner.coercion`). When a plan is complete, :func:`legacy_plan` replaces its operations, so
that neither rules nor kernels need to know the mode. Operations that can't fail stay what they are, and with
them the rules and fast kernels that know them.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalPlan,
    LogicalWindow,
    Subquery,
    transform_plan,
)
from sqlfront_planner.types import DATETIMES, SPECIAL_TIMES, as_decimal
from sqlfront_values.casts.legacy import is_same_in_both_modes
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Cast,
    Expr,
    HigherOrder,
    Lambda,
    Literal,
    WindowCall,
    WindowFrame,
    transform,
)
from sqlfront_values.functions.legacy import LEGACY_CAST, OR_NULL, WRAPPING_SUM
from sqlfront_values.functions.numbers.decimals import natural_precision
from sqlfront_values.types import (
    BIGINT,
    MAX_PRECISION,
    STRING,
    VOID,
    is_decimal,
    is_fractional,
    is_integral,
    is_interval,
    is_numeric,
)

#: Digits of decimals whose sum may need more than a decimal has: a sum has ten digits more.
_SUMMABLE: Final = MAX_PRECISION - 10


#: A function that returns a parameter as the literal of its value, and any other expression unchanged.
Known = Callable[[Expr], Expr]


def legacy_plan(plan: LogicalPlan, known: Known) -> LogicalPlan:
    """Return the plan, bound as in ANSI mode, with the operations of ANSI mode off. ``known`` returns the
    values of parameters, on which the plan then depends."""
    return transform_plan(plan, lambda node: _legacy_node(node, known))


def legacy_expression(expression: Expr, known: Known) -> Expr:
    """Return the expression, bound as in ANSI mode, with the operations of ANSI mode off. ``known`` returns
    the values of parameters, on which the result then depends."""
    return transform(expression, lambda item: _legacy(item, known))


def _legacy_node(node: LogicalPlan, known: Known) -> LogicalPlan:
    operands = node.operands()
    changed = tuple(legacy_expression(operand, known) for operand in operands)
    if any(new is not old for new, old in zip(changed, operands, strict=True)):
        node = node.with_operands(changed)
    match node:
        case LogicalAggregate(calls=calls):
            return replace(node, calls=tuple(map(_legacy_aggregate, calls)))
        case LogicalWindow(calls=window_calls):
            return replace(node, calls=tuple(_legacy_window(call, known) for call in window_calls))
        case _:
            return node


def _legacy_aggregate(call: AggregateCall) -> AggregateCall:
    return replace(call, function=_aggregate_name(call.function, call.arguments))


def _legacy_window(call: WindowCall, known: Known) -> WindowCall:
    bounds = (call.frame.start, call.frame.end)
    start, end = (legacy_expression(bound, known) if isinstance(bound, Expr) else bound for bound in bounds)
    return replace(
        call,
        function=_aggregate_name(call.function, call.arguments),
        frame=WindowFrame(call.frame.unit, start, end),
    )


def _aggregate_name(name: str, arguments: tuple[Expr, ...]) -> str:
    if name not in ("sum", "avg", "mean"):
        return name
    kind = arguments[0].type
    if kind == BIGINT and name == "sum":
        return WRAPPING_SUM
    if is_decimal(kind) and kind.precision > _SUMMABLE:
        return "try_sum" if name == "sum" else "try_avg"
    return name


def _legacy(expression: Expr, known: Known) -> Expr:
    match expression:
        case Cast(type=target, operand=operand, safe=False):
            if operand.type == VOID or is_same_in_both_modes(operand.type, target):
                return expression
            if operand.type == STRING and target in DATETIMES:
                operand = known(operand)
                _refuse_special_time(operand)
            return Call(target, LEGACY_CAST, (operand,))
        case Call(function=name):
            rule = _RULES.get(name)
            return expression if rule is None else rule(expression)
        case HigherOrder():
            lambdas = tuple(
                Lambda(each.parameters, legacy_expression(each.body, known)) for each in expression.lambdas
            )
            return replace(expression, lambdas=lambdas)
        case Subquery(plan=plan):
            return replace(expression, plan=legacy_plan(plan, known))
        case _:
            return expression


def _refuse_special_time(operand: Expr) -> None:
    """Raise NotSupportedError for a text that Spark reads as the day or the moment of the query."""
    if isinstance(operand, Literal) and str(operand.value).strip().lower() in SPECIAL_TIMES:
        raise NotSupportedError(f"A cast of '{operand.value}' to a date or timestamp is not supported.")


# ---- functions and operators

_Rule = Callable[[Call], Expr]


def _renamed(name: str) -> _Rule:
    return lambda call: replace(call, function=name)


def _addition(call: Call) -> Expr:
    left, right = (argument.type for argument in call.arguments)
    if is_decimal(left) and is_decimal(right):
        fits = natural_precision(call.function, left, right) <= MAX_PRECISION
        return call if fits else replace(call, function=f"try_{call.function}")
    whole = is_integral(left) and is_integral(right)
    return replace(call, function=f"wrapping {call.function}") if whole else call


def _division(call: Call) -> Expr:
    if not is_numeric(call.arguments[0].type):
        return call
    divisor = call.arguments[1]
    known = isinstance(divisor, Literal) and divisor.value not in (None, 0)
    return call if known and is_fractional(call.type) else replace(call, function="try_divide")


def _remainder(call: Call) -> Expr:
    divisor = call.arguments[1]
    known = isinstance(divisor, Literal) and divisor.value not in (None, 0)
    return call if known and not is_decimal(call.type) else replace(call, function="try_mod")


def _sign(call: Call) -> Expr:
    return replace(call, function=f"wrapping {call.function}") if is_integral(call.type) else call


def _rounding(call: Call) -> Expr:
    kind = call.arguments[0].type
    if is_integral(kind) and len(call.arguments) > 1:
        return replace(call, function=f"wrapping {call.function}")
    return call


def _whole(call: Call) -> Expr:
    operand, *scale = call.arguments
    if not is_fractional(operand.type):
        return call
    if not scale:
        return replace(call, function=f"saturating {'ceil' if call.function == 'ceiling' else call.function}")
    number = Call(as_decimal(operand.type), LEGACY_CAST, (operand,))
    return replace(call, arguments=(number, *scale))


def _element_at(call: Call) -> Expr:
    return replace(call, function="try_element_at") if pa.types.is_list(call.arguments[0].type) else call


def _integral_quotient(call: Call) -> Expr:
    divisor = call.arguments[1]
    known = isinstance(divisor, Literal) and divisor.value not in (None, 0, -1)
    if known and not is_interval(divisor.type):
        return call
    return replace(call, function="wrapping div")


_RULES: Final[dict[str, _Rule]] = {
    **dict.fromkeys(("add", "subtract", "multiply"), _addition),
    "divide": _division,
    "div": _integral_quotient,
    **dict.fromkeys(("remainder", "mod"), _remainder),
    "pmod": _renamed("wrapping pmod"),
    **dict.fromkeys(("negative", "abs"), _sign),
    **dict.fromkeys(("round", "bround"), _rounding),
    **dict.fromkeys(("ceil", "ceiling", "floor"), _whole),
    "get_item": _renamed("get"),
    "element_at": _element_at,
    "conv": _renamed("saturating conv"),
    **{name: _renamed(f"{name} or null") for name in OR_NULL},
    **{name: _renamed(f"try_{name}") for name in ("parse_url", "to_date", "to_timestamp")},
    **{
        name: _renamed(f"try_{name}")
        for name in ("make_timestamp", "make_timestamp_ltz", "make_timestamp_ntz")
    },
    **{
        f"{what} make_interval": _renamed(f"{what} try_make_interval")
        for what in ("add", "subtract", "text of")
    },
}
