"""SPOOL SCAN: the rows of spool files."""

from itertools import accumulate

from sqlfront_engine.processor import BATCH_ROWS, END_OF_PIECE, Processor, ProcessorContext, Steps, last_round
from sqlfront_engine.spool.places import places_in
from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.columns.batches import slices


class SpoolScan(Processor, frozen=True, tag_field="processor", tag=True):
    """A source of the rows of spool files that are in the buckets ``first`` to ``last`` - 1, in the order of
    the files. ``columns``: the ordinals of the columns to read, None = all. ``part`` and ``parts``: the scan
    reads about an equal share of all record batches in these buckets, the share number ``part``, from 0, of
    ``parts`` shares. Of n instances on a member, instance i reads the files i, i + n, and so on."""

    cooperative = False

    files: tuple[SpoolFile, ...]
    first: int
    last: int
    columns: tuple[int, ...] | None = None
    part: int = 0
    parts: int = 1

    def run(self, context: ProcessorContext) -> Steps:
        buckets, wanted = range(self.first, self.last), self._wanted()
        places = places_in(context.resources)
        for number in range(context.local_index, len(self.files), context.local_parallelism):
            file, batches = self.files[number], wanted[number]
            for batch in read_spool(file, buckets, batches, access=context.files, places=places):
                yield from slices(batch if self.columns is None else batch.select(self.columns), BATCH_ROWS)
            yield END_OF_PIECE
        yield from last_round(len(self.files), context.local_index, context.local_parallelism)

    def _wanted(self) -> list[range | None]:
        """Return for each file the batches to read, numbered among the file's batches in the buckets; None =
        all of them."""
        if self.parts == 1:
            return [None] * len(self.files)
        counts = [sum(self.first <= bucket < self.last for bucket in file.buckets) for file in self.files]
        start, end = (sum(counts) * part // self.parts for part in (self.part, self.part + 1))
        before = list(accumulate(counts, initial=0))
        return [
            range(max(start - done, 0), min(end - done, count))
            for done, count in zip(before, counts, strict=False)
        ]

    def describe(self) -> str:
        part = "" if self.parts == 1 else f", part {self.part + 1} of {self.parts}"
        buckets = f"{self.last - self.first} buckets from {self.first}"
        return f"SpoolScan: {len(self.files)} files, {buckets}{part}"
