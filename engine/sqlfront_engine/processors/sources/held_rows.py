"""HELD ROWS: rows computed by an earlier job of the same query."""

import msgspec
import pyarrow as pa

from sqlfront_engine.processor import END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import InternalError


class HeldBatches(msgspec.Struct, frozen=True, weakref=True):
    """Batches in physical form, charged to their query's memory as long as this object is referenced; see
    :meth:`sqlfront_engine.engine.Engine.hold`. ``statistics``: a
    :class:`~sqlfront_engine.job_statistics.JobStatistics` of the job that computed the batches, if
    requested."""

    batches: tuple[pa.RecordBatch, ...]
    statistics: object | None = None


class HeldRows(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of the columns ``columns`` of the job's resource ``key``, a :class:`HeldBatches`. Parallel
    instances take every n-th batch. ``name`` is for display."""

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
