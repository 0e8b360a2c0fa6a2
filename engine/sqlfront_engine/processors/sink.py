"""The end of a query's DAG: its rows are the job's result."""

from collections.abc import Sequence

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.program import RowStep


class ResultSink(Processor, frozen=True):
    """The sink that hands its rows to the reader of the job's result. A DAG has at most one ResultSink, with
    a total parallelism of one. It emits its rows not to an edge but to the bounded queue that
    ``LightJob.batches()`` reads."""

    preferred_parallelism = 1

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        return inputs[0]

    def describe(self) -> str:
        return "Result"
