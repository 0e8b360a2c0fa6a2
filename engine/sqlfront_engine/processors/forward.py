"""The work of a sender for several producers, or a receiver for several consumers: hand batches on."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Forward(Processor, frozen=True, tag_field="processor", tag=True):
    """Emits what it takes. It runs at an end of a distributed edge that several tasklets share, in front of
    the network or behind it."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch
