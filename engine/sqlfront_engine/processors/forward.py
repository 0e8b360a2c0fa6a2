"""The processor of senders for several producers and receivers for several consumers: it forwards batches."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Forward(Processor, frozen=True, tag_field="processor", tag=True):
    """A processor that emits its input. It runs at a shared end of a distributed edge, in front of the
    network or behind it."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch
