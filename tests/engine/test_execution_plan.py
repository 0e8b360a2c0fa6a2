"""From a DAG to tasklets and queues: who is connected to whom, and which partitions an instance handles."""

from collections import Counter
from collections.abc import Callable
from typing import cast

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.testing import run_dag
from sqlfront_values.errors import InterfaceError
from sqlfront_values.expressions import SortKey
from tests.engine.jobs import Forward, Numbers, chain, numbers, values


class Tagged(Processor, frozen=True):
    """A source: each instance emits its number `count` times, in batches of one row."""

    count: int = 12

    def run(self, context: ProcessorContext) -> Steps:
        for _ in range(self.count):
            yield numbers(context.local_index)


class Pairs(Processor, frozen=True):
    """Emits a row (value, own instance) for each row."""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            own = pa.array([context.local_index] * batch.num_rows, pa.int64())
            yield pa.RecordBatch.from_arrays([batch.column(0), own], names=["value", "instance"])


class Contexts(Processor, frozen=True):
    """Puts its context into the job's log."""

    def run(self, context: ProcessorContext) -> Steps:
        cast("list[ProcessorContext]", context.resources["log"]).append(context)
        yield from ()


def routed(
    route: Callable[[Edge], Edge], producers: int, consumers: int, source: Processor
) -> list[tuple[int, int]]:
    """(value, instance that got it) of each row that crossed an edge."""
    dag = DAG()
    producer, consumer = dag.vertex("source", source, producers), dag.vertex("pairs", Pairs(), consumers)
    dag.edge(route(Edge.between(producer, consumer)))
    dag.edge(Edge.between(consumer, dag.vertex("result", ResultSink())))
    batches = run_dag(dag, parallelism=4)
    return [pair for b in batches for pair in zip(*(c.to_pylist() for c in b.columns), strict=True)]


@pytest.mark.parametrize(
    ("producers", "consumers", "targets"),
    [
        (2, 2, {0: {0}, 1: {1}}),
        (2, 4, {0: {0, 2}, 1: {1, 3}}),
        (2, 3, {0: {0, 2}, 1: {1}}),
        (3, 2, {0: {0}, 1: {1}, 2: {0}}),
        (4, 1, {0: {0}, 1: {0}, 2: {0}, 3: {0}}),
        (1, 3, {0: {0, 1, 2}}),
    ],
)
def test_isolated_producers_feed_fixed_consumers(
    producers: int, consumers: int, targets: dict[int, set[int]]
) -> None:
    seen: dict[int, set[int]] = {}
    for producer, consumer in routed(Edge.isolated, producers, consumers, Tagged()):
        seen.setdefault(producer, set()).add(consumer)

    assert seen == targets


def test_isolated_keeps_the_order_of_each_path() -> None:
    pairs = routed(Edge.isolated, 2, 4, Numbers(400, size=1))

    for instance in range(4):
        mine = [value for value, consumer in pairs if consumer == instance]
        assert mine == sorted(mine)


@pytest.mark.parametrize("route", [Edge.unicast, Edge.fanout])
def test_unicast_deals_each_batch_to_one_instance(route: Callable[[Edge], Edge]) -> None:
    pairs = routed(route, 1, 3, Numbers(30, size=1))

    assert sorted(value for value, _ in pairs) == list(range(30))
    assert Counter(instance for _, instance in pairs) == {0: 10, 1: 10, 2: 10}


def test_broadcast_gives_each_instance_everything() -> None:
    pairs = routed(Edge.broadcast, 2, 3, Numbers(20))

    assert sorted(pairs) == sorted((value, instance) for value in range(20) for instance in range(3))


def test_equal_keys_meet_at_one_instance() -> None:
    pairs = routed(lambda edge: edge.partitioned((0,)), 3, 4, Tagged(count=5))
    home = dict(pairs)

    assert len(pairs) == 15
    assert all(home[value] == instance for value, instance in pairs)


@pytest.mark.parametrize(("partition", "owner"), [(1, 1), (0, 0), (270, 270 % 4)])
def test_to_one_sends_all_to_the_owner_of_one_partition(partition: int, owner: int) -> None:
    pairs = routed(lambda edge: edge.to_one(partition), 2, 4, Numbers(50))

    assert sorted(pairs) == [(value, owner) for value in range(50)]


@pytest.mark.parametrize("seed", range(10))
def test_ordered_merges_sorted_producers(seed: int) -> None:
    dag = DAG()
    source, result = dag.vertex("source", Numbers(200, size=7), 3), dag.vertex("result", ResultSink())
    dag.edge(Edge.between(source, result).to_one().ordered((SortKey(0),)).queue_size(2))

    assert values(run_dag(dag, seed=seed)) == list(range(200))


