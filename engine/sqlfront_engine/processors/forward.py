"""The processor that passes batches on unchanged, for tasklets that send an edge's rows to another member or
receive them from there."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class Forward(Processor, frozen=True, tag_field="processor", tag=True):
    """A processor that emits its input unchanged. It sends the batches of several producers to another
    member, or distributes the batches of another member among several consumers."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch

    def is_divisible(self, ordinal: int) -> bool:
        return True
