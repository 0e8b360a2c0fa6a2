"""Literals of the statement: numbers, strings, intervals, parameters, and the words that stand for a value
of the run."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from sqlfront_planner.binder.constants import CURRENT, negative_literal, number
from sqlfront_planner.binder.expressions import ExpressionBinder
from sqlfront_planner.binder.syntax import failure, handles
from sqlfront_planner.query_parser import CHANGES
from sqlfront_values.expressions import Expr, Literal, RunValue
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.room import check
from sqlfront_values.types import BINARY, BOOLEAN, STRING, VOID

if TYPE_CHECKING:
    from sqlfront_planner.binder import intervals
else:
    intervals = lazy_module("sqlfront_planner.binder.intervals")


#: In a longer list the literals are part of the plan: each would be a parameter of its own otherwise.
_MOST_PARAMETERS: Final = 2_000
#: What ``SELECT 1, -2, 'a', ?`` consists of.
_SELECTED = (exp.Literal, exp.Neg, exp.Placeholder)


@handles(exp.Literal, arguments="this is_string")
def bind_literal(binder: ExpressionBinder, node: exp.Literal) -> Expr:
    """A number or a string."""
    return lifted(binder, node, _literal(node))


def _literal(node: exp.Literal) -> Literal:
    return Literal(STRING, node.this) if node.is_string else number(node.this, node)


def bind_list(binder: ExpressionBinder, nodes: Sequence[exp.Expr]) -> list[Expr]:
    """The expressions of a list's items, of which there may be very many."""
    if len(nodes) <= _MOST_PARAMETERS:
        return binder.bind_all(nodes)
    check()
    return [literal_of(node) or binder.bind(node) for node in nodes]


def literal_of(node: exp.Expr) -> Literal | None:
    """The value of a number, with a minus or without, or of a string; None for any other node."""
    if isinstance(node, exp.Literal):
        return _literal(node)
    return negative_literal(node) if isinstance(node, exp.Neg) else None


def lifted(binder: ExpressionBinder, node: exp.Expr, literal: Literal) -> Expr:
    """The literal (``node`` is it, or the minus before it), or the parameter that it may be."""
    number_or_string, negative = (node.this, True) if isinstance(node, exp.Neg) else (node, False)
    if is_compared(node, binder.context.conditions) or is_stored(node):
        return binder.context.lift(number_or_string, literal, negative=negative)
    column = selected_column(node)
    if column is not None:
        return binder.context.lift(number_or_string, literal, negative=negative, column=column)
    return literal


def selected_column(node: exp.Expr) -> int | None:
    """Which column of the result a literal is and names, if ``SELECT 1, 'a'`` is the whole query."""
    select = node.parent
    if not isinstance(select, exp.Select) or select.parent is not None:
        return None
    others = [part for name, part in select.args.items() if part and name != "expressions"]
    if others or not all(isinstance(item, _SELECTED) for item in select.expressions):
        return None
    return next(place for place, item in enumerate(select.expressions) if item is node)


def is_compared(node: exp.Expr, conditions: dict[int, bool]) -> bool:
    """Whether a literal (or the minus before it) is what WHERE or ON compares a column with: with another one
    of its type the query means the same but for that value. Elsewhere literals make names, types and plans.
    ``conditions`` keeps which nodes WHERE or ON consist of, by their identity.
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
    """Whether a literal (or the minus before it) is the whole value that UPDATE gives to a column."""
    return isinstance(node.parent, exp.Paren) and _changes(node.parent.parent)


def _changes(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Select) and CHANGES in node.meta


@handles(exp.Boolean)
def bind_boolean(binder: ExpressionBinder, node: exp.Boolean) -> Expr:
    """TRUE and FALSE."""
    return Literal(BOOLEAN, bool(node.this))


@handles(exp.Null, arguments="")
def bind_null(binder: ExpressionBinder, node: exp.Null) -> Expr:
    """NULL has a type of its own until an operator gives it one."""
    return Literal(VOID, None)


@handles(exp.HexString, arguments="this")
def bind_hex(binder: ExpressionBinder, node: exp.HexString) -> Expr:
    """``X'1F'``; an odd number of digits gets a zero in front."""
    digits = str(node.this)
    try:
        return Literal(BINARY, bytes.fromhex(digits if len(digits) % 2 == 0 else f"0{digits}"))
    except ValueError:
        raise failure(
            "INVALID_TYPED_LITERAL", f"The value of the typed literal \"X\" is invalid: '{digits}'.", node
        ) from None


@handles(exp.Placeholder)
def bind_placeholder(binder: ExpressionBinder, node: exp.Placeholder) -> Expr:
    """``?`` and ``:name``."""
    context, name = binder.context, str(node.this)
    column = selected_column(node)
    return context.parameter(name) if column is None else context.title(name, column)


@handles(exp.Interval, arguments="this unit fraction_in_string")
def bind_interval(binder: ExpressionBinder, node: exp.Interval) -> Expr:
    """``INTERVAL '3' MONTH``, ``INTERVAL '1 02:03:04' DAY TO SECOND``, ``INTERVAL '1 day 2 hours'``."""
    return intervals.interval_literal(node).literal()


@handles(exp.CurrentDate, exp.CurrentTimestamp, arguments="")
def bind_current(binder: ExpressionBinder, node: exp.CurrentDate | exp.CurrentTimestamp) -> Expr:
    """``current_date`` and ``current_timestamp`` without parentheses, fixed once per run; a column of that
    name comes first."""
    name, kind = CURRENT[type(node)]
    if binder.scope.resolve((name,)) is not None:
        return binder.bind(exp.column(name))
    return RunValue(kind, name)
