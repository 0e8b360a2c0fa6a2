"""Window functions: ``function(...) OVER (PARTITION BY ... ORDER BY ...)``."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.inputs import WORKING_BYTES, Block, footprint, take_all
from sqlfront_engine.processors.sort import describe_keys
from sqlfront_values.columns.batches import concat_batches, gather, gather_batch, make_batch, row_indices
from sqlfront_values.columns.window_rows import WindowRows, window_rows
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.evaluate import compile_expression, evaluate_scalar
from sqlfront_values.evaluate.frame_distances import FrameRanges, compile_frame
from sqlfront_values.expression_text import describe_call
from sqlfront_values.expressions import SortKey, WindowCall
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction, AggregateSignature
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.functions.growth import is_variable, size_of
from sqlfront_values.functions.windows.frames import aggregate_frames
from sqlfront_values.functions.windows.placed import PIECE_BYTES, PlacedColumn, pieces
from sqlfront_values.functions.windows.registry import WindowFunction, WindowInvocation, lookup_window
from sqlfront_values.room import check, returned
from sqlfront_values.settings import Settings

#: Rows after which an input is pruned, of which only the first rows of partitions are wanted.
_PRUNED_ROWS = 2 * BATCH_ROWS
#: A function from the input, its rows in window order and their indices to one result per position, as an
#: array or as a PlacedColumn.
_Compute = Callable[[pa.RecordBatch, WindowRows, pa.Array], pa.Array | PlacedColumn]


class Window(Processor, frozen=True, tag_field="processor", tag=True):
    """Window functions: emits the input rows, each extended by one column per call. All calls have the same
    partitions and order; all rows of a partition must reach the same instance. Holds all input rows in
    memory; the output rows have the input's order.

    ``most``: only so many rows of each partition are emitted, the first in the order (None = all); the input
    is then pruned as it comes, and the results of the calls must not depend on later rows."""

    cooperative = False

    partition_keys: tuple[int, ...]
    order_keys: tuple[SortKey, ...]
    calls: tuple[WindowCall, ...]
    schema: pa.Schema
    most: int | None = None

    def run(self, context: ProcessorContext) -> Steps:
        computes = [_prepare(call, self.order_keys, context.settings) for call in self.calls]
        batch = yield from (take_all(0, context) if self.most is None else self._take_first(context))
        if batch is None:
            return
        if self.most is not None:
            batch = self._first(batch, context)
        context.memory.charge(3 * WORKING_BYTES * batch.num_rows)
        rows = window_rows(batch, self.partition_keys, self.order_keys)
        places = np.empty(len(rows), np.int64)
        places[rows.order] = np.arange(len(rows))
        order = row_indices(rows.order)
        columns: list[pa.Array | PlacedColumn] = batch.columns
        for call, compute in zip(self.calls, computes, strict=True):
            check()
            with returned():
                values = compute(batch, rows, order)
                values = (
                    values.at(places) if isinstance(values, PlacedColumn) else PlacedColumn(values, places)
                )
                if not is_variable(values.values.type):
                    values = values.slice(0, len(values))
            size = size_of(values) if isinstance(values, pa.Array) else _size(values)
            context.memory.charge(size, describe_call(call))
            columns.append(values)
        yield from _in_pieces(columns, self.schema.names, batch.num_rows)

    def describe(self) -> str:
        calls = ", ".join(map(describe_call, self.calls))
        keys = ", ".join(f"#{ordinal}" for ordinal in self.partition_keys)
        most = "" if self.most is None else f" first {self.most}"
        return f"Window: {calls} partition by [{keys}] order by [{describe_keys(self.order_keys)}]{most}"

    def _take_first(self, context: ProcessorContext) -> Block:
        """Take all rows of the input, and return those that are emitted, as one batch, whose bytes stay
        charged; None if there are no rows."""
        held: list[pa.RecordBatch] = []
        rows = charged = 0
        wanted = _PRUNED_ROWS
        while (batch := (yield Take(0))) is not None:
            size = footprint(batch)
            context.memory.charge(size)
            held.append(batch)
            rows, charged = rows + batch.num_rows, charged + size
            if rows >= wanted:
                held = [self._first(concat_batches(held), context)]
                rows, size = held[0].num_rows, footprint(held[0])
                context.memory.charge(size)
                context.memory.release(charged)
                charged = size
                # Many rows that stay make further pruning too dear.
                wanted = max(_PRUNED_ROWS, 4 * rows)
        return concat_batches(held) if rows else None

    def _first(self, batch: pa.RecordBatch, context: ProcessorContext) -> pa.RecordBatch:
        """Return the rows of the batch that are among the first ``most`` of their partitions."""
        assert self.most is not None
        check()
        working = 3 * WORKING_BYTES * batch.num_rows
        context.memory.charge(working)
        rows = window_rows(batch, self.partition_keys, self.order_keys)
        kept = np.sort(rows.order[np.arange(len(rows)) - rows.partitions.starts < self.most])
        context.memory.release(working)
        return gather_batch(batch, kept)


def _size(column: PlacedColumn) -> int:
    """Return the bytes to charge for the column: the stored values, plus the result, which is made in pieces
    but may be collected completely."""
    return size_of(column.values) + int(column.sizes().sum())


def _in_pieces(
    columns: Sequence[pa.Array | PlacedColumn], names: Sequence[str], length: int
) -> Iterator[pa.RecordBatch]:
    """Yield the ``length`` rows of the columns in batches of at most :data:`BATCH_ROWS` rows, or of fewer
    rows if values are long."""
    shares = np.full(length, 1 / BATCH_ROWS)
    for column in columns:
        if isinstance(column, PlacedColumn):
            shares += column.sizes() / PIECE_BYTES
    for start, stop in pieces(shares):
        check()
        yield make_batch([column.slice(start, stop - start) for column in columns], names, stop - start)


def _prepare(call: WindowCall, order_keys: tuple[SortKey, ...], settings: Settings) -> _Compute:
    """Return the function that computes the column of a call from the partitioned and sorted rows. Raises
    NotSupportedError if there is no such window function or aggregate."""
    function = lookup_window(call.function) or lookup_aggregate(call.function)
    if function is None:
        raise NotSupportedError(f"the window function {call.function} is not supported")
    evaluators = [
        compile_expression(argument, settings)
        for position, argument in enumerate(call.arguments)
        if position not in function.constants
    ]
    constants = tuple(
        evaluate_scalar(call.arguments[position], settings)
        for position in function.constants
        if position < len(call.arguments)
    )

    def arguments(batch: pa.RecordBatch, order: pa.Array) -> list[pa.Array]:
        return [gather(evaluate(batch), order) for evaluate in evaluators]

    ranges = compile_frame(call.frame, order_keys, settings)
    if isinstance(function, WindowFunction):
        return _window_function(function, call, constants, arguments, ranges)
    return _aggregate(function, call, constants, arguments, ranges)


_Arguments = Callable[[pa.RecordBatch, pa.Array], list[pa.Array]]


def _window_function(
    function: WindowFunction,
    call: WindowCall,
    constants: tuple[object, ...],
    arguments: _Arguments,
    ranges: FrameRanges,
) -> _Compute:
    def compute(batch: pa.RecordBatch, rows: WindowRows, order: pa.Array) -> pa.Array | PlacedColumn:
        frame = ranges(batch, rows, order)
        return function.kernel(
            WindowInvocation(rows, frame, arguments(batch, order), constants, call.ignore_nulls)
        )

    return compute


def _aggregate(
    function: AggregateFunction,
    call: WindowCall,
    constants: tuple[object, ...],
    arguments: _Arguments,
    ranges: FrameRanges,
) -> _Compute:
    types = tuple(argument.type for argument in call.arguments)
    if call.ignore_nulls:
        constants = (True,)
    accumulator = function.make(AggregateSignature(types, call.type, constants))

    def compute(batch: pa.RecordBatch, rows: WindowRows, order: pa.Array) -> pa.Array | PlacedColumn:
        return aggregate_frames(accumulator, rows, ranges(batch, rows, order), arguments(batch, order))

    return compute
