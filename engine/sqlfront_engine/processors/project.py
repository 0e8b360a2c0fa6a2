"""The select list, alone or after a filter."""

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_values import expression_text as display
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.evaluate import Rows, compile_projection, in_pieces
from sqlfront_values.expressions import EngineExpr


class Project(Processor, frozen=True, tag_field="processor", tag=True):
    """A projection: one output column per expression, for each input row."""

    expressions: tuple[EngineExpr, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        project = compile_projection(self.expressions, context.settings)
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            for columns, length in in_pieces(project, Rows(batch)):
                yield make_batch(columns, names, length)

    def describe(self) -> str:
        return f"Project: {', '.join(map(display.describe, self.expressions))}"


class FilterProject(Processor, frozen=True, tag_field="processor", tag=True):
    """A :class:`Project` over the rows for which ``condition`` is true. Columns read only by the condition
    are never gathered, the others only where needed."""

    condition: EngineExpr
    expressions: tuple[EngineExpr, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        project = compile_projection(self.expressions, context.settings, self.condition)
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            for columns, length in in_pieces(project, Rows(batch)):
                yield make_batch(columns, names, length)

    def describe(self) -> str:
        expressions = ", ".join(map(display.describe, self.expressions))
        return f"Filter: {display.describe(self.condition)}; Project: {expressions}"
