"""GROUP BY and DISTINCT: in one step, or in two steps with an edge between them that brings each key
together."""

from collections.abc import Iterator, Sequence
from enum import Enum

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.aggregation.aggregate_calls import AggregateCalls
from sqlfront_engine.processors.aggregation.state_table import ELEMENT_BYTES, StateTable, held_elements
from sqlfront_engine.processors.inputs import Blocks, footprint
from sqlfront_engine.row_programs.aggregates import aggregated_rows
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_values.columns.batches import empty_batch, make_batch, slices
from sqlfront_values.columns.grouping import group_rows
from sqlfront_values.evaluate import Rows, in_pieces
from sqlfront_values.expression_text import describe_call
from sqlfront_values.expressions import AggregateCall
from sqlfront_values.room import returned

#: Groups of a partial aggregation above which it emits its states, so that its memory is bounded.
PARTIAL_GROUPS = 4 * BATCH_ROWS
#: Blocks of memory that the groups of a partial aggregation take, if the memory is small, before it emits its
#: states.
PARTIAL_BLOCKS = 4


class AggregateMode(Enum):
    """The part of an aggregation that an operator does: all of it, or the first or second of two steps."""

    SINGLE = "single"
    """Rows in, results out."""
    PARTIAL = "partial"
    """Rows in, states out: the keys, then the calls' state columns; a key may come several times."""
    FINAL = "final"
    """States in, results out."""


class Aggregate(Processor, frozen=True, tag_field="processor", tag=True):
    """An aggregation: emits one row per distinct key (null is a key), without keys exactly one row. A row
    has the keys, then the calls' results.

    ``keys`` and the calls' arguments refer to the columns of the original input row in every mode; ``schema``
    is the schema of the final output. With the modes SINGLE and FINAL, one instance has to get all rows of a
    key. Memory grows with the groups, not with the rows, except for aggregates that hold all values.
    """

    cooperative = False

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    mode: AggregateMode
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        calls = AggregateCalls(self.calls, context.settings)
        table = StateTable(len(self.keys), calls.accumulators, context)
        if self.mode is AggregateMode.FINAL:
            while (states := (yield Take(0))) is not None:
                table.add(states)
        else:
            blocks = Blocks(0, context)
            while (block := (yield from blocks.take(table.wanted_rows))) is not None:
                rows, parts = block.num_rows, list(self._states(block, calls))
                partial = self.mode is AggregateMode.PARTIAL
                if partial and self.keys and 2 * sum(states.num_rows for states in parts) > rows:
                    for states in parts:
                        yield from slices(states, BATCH_ROWS)
                    continue
                # Free the block first: merging the groups takes room.
                del block
                blocks.give_back()
                while parts:
                    table.add(parts.pop(), distinct=True)
                if partial and (table.rows > PARTIAL_GROUPS or table.exceeds(PARTIAL_BLOCKS)):
                    yield from slices(table.merged(), BATCH_ROWS)
                    table.clear()
        yield from slices(self._output(table, calls, context), BATCH_ROWS)

    def is_divisible(self, ordinal: int) -> bool:
        return self.mode is AggregateMode.PARTIAL

    def _states(self, block: pa.RecordBatch, calls: AggregateCalls) -> Iterator[pa.RecordBatch]:
        """Yield the groups of the block as rows of keys and states: in one batch, or, if memory for the
        calls' arguments of all its rows is missing, in several batches, which may repeat a key."""

        def states(rows: Rows) -> pa.RecordBatch:
            keys = [rows.batch.column(ordinal) for ordinal in self.keys]
            with returned():
                return calls.states(rows.batch, keys, group_rows(keys, rows.length))

        return in_pieces(states, Rows(block))

    def _output(self, table: StateTable, calls: AggregateCalls, context: ProcessorContext) -> pa.RecordBatch:
        """Return the batch to emit at the end of the input: states or results, by the mode. Its bytes stay
        charged to the memory account of ``context``."""
        states = table.merged()
        if self.mode is AggregateMode.PARTIAL:
            return states
        context.memory.charge(footprint(states) + ELEMENT_BYTES * held_elements(states))
        if states.num_rows == 0:
            if self.keys or context.total_parallelism > 1:
                return empty_batch(self.schema)
            states = calls.empty_state()
        with returned():
            columns = calls.finish(states, len(self.keys))
        return make_batch(columns, self.schema.names, states.num_rows)

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        if self.mode is not AggregateMode.SINGLE:
            return None
        return aggregated_rows(inputs[0], self.keys, self.calls, tuple(self.schema.types), compiler)

    def describe(self) -> str:
        keys = ", ".join(f"#{ordinal}" for ordinal in self.keys)
        calls = ", ".join(map(describe_call, self.calls))
        return f"Aggregate {self.mode.value}: keys [{keys}] calls [{calls}]"
