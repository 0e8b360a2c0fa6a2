"""Simplification of expressions: boolean algebra, null propagation, and comparisons of cast columns."""

from collections.abc import Sequence
from operator import is_not
from typing import Final

from sqlfront_planner.expressions.rewriting import (
    FALSE,
    TRUE,
    disjunction,
    disjuncts,
    is_deterministic,
    is_null_propagating,
    nameless,
    rewrite_operands,
    within,
    without_repeats,
)
from sqlfront_planner.expressions.unwrap_casts import unwrap_cast
from sqlfront_planner.logical import LogicalFilter, LogicalPlan, Subquery, transform_plan
from sqlfront_planner.rules.expressions.fold_constants import is_constant
from sqlfront_values.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Literal,
    Parameter,
    conjunction,
    conjuncts,
    connected,
    operands_of,
)
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import BOOLEAN

_LOGIC: Final = ("and", "or")
#: Expressions that can't be simplified.
_SIMPLE: Final = (Column, Literal, Parameter)
#: The negation of each comparison. Spark orders all values of a type, NaN included, so each comparison has an
#: exact opposite.
OPPOSITES: Final = {
    "equal": "not_equal",
    "not_equal": "equal",
    "less": "greater_equal",
    "less_equal": "greater",
    "greater": "less_equal",
    "greater_equal": "less",
    "is_null": "is_not_null",
    "is_not_null": "is_null",
}


