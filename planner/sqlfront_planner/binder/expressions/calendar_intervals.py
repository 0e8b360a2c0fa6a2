"""Binding of make_interval and try_make_interval, as far as no value of their type, INTERVAL, is needed:
added to or subtracted from a date or timestamp, and cast to a string."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.context import MovedBy, TimeShift
from sqlfront_planner.binder.expressions.arguments import (
    CallBinders,
    check_count,
    coerce,
    function_name,
)
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, cast_to
from sqlfront_planner.binder.trees.handlers import unparenthesized, unsupported
from sqlfront_planner.types import DATETIMES
from sqlfront_values.expressions import Call, Expr, Literal
from sqlfront_values.types import INT, STRING, decimal

#: The functions that make such intervals; ``try_`` gives null in place of an overflow.
MAKERS: Final = ("make_interval", "try_make_interval")
#: The types of years, months, weeks, days, hours, minutes and seconds.
_PARTS: Final = (INT, INT, INT, INT, INT, INT, decimal(18, 6))


def maker_of(node: exp.Expr) -> exp.Anonymous | None:
    """Return the call of make_interval or try_make_interval that the node is, parentheses aside; else
    None."""
    node = unparenthesized(node)
    return node if isinstance(node, exp.Anonymous) and function_name(node) in MAKERS else None


def _parts(binder: ExpressionBinder, maker: exp.Anonymous) -> tuple[Expr, ...]:
    """Return the seven parts of the interval that the call ``maker`` makes; parts that the call omits are
    0."""
    name = function_name(maker)
    given = binder.bind_all(maker.expressions)
    check_count(name, len(given), 1 if name.startswith("try_") else 0, len(_PARTS), maker)
    parts = coerce(binder, name, _PARTS[: len(given)], given, maker)
    return (*parts, *(cast_to(Literal(INT, 0), kind) for kind in _PARTS[len(given) :]))


def moved(
    binder: ExpressionBinder,
    operator: str,
    moment: Expr,
    maker: exp.Anonymous,
    node: exp.Expr,
    *,
    swapped: bool = False,
) -> Expr:
    """Bind ``moment + make_interval(...)``, or with a minus if ``operator`` is "subtract". ``swapped``: the
    interval comes first. Raises NotSupportedError for a moment that is no date or timestamp."""
    if moment.type not in DATETIMES:
        raise unsupported(f"{function_name(maker)} beside another type than a date or timestamp", node)
    binder.context.moved[id(node)] = TimeShift(node, MovedBy.INTERVAL, swapped)
    function = f"{operator} {function_name(maker)}"
    return Call(moment.type, function, (moment, *_parts(binder, maker)))


def text(binder: ExpressionBinder, maker: exp.Anonymous) -> Expr:
    """Bind ``CAST(make_interval(...) AS STRING)``."""
    return Call(STRING, f"text of {function_name(maker)}", _parts(binder, maker))


def _refuse(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    raise unsupported(f"{function_name(node)} elsewhere than beside a date or timestamp", node)


CALENDAR_INTERVALS: Final[CallBinders] = {name: (_refuse, 0, len(_PARTS)) for name in MAKERS}
