"""VALUES: rows written in the query itself."""

import pyarrow as pa

from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.columns.batches import make_batch, slices
from sqlfront_values.expressions import Literal
from sqlfront_values.types import physical


class Values(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of literal rows. Of several instances the first emits all rows."""

    schema: pa.Schema
    rows: tuple[tuple[Literal, ...], ...]

    def run(self, context: ProcessorContext) -> Steps:
        if context.global_index:
            return
        columns = [
            from_values([row[ordinal].value for row in self.rows], physical(data_type))
            for ordinal, data_type in enumerate(self.schema.types)
        ]
        batch = make_batch(columns, self.schema.names, len(self.rows))
        yield from slices(batch, BATCH_ROWS)

    def describe(self) -> str:
        return f"Values: {len(self.rows)} rows"
