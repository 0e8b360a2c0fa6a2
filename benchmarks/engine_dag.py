"""Costs of a light job besides its operators' work: a chain of forwarding vertices over one small batch.

    python -m benchmarks.engine_dag

Prints microseconds per job (median, least of 40 rounds) by number of vertices, on the caller's thread and on
the workers, beside bare nested generators and the interpreter's own speed (an empty function call), for
comparisons between runs on different or busy machines. The last lines: a heavy DAG with one worker and with
two, in wall and CPU time.
"""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.testing import Batches

ROUNDS = 40


class Forward(Processor, frozen=True, tag="BenchmarkForward"):
    """A processor that passes its input on."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch


class Sorts(Processor, frozen=True, tag="BenchmarkSorts"):
    """A processor that sorts each batch: all work is in one kernel that releases the interpreter's lock."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch.take(pc.sort_indices(batch.column(0)))


def chain(length: int, middle: Processor, parallelism: int | None) -> DAG:
    """A DAG of a source, ``length`` - 2 vertices and the result."""
    dag = DAG()
    previous = dag.vertex("source", Batches("batches"), 1)
    for number in range(length - 2):
        vertex = dag.vertex(f"step-{number}", middle, parallelism)
        dag.edge(Edge.between(previous, vertex))
        previous = vertex
    return dag.edge(Edge.between(previous, dag.vertex("result", ResultSink(), 1)))


def bare(length: int, batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """Run the same chain as nested generators."""

    def source() -> Iterator[pa.RecordBatch]:
        yield batch

    def forward(before: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from before

    chained = source()
    for _ in range(length - 1):
        chained = forward(chained)
    return list(chained)


def read(engine: Engine, dag: DAG, config: JobConfig) -> list[pa.RecordBatch]:
    """Run one job."""
    return list(engine.run(dag, config).batches())


def microseconds(function: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """Median and least time of a call over all rounds."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(repetitions):
            function()
        times.append((time.perf_counter() - start) / repetitions * 1e6)
    return statistics.median(times), min(times)


def nothing() -> None:
    """An empty function."""


def main() -> None:
    """Measure and print."""
    call_time = microseconds(nothing, 10_000)[1]
    print(f"a call of an empty function: {call_time * 1000:.0f} ns\n")
    print("one batch of 3 rows, us per job: median (least); calls: least time in calls of an empty function")
    print(f"{'vertices':>8}  {'inline':>16} {'calls':>6}  {'on workers':>16}  {'generators':>10}")
    batch = pa.RecordBatch.from_pydict({"n": [1, 2, 3]})
    resources = {"batches": [batch]}
    with Engine() as engine:
        for length in (2, 4, 6, 10):
            dag = chain(length, Forward(), 1)
            inline = microseconds(
                partial(read, engine, dag, JobConfig(resources=resources, inline=True)), 100
            )
            pooled = microseconds(partial(read, engine, dag, JobConfig(resources=resources)), 100)
            least = microseconds(partial(bare, length, batch), 100)[1]
            print(
                f"{length:>8}  {inline[0]:>7.1f} ({inline[1]:>6.1f}) {inline[1] / call_time:>6.0f}"
                f"  {pooled[0]:>7.1f} ({pooled[1]:>6.1f})  {least:>10.1f}"
            )
    heavy()


def heavy() -> None:
    """Run the same kernels on one worker and on two."""
    print("\n64 sorts of 500,000 numbers")
    column = pa.array([number * 7919 % 500_009 for number in range(500_000)])
    resources = {"batches": [pa.RecordBatch.from_arrays([column], names=["n"])] * 64}
    for workers in (1, 2):
        with Engine(workers=workers) as engine:
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in engine.run(chain(3, Sorts(), None), JobConfig(resources=resources)).batches():
                pass
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"  {workers} workers: {wall:.2f} s wall, {cpu:.2f} s CPU, {cpu / wall:.2f} cores")


if __name__ == "__main__":
    main()
