"""Binding of literals: numbers, strings, intervals, parameters, and words such as ``current_date`` whose
value is fixed once per run."""

from collections.abc import Sequence
from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.trees import interval_literals
from sqlfront_planner.binder.trees.constants import CURRENT, negative_literal, number
from sqlfront_planner.binder.trees.handlers import failure, handles
from sqlfront_planner.statements.query_parser import CHANGES
from sqlfront_values.expressions import Expr, Literal, RunValue
from sqlfront_values.room import check
from sqlfront_values.types import BINARY, BOOLEAN, STRING, VOID

#: Literals of a list up to which each is a parameter of the plan. The literals of a longer list are part of
#: the plan: such plans are seldom used again, and every parameter costs time at each use of the plan.
_MOST_PARAMETERS: Final = 2_000
#: The nodes of ``SELECT 1, -2, 'a', ?``.
_SELECTED = (exp.Literal, exp.Neg, exp.Placeholder)


@handles(exp.Literal, arguments="this is_string")
def bind_literal(binder: ExpressionBinder, node: exp.Literal) -> Expr:
    """Bind a number or a string to a parameter if another value would not change the plan (:func:`lifted`),
    else to a literal."""
    return lifted(binder, node, _literal(node))


def _literal(node: exp.Literal) -> Literal:
    return Literal(STRING, node.this) if node.is_string else number(node.this, node)


def bind_list(binder: ExpressionBinder, nodes: Sequence[exp.Expr]) -> list[Expr]:
    """Bind the items of a list. In a list of more than 2,000 items, literals stay literals, since making
    parameters of them would take too long."""
    if len(nodes) <= _MOST_PARAMETERS:
        return binder.bind_all(nodes)
    check()
    return [literal_of(node) or binder.bind(node) for node in nodes]


def literal_of(node: exp.Expr) -> Literal | None:
    """Return the literal of a node that is a string, or a number with or without a minus sign; None for any
    other node."""
    if isinstance(node, exp.Literal):
        return _literal(node)
    return negative_literal(node) if isinstance(node, exp.Neg) else None


def lifted(binder: ExpressionBinder, node: exp.Expr, literal: Literal) -> Expr:
    """Return a parameter in place of ``literal`` if another value of the same type would not change the plan,
    else the literal.

    A literal becomes a parameter if a condition compares it with a column, if UPDATE stores it, or if the
    whole query selects only such literals (:func:`selected_column`). ``node`` is the literal's node, or the
    node of the minus sign before it."""
    number_or_string, negative = (node.this, True) if isinstance(node, exp.Neg) else (node, False)
    if is_compared(node, binder.context.conditions) or is_stored(node):
        return binder.context.lift(number_or_string, literal, negative=negative)
    column = selected_column(node)
    if column is not None:
        return binder.context.lift(number_or_string, literal, negative=negative, column=column)
    return literal


def selected_column(node: exp.Expr) -> int | None:
    """Return the ordinal of the result column that the literal at ``node`` forms, if the whole query selects
    only literals, like ``SELECT 1, 'a'``; else None."""
    select = node.parent
    if not isinstance(select, exp.Select) or select.parent is not None:
        return None
    others = [part for name, part in select.args.items() if part and name != "expressions"]
    if others or not all(isinstance(item, _SELECTED) for item in select.expressions):
        return None
    return next(place for place, item in enumerate(select.expressions) if item is node)


def is_compared(node: exp.Expr, conditions: dict[int, bool]) -> bool:
    """Return whether a condition in WHERE or ON compares the literal ``node`` (or the minus sign before it)
    with an expression that has a column. If so, the plan is the same for every literal of this type;
    elsewhere literals determine names, types and plans.

    ``conditions`` is a cache by the ``id()`` of AND, OR, NOT and parentheses: True if the node belongs to
    WHERE or ON.
    """
    comparison = node.parent
    match comparison:
        case exp.In():
            other = comparison.this if comparison.this is not node else None
        case exp.Between():
            other = comparison.this if comparison.this is not node else None
        case exp.EQ() | exp.NullSafeEQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            other = comparison.expression if comparison.this is node else comparison.this
        case _:
            return False
    if other is None or other.find(exp.Column) is None:
        return False
    place, passed = comparison.parent, list[int]()
    while isinstance(place, exp.And | exp.Or | exp.Not | exp.Paren) and id(place) not in conditions:
        passed.append(id(place))
        place = place.parent
    known = conditions.get(id(place))
    is_condition = (isinstance(place, exp.Where | exp.Join) or _changes(place)) if known is None else known
    if passed:
        conditions.update(dict.fromkeys(passed, is_condition))
    return is_condition


def is_stored(node: exp.Expr) -> bool:
    """Return whether a literal (or the minus sign before it) is the whole value that UPDATE assigns to a
    column."""
    return isinstance(node.parent, exp.Paren) and _changes(node.parent.parent)


def _changes(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Select) and CHANGES in node.meta


@handles(exp.Boolean)
def bind_boolean(binder: ExpressionBinder, node: exp.Boolean) -> Expr:
    """Bind TRUE and FALSE."""
    return Literal(BOOLEAN, bool(node.this))


@handles(exp.Null, arguments="")
def bind_null(binder: ExpressionBinder, node: exp.Null) -> Expr:
    """Bind NULL, of type VOID until an operator casts the expression."""
    return Literal(VOID, None)


@handles(exp.HexString, arguments="this")
def bind_hex(binder: ExpressionBinder, node: exp.HexString) -> Expr:
    """Bind ``X'1F'`` to a binary literal; an odd number of digits gets a leading zero. Raises
    INVALID_TYPED_LITERAL for text that isn't hexadecimal."""
    digits = str(node.this)
    try:
        return Literal(BINARY, bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}"))
    except ValueError:
        raise failure(
            "INVALID_TYPED_LITERAL", f"The value of the typed literal \"X\" is invalid: '{digits}'.", node
        ) from None


@handles(exp.Placeholder)
def bind_placeholder(binder: ExpressionBinder, node: exp.Placeholder) -> Expr:
    """Bind ``?`` or ``:name`` to a parameter that reads the argument. Raises UNBOUND_SQL_PARAMETER if the
    statement was given no value for the parameter."""
    context, name = binder.context, node.this
    column = selected_column(node)
    return context.parameter(name) if column is None else context.title(name, column)


@handles(exp.Interval, arguments="this unit fraction_in_string")
def bind_interval(binder: ExpressionBinder, node: exp.Interval) -> Expr:
    """Bind ``INTERVAL '3' MONTH``, ``INTERVAL '1 02:03:04' DAY TO SECOND`` or ``INTERVAL '1 day 2 hours'`` to
    a literal."""
    return interval_literals.interval_literal(node).literal()


@handles(exp.CurrentDate, exp.CurrentTimestamp, arguments="")
def bind_current(binder: ExpressionBinder, node: exp.CurrentDate | exp.CurrentTimestamp) -> Expr:
    """Bind ``current_date`` or ``current_timestamp`` without parentheses, whose value is fixed once per run;
    a column, or a lambda's parameter, of the same name takes precedence."""
    name, kind = CURRENT[type(node)]
    if name in binder.variables or binder.scope.resolve((name,)) is not None:
        return binder.bind(exp.column(name))
    return RunValue(kind, name)