def test_inputs_of_lower_priority_number_come_first() -> None:
    dag = DAG()
    late, early = dag.vertex("late", Numbers(20), 1), dag.vertex("early", Numbers(30), 1)
    both = dag.vertex("both", Forward(), 1)
    dag.edge(Edge.from_(late).to(both, 0).priority(2)).edge(Edge.from_(early).to(both, 1).priority(1))
    dag.edge(Edge.between(both, dag.vertex("result", ResultSink())))

    assert values(run_dag(dag)) == [*range(30), *range(20)]


def test_each_instance_knows_its_place_and_partitions() -> None:
    log: list[ProcessorContext] = []
    run_dag(chain(Contexts(), parallelism=3), resources={"log": log})
    log.sort(key=lambda context: context.local_index)

    assert [context.partitions[:3] for context in log] == [(0, 3, 6), (1, 4, 7), (2, 5, 8)]
    assert sorted(p for context in log for p in context.partitions) == list(range(271))
    assert [(c.global_index, c.total_parallelism, c.vertex) for c in log] == [
        (index, 3, "contexts") for index in range(3)
    ]


def test_the_plan_of_a_shape_is_drawn_once_and_shared_by_rebound_dags() -> None:
    dag = chain(Numbers(3), Forward())
    assert values(run_dag(dag)) == [0, 1, 2]
    bound = dag.with_processors({"numbers": Numbers(5)})
    drawn = [value for key, value in dag._derived.items() if "blueprint" in str(key)]

    assert values(run_dag(bound)) == [0, 1, 2, 3, 4]
    assert [value for key, value in dag._derived.items() if "blueprint" in str(key)] == drawn


def test_a_submitted_dag_is_locked() -> None:
    dag = chain(Numbers(3))
    run_dag(dag)

    with pytest.raises(InterfaceError, match="can't be changed"):
        dag.vertex("late", Forward())


def connected(route: Callable[[Edge], Edge]) -> DAG:
    dag = DAG()
    source, result = dag.vertex("source", Numbers(3), 2), dag.vertex("result", ResultSink())
    return dag.edge(route(Edge.between(source, result)))


@pytest.mark.parametrize("route", [Edge.distributed, lambda edge: edge.to_one().distribute_to()])
def test_on_one_member_distributed_edges_are_local(route: Callable[[Edge], Edge]) -> None:
    assert sorted(values(run_dag(connected(route)))) == [0, 1, 2]


def test_isolated_edges_stay_on_their_member() -> None:
    with pytest.raises(InterfaceError, match="isolated edge 'source' -> 'result' can't be distributed"):
        run_dag(connected(lambda edge: edge.isolated().distributed()))


@pytest.mark.parametrize("route", [Edge.unicast, Edge.broadcast, Edge.fanout])
def test_only_partitioned_edges_go_to_one_member(route: Callable[[Edge], Edge]) -> None:
    with pytest.raises(InterfaceError, match="only partitioned ones"):
        run_dag(connected(lambda edge: route(edge).distribute_to("m1")))


def sinks(count: int, parallelism: int | None = None) -> DAG:
    dag = DAG()
    source = dag.vertex("source", Numbers(3), 1)
    for ordinal in range(count):
        sink: Vertex = dag.vertex(f"result{ordinal}", ResultSink(), parallelism)
        dag.edge(Edge.from_(source, ordinal).to(sink))
    return dag


@pytest.mark.parametrize("dag", [sinks(2), sinks(1, 2)], ids=["two", "parallel"])
def test_there_is_one_result(dag: DAG) -> None:
    with pytest.raises(InterfaceError, match="at most one result"):
        run_dag(dag)


@pytest.mark.parametrize("seed", range(50))
def test_any_tasklet_order_gives_the_same_answer(seed: int) -> None:
    dag = DAG()
    left, right = dag.vertex("left", Numbers(300, size=7), 2), dag.vertex("right", Numbers(200, size=11), 3)
    union, spread = dag.vertex("union", Forward(), 3), dag.vertex("spread", Forward(), 2)
    dag.edge(Edge.from_(left).to(union, 0).partitioned((0,)).queue_size(1))
    dag.edge(Edge.from_(right).to(union, 1).queue_size(2))
    dag.edge(Edge.between(union, spread).broadcast().queue_size(1))
    dag.edge(Edge.between(spread, dag.vertex("result", ResultSink())).queue_size(1))

    assert sorted(values(run_dag(dag, seed=seed))) == sorted([*range(300), *range(200)] * 2)


def test_a_small_memory_limit_makes_the_queues_small() -> None:
    with Engine(workers=1) as engine:
        job = engine.run(
            chain(Numbers(None, size=1000), Forward()), JobConfig(inline=True, memory_limit=160_000)
        )
        batches = job.batches()
        next(batches)
        taken = job.statistics().vertices()[0].batches_out
        batches.close()

    assert taken <= 8
