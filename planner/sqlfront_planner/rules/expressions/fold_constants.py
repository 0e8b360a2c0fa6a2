"""Constant folding: expressions without columns are computed once, at planning."""

from contextlib import suppress
from operator import is_not
from typing import Final

import pyarrow as pa

from sqlfront_planner.expressions.rewriting import is_deterministic, rewrite_operands, within
from sqlfront_planner.logical import LogicalPlan, Subquery
from sqlfront_values import evaluate
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.errors import DataError
from sqlfront_values.expressions import (
    Call,
    Case,
    Cast,
    Chain,
    Column,
    Expr,
    HigherOrder,
    Literal,
    Parameter,
    Previous,
)
from sqlfront_values.functions import registry
from sqlfront_values.room import NotConstantError, planning
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import on_fresh_stack
from sqlfront_values.types import is_integral

#: Expressions that are never folded.
_KEPT: Final = (Column, Literal)
#: Casts of literals from which on all are computed together: one call of a kernel instead of a call for each
#: literal.
_MANY: Final = 64
#: Characters of a string, or bytes of a binary, that is kept in a plan; longer values are cheaper to compute
#: again than to keep in every cached plan.
_LONGEST: Final = 1024


def fold_constants(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Replace every expression over literals by its value; parameters and run values (``current_date``) are
    no literals. An integer parameter takes the wider type that it is cast to.

    Left unfolded: a date or timestamp beyond Python's years, and an expression that would take much memory or
    time (:mod:`sqlfront_values.room`), which a job computes under its limits. A failing expression stays,
    too: a later rule may remove the expression (a CASE, an unread column).
    :func:`~.surface_constant_errors.surface_constant_errors` handles the failing expressions that remain at
    the end.

    >>> from sqlfront_planner.testing import example
    >>> print(example(fold_constants, "select a + (1 + 2) as x from t"))
    Project: a#0 + 3 AS x
      Scan: t [a, b]
    """
    return rewrite_operands(plan, lambda operand: fold(operand, settings))


def fold(expression: Expr, settings: Settings) -> Expr:
    """Replace the constant parts of one expression by their values. A part stays if its evaluation fails, if
    it would take much memory or time, or if its value is a date or timestamp beyond Python's years."""
    try:
        if isinstance(expression, _KEPT):
            return expression
        if is_constant(expression):
            with suppress(DataError, OverflowError, NotConstantError):
                return _literal(expression, settings)
        if isinstance(expression, Cast) and isinstance(expression.operand, Parameter):
            return _widened(expression, expression.operand)
        if isinstance(expression, Subquery):
            expression = within(expression, lambda plan: fold_constants(plan, settings))
        children = expression.children()
        cast = _cast_together(children, settings) if len(children) >= _MANY else children
        folded = tuple([child if isinstance(child, _KEPT) else fold(child, settings) for child in cast])
        return expression.with_children(folded) if any(map(is_not, folded, children)) else expression
    except RecursionError:
        return on_fresh_stack(fold, expression, settings)


def _cast_together(operands: tuple[Expr, ...], settings: Settings) -> tuple[Expr, ...]:
    """Replace casts of literals by literals. If many casts have the same two types, as in ``id IN ('1',
    '2', ...)``, they are computed together, as one column, which is 30 times as fast as one by one; if that
    fails, the casts stay."""
    columns: dict[tuple[pa.DataType, pa.DataType, bool], dict[int, object]] = {}
    for place, operand in enumerate(operands):
        if isinstance(operand, Cast) and isinstance(operand.operand, Literal):
            key = (operand.operand.type, operand.type, operand.safe)
            columns.setdefault(key, {})[place] = operand.operand.value
    result = list(operands)
    for (given, wanted, safe), literals in columns.items():
        if len(literals) < _MANY or pa.types.is_nested(wanted):
            continue
        values = from_values(list(literals.values()), given)
        cast = evaluate.compile_expression(Cast(wanted, Column(given, 0), safe), settings)
        with suppress(DataError, OverflowError, NotConstantError), planning():
            batch = pa.RecordBatch.from_arrays([values], names=[""])
            for place, value in zip(literals, to_python(cast(batch)), strict=True):
                result[place] = _known(operands[place], value)
    return tuple(result)


def is_constant(expression: Expr, *, in_link: bool = False) -> bool:
    """Return whether the expression is deterministic and has only literals as its leaves. ``in_link``: the
    expression is a link (one operator) of a :class:`Chain`, and the value of the links before is constant, so
    that ``Previous``, which stands for that value, counts as a literal."""
    waiting = [expression]
    while waiting:
        match waiting.pop():
            case Literal():
                continue
            case Call(function=function, arguments=arguments):
                entry = registry.lookup(function)
                if entry is None or not entry.deterministic:
                    return False
                waiting += arguments
            case Cast() | Case() as node:
                waiting += node.children()
            case HigherOrder(lambdas=lambdas) as node:
                if not all(is_deterministic(function.body) for function in lambdas):
                    return False
                waiting += node.children()
            case Chain(first=first, links=links):
                if not all(is_constant(link, in_link=True) for link in links):
                    return False
                waiting.append(first)
            case Previous() if in_link:
                continue
            case _:
                return False
    return True


def _widened(cast: Cast, parameter: Parameter) -> Expr:
    """Return the parameter with the integer type of the cast, so that a key compared with the parameter can
    be looked up. Return the cast if its type doesn't hold all integers of the parameter's type."""
    given, wanted = parameter.type, cast.type
    if is_integral(given) and is_integral(wanted) and given.bit_width <= wanted.bit_width:
        return Parameter(wanted, parameter.index, parameter.sample)
    return cast


def _literal(expression: Expr, settings: Settings) -> Expr:
    if pa.types.is_nested(expression.type):
        return expression
    return _known(expression, evaluate.evaluate_scalar(expression, settings))


def _known(expression: Expr, value: object) -> Expr:
    """Return the literal with the expression's known value; the expression itself if the value is a very
    long string."""
    if isinstance(value, str | bytes) and len(value) > _LONGEST:
        return expression
    return Literal(expression.type, value)
