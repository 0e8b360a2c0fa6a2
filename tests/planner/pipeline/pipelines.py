"""Pipelines, sources and ways to run them for the tests."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from sqlfront_connectors.files.text.text_lines import text_lines
from sqlfront_engine.engine import DEFAULT_CONFIG, Engine, JobConfig
from sqlfront_engine.processor import ProcessorContext
from sqlfront_engine.processors.user_code.sources import FunctionSource
from sqlfront_planner.pipeline.aggregations import aggregation
from sqlfront_planner.pipeline.endpoints import source
from sqlfront_planner.pipeline.plan import Circumstances
from sqlfront_planner.pipeline.stages import Pipeline, Stage
from sqlfront_planner.pipeline.submission import submit

LICENSE = Path(__file__).parents[3] / "LICENSE"
WORD = pa.field("word", pa.string())

Rows = list[tuple[object, ...]]


def words_of(line: str) -> list[str]:
    return re.split(r"\W+", line.lower())


def counted_words(path: str) -> Stage:
    """The seed's word count, up to its sink."""
    return (
        Pipeline()
        .read(text_lines(path), name="filesSource(/*)")
        .flat_map(words_of, WORD)
        .filter(lambda word: word != "")
        .group_by()
        .aggregate(count=aggregation("count"))
    )


def numbers(count: int, size: int = 10) -> FunctionSource:
    """`n` from 0 to `count - 1` and `even`, in batches dealt to the instances."""

    def read(context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        for start in range(context.global_index * size, count, size * context.total_parallelism):
            values = list(range(start, min(start + size, count)))
            yield pa.RecordBatch.from_pydict({"n": values, "even": [value % 2 == 0 for value in values]})

    return source(read, pa.schema({"n": pa.int64(), "even": pa.bool_()}), name="numbers")


def table(**columns: Sequence[object]) -> FunctionSource:
    """All rows of some columns, from the first instance."""
    batch = pa.RecordBatch.from_pydict(dict(columns))

    def read(context: ProcessorContext) -> Iterator[pa.RecordBatch]:
        if context.global_index == 0:
            yield batch

    return source(read, batch.schema, name="table")


def rows(batches: Sequence[pa.RecordBatch]) -> Rows:
    return [row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True)]


def run(pipeline: Pipeline, config: JobConfig = DEFAULT_CONFIG, workers: int = 2) -> Rows:
    """The result's rows, in the order in which they come."""
    with Engine(workers=workers) as engine:
        job = submit(pipeline, engine.run, config, Circumstances(workers))
        return rows(list(job.batches()))


def run_out(pipeline: Pipeline, config: JobConfig = DEFAULT_CONFIG, workers: int = 2) -> None:
    """Run a pipeline without a result."""
    with Engine(workers=workers) as engine:
        submit(pipeline, engine.run, config, Circumstances(workers)).join()


Build = Callable[[Pipeline], object]
