"""Spark's aggregate functions as arguments of pipelines, by name, with Spark's argument and result types."""

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from sqlfront_planner.types import argument_name, implicit_cast
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import AggregateCall, Cast, Column, Expr, Literal
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction
from sqlfront_values.functions.aggregates.registry import aggregate_names, lookup_aggregate
from sqlfront_values.functions.registry import ArgumentType
from sqlfront_values.types import BIGINT, BOOLEAN, ddl


class Aggregation(msgspec.Struct, frozen=True):
    """A call of one of Spark's aggregate functions over columns given by name, not yet bound to a schema;
    :func:`aggregation` makes it. ``arguments`` are names of columns, and literals. ``distinct``: each
    combination of arguments counts once. ``where``: the name of a boolean column; only rows with a true value
    in it count (None: all rows)."""

    function: str
    arguments: tuple[str | Literal, ...] = ()
    distinct: bool = False
    where: str | None = None


def aggregation(
    function: str, *arguments: str | Literal, distinct: bool = False, where: str | None = None
) -> Aggregation:
    """Make a call of an aggregate function, by Spark's name, over named columns; constants are given as
    :class:`~sqlfront_values.expressions.Literal`. ``count`` without arguments counts rows. ``distinct``:
    each combination of arguments counts once. ``where``: a boolean column; only rows with a true value in it
    count.

    >>> aggregation("sum", "price", distinct=True).function
    'sum'
    """
    return Aggregation(function.lower(), arguments, distinct, where)


def bind_aggregation(call: Aggregation, schema: pa.Schema) -> AggregateCall:
    """Bind the call to rows of the schema, with the arguments cast as in Spark. Raises ProgrammingError for
    an unknown function or column, a wrong number of arguments, and unsuitable types."""
    entry = lookup_aggregate(call.function)
    if entry is None:
        raise ProgrammingError(
            f"unknown aggregate function {call.function!r}; known functions: {', '.join(aggregate_names())}"
        )
    condition = None if call.where is None else column_named(call.where, schema)
    if condition is not None and condition.type != BOOLEAN:
        raise ProgrammingError(f"column {call.where!r} is {ddl(condition.type)}, not boolean")
    if call.function == "count" and not call.arguments and not call.distinct:
        return AggregateCall("count", (), BIGINT, filter=condition)
    wanted = _kinds(entry, len(call.arguments))
    arguments = tuple(
        _cast(call.function, _operand(argument, schema), kind)
        for argument, kind in zip(call.arguments, wanted, strict=True)
    )
    result = entry.result_type(tuple(argument.type for argument in arguments))
    return AggregateCall(
        entry.name, arguments, result, call.distinct and entry.distinct_matters, filter=condition
    )


def column_named(name: str, schema: pa.Schema) -> Column:
    """Return a reference to the column ``name`` of a row of the schema. Raises ProgrammingError, with the
    known names, for an unknown name."""
    ordinal = schema.get_field_index(name)
    if ordinal < 0:
        raise ProgrammingError(
            f"there is no column {name!r}; known columns: {', '.join(map(repr, schema.names))}"
        )
    return Column(schema.field(ordinal).type, ordinal, name)


def _kinds(entry: AggregateFunction, given: int) -> Sequence[ArgumentType]:
    """Return the type that the function declares for each of ``given`` arguments. Raises ProgrammingError if
    the function takes fewer or more arguments."""
    kinds = entry.arguments
    least = len(kinds) - entry.optional
    if given < least or (given > len(kinds) and not entry.variadic):
        bounds = f"at least {least}" if entry.variadic else f"{least} to {len(kinds)}"
        raise ProgrammingError(f"{entry.name} takes {bounds} arguments, not {given}")
    return [kinds[min(place, len(kinds) - 1)] for place in range(given)]


def _operand(argument: str | Literal, schema: pa.Schema) -> Expr:
    return argument if isinstance(argument, Literal) else column_named(argument, schema)


def _cast(function: str, operand: Expr, wanted: ArgumentType) -> Expr:
    target = implicit_cast(operand.type, wanted)
    if target is None:
        raise ProgrammingError(f"{function} takes {argument_name(wanted)}, not {ddl(operand.type)}")
    return operand if target == operand.type else Cast(target, operand)
