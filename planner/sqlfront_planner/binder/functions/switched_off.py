"""Functions that Spark refuses by its default settings: those of nanoseconds."""

from typing import Final

from sqlglot import exp

from sqlfront_planner.binder.expressions.arguments import CallBinders, argument_error
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_values import types
from sqlfront_values.expressions import Expr, Literal

_NANOSECONDS: Final = '"(TIMESTAMP_LTZ(P) OR TIMESTAMP_NTZ(P) WITH P IN [7, 9])"'
#: The type of a number of nanoseconds since 1970.
_NANOSECOND_COUNT: Final = types.decimal(21, 0)


def _unix_nanos(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operand = binder.bind(node.expressions[0])
    if operand.type == types.VOID:
        return Literal(_NANOSECOND_COUNT, None)
    raise argument_error(binder, 0, _NANOSECONDS, operand, node)


SWITCHED_OFF: Final[CallBinders] = {
    "unix_nanos": (_unix_nanos, 1, 1),
}
