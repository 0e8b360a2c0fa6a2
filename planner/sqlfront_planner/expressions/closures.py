"""Lambdas as closed functions: a lambda's body becomes an expression over a row of its own, which has the
lambda's parameters, and the values that it captures from the row outside of it."""

from collections.abc import Sequence
from itertools import count
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_planner.logical import Subquery
from sqlfront_values.expressions import (
    Call,
    Column,
    Expr,
    HigherOrder,
    Lambda,
    Literal,
    Previous,
    map_columns,
    transform,
)
from sqlfront_values.types import VOID

_NUMBERS: Final = count()


class LambdaVariable(Expr, frozen=True, tag_field="kind", tag=True):
    """A parameter of a lambda whose body is still open; a Column replaces it once the body is closed.
    ``number`` tells all variables apart, ``name`` is for display."""

    number: int
    name: str


def new_variable(data_type: pa.DataType, name: str) -> LambdaVariable:
    """Return a variable that differs from all others."""
    return LambdaVariable(data_type, next(_NUMBERS), name)


class OpenLambda(msgspec.Struct, frozen=True):
    """A lambda whose ``body`` is an expression over the row outside of the lambda, in which ``parameters``
    stand for the lambda's parameters."""

    parameters: tuple[LambdaVariable, ...]
    body: Expr


def closed(call: HigherOrder, lambdas: Sequence[OpenLambda]) -> HigherOrder:
    """Return the call with ``lambdas``, closed, as its lambdas. Whatever reads the row outside is captured:
    a column, a parameter of the plan, a value of the run, a parameter of a lambda further out. Only these
    leaves are captured, since their evaluation can't fail; the expressions over them are evaluated for the
    elements, as Spark does."""
    captured: list[Expr] = []
    bodies = [_closed_body(one, captured) for one in lambdas]
    functions = tuple([Lambda(len(one.parameters), body) for one, body in zip(lambdas, bodies, strict=True)])
    return HigherOrder(call.type, call.function, call.arguments, tuple(captured), functions)


def _closed_body(function: OpenLambda, captured: list[Expr]) -> Expr:
    places = {variable.number: place for place, variable in enumerate(function.parameters)}

    def close(item: Expr) -> Expr:
        if isinstance(item, LambdaVariable) and item.number in places:
            return Column(item.type, places[item.number], item.name)
        if isinstance(item, Literal | Previous | Call) or (
            item.children() and not isinstance(item, Subquery)
        ):
            return item
        if item not in captured:
            captured.append(item)
        return Column(item.type, len(places) + captured.index(item))

    return transform(function.body, close)


def opened(call: HigherOrder) -> list[OpenLambda]:
    """Return the lambdas of the call with open bodies, which :func:`closed` closes again."""
    return [_opened(function, call.captured) for function in call.lambdas]


def _opened(function: Lambda, captured: Sequence[Expr]) -> OpenLambda:
    known: dict[int, LambdaVariable] = {}

    def read(column: Column) -> Expr:
        if column.ordinal >= function.parameters:
            return captured[column.ordinal - function.parameters]
        return known.setdefault(column.ordinal, new_variable(column.type, column.name))

    body = map_columns(function.body, read)
    parameters = [known.get(place) or new_variable(VOID, "") for place in range(function.parameters)]
    return OpenLambda(tuple(parameters), body)
