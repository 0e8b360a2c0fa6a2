"""SPOOL SCAN: the rows of spool files."""

from sqlfront_engine.processor import BATCH_ROWS, END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_engine.spool.places import places_in
from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.columns.batches import slices


class SpoolScan(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of the rows of spool files that are in the buckets ``first`` to ``last`` - 1, in the order of
    the files. ``columns``: the ordinals of the columns to read, None = all. Of n instances on a member,
    instance i reads the files i, i + n, and so on."""

    cooperative = False

    files: tuple[SpoolFile, ...]
    first: int
    last: int
    columns: tuple[int, ...] | None = None

    def run(self, context: ProcessorContext) -> Steps:
        buckets, places = range(self.first, self.last), places_in(context.resources)
        for file in self.files[context.local_index :: context.local_parallelism]:
            for batch in read_spool(file, buckets, access=context.files, places=places):
                yield from slices(batch if self.columns is None else batch.select(self.columns), BATCH_ROWS)
            yield END_OF_PIECE
        yield from last_round(len(self.files), context.local_index, context.local_parallelism)

    def describe(self) -> str:
        return f"SpoolScan: {len(self.files)} files, {self.last - self.first} buckets from {self.first}"
