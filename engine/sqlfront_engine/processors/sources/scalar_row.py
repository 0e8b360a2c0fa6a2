"""A subquery used as a value."""

import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import spark_error
from sqlfront_values.types import physical


class ScalarRow(Processor, frozen=True, tag_field="processor", tag=True):
    """A scalar subquery: emits the only row of its input, or a row of nulls for an empty input. Raises the
    error SCALAR_SUBQUERY_TOO_MANY_ROWS for more than one row. Needs a total parallelism of one."""

    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        row: pa.RecordBatch | None = None
        while (batch := (yield Take(0))) is not None:
            if batch.num_rows == 0:
                continue
            if row is not None or batch.num_rows > 1:
                raise spark_error(
                    "SCALAR_SUBQUERY_TOO_MANY_ROWS",
                    "More than one row returned by a subquery used as an expression.",
                )
            row = batch
        if row is None:
            nulls = [pa.nulls(1, physical(field.type)) for field in self.schema]
            row = make_batch(nulls, self.schema.names, 1)
        yield row
