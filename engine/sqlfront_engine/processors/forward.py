"""The work of a sender or receiver tasklet: hand batches on."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Forward(Processor, frozen=True, tag_field="processor", tag=True):
    """Emits what it takes. The two ends of a distributed edge run it, one before and one behind the
    network."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch
