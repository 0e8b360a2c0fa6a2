"""Aggregates whose result depends on an order of their own: ``WITHIN GROUP (ORDER BY ...)``."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import check_count
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unsupported
from sqlfront_planner.binder.trees.sort_orders import sort_order
from sqlfront_planner.types import is_orderable
from sqlfront_values.errors import Error
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import Expr, Literal, SortOrder
from sqlfront_values.types import BOOLEAN, STRING, is_decimal, is_integral, is_string, sql_name

#: Percentiles of the order's values.
PERCENTILES: Final = frozenset({"percentile_cont", "percentile_disc"})
_TEXTS: Final = frozenset({"listagg", "string_agg"})
#: Functions whose calls need an order, or whose arguments say whether there is one.
ORDERED: Final = PERCENTILES | _TEXTS | {"mode"}


def takes_no_order(name: str, node: exp.Expr) -> Error:
    """Make Spark's error for WITHIN GROUP behind the function ``name``, which takes no order."""
    return failure(
        "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
        f"Invalid SQL syntax: The function `{name}` does not support WITHIN GROUP (ORDER BY ...).",
        node,
    )


def ordered_operands(
    binder: ExpressionBinder,
    name: str,
    operands: list[Expr],
    within: exp.Expr | None,
    node: exp.Expr,
    *,
    distinct: bool,
) -> list[Expr]:
    """Return the operands of the aggregate's registry entry for a call with the given ``operands`` in
    parentheses and the order ``within`` (None without WITHIN GROUP)."""
    if name in _TEXTS:
        return _text_operands(binder, name, operands, within, node, distinct=distinct)
    if name not in ORDERED:
        raise takes_no_order(name, node)
    if distinct:
        raise _invalid(name, "DISTINCT_UNSUPPORTED", "The function does not support DISTINCT.", node)
    if name == "mode" and within is None and operands:
        return _mode_operands(binder, operands, node)
    if within is None:
        raise _invalid(name, "WITHIN_GROUP_MISSING", "WITHIN GROUP is required for the function.", node)
    if name == "mode" and operands:
        raise _orderings(name, 0, within, node)
    if name in PERCENTILES:
        check_count(name, len(operands), 1, 1, node)
    if len(within.expressions) != 1:
        raise _orderings(name, 1, within, node)
    (key,), (order,) = _keys(binder, within)
    descends = Literal(BOOLEAN, order.descends)
    if name == "mode":
        return [key, Literal(BOOLEAN, True), descends]
    fraction = binder.context.known_value(operands[0])
    if isinstance(fraction, Literal) and fraction.value is None:
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_NULL",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The percentage must not be '
            "null.",
            node,
        )
    return [key, fraction, descends]


def _mode_operands(binder: ExpressionBinder, operands: list[Expr], node: exp.Expr) -> list[Expr]:
    """Return the operands for ``mode(x)`` or ``mode(x, deterministic)``; a deterministic mode is the least of
    the most frequent values."""
    check_count("mode", len(operands), 0, 2, node)
    if len(operands) == 1:
        return operands
    known = binder.context.constant(operands[1], node)
    if known is None:
        raise failure(
            "NON_FOLDABLE_ARGUMENT",
            "The function `mode` requires the parameter `deterministic` to be a foldable expression of the"
            ' type "BOOLEAN", but the actual argument is not.',
            node,
        )
    deterministic = evaluate_scalar(known, binder.context.settings.evaluation)
    if deterministic is None:
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_NULL",
            'Cannot resolve "NULL" due to data type mismatch: The `deterministic` must not be null.',
            node,
        )
    if known.type != BOOLEAN:
        raise failure(
            "UNEXPECTED_INPUT_TYPE",
            'Parameter second of function `mode` requires the "BOOLEAN" type, however it has the type '
            f'"{sql_name(known.type)}".',
            node,
        )
    return [operands[0], Literal(BOOLEAN, True)] if deterministic else operands[:1]


def _text_operands(
    binder: ExpressionBinder,
    name: str,
    operands: list[Expr],
    within: exp.Expr | None,
    node: exp.Expr,
    *,
    distinct: bool,
) -> list[Expr]:
    """Return the operands for listagg: the text, the delimiter, and the order's directions and keys."""
    check_count(name, len(operands), 1, 2, node)
    if within is None:
        return operands
    keys, orders = _keys(binder, within)
    if distinct and keys != [operands[0]]:
        raise _invalid(
            name,
            "MISMATCH_WITH_DISTINCT_INPUT",
            "The function is invoked with DISTINCT and WITHIN GROUP but the expressions do not match. The "
            "WITHIN GROUP ordering expression must be picked from the function inputs.",
            node,
        )
    kind = keys[0].type
    if distinct and not (is_string(kind) or is_integral(kind) or is_decimal(kind)):
        raise unsupported(f"{name} of DISTINCT and ordered values of {sql_name(kind)}", node)
    delimiter = operands[1] if len(operands) > 1 else Literal(STRING, None)
    return [operands[0], delimiter, Literal(STRING, ", ".join(order.value for order in orders)), *keys]


def _keys(binder: ExpressionBinder, within: exp.Expr) -> tuple[list[Expr], list[SortOrder]]:
    """Bind the items of the order; return their expressions and directions."""
    refuse_unknown(within, frozenset({"expressions"}))
    keys = [binder.bind(item.this) for item in within.expressions]
    for key, item in zip(keys, within.expressions, strict=True):
        if not is_orderable(key.type):
            raise failure(
                "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
                f'Cannot resolve "{binder.name(item.this)}" due to data type mismatch: The `sortorder` does '
                f'not support ordering on type "{sql_name(key.type)}".',
                item,
            )
    return keys, [sort_order(item) for item in within.expressions]


def _orderings(name: str, wanted: int, within: exp.Expr, node: exp.Expr) -> Error:
    given: Sequence[exp.Expr] = within.expressions
    return _invalid(
        name,
        "WRONG_NUM_ORDERINGS",
        f"The function requires {wanted} orderings in WITHIN GROUP but got {len(given)}.",
        node,
    )


def _invalid(name: str, kind: str, why: str, node: exp.Expr) -> Error:
    return failure(
        f"INVALID_WITHIN_GROUP_EXPRESSION.{kind}",
        f"Invalid function `{name}` with WITHIN GROUP. {why}",
        node,
    )
