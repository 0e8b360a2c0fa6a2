"""Joins on any condition."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.inputs import take_all
from sqlfront_engine.processors.joins.join_rows import JoinRows, Pairs, make_layout, wanted_rows
from sqlfront_values.expression_text import describe
from sqlfront_values.expressions import EngineExpr


class NestedLoopJoin(Processor, frozen=True, tag_field="processor", tag=True):
    """A join on any condition: pairs of rows of input 0 (left) and input 1 (right) with a true ``condition``
    over the left row followed by the right row; None = all pairs, a cross join.

    The right input is held in memory (and broadcast), the left input streams; right and full joins need a
    total parallelism of one. A null-aware anti join gives the left rows for which the condition is false, not
    null, for every right row. ``output`` are the ordinals of the concatenated row to emit (None = all; for
    semi and anti joins the left row).
    """

    cooperative = False

    kind: JoinKind
    condition: EngineExpr | None
    left_schema: pa.Schema
    right_schema: pa.Schema
    output: tuple[int, ...] | None = None

    def run(self, context: ProcessorContext) -> Steps:
        right = yield from take_all(1, context)
        wanted = wanted_rows(self.kind, build_left=False)
        if right is None and not wanted.unmatched_probe:
            return
        layout = make_layout(self.kind, self.left_schema, self.right_schema, self.output, build_left=False)
        null_matches = self.kind is JoinKind.NULL_AWARE_ANTI
        rows = JoinRows(layout, wanted, right, self.condition, context.settings, null_matches=null_matches)
        right_rows = 0 if right is None else right.num_rows
        left_rows = max(1, BATCH_ROWS // max(1, right_rows))
        while (left := (yield Take(0))) is not None:
            if self.condition is None and not wanted.pairs:
                yield from rows.probe_rows(left, np.full(left.num_rows, right_rows > 0))
                continue
            for start in range(0, left.num_rows, left_rows):
                piece = left.slice(start, left_rows)
                yield from rows.block(piece, _all_pairs(piece.num_rows, right_rows))
        yield from rows.rest()

    def is_divisible(self, ordinal: int) -> bool:
        return ordinal == 0 and not wanted_rows(self.kind, build_left=False).unmatched_build

    def describe(self) -> str:
        condition = "" if self.condition is None else f": {describe(self.condition)}"
        return f"NestedLoopJoin {self.kind.value.replace(' ', '-')}{condition}"


def _all_pairs(left: int, right: int) -> Iterator[Pairs]:
    """Yield all pairs of a left and a right row as two arrays of row numbers, at most BATCH_ROWS pairs at a
    time. ``left`` and ``right``: the numbers of rows; ``left`` is 1 if ``right`` is greater than
    BATCH_ROWS."""
    for start in range(0, right, BATCH_ROWS):
        numbers = np.arange(start, min(start + BATCH_ROWS, right))
        yield np.repeat(np.arange(left), len(numbers)), np.tile(numbers, left)
