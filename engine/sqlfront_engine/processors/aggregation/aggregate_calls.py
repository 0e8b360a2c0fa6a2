"""The prepared calls of an aggregation: arguments compiled, constants evaluated, accumulators made."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.columns.batches import Mask, gather, make_batch, mask_array, row_indices
from sqlfront_values.columns.encoding import canonical
from sqlfront_values.columns.grouping import RowGroups
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.evaluate import Rows, compile_expressions, evaluate_scalar
from sqlfront_values.expressions import AggregateCall, Expr
from sqlfront_values.functions.aggregates.accumulators.base import Accumulator, Groups
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction, AggregateSignature
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.settings import Settings
from sqlfront_values.types import physical

Evaluator = Callable[[Rows], pa.Array]

#: Aggregates that accept a wide decimal's unscaled values in 64 bits where the values fit.
_COMPACT: Final = frozenset({"sum", "avg", "mean", "try_sum", "try_avg"})


class _Call(msgspec.Struct, frozen=True):
    """A prepared call of an aggregate function. ``arguments`` and ``filter`` (None: no filter) are positions
    in the list of evaluators; ``types`` are the arguments' logical types. The accumulator has the constant
    arguments."""

    accumulator: Accumulator
    arguments: tuple[int, ...]
    types: tuple[pa.DataType, ...]
    filter: int | None


class AggregateCalls:
    """The prepared calls of an aggregation. They turn rows into states (a group's intermediate results, such
    as a sum and a count), and states into results. Equal arguments of several calls are evaluated once per
    block of rows."""

    def __init__(self, calls: Sequence[AggregateCall], settings: Settings) -> None:
        self._settings = settings
        self._numbers: dict[tuple[Expr, bool], int] = {}
        self._items: list[tuple[Expr, bool]] = []
        self._calls = [self._prepare(call) for call in calls]
        self._evaluators: tuple[Evaluator, ...] = compile_expressions(
            tuple(expression for expression, _ in self._items),
            settings,
            frozenset(number for number, (_, compact) in enumerate(self._items) if compact),
        )
        self.accumulators = [call.accumulator for call in self._calls]

    def states(self, block: pa.RecordBatch, keys: Sequence[pa.Array], grouping: RowGroups) -> pa.RecordBatch:
        """Return one row per group of the block: the group's key, then the calls' states. ``keys``: the key
        columns of the block; ``grouping``: the groups of the block's rows."""
        columns: list[pa.Array] = []
        if keys:
            first = row_indices(grouping.rows)
            columns += [canonical(gather(key, first)) for key in keys]
        groups = Groups.of(grouping)
        rows = Rows(block)
        known: dict[int, pa.Array] = {}
        for call in self._calls:
            columns += self._update(call, rows, groups, known)
        return _state_batch(columns, grouping.size)

    def empty_state(self) -> pa.RecordBatch:
        """Return one row with the calls' states after zero rows, without key columns."""
        groups = Groups(np.zeros(0, np.int64), 1)
        columns: list[pa.Array] = []
        for call in self._calls:
            arguments = [pa.nulls(0, physical(data_type)) for data_type in call.types]
            columns += call.accumulator.update(groups, arguments)
        return _state_batch(columns, 1)

    def finish(self, states: pa.RecordBatch, keys: int) -> list[pa.Array]:
        """Return the key columns, then one column of results per call. ``states``: rows of states after
        merging; ``keys``: the number of key columns, which come first in ``states``."""
        columns: list[pa.Array] = states.columns
        result, start = columns[:keys], keys
        for accumulator in self.accumulators:
            stop = start + len(accumulator.state_types)
            result.append(accumulator.finish(columns[start:stop]))
            start = stop
        return result

    def _prepare(self, call: AggregateCall) -> _Call:
        function = lookup_aggregate(call.function)
        if function is None:
            raise NotSupportedError(f"the aggregate function {call.function} is not supported")
        rows = [argument for n, argument in enumerate(call.arguments) if n not in function.constants]
        compact = call.function in _COMPACT and not call.distinct
        return _Call(
            accumulator=self._accumulator(function, call),
            arguments=tuple(self._number(argument, compact=compact) for argument in rows),
            types=tuple(argument.type for argument in rows),
            filter=None if call.filter is None else self._number(call.filter),
        )

    def _accumulator(self, function: AggregateFunction, call: AggregateCall) -> Accumulator:
        constants = tuple(
            evaluate_scalar(call.arguments[n], self._settings)
            for n in function.constants
            if n < len(call.arguments)
        )
        types = tuple(argument.type for argument in call.arguments)
        return function.make(AggregateSignature(types, call.type, constants), distinct=call.distinct)

    def _number(self, expression: Expr, *, compact: bool = False) -> int:
        """Return the position of the expression's evaluator; equal expressions share an evaluator.
        ``compact``: wide decimals may come as unscaled values in 64 bits (:func:`compile_expressions`)."""
        item = expression, compact
        try:
            known = self._numbers.get(item)
            if known is None:
                known = self._numbers[item] = len(self._items)
                self._items.append(item)
        except TypeError:  # a literal that can't be hashed, such as an array
            known = len(self._items)
            self._items.append(item)
        return known

    def _update(self, call: _Call, rows: Rows, groups: Groups, known: dict[int, pa.Array]) -> list[pa.Array]:
        if call.filter is not None:
            # Arguments are evaluated only for rows that pass the filter: the filter may prevent an error.
            passing = is_true(self._value(call.filter, rows, known))
            rows, groups, known = (
                Rows(rows.batch.filter(mask_array(passing))),
                groups.select(passing),
                {},
            )
        arguments = [self._value(number, rows, known) for number in call.arguments]
        return call.accumulator.update(groups, arguments)

    def _value(self, number: int, rows: Rows, known: dict[int, pa.Array]) -> pa.Array:
        value = known.get(number)
        if value is None:
            value = known[number] = self._evaluators[number](rows)
        return value


def is_true(condition: pa.Array) -> Mask:
    """Return a mask of the rows at which a boolean column is true (neither false nor null)."""
    values: Mask = numpy_view(condition).astype(np.bool_, copy=False)
    valid = valid_mask(condition)
    return values if valid is None else values & valid


def _state_batch(columns: list[pa.Array], length: int) -> pa.RecordBatch:
    return make_batch(columns, [f"c{position}" for position in range(len(columns))], length)
