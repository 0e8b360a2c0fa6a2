"""The end of a query's DAG: its rows are the job's result."""

from collections.abc import Sequence

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep


class ResultSink(Processor, frozen=True):
    """A sink that hands its input to the reader of the job. A DAG has at most one ResultSink, with a total
    parallelism of one. Its output is not an edge but the bounded queue read by ``LightJob.batches()``."""

    preferred_parallelism = 1

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return inputs[0]

    def describe(self) -> str:
        return "Result"
