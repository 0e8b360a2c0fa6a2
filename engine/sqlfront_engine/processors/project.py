"""The select list, with or without a filter in front."""

import pyarrow as pa

from sqlfront_engine.columns.batches import make_batch
from sqlfront_engine.display import describe
from sqlfront_engine.evaluate import Rows, compile_projection
from sqlfront_engine.expressions import Expr
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Project(Processor, frozen=True, tag_field="processor", tag=True):
    """One output column per expression, for each input row."""

    expressions: tuple[Expr, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        project = compile_projection(self.expressions, context.settings)
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            columns, length = project(Rows(batch))
            yield make_batch(columns, names, length)

    def describe(self) -> str:
        return f"Project: {', '.join(map(describe, self.expressions))}"


class FilterProject(Processor, frozen=True, tag_field="processor", tag=True):
    """:class:`Project` over the rows for which ``condition`` is true: columns that only the condition reads
    are never gathered, and the others only where they are needed."""

    condition: Expr
    expressions: tuple[Expr, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        project = compile_projection(self.expressions, context.settings, self.condition)
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            columns, length = project(Rows(batch))
            yield make_batch(columns, names, length)

    def describe(self) -> str:
        return f"Filter: {describe(self.condition)}; Project: {', '.join(map(describe, self.expressions))}"
