"""The filter: WHERE and HAVING."""

from collections.abc import Sequence

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_values import expression_text as display
from sqlfront_values.evaluate import compile_filter
from sqlfront_values.expressions import EngineExpr


class Filter(Processor, frozen=True, tag_field="processor", tag=True):
    """A filter: emits the rows for which ``condition`` is true (neither false nor null)."""

    condition: EngineExpr

    def run(self, context: ProcessorContext) -> Steps:
        select = compile_filter(self.condition, context.settings)
        while (batch := (yield Take(0))) is not None:
            yield select(batch)

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return compiler.rows(inputs[0], self.condition, None)

    def describe(self) -> str:
        return f"Filter: {display.describe(self.condition)}"
