"""The inputs of a stage whose rows may go to any task."""

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.durable.stages import JobStage, cut
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.joins.nested_loop_join import NestedLoopJoin
from sqlfront_engine.processors.limit import Limit
from sqlfront_engine.processors.project import Project
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sort import Sort
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.processors.top_n import TopN
from sqlfront_engine.processors.union import Union
from sqlfront_engine.processors.window import Window
from sqlfront_values.expressions import Call, Cast, Column, Literal, SortKey
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE

SCHEMA = pa.schema([("k", BIGINT)])
KEY = Column(BIGINT, 0, "k")
RANDOM = Cast(BIGINT, Call(DOUBLE, "rand", (Literal(BIGINT, 1),)))


class Plan:
    """A DAG with a stage under test, which ends in one vertex."""

    def __init__(self) -> None:
        self.dag = DAG()

    def source(self) -> Vertex:
        return self.dag.vertex(self.dag.unique_name("scan"), Range(0, 1, 10), 1)

    def by_key(self, target: Vertex, ordinal: int = 0, source: Vertex | None = None) -> None:
        source = source or self.source()
        edge = Edge(source, len(self.dag.outbound(source)), target, ordinal)
        self.dag.edge(edge.partitioned((0,)).distributed())

    def after(self, source: Vertex, processor: Processor, ordinal: int = 0) -> Vertex:
        vertex = self.dag.vertex(self.dag.unique_name("vertex"), processor, 1)
        self.local(source, vertex, ordinal)
        return vertex

    def local(self, source: Vertex, target: Vertex, ordinal: int = 0) -> None:
        self.dag.edge(Edge(source, len(self.dag.outbound(source)), target, ordinal))

    def join(self, kind: JoinKind = JoinKind.INNER, *, build_left: bool = False) -> Vertex:
        """A join of two exchanged inputs."""
        join = self.vertex(HashJoin(kind, (0,), (0,), None, SCHEMA, SCHEMA, build_left))
        self.by_key(join, 0)
        self.by_key(join, 1)
        return join

    def vertex(self, processor: Processor) -> Vertex:
        return self.dag.vertex(self.dag.unique_name("vertex"), processor, 1)

    def stage(self, last: Vertex) -> JobStage:
        """The stage that ends in a vertex, whose rows are the result."""
        sink = self.dag.vertex("result", ResultSink(), 1)
        self.dag.edge(Edge(last, len(self.dag.outbound(last)), sink).to_one().distribute_to())
        return next(stage for stage in cut(self.dag).stages if last.name in stage.vertices)

    def free(self, last: Vertex) -> tuple[int, ...]:
        return self.stage(last).free


@pytest.mark.parametrize(
    ("kind", "build_left", "free"),
    [
        (JoinKind.INNER, False, (0,)),
        (JoinKind.INNER, True, (1,)),
        (JoinKind.LEFT, False, (0,)),
        (JoinKind.LEFT, True, ()),
        (JoinKind.RIGHT, False, ()),
        (JoinKind.RIGHT, True, (1,)),
        (JoinKind.FULL, False, ()),
        (JoinKind.FULL, True, ()),
        (JoinKind.SEMI, False, (0,)),
        (JoinKind.SEMI, True, ()),
        (JoinKind.ANTI, False, (0,)),
        (JoinKind.ANTI, True, ()),
    ],
)
def test_the_streamed_side_is_free_unless_held_rows_are_emitted(
    kind: JoinKind, build_left: bool, free: tuple[int, ...]
) -> None:
    plan = Plan()
    assert plan.free(plan.join(kind, build_left=build_left)) == free


@pytest.mark.parametrize(
    "processor",
    [
        Filter(Literal(BOOLEAN, value=True)),
        Project((KEY,), SCHEMA),
        Sort((SortKey(0),)),
        TopN((SortKey(0),), 3),
        Aggregate((0,), (), AggregateMode.PARTIAL, SCHEMA),
    ],
)
def test_operators_on_single_rows_and_first_steps_may_follow(processor: Processor) -> None:
    plan = Plan()
    assert plan.free(plan.after(plan.join(), processor)) == (0,)


@pytest.mark.parametrize(
    "processor",
    [
        Aggregate((0,), (), AggregateMode.SINGLE, SCHEMA),
        Aggregate((0,), (), AggregateMode.FINAL, SCHEMA),
        Window((0,), (), (), SCHEMA),
        Limit(3),
    ],
)
def test_rows_that_an_operator_needs_together_are_not_free(processor: Processor) -> None:
    plan = Plan()
    assert plan.free(plan.after(plan.join(), processor)) == ()


