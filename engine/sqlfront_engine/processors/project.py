"""The select list, with or without a filter in front."""

from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.evaluate import Rows, compile_projection, in_pieces
from sqlfront_values.expressions import EngineExpr
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_values import expression_text as display
else:
    display = lazy_module("sqlfront_values.expression_text")


class Project(Processor, frozen=True, tag_field="processor", tag=True):
    """One output column per expression, for each input row."""

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
    """:class:`Project` over the rows for which ``condition`` is true: columns that only the condition reads
    are never gathered, and the others only where they are needed."""

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
