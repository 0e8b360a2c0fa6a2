"""A filter of one join input by the keys of the other input: rows without a partner are dropped close to the
scan."""

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.inputs import take_all
from sqlfront_engine.processors.reduction import Reduction
from sqlfront_values.columns.batches import make_batch, row_indices
from sqlfront_values.errors import InternalError
from sqlfront_values.evaluate import Rows, compile_projection, in_pieces
from sqlfront_values.expression_text import describe
from sqlfront_values.expressions import EngineExpr


class KeyFilter(Processor, frozen=True, tag_field="processor", tag=True):
    """A filter and projection of input 1, one output column per expression. It passes the rows for which
    ``condition`` is true (None = true) and whose ``keys`` may be equal to the ``held_keys`` of a row of input
    0.

    Input 0 is the build side of a later join, and is broadcast; it is read to its end first. Some rows
    without such an equal row may pass, so the join still decides; a row with a null in a key is dropped.
    Neither condition nor expressions may fail, since they aren't evaluated for dropped rows.
    """

    condition: EngineExpr | None
    expressions: tuple[EngineExpr, ...]
    held_keys: tuple[int, ...]
    keys: tuple[int, ...]
    schema: pa.Schema

    def __post_init__(self) -> None:
        if not self.keys or len(self.keys) != len(self.held_keys):
            raise InternalError(
                f"a key filter needs equally many keys of both sides: {self.keys} in {self.held_keys}"
            )

    def run(self, context: ProcessorContext) -> Steps:
        held = yield from take_all(0, context, self.held_keys)
        if held is None:
            return
        reductions = [
            Reduction(held.column(place), key, context.memory) for place, key in enumerate(self.keys)
        ]
        project = compile_projection(self.expressions, context.settings, self.condition)
        names = self.schema.names
        while (batch := (yield Take(1))) is not None:
            for columns, length in in_pieces(project, _possible(batch, reductions)):
                yield make_batch(columns, names, length)

    def is_divisible(self, ordinal: int) -> bool:
        return ordinal == 1

    def describe(self) -> str:
        keys = ", ".join(f"#{key} among #{held}" for key, held in zip(self.keys, self.held_keys, strict=True))
        condition = "" if self.condition is None else f"; Filter: {describe(self.condition)}"
        return f"KeyFilter: {keys}{condition}; Project: {', '.join(map(describe, self.expressions))}"


def _possible(batch: pa.RecordBatch, reductions: list[Reduction]) -> Rows:
    """Return the rows of the batch that may have a partner in the other input, as far as ``reductions`` can
    tell."""
    rows = Rows(batch)
    for reduction in reductions:
        chosen = reduction.choose(rows.column(reduction.ordinal))
        if chosen is not None:
            rows = rows.select(row_indices(chosen))
    return rows
