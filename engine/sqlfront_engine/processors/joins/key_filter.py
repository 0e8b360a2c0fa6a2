"""A filter that a join's other side gives: rows that will find no partner are dropped where they are read."""

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
    """One output column per expression for those rows of input 1 for which ``condition`` is true (None =
    true) and that may have a partner in input 0: a row of equal keys.

    Input 0, which is read to its end first, is what the join further down holds; it is broadcast. A row
    that passes need not have a partner, so the join still decides; one with a null in a key has none. Neither
    condition nor expressions may fail, since they aren't evaluated for rows that are dropped.
    """

    condition: EngineExpr | None
    expressions: tuple[EngineExpr, ...]
    held_keys: tuple[int, ...]
    keys: tuple[int, ...]
    schema: pa.Schema

    def __post_init__(self) -> None:
        if not self.keys or len(self.keys) != len(self.held_keys):
            raise InternalError(f"a key filter on {self.keys} in {self.held_keys}")

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

    def describe(self) -> str:
        keys = ", ".join(f"#{key} among #{held}" for key, held in zip(self.keys, self.held_keys, strict=True))
        condition = "" if self.condition is None else f"; Filter: {describe(self.condition)}"
        return f"KeyFilter: {keys}{condition}; Project: {', '.join(map(describe, self.expressions))}"


def _possible(batch: pa.RecordBatch, reductions: list[Reduction]) -> Rows:
    """The rows of the batch that may have a partner."""
    rows = Rows(batch)
    for reduction in reductions:
        chosen = reduction.choose(rows.column(reduction.ordinal))
        if chosen is not None:
            rows = rows.select(row_indices(chosen))
    return rows
