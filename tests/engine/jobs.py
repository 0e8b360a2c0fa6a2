"""Small processors and DAGs for the tests of jobs."""

import threading
from collections.abc import Sequence
from typing import cast

import pyarrow as pa

from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.arrow import arrays
from sqlfront_values.errors import spark_error


class Numbers(Processor, frozen=True):
    """A source: `0 .. count-1` in batches of `size` rows, dealt to the instances in turn; None = for ever."""

    count: int | None
    size: int = 10

    def run(self, context: ProcessorContext) -> Steps:
        start = context.global_index * self.size
        while self.count is None or start < self.count:
            stop = start + self.size if self.count is None else min(start + self.size, self.count)
            yield numbers(*range(start, stop))
            start += self.size * context.total_parallelism


class Forward(Processor, frozen=True):
    """Passes its inputs on, the lowest priority number first."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take())) is not None:
            yield batch


class First(Processor, frozen=True):
    """The first `count` batches."""

    count: int

    def run(self, context: ProcessorContext) -> Steps:
        for _ in range(self.count):
            batch = yield Take(0)
            if batch is None:
                return
            yield batch


class Collect(Processor, frozen=True):
    """Takes the whole input, charging its bytes, and then emits it; frees it in the end."""

    def run(self, context: ProcessorContext) -> Steps:
        held = []
        try:
            while (batch := (yield Take(0))) is not None:
                context.memory.charge(batch.nbytes)
                held.append(batch)
            yield from held
        finally:
            log(context).append("freed")


class Holds(Processor, frozen=True):
    """A source without end that holds memory; frees it in the end."""

    def run(self, context: ProcessorContext) -> Steps:
        try:
            context.memory.charge(1000)
            while True:
                yield numbers(1)
        finally:
            log(context).append("freed")


class Fails(Processor, frozen=True):
    """Raises after `batches` batches."""

    batches: int = 0
    bug: bool = False

    def run(self, context: ProcessorContext) -> Steps:
        for _ in range(self.batches):
            yield (yield Take(0))
        if self.bug:
            raise KeyError("a bug")
        raise spark_error("DIVIDE_BY_ZERO", "Division by zero.")


class Blocks(Processor, frozen=True):
    """A source that waits for the job's `gate` event before its only batch, on a thread of its own."""

    cooperative = False

    def run(self, context: ProcessorContext) -> Steps:
        log(context).append(threading.current_thread().name)
        cast(threading.Event, context.resources["started"]).set()
        assert cast(threading.Event, context.resources["gate"]).wait(60)
        yield numbers(1)


def log(context: ProcessorContext) -> list[object]:
    return cast("list[object]", context.resources.get("log", []))


def numbers(*values: int) -> pa.RecordBatch:
    # Not pa.array: it imports pandas, which takes a second in each new process.
    return pa.RecordBatch.from_arrays([arrays.from_values(values, pa.int64())], names=["n"])


def chain(*processors: Processor, parallelism: int | None = 1) -> DAG:
    """The processors in a row, then the result."""
    dag = DAG()
    previous: Vertex | None = None
    for processor in (*processors, ResultSink()):
        name = dag.unique_name(type(processor).__name__.lower())
        result = isinstance(processor, ResultSink)
        vertex = dag.vertex(name, processor, 1 if result else parallelism)
        if previous is not None:
            dag.edge(Edge.between(previous, vertex))
        previous = vertex
    return dag


def values(batches: Sequence[pa.RecordBatch]) -> list[int]:
    return [value for batch in batches for value in batch.column(0).to_pylist()]


def read(job: LightJob) -> list[int]:
    return values(list(job.batches()))
