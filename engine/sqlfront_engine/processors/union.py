"""UNION ALL."""

from collections.abc import Sequence

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep, checked


class Union(Processor, frozen=True, tag_field="processor", tag=True):
    """A union: emits the rows of all inputs, the inputs with lower priority numbers first; the inputs have
    equal types. ``names``: the output's column names; empty = the names of each input."""

    names: tuple[str, ...] = ()

    def run(self, context: ProcessorContext) -> Steps:
        names = list(self.names)
        while (batch := (yield Take())) is not None:
            yield batch.rename_columns(names) if names and batch.schema.names != names else batch

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        sources = [source.rows for source in inputs]
        return RowStep(lambda run: checked([row for rows in sources for row in rows(run)]), inputs[0].types)
