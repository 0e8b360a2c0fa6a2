"""UNION ALL."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Union(Processor, frozen=True, tag_field="processor", tag=True):
    """The rows of all inputs, those of lower priority first; the inputs have equal types. ``names``: those of
    the output's columns; empty leaves the inputs' own."""

    names: tuple[str, ...] = ()

    def run(self, context: ProcessorContext) -> Steps:
        names = list(self.names)
        while (batch := (yield Take())) is not None:
            yield batch.rename_columns(names) if names and batch.schema.names != names else batch
