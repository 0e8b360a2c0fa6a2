"""Stages: the parts of a DAG between which rows go through files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlfront_engine.dag import DAG, Distribution, Edge, OnlyOn, Vertex
from sqlfront_engine.durable.division import JobOptions, coalesced
from sqlfront_engine.durable.stages import OutputKind, StagePlan, cut
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.limit import Limit
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_engine.processors.user_code.sinks import LoggerSink
from sqlfront_values.errors import InterfaceError, NotSupportedError
from sqlfront_values.expressions import SortKey

LIMIT = Limit(5, 0)


def _scan(dag: DAG, name: str) -> Vertex:
    return dag.vertex(name, Range(0, 1, 10), 1)


def _result(dag: DAG, source: Vertex, output: int = 0) -> DAG:
    sink = dag.vertex("result", ResultSink(), 1)
    return dag.edge(Edge(source, output, sink).to_one().distribute_to())


def _vertices(plan: StagePlan) -> list[tuple[str, ...]]:
    return [stage.vertices for stage in plan.stages]


def test_a_dag_without_distributed_edges_is_one_task() -> None:
    dag = DAG()
    dag.edge(Edge.between(_scan(dag, "scan"), dag.vertex("result", ResultSink(), 1)))

    (stage,) = cut(dag).stages
    assert (stage.vertices, stage.is_parallel) == (("scan", "result"), False)
    assert [output.kind for output in stage.outputs] == [OutputKind.RESULT]


def test_a_stage_with_one_instance_behind_local_edges_is_one_task() -> None:
    dag = DAG()
    shared = dag.vertex("shared", Forward(), 1, OnlyOn())
    dag.edge(Edge.between(_scan(dag, "scan"), shared))

    (stage, _) = cut(_result(dag, shared)).stages
    assert (stage.vertices, stage.is_parallel) == (("scan", "shared"), False)


def test_kinds_of_outputs_follow_from_the_edges() -> None:
    dag = DAG()
    left, right = _scan(dag, "left"), dag.vertex("right", Range(0, 1, 10), 1, OnlyOn())
    small, join = _scan(dag, "small"), dag.vertex("join", Forward(), 1)
    dag.edge(Edge(left, 0, join, 0).partitioned((0,)).distributed())
    dag.edge(Edge(right, 0, join, 1).distributed())
    dag.edge(Edge(small, 0, join, 2).broadcast().distributed())
    plan = cut(_result(dag, join))

    kinds = {stage.vertices[0]: [output.kind.value for output in stage.outputs] for stage in plan.stages}
    assert kinds == {
        "left": ["by key"],
        "right": ["dealt"],
        "small": ["all"],
        "join": ["all"],
        "result": ["result"],
    }
    assert {stage.vertices[0] for stage in plan.stages if not stage.is_parallel} == {"right", "result"}


@pytest.mark.parametrize(("between", "is_deterministic"), [(Forward(), True), (LIMIT, False)])
def test_rows_are_dealt_alike_again_if_no_operator_cuts_them(
    between: Processor, is_deterministic: bool
) -> None:
    """Operators cut rows into blocks by the memory of their process, which may be another at a second run."""
    dag = DAG()
    source, inner = (
        dag.vertex("source", Range(0, 1, 10), 1, OnlyOn()),
        dag.vertex("inner", between, 1, OnlyOn()),
    )
    last = dag.vertex("last", Forward(), 1)
    dag.edge(Edge.between(source, inner))
    dag.edge(Edge.between(inner, last).distributed())

    first, *others = cut(_result(dag, last)).stages
    assert [output.kind for output in first.outputs] == [OutputKind.DEALT]
    assert first.is_deterministic is is_deterministic
    assert all(stage.is_deterministic for stage in others)


@pytest.mark.parametrize(("before", "is_deterministic"), [(Forward(), True), (LIMIT, False)])
def test_rows_are_dealt_alike_again_if_earlier_stages_keep_their_order(
    before: Processor, is_deterministic: bool
) -> None:
    dag = DAG()
    scan, first = _scan(dag, "scan"), dag.vertex("first", before, 1, OnlyOn())
    dealing, last = dag.vertex("dealing", Forward(), 1, OnlyOn()), dag.vertex("last", Forward(), 1)
    dag.edge(Edge.between(scan, first).to_one().distribute_to())
    dag.edge(Edge.between(first, dealing).to_one().distribute_to())
    dag.edge(Edge.between(dealing, last).distributed())

    stages = {stage.vertices[-1]: stage for stage in cut(_result(dag, last)).stages}
    (output,) = stages["dealing"].outputs
    assert output.kind is OutputKind.DEALT
    assert stages["dealing"].is_deterministic is is_deterministic
    assert stages["last"].is_deterministic


def test_two_readers_of_rows_divided_alike_share_a_file() -> None:
    dag = DAG()
    scan, one, two = _scan(dag, "scan"), dag.vertex("one", Forward(), 1), dag.vertex("two", Forward(), 1)
    dag.edge(Edge(scan, 0, one).partitioned((0,)).distributed())
    dag.edge(Edge(scan, 1, two).partitioned((0,)).distributed())
    both = dag.vertex("both", Forward(), 1)
    dag.edge(Edge(one, 0, both, 0).partitioned((0,)).distributed())
    dag.edge(Edge(two, 0, both, 1).partitioned((0,)).distributed())

    assert len(cut(_result(dag, both)).stages[0].outputs) == 1


def test_rows_that_filter_and_join_are_kept_in_a_file() -> None:
    """The held rows go to all tasks that filter, and to the task of their own that joins."""
    dag = DAG()
    held, streamed = _scan(dag, "held"), _scan(dag, "streamed")
    keep, join = dag.vertex("filter", Forward(), 1), dag.vertex("join", Forward(), 1)
    dag.edge(Edge(held, 0, keep, 0).broadcast().distributed())
    dag.edge(Edge(streamed, 0, keep, 1).isolated())
    dag.edge(Edge(held, 1, join, 0).isolated())
    dag.edge(Edge(keep, 0, join, 1).isolated())
    plan = cut(_result(dag, join))

    assert _vertices(plan) == [("held",), ("streamed", "filter", "join"), ("result",)]
    assert [output.kind.value for output in plan.stages[0].outputs] == ["all", "kept"]
    assert plan.alike == (0, 0, 2)


def test_an_order_is_kept_for_the_reader() -> None:
    dag = DAG()
    sink = dag.vertex("result", ResultSink(), 1)
    dag.edge(Edge.between(_scan(dag, "scan"), sink).to_one().distribute_to().ordered((SortKey(0),)))

    assert cut(dag).stages[0].outputs[0].sort_keys == (SortKey(0),)


def test_user_code_is_refused_by_name() -> None:
    dag = DAG()
    scan, log = _scan(dag, "scan"), dag.vertex("my logger", LoggerSink(None), 1)
    dag.edge(Edge(scan, 0, log))
    dag.edge(Edge(scan, 1, dag.vertex("result", ResultSink(), 1)))

    with pytest.raises(NotSupportedError, match="the user's code in 'my logger'"):
        cut(dag)


def test_a_place_in_the_cluster_is_refused_by_name() -> None:
    dag = DAG()
    pinned = dag.vertex("pinned", Range(0, 1, 10), 1, OnlyOn(member="m2"))

    with pytest.raises(NotSupportedError, match="'pinned', which is bound to a member"):
        cut(_result(dag, pinned))


def test_a_dag_without_a_result_is_refused() -> None:
    dag = DAG()
    _scan(dag, "scan")

    with pytest.raises(InterfaceError, match="needs one result, not 0"):
        cut(dag)


@st.composite
def dags(draw: st.DrawFn) -> DAG:
    """A DAG of parallel vertices, each of which reads some earlier ones over local or distributed edges."""
    dag = DAG()
    outputs: dict[str, int] = {}
    vertices: list[Vertex] = []
    for number in range(draw(st.integers(1, 8))):
        sources = draw(st.lists(st.sampled_from(vertices), max_size=3, unique=True)) if vertices else []
        vertex = dag.vertex(f"v{number}", Forward() if sources else Range(0, 1, 10), 1)
        for ordinal, source in enumerate(sources):
            edge = Edge(source, outputs[source.name], vertex, ordinal)
            outputs[source.name] += 1
            kind = draw(st.sampled_from(["local", "local", "key", "all"]))
            if kind == "key":
                edge = edge.partitioned((0,)).distributed()
            elif kind == "all":
                edge = edge.broadcast().distributed()
            dag.edge(edge)
        outputs[vertex.name] = 0
        vertices.append(vertex)
    sink = dag.vertex("result", ResultSink(), 1)
    ends = [vertex for vertex in vertices if not outputs[vertex.name]]
    for ordinal, vertex in enumerate(ends):
        dag.edge(Edge(vertex, 0, sink, ordinal).to_one().distribute_to())
    return dag


@settings(max_examples=200, deadline=None)
@given(dags())
def test_stages_have_all_vertices_once_and_read_earlier_stages_only(dag: DAG) -> None:
    plan = cut(dag)
    stage_of = {name: stage.number for stage in plan.stages for name in stage.vertices}

    assert sorted(stage_of) == sorted(vertex.name for vertex in dag)
    assert sum(len(stage.vertices) for stage in plan.stages) == len(dag)
    assert plan.stages[-1].vertices[-1] == "result"
    for stage in plan.stages:
        assert all(source.stage < stage.number for source in stage.inputs)
    for place, edge in enumerate(dag.edges):
        assert edge.destination is not None
        source, target = stage_of[edge.source.name], stage_of[edge.destination.name]
        read = [one for one in plan.stages[target].inputs if one.edge == place]
        assert len(read) == (source != target)
        assert source != target or edge.distribution is Distribution.LOCAL
        if source != target and edge.distribution is Distribution.LOCAL:
            assert plan.output_of(read[0]).kind is OutputKind.KEPT
            assert plan.alike[source] == plan.alike[target]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=30), st.integers(1, 10), st.integers(1, 200))
def test_ranges_cover_all_buckets_in_order(sizes: list[int], parallelism: int, task_size: int) -> None:
    ranges = coalesced(sizes, JobOptions(parallelism=parallelism, task_size=task_size))

    assert [bucket for first, last in ranges for bucket in range(first, last)] == [*range(len(sizes))]
    assert len(ranges) <= parallelism
    assert all(sum(sizes[first:last]) >= task_size for first, last in ranges[:-1])