def test_held_rows_may_be_grouped_before_they_are_held() -> None:
    plan = Plan()
    grouped = plan.vertex(Aggregate((0,), (), AggregateMode.FINAL, SCHEMA))
    join = plan.vertex(HashJoin(JoinKind.INNER, (0,), (0,), None, SCHEMA, SCHEMA))
    plan.by_key(join, 0)
    plan.by_key(grouped)
    plan.local(grouped, join, 1)

    assert plan.free(join) == (0,)


def test_held_rows_that_are_also_emitted_are_not_copied() -> None:
    """Each task would emit the groups, of which each would have all."""
    plan = Plan()
    grouped = plan.vertex(Aggregate((0,), (), AggregateMode.FINAL, SCHEMA))
    union = plan.vertex(Union())
    plan.by_key(union, 0)
    plan.by_key(grouped)
    plan.local(grouped, union, 1)

    assert plan.free(union) == ()


def test_all_inputs_of_a_union_are_free() -> None:
    plan = Plan()
    union = plan.vertex(Union())
    plan.by_key(union, 0)
    plan.by_key(union, 1)

    assert plan.free(union) == (0, 1)


def test_an_input_that_is_held_and_streamed_is_not_free() -> None:
    plan = Plan()
    copy = plan.vertex(Project((KEY,), SCHEMA))
    plan.by_key(copy)
    join = plan.after(copy, HashJoin(JoinKind.INNER, (0,), (0,), None, SCHEMA, SCHEMA), 0)
    plan.local(copy, join, 1)

    assert plan.free(join) == ()


def test_two_edges_from_the_same_rows_are_two_inputs() -> None:
    plan = Plan()
    source = plan.source()
    join = plan.vertex(HashJoin(JoinKind.INNER, (0,), (0,), None, SCHEMA, SCHEMA))
    plan.by_key(join, 0, source)
    plan.by_key(join, 1, source)

    assert plan.free(join) == (0,)


@pytest.mark.parametrize("ordinal", [0, 1])
def test_rows_of_a_source_in_the_stage_belong_to_one_task(ordinal: int) -> None:
    plan = Plan()
    join = plan.after(plan.source(), HashJoin(JoinKind.INNER, (0,), (0,), None, SCHEMA, SCHEMA), ordinal)
    plan.by_key(join, 1 - ordinal)

    assert plan.free(join) == ()


def test_broadcast_rows_are_held_and_never_free() -> None:
    plan = Plan()
    join = plan.vertex(NestedLoopJoin(JoinKind.INNER, None, SCHEMA, SCHEMA))
    plan.by_key(join, 0)
    plan.dag.edge(Edge(plan.source(), 0, join, 1).broadcast().distributed())
    assert plan.free(join) == (0,)

    other = Plan()
    join = other.vertex(NestedLoopJoin(JoinKind.INNER, None, SCHEMA, SCHEMA))
    other.by_key(join, 1)
    other.dag.edge(Edge(other.source(), 0, join, 0).broadcast().distributed())
    assert other.free(join) == ()


def test_rows_in_an_order_are_not_free() -> None:
    plan = Plan()
    copy = plan.vertex(Project((KEY,), SCHEMA))
    source = plan.source()
    plan.dag.edge(Edge(source, 0, copy).partitioned((0,)).distributed().ordered((SortKey(0),)))

    assert plan.free(copy) == ()


def test_a_stage_with_chance_has_no_free_input() -> None:
    plan = Plan()
    assert plan.free(plan.after(plan.join(), Project((RANDOM,), SCHEMA))) == ()


def test_rows_that_another_stage_reads_where_they_lie_are_not_free() -> None:
    """A later part of the plan needs the rows of task t in its own task t: the local edge doesn't join the
    two, since rows also go a way around."""
    plan = Plan()
    join = plan.join()
    late = plan.after(join, HashJoin(JoinKind.INNER, (0,), (0,), None, SCHEMA, SCHEMA), 0)
    test = plan.vertex(Filter(Literal(BOOLEAN, value=True)))
    plan.dag.edge(Edge(join, 1, test).broadcast().distributed())
    plan.local(test, late, 1)
    stages = [plan.stage(late)]
    stages += [stage for stage in cut(plan.dag).stages if join.name in stage.vertices]

    assert [stage.free for stage in stages] == [(), ()]
