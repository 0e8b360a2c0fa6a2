"""The places where the values of bound expressions may be null."""

from collections.abc import Callable, Sequence

import msgspec

from sqlfront_planner.logical import Exists, InSubquery, LogicalPlan, OuterColumn, Subquery
from sqlfront_planner.nullability import casts, functions
from sqlfront_planner.nullability.nulls import Nulls, everywhere, of_value
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
    RunValue,
)
from sqlfront_values.functions.nested.map_building import KEEPING_LAST

#: Higher-order functions whose result has the elements of the first argument.
_SAME_ELEMENTS = ("filter", "array_sort")
#: Higher-order functions whose value follows from the lambda.
_MAY_FAIL = ("aggregate", "reduce")


class ReadNulls(msgspec.Struct, frozen=True):
    """The input of expressions. ``row``: where the columns of the input row may be null; ``outer``: those of
    the enclosing query. ``values``: the values of the parameters. ``plan_nulls``: returns where the columns
    of a subquery's plan may be null, for its outer row."""

    row: Sequence[Nulls]
    outer: Sequence[Nulls]
    values: Sequence[object]
    plan_nulls: Callable[[LogicalPlan, Sequence[Nulls]], Sequence[Nulls]]


def nulls_of(expression: Expr, scope: ReadNulls, previous: Nulls | None = None) -> Nulls:
    """Return where the expression's value may be null. ``previous``: the same of the link before, in a
    chain."""
    match expression:
        case Column(ordinal=place):
            return scope.row[place]
        case OuterColumn(ordinal=place):
            return scope.outer[place]
        case Literal(type=kind, value=value):
            return of_value(value, kind)
        case Parameter(type=kind, index=index):
            return of_value(scope.values[index], kind) if index < len(scope.values) else everywhere(kind)
        case RunValue():
            return Nulls(False)
        case Previous():
            assert previous is not None
            return previous
        case Cast(operand=operand, type=kind, safe=safe):
            return casts.cast(nulls_of(operand, scope, previous), operand.type, kind, safe=safe)
        case Case(branches=branches, otherwise=otherwise):
            found = nulls_of(otherwise, scope, previous)
            for _, value in branches:
                found |= nulls_of(value, scope, previous)
            return found
        case Chain(first=first, links=links):
            found = nulls_of(first, scope, previous)
            for link in links:
                found = nulls_of(link, scope, found)
            return found
        case Call(arguments=arguments):
            return functions.call(expression, [nulls_of(each, scope, previous) for each in arguments])
        case HigherOrder():
            return _higher_order(expression, scope)
        case Exists():
            return Nulls(False)
        case InSubquery(operands=operands, plan=plan):
            inside = scope.plan_nulls(plan, scope.row)
            return Nulls(any(each.value for each in (*inside, *(nulls_of(one, scope) for one in operands))))
        case Subquery(plan=plan):
            return scope.plan_nulls(plan, scope.row)[0].if_any(True)
    return everywhere(expression.type)


def _higher_order(call: HigherOrder, scope: ReadNulls) -> Nulls:
    arguments = [nulls_of(each, scope) for each in call.arguments]
    value = any(each.value for each in arguments)
    name, captured = (
        call.function.removesuffix(f" {KEEPING_LAST}"),
        [nulls_of(each, scope) for each in call.captured],
    )

    def body(*parameters: Nulls) -> Nulls:
        inner = msgspec.structs.replace(scope, row=(*parameters, *captured))
        return nulls_of(call.lambdas[-1].body, inner)

    if name in _SAME_ELEMENTS:
        return Nulls(value, arguments[0].parts)
    if name == "transform":
        parameters = (arguments[0].parts[0], Nulls(False))[: call.lambdas[0].parameters]
        return Nulls(value, (body(*parameters),))
    if name == "transform_values":
        key = everywhere(call.arguments[0].type.key_type)
        return Nulls(value, (body(Nulls(False, key.parts), arguments[0].parts[0]),))
    if name in ("transform_keys", "map_filter"):
        return Nulls(value, arguments[0].parts)
    if name in ("exists", "forall"):
        return Nulls(value or body(arguments[0].parts[0]).value)
    return Nulls(value or name in _MAY_FAIL, everywhere(call.type).parts)
