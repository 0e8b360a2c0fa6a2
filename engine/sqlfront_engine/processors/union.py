"""UNION ALL."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Union(Processor, frozen=True, tag_field="processor", tag=True):
    """A union: the rows of all inputs, lower priority numbers first; the inputs have equal types. ``names``:
    the output's column names; empty keeps the inputs' names."""

    names: tuple[str, ...] = ()

    def run(self, context: ProcessorContext) -> Steps:
        names = list(self.names)
        while (batch := (yield Take())) is not None:
            yield batch.rename_columns(names) if names and batch.schema.names != names else batch
