"""Pieces of rows that several instances handle come out in the order of their source."""

import random
from itertools import pairwise

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.edges.queues import NOTHING
from sqlfront_engine.edges.routing import InTurn
from sqlfront_engine.processor import (
    BATCH_ROWS,
    END_OF_PIECE,
    Processor,
    ProcessorContext,
    Steps,
    Take,
    last_round,
)
from sqlfront_engine.processors.limit import Limit
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.processors.union import Union
from sqlfront_engine.testing.harness import run_dag
from sqlfront_values.errors import InterfaceError
from sqlfront_values.expressions import SortKey


class Some(Processor, frozen=True):
    """The numbers that :func:`passes` lets through: of some batches all, of others none."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch.filter(pa.array([passes(number) for number in batch.column(0).to_pylist()]))


def passes(number: int) -> bool:
    return number % (2 * BATCH_ROWS + 17) < BATCH_ROWS


class Shown:
    """An input that shows what it is given, one thing at each look."""

    def __init__(self, *shown: object) -> None:
        self._shown = list(shown)

    def poll(self) -> object:
        return self._shown.pop(0) if self._shown else None

    def abandon(self) -> None:
        self._shown.clear()


def rows(number: int) -> pa.RecordBatch:
    return pa.record_batch({"id": [number]})


def test_a_piece_of_each_input_is_taken_in_turn() -> None:
    first, second, third, fourth = map(rows, range(4))
    inputs = InTurn([Shown(first, END_OF_PIECE, NOTHING, third), Shown(second, fourth, END_OF_PIECE)])

    taken = [inputs.poll() for _ in range(6)]
    assert [
        each is wanted
        for each, wanted in zip(taken, [first, second, fourth, NOTHING, third, None], strict=True)
    ]
    assert taken[3] is NOTHING
    assert [each for each in taken if each is not NOTHING and each is not None] == [
        first,
        second,
        fourth,
        third,
    ]


@pytest.mark.parametrize("instances", range(1, 6))
def test_every_instance_ends_as_many_pieces(instances: int) -> None:
    for pieces in range(12):
        ended = [
            len(range(instance, pieces, instances)) + len(list(last_round(pieces, instance, instances)))
            for instance in range(instances)
        ]
        assert len(set(ended)) == 1


def chain_in_turn(count: int, limit: int | None, queue_size: int) -> DAG:
    """The numbers up to ``count`` that pass a filter, by several instances of both."""
    dag = DAG()
    source = dag.vertex("range", Range(0, 1, count))
    chosen = dag.vertex("filter", Some())
    first = dag.vertex("limit", Limit(limit), 1)
    sink = dag.vertex("result", ResultSink(), 1)
    dag.edge(Edge.between(source, chosen).isolated().in_turn().queue_size(queue_size))
    dag.edge(Edge.between(chosen, first).to_one().in_turn().queue_size(queue_size))
    dag.edge(Edge.between(first, sink))
    return dag


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_source_is_kept(parallelism: int, seed: int) -> None:
    chosen = random.Random(seed)
    count = chosen.randrange(8 * BATCH_ROWS)
    limit = chosen.choice([None, 5, chosen.randrange(1, 4 * BATCH_ROWS)])
    dag = chain_in_turn(count, limit, chosen.choice([1, 2, 1024]))

    found = run_dag(dag, seed=seed, parallelism=parallelism)
    numbers = [number for batch in found for number in batch.column(0).to_pylist()]
    passing = [number for number in range(count) if passes(number)]
    assert numbers == passing[:limit]


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_union_gives_one_input_after_the_other(parallelism: int, seed: int) -> None:
    dag, counts = DAG(), (3 * BATCH_ROWS + 5, 7, 5 * BATCH_ROWS)
    both = dag.vertex("union", Union())
    for ordinal, count in enumerate(counts):
        source = dag.vertex(f"range {ordinal}", Range(ordinal << 32, 1, count))
        dag.edge(Edge.from_(source).to(both, ordinal).isolated().in_turn().priority(ordinal).queue_size(2))
    sink = dag.vertex("result", ResultSink(), 1)
    dag.edge(Edge.between(both, sink).to_one().in_turn().queue_size(1))

    found = run_dag(dag, seed=seed, parallelism=parallelism)
    assert [number for batch in found for number in batch.column(0).to_pylist()] == [
        number
        for ordinal, count in enumerate(counts)
        for number in range(ordinal << 32, (ordinal << 32) + count)
    ]


class Held(Processor, frozen=True):
    """All rows of its input, once it has ended."""

    def run(self, context: ProcessorContext) -> Steps:
        held = []
        while (batch := (yield Take(0))) is not None:
            held.append(batch)
        yield from held


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_rows_that_are_exchanged_by_key_come_in_the_order_of_the_source(parallelism: int, seed: int) -> None:
    """Each consumer gets its keys' rows in order, through queues of any size and twice in a row, and their
    consumer gets those of one after those of the other."""
    chosen = random.Random(seed)
    count, size = chosen.randrange(1, 8 * BATCH_ROWS), chosen.choice([1, 2, 1024])
    dag = DAG()
    vertices = [dag.vertex("range", Range(0, 1, count)), dag.vertex("some", Some())]
    dag.edge(Edge.between(*vertices).isolated().in_turn().queue_size(size))
    for number in range(chosen.choice([1, 2])):
        vertices.append(dag.vertex(f"held {number}", Held()))
        dag.edge(Edge.between(*vertices[-2:]).partitioned((0,)).in_turn().queue_size(size))
    sink = dag.vertex("result", ResultSink(), 1)
    dag.edge(Edge.between(vertices[-1], sink).to_one().in_turn().queue_size(size))

    found = run_dag(dag, seed=seed, parallelism=parallelism)
    numbers = [number for batch in found for number in batch.column(0).to_pylist()]
    assert sorted(numbers) == [number for number in range(count) if passes(number)]
    assert sum(left > right for left, right in pairwise(numbers)) < parallelism


def test_an_edge_that_merges_by_keys_takes_no_turns() -> None:
    dag = DAG()
    source, sink = dag.vertex("range", Range(0, 1, 1)), dag.vertex("result", ResultSink(), 1)
    dag.edge(Edge.between(source, sink).to_one().ordered((SortKey(0),)).in_turn())
    with pytest.raises(InterfaceError, match="can't take turns"):
        run_dag(dag)
