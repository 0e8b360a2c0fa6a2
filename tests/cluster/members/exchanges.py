"""An exchange of some megabytes between members, and members that do without ticks."""

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.dag import DAG, Edge, EdgeConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.arrow import arrays

for _name in ("Rows", "Total"):
    register_processor(f"tests.cluster.members.exchanges:{_name}")

#: Rows of a batch.
ROWS = 20_000
CONFIG = EdgeConfig()
_TOTAL = pa.schema([("rows", pa.int64()), ("keys", pa.int64())])


class Rows(Processor, frozen=True):
    """A source on each instance: rows of 24 bytes, whose keys are 0, 1, 2, ..."""

    count: int

    def run(self, context: ProcessorContext) -> Steps:
        for first in range(0, self.count, ROWS):
            keys = arrays.from_numpy(np.arange(first, min(first + ROWS, self.count)), pa.int64())
            yield pa.RecordBatch.from_arrays([keys, keys, keys], names=["key", "a", "b"])


class Total(Processor, frozen=True):
    """How many rows there were, and the sum of their keys."""

    def run(self, context: ProcessorContext) -> Steps:
        count = keys = 0
        while (batch := (yield Take(0))) is not None:
            count += batch.num_rows
            keys += int(arrays.numpy_view(batch.column(0)).sum())
        yield pa.RecordBatch.from_arrays(
            [arrays.from_values([value], pa.int64()) for value in (count, keys)], schema=_TOTAL
        )


def exchange(rows: int, config: EdgeConfig = CONFIG) -> DAG:
    """So many rows of each member are partitioned by key over all members, and counted there."""
    dag = DAG()
    source, totals = dag.vertex("rows", Rows(rows), 1), dag.vertex("total", Total(), 1)
    dag.edge(replace(Edge.between(source, totals).distributed().partitioned([0]), config=config))
    return dag.edge(Edge.between(totals, dag.vertex("result", ResultSink())).to_one().distribute_to())


def total(job: LightJob) -> tuple[int, int]:
    """The rows and the sum of the keys over all members."""
    found = [arrays.numpy_view(column) for batch in job.batches() for column in batch.columns]
    return int(np.concatenate(found[::2]).sum()), int(np.concatenate(found[1::2]).sum())
