"""Aggregate functions over a few rows of Python values."""

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import reduce
from typing import Final

import pyarrow as pa

from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.expressions import EXACT, is_comparable
from sqlfront_engine.row_programs.program import Evaluate, NotByRows, ProgramRun, Row, RowStep
from sqlfront_engine.row_programs.row_makers import grouped, picker
from sqlfront_values.expressions import AggregateCall, Literal
from sqlfront_values.types import BIGINT, DOUBLE, is_decimal, is_integral

#: The value of an aggregate for the rows of a group, given the constants of the run.
Compute = Callable[[Sequence[Row], Sequence[object]], object]

_ROUNDED: Final = Context(prec=80, rounding=ROUND_HALF_UP)
_BIGINT_BOUND: Final = 1 << 63


def aggregated_rows(
    source: RowStep,
    keys: Sequence[int],
    calls: Sequence[AggregateCall],
    types: tuple[pa.DataType, ...],
    compiler: RowCompiler,
) -> RowStep | None:
    """Return a step of a row program that aggregates the rows of ``source``: one row for each distinct key
    (without ``keys``: a single row), which has the key and the calls' results, of these ``types``. Returns
    None if only the kernels support the aggregation."""
    if not all(is_comparable(source.types[key]) for key in keys):
        return None
    computes: list[Compute] = []
    for call in calls:
        compute = _compiled(call, compiler)
        if compute is None:
            return None
        computes.append(compute)
    pick = picker(keys)

    def rows(run: ProgramRun) -> Sequence[Row]:
        found, constants = source.rows(run), run.constants
        groups = grouped(found, pick) if keys else {(): found}
        return [
            key + tuple([compute(group, constants) for compute in computes]) for key, group in groups.items()
        ]

    return RowStep(rows, types)


def _compiled(call: AggregateCall, compiler: RowCompiler) -> Compute | None:
    arguments = [compiler.expression(argument) for argument in call.arguments]
    condition = None if call.filter is None else compiler.expression(call.filter)
    if len(arguments) > 1 or None in arguments or (call.filter is not None and condition is None):
        return None
    argument = arguments[0] if arguments else None
    if call.function == "count" and call.arguments and isinstance(call.arguments[0], Literal):
        argument = None if call.arguments[0].value is not None and not call.distinct else argument
    return computed(call, argument, condition)


def computed(call: AggregateCall, argument: Evaluate | None, condition: Evaluate | None) -> Compute | None:
    """Return a function that computes the aggregate of the rows of a group; None if only the kernels support
    the aggregate. ``argument`` is the call's only argument as a function of the row, None without arguments;
    ``condition`` is the call's filter, None without a filter."""
    if argument is None:
        if call.function != "count" or call.distinct:
            return None
        return _counted_rows(condition)
    finish = _finish(call)
    if finish is None:
        return None
    distinct = call.distinct

    def compute(rows: Sequence[Row], constants: Sequence[object]) -> object:
        if condition is not None:
            rows = [row for row in rows if condition(row, constants)]
        values = [value for row in rows if (value := argument(row, constants)) is not None]
        return finish(list(dict.fromkeys(values)) if distinct else values)

    return compute


def _counted_rows(condition: Evaluate | None) -> Compute:
    if condition is None:
        return lambda rows, constants: len(rows)
    return lambda rows, constants: sum(1 for row in rows if condition(row, constants))


def _finish(call: AggregateCall) -> Callable[[list[object]], object] | None:
    """Return a function that computes the call's result from the list of the argument's non-null values;
    None if only the kernels support the call."""
    (expression,) = call.arguments
    kind = expression.type
    if call.distinct and not is_comparable(kind):
        return None
    match call.function:
        case "count":
            return len
        case "sum":
            return _sum(kind, call.type)
        case "avg" | "mean":
            return _average(kind, call.type)
        case "min" if is_comparable(kind):
            return lambda values: min(values, default=None)  # type: ignore[type-var]
        case "max" if is_comparable(kind):
            return lambda values: max(values, default=None)  # type: ignore[type-var]
        case _:
            return None


def _sum(kind: pa.DataType, result: pa.DataType) -> Callable[[list[object]], object] | None:
    if is_integral(kind) and result == BIGINT:
        return lambda values: _within(sum(values), _BIGINT_BOUND) if values else None  # type: ignore[arg-type]
    if is_decimal(kind) and result.scale == kind.scale:
        bound = 10 ** (result.precision - result.scale)
        return lambda values: _within(reduce(EXACT.add, values), bound) if values else None  # type: ignore[arg-type]
    if kind == DOUBLE:
        return lambda values: sum(values) if values else None  # type: ignore[arg-type]
    return None


def _average(kind: pa.DataType, result: pa.DataType) -> Callable[[list[object]], object] | None:
    if is_decimal(kind):
        unit = Decimal((0, (1,), -result.scale))
        bound = 10 ** (result.precision - result.scale)
        # A sum has ten digits more than its argument: fewer than 10**10 rows can't overflow it.
        if kind.precision > 28 or result.scale != kind.scale + 4:
            return None

        def average(values: list[object]) -> object:
            if not values:
                return None
            total: Decimal = reduce(EXACT.add, values)  # type: ignore[arg-type, assignment]
            return _within(_ROUNDED.quantize(_ROUNDED.divide(total, Decimal(len(values))), unit), bound)

        return average
    if is_integral(kind) or kind == DOUBLE:
        return lambda values: float(sum(values)) / len(values) if values else None  # type: ignore[arg-type]
    return None


def _within(value: object, bound: int) -> object:
    if not -bound < value < bound:  # type: ignore[operator]
        raise NotByRows
    return value
