"""VALUES: rows written in the query itself."""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import ProgramRun, Row, RowStep
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.columns import batches
from sqlfront_values.expressions import Literal
from sqlfront_values.types import physical


class Values(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of literal rows, ``values``. If there are several instances, the first emits all rows."""

    schema: pa.Schema
    values: tuple[tuple[Literal, ...], ...]

    def run(self, context: ProcessorContext) -> Steps:
        if context.global_index:
            return
        columns = [
            from_values([row[ordinal].value for row in self.values], physical(data_type))
            for ordinal, data_type in enumerate(self.schema.types)
        ]
        batch = batches.make_batch(columns, self.schema.names, len(self.values))
        yield from batches.slices(batch, BATCH_ROWS)

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        rows = [[compiler.constants.place(item) for item in row] for row in self.values]

        def values(run: ProgramRun) -> Sequence[Row]:
            constants = run.constants
            return [tuple([constants[place] for place in row]) for row in rows]

        return RowStep(values, tuple(self.schema.types))

    def describe(self) -> str:
        return f"Values: {len(self.values)} rows"