def simplify_expressions(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Give every expression its simplest form of the same value, type and errors; a redundant operand
    disappears with its errors.

    NOT moves down to the comparisons, literals disappear from AND, OR, CASE and COALESCE, null-propagating
    calls with a null operand become NULL, casts move from columns to the literals that the columns are
    compared with, conditions that all branches of an OR share are factored out, the condition of a filter
    that no row passes becomes FALSE, and a filter that every row passes is removed.

    >>> from sqlfront_planner.testing import example
    >>> print(example(simplify_expressions, "select a from t where not (a > 1 or false) or a = 1 and a = 1"))
    Project: a#0
      Filter: (a#0 <= 1) OR (a#0 = 1)
        Scan: t [a, b]
    """
    return transform_plan(_simplify_operands(plan), _simplify_filter)


def _simplify_operands(plan: LogicalPlan) -> LogicalPlan:
    return rewrite_operands(plan, simplified)


def simplified(expression: Expr) -> Expr:
    """Return the expression with all its nodes simplified, operands first. Nested ANDs are simplified as
    one node, and so are nested ORs."""
    try:
        if isinstance(expression, _SIMPLE):
            return expression
        logic = expression.function if isinstance(expression, Call) and expression.function in _LOGIC else ""
        operands = operands_of(logic, expression) if logic else expression.children()
        changed = tuple(
            [operand if isinstance(operand, _SIMPLE) else simplified(operand) for operand in operands]
        )
        if any(map(is_not, changed, operands)):
            expression = connected(logic, changed) if logic else expression.with_children(changed)
        return simplify(expression)
    except RecursionError:
        return on_fresh_stack(simplified, expression)


def _simplify_filter(plan: LogicalPlan) -> LogicalPlan:
    """Return the filter with a simpler condition, in which unknown counts as false; the filter's input if
    the condition is always true; any other node unchanged."""
    if not isinstance(plan, LogicalFilter):
        return plan
    parts = conjuncts(plan.condition)
    if any(isinstance(part, Literal) and part.value is not True for part in parts):
        return plan if plan.condition == FALSE else LogicalFilter(plan.input, FALSE)
    condition = conjunction(tuple(part for part in parts if not isinstance(part, Literal)))
    if condition is None:
        return plan.input
    return plan if condition == plan.condition else LogicalFilter(plan.input, condition)


def simplify(expression: Expr) -> Expr:
    """Return the simplest equal form of one node, whose operands are simplified already."""
    match expression:
        case Call():
            return _simplify_call(expression)
        case Cast(operand=operand) if operand.type == expression.type:
            return operand
        case Case():
            return _simplify_case(expression)
        case Subquery():
            return within(expression, _simplify_operands)
        case _:
            return expression


def _simplify_call(call: Call) -> Expr:
    match call.function, call.arguments:
        case "and" | "or", _:
            return _simplify_logic(call)
        case "not", (operand,):
            return _negate(call, operand)
        case "in", _:
            return _simplify_in(call)
        case "coalesce", _:
            return _simplify_coalesce(call)
        case "is_null" | "is_not_null" as function, (Literal(value=value),):
            return Literal(BOOLEAN, (value is None) == (function == "is_null"))
        case "equal", (operand, Literal(value=bool() as value)) | (Literal(value=bool() as value), operand):
            return operand if value else _negate(Call(BOOLEAN, "not", (operand,)), operand)
        case _ if _has_null_operand(call):
            return Literal(call.type, None)
        case _:
            return unwrap_cast(call)


def _has_null_operand(call: Call) -> bool:
    return (
        any(isinstance(operand, Literal) and operand.value is None for operand in call.arguments)
        and is_null_propagating(call)
        and is_deterministic(call)
    )


def _simplify_logic(call: Call) -> Expr:
    """Simplify AND or OR: one of the boolean literals decides the result, the other has no effect and is
    removed. Repeated operands are removed, too."""
    if is_constant(call):
        # Folding has failed, so evaluation fails: from the left, it doesn't reach a deciding operand.
        return call
    is_and = call.function == "and"
    split, join = (conjuncts, _and) if is_and else (disjuncts, disjunction)
    given = split(call)
    operands = tuple(
        operand for operand in given if not (isinstance(operand, Literal) and operand.value is is_and)
    )
    if any(isinstance(operand, Literal) and operand.value is (not is_and) for operand in operands):
        return FALSE if is_and else TRUE
    if not operands:
        return TRUE if is_and else FALSE
    if all(map(is_deterministic, operands)):
        operands = without_repeats(operands)
    factored = None if is_and else _factor(operands)
    if factored is not None:
        return factored
    return call if len(operands) == len(given) else join(operands)


def _and(parts: tuple[Expr, ...]) -> Expr:
    condition = conjunction(parts)
    return TRUE if condition is None else condition


def _factor(branches: Sequence[Expr]) -> Expr | None:
    """Turn ``(a AND b) OR (a AND c)`` into ``a AND (b OR c)``: conditions that all ``branches`` of an OR
    share become separate conjuncts, which can be join keys or move to one table. Return None if the
    branches share nothing."""
    split = [conjuncts(branch) for branch in branches]
    meanings = [[nameless(part) for part in parts] for parts in split]
    shared = [
        (part, meaning)
        for part, meaning in zip(split[0], meanings[0], strict=True)
        if len(branches) > 1 and all(meaning in other for other in meanings[1:])
    ]
    if not shared:
        return None
    common = [meaning for _, meaning in shared]
    rests = [
        tuple(part for part, meaning in zip(parts, means, strict=True) if meaning not in common)
        for parts, means in zip(split, meanings, strict=True)
    ]
    kept = tuple(part for part, _ in shared)
    if any(not rest for rest in rests):
        return _and(kept)
    return _and((*kept, disjunction(tuple(_and(rest) for rest in rests))))


def _negate(call: Call, operand: Expr) -> Expr:
    match operand:
        case Literal(value=value):
            return Literal(BOOLEAN, None if value is None else not value)
        case Call(function="not", arguments=(inner,)):
            return inner
        case Call(function="and" | "or" as function, arguments=parts):
            other = "or" if function == "and" else "and"
            return connected(other, [simplify(Call(BOOLEAN, "not", (part,))) for part in parts])
        case Call(function=function, arguments=arguments) if function in OPPOSITES:
            return Call(BOOLEAN, OPPOSITES[function], arguments)
        case _:
            return call


def _simplify_in(call: Call) -> Expr:
    tested, *values = call.arguments
    if isinstance(tested, Literal) and tested.value is None:
        return Literal(BOOLEAN, None)
    kept = without_repeats(values)
    if len(kept) == 1:
        return simplify(Call(BOOLEAN, "equal", (tested, kept[0])))
    return unwrap_cast(call if len(kept) == len(values) else Call(BOOLEAN, "in", (tested, *kept)))


def _simplify_coalesce(call: Call) -> Expr:
    kept: list[Expr] = []
    for operand in call.arguments:
        if isinstance(operand, Literal) and operand.value is None:
            continue
        kept.append(operand)
        if isinstance(operand, Literal):
            break
    if not kept:
        return Literal(call.type, None)
    if len(kept) == 1 and kept[0].type == call.type:
        return kept[0]
    return call if len(kept) == len(call.arguments) else Call(call.type, "coalesce", tuple(kept))


def _simplify_case(case: Case) -> Expr:
    branches = []
    otherwise = case.otherwise
    for condition, value in case.branches:
        if isinstance(condition, Literal):
            if condition.value is True:
                otherwise = value
                break
            continue
        branches.append((condition, value))
    if not branches:
        return otherwise
    if otherwise is case.otherwise and len(branches) == len(case.branches):
        return case
    return Case(case.type, tuple(branches), otherwise)
