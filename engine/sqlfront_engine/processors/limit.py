"""LIMIT and OFFSET."""

from collections.abc import Sequence

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep


class Limit(Processor, frozen=True, tag_field="processor", tag=True):
    """A limit: emits at most ``count`` rows (None = all) after skipping ``offset`` rows; needs a total
    parallelism of one. As soon as it has enough rows it ends, so that its producers stop."""

    count: int | None
    offset: int = 0

    def run(self, context: ProcessorContext) -> Steps:
        skip, left = self.offset, self.count
        while left is None or left > 0:
            batch = yield Take(0)
            if batch is None:
                return
            wanted = batch.slice(min(skip, batch.num_rows), left)
            skip -= min(skip, batch.num_rows)
            if wanted.num_rows:
                yield wanted
            if left is not None:
                left -= wanted.num_rows

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        (source,) = inputs
        part = slice(self.offset, None if self.count is None else self.offset + self.count)
        return RowStep(lambda run: source.rows(run)[part], source.types)

    def describe(self) -> str:
        count = "all" if self.count is None else self.count
        return f"Limit: {count}" + (f" offset {self.offset}" if self.offset else "")
