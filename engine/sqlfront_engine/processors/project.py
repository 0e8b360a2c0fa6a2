"""The select list, alone or after a filter."""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_values import evaluate
from sqlfront_values import expression_text as display
from sqlfront_values.columns import batches
from sqlfront_values.expressions import EngineExpr


class Project(Processor, frozen=True, tag_field="processor", tag=True):
    """A projection: one output column per expression, for each input row."""

    expressions: tuple[EngineExpr, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        project = evaluate.compile_projection(self.expressions, context.settings)
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            for columns, length in evaluate.in_pieces(project, evaluate.Rows(batch)):
                yield batches.make_batch(columns, names, length)

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return compiler.rows(inputs[0], None, self.expressions)

    def describe(self) -> str:
        return f"Project: {', '.join(map(display.describe, self.expressions))}"


class FilterProject(Processor, frozen=True, tag_field="processor", tag=True):
    """A :class:`Project` of the rows for which ``condition`` is true. Columns that only the condition reads
    are not copied; of the others, only the values that an expression needs."""

    condition: EngineExpr
    expressions: tuple[EngineExpr, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        project = evaluate.compile_projection(self.expressions, context.settings, self.condition)
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            for columns, length in evaluate.in_pieces(project, evaluate.Rows(batch)):
                yield batches.make_batch(columns, names, length)

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return compiler.rows(inputs[0], self.condition, self.expressions)

    def describe(self) -> str:
        expressions = ", ".join(map(display.describe, self.expressions))
        return f"Filter: {display.describe(self.condition)}; Project: {expressions}"
