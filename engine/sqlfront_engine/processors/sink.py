"""The end of a query's DAG: what it emits is the job's result."""

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take


class ResultSink(Processor, frozen=True):
    """Hands its input on to the reader of the job. A DAG has at most one, with a total parallelism of one;
    its output is not an edge but the bounded queue that ``LightJob.batches()`` reads."""

    preferred_parallelism = 1

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch

    def describe(self) -> str:
        return "Result"
