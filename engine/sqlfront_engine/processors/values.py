"""VALUES: rows that stand in the query itself."""

import pyarrow as pa

from sqlfront_engine.arrays import from_values
from sqlfront_engine.columns.batches import make_batch, slices
from sqlfront_engine.expressions import Literal
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_engine.types import physical


class Values(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of literal rows. With several instances the first one emits them all."""

    schema: pa.Schema
    rows: tuple[tuple[Literal, ...], ...]

    def run(self, context: ProcessorContext) -> Steps:
        if context.global_index:
            return
        columns = [self._column(ordinal) for ordinal in range(len(self.schema))]
        batch = make_batch(columns, self.schema.names, len(self.rows))
        yield from slices(batch, BATCH_ROWS)

    def _column(self, ordinal: int) -> pa.Array:
        data_type = self.schema.field(ordinal).type
        values = [row[ordinal].value for row in self.rows]
        return from_values(values, physical(data_type))

    def describe(self) -> str:
        return f"Values: {len(self.rows)} rows"
