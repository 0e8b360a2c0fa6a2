"""LIMIT and OFFSET."""

from collections.abc import Callable, Sequence

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import ProgramRun, Row, RowStep
from sqlfront_values import expression_text as display
from sqlfront_values.expressions import EngineExpr, Expr, Literal


class Limit(Processor, frozen=True, tag_field="processor", tag=True):
    """A limit: emits at most ``count`` rows (None = all) after skipping ``offset`` rows; needs a total
    parallelism of one. As soon as it has enough rows it ends, so that its producers stop.

    ``run_count`` and ``run_offset``: parameters and literals whose sum is the number in a run, at most
    ``count`` or ``offset``; empty = exactly ``count`` or ``offset``."""

    count: int | None
    offset: int = 0
    run_count: tuple[EngineExpr, ...] = ()
    run_offset: tuple[EngineExpr, ...] = ()

    def run(self, context: ProcessorContext) -> Steps:
        left, skip = self._numbers(lambda item: item)
        while left is None or left > 0:
            batch = yield Take(0)
            if batch is None:
                return
            wanted = batch.slice(min(skip, batch.num_rows), left)
            skip -= min(skip, batch.num_rows)
            if wanted.num_rows:
                yield wanted
            if left is not None:
                left -= wanted.num_rows

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        (source,) = inputs
        if self.run_count or self.run_offset:
            return RowStep(lambda run: self._part(source.rows(run), run), source.types)
        part = slice(self.offset, None if self.count is None else self.offset + self.count)
        return RowStep(lambda run: source.rows(run)[part], source.types)

    def _part(self, rows: Sequence[Row], run: ProgramRun) -> Sequence[Row]:
        count, offset = self._numbers(run.literal)
        return rows[offset : None if count is None else offset + count]

    def _numbers(self, literal: Callable[[Expr], Expr]) -> tuple[int | None, int]:
        """Return the count and the offset of a run, in which ``literal`` replaces parameters."""
        count = _total(self.run_count, literal) if self.run_count else self.count
        return count, _total(self.run_offset, literal) if self.run_offset else self.offset

    def describe(self) -> str:
        return f"Limit: {display.describe_limit(self.count, self.offset, self.run_count, self.run_offset)}"


def _total(parts: Sequence[Expr], literal: Callable[[Expr], Expr]) -> int:
    total = 0
    for part in map(literal, parts):
        assert isinstance(part, Literal)
        assert isinstance(part.value, int)
        total += part.value
    return total
