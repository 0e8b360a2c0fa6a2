"""HELD ROWS: a source of rows that an earlier job of the same query has computed."""

import msgspec
import pyarrow as pa

from sqlfront_engine.processor import END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import InternalError


class HeldBatches(msgspec.Struct, frozen=True, weakref=True):
    """The rows of an earlier job: batches in physical form, which count for their query's memory as long as
    this object is referenced (:meth:`sqlfront_engine.engine.Engine.hold`). ``statistics``: a
    :class:`~sqlfront_engine.job_statistics.JobStatistics` of the job, None if not requested. ``parts``: the
    rows of several jobs that these rows are, which are referenced as long as this object is."""

    batches: tuple[pa.RecordBatch, ...]
    statistics: object | None = None
    parts: "tuple[HeldBatches, ...]" = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(batch.num_rows for batch in self.batches)


class HeldRows(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of the rows of an earlier job of the query. ``key``: the name of the job's resource with the
    rows, a :class:`HeldBatches`. ``columns``: the ordinals of the columns to emit. Instance i of n takes the
    batches i, i + n, and so on. ``name``: the name of the rows in EXPLAIN."""

    key: str
    name: str
    columns: tuple[int, ...]

    def run(self, context: ProcessorContext) -> Steps:
        held = context.resources.get(self.key)
        if not isinstance(held, HeldBatches):
            raise InternalError(f"the rows of {self.name} have not been computed")
        for batch in held.batches[context.global_index :: context.total_parallelism]:
            columns = [batch.column(place) for place in self.columns]
            yield make_batch(columns, [batch.schema.names[place] for place in self.columns], batch.num_rows)
            yield END_OF_PIECE
        yield from last_round(len(held.batches), context.global_index, context.total_parallelism)

    def describe(self) -> str:
        return f"HeldRows: {self.name}"
