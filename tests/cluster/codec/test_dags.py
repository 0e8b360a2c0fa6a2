"""DAGs come back whole, and runs of one plan share what they can."""

from collections.abc import Callable, Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_cluster.codec import decode_dag, encode, encode_dag
from sqlfront_cluster.codec.dags import _EdgeShape, _VertexShape
from sqlfront_engine.dag import DAG, Edge, EdgeConfig, OnlyOn, Vertex
from sqlfront_engine.dot import to_dot
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.limit import Limit
from sqlfront_engine.processors.own_classes import AllowedCode
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.union import Union
from sqlfront_engine.testing import Batches
from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.expressions import Call, Column, Literal, SortKey, SortOrder
from sqlfront_values.types import BIGINT, BOOLEAN
from tests.engine.jobs import Collect


def larger_than(number: int) -> Filter:
    return Filter(Call(BOOLEAN, "greater", (Column(BIGINT, 0, "n"), Literal(BIGINT, number))))


def lookup(number: int = 1) -> DAG:
    dag = DAG()
    scan = dag.vertex("scan", Batches("numbers"), 1)
    few = dag.vertex("filter", larger_than(number))
    dag.edge(Edge.between(scan, few).isolated())
    return dag.edge(Edge.between(few, dag.vertex("result", ResultSink(), 1)))


def everything() -> DAG:
    """Each property of vertices and edges, and vertices that were not added in topological order."""
    dag = DAG()
    sink = dag.vertex("result", ResultSink(), 1)
    union = dag.vertex("union", Union())
    one = dag.vertex("one", Batches("a"), only_on=OnlyOn(partition=7))
    two = dag.vertex("two", Batches("b"), only_on=OnlyOn(member="m"))
    limit = dag.vertex("limit", Limit(3, 0), 1)
    keys = (SortKey(0, SortOrder.DESCENDING_NULLS_FIRST), SortKey(1, SortOrder.ASCENDING_NULLS_LAST))
    dag.edge(Edge.from_(limit).to(sink, 0).to_one(5).ordered(keys).distribute_to("m"))
    dag.edge(Edge.from_(one, 1).to(union, 1).partitioned((1, 0)).distributed().priority(-2))
    dag.edge(Edge.from_(one, 0).to(union, 2).broadcast().queue_size(3))
    dag.edge(Edge.from_(two, 0).to(union, 0).fanout().priority(4))
    config = EdgeConfig(queue_size=5, packet_size_limit=6, receive_window_multiplier=7)
    return dag.edge(msgspec.structs.replace(Edge.between(union, limit), config=config))


def fields(value: object) -> object:
    """The value with its vertices written out: vertices and edges compare by name only."""
    if isinstance(value, Vertex | Edge):
        return {name: fields(getattr(value, name)) for name in value.__struct_fields__}
    return value


@pytest.mark.parametrize("make", [lookup, everything])
def test_a_dag_comes_back(make: Callable[[], DAG]) -> None:
    dag = make()
    back = decode_dag(encode_dag(dag))

    assert list(map(fields, back.vertices)) == list(map(fields, dag.vertices))
    assert list(map(fields, back.edges)) == list(map(fields, dag.edges))
    assert to_dot(back) == to_dot(dag)
    assert back.locked


def test_the_shape_forgets_no_field() -> None:
    assert _EdgeShape.__struct_fields__ == Edge.__struct_fields__
    assert {*_VertexShape.__struct_fields__, "processor"} == {*Vertex.__struct_fields__, "tag"}


def test_another_run_of_a_plan_encodes_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[object] = []

    def noted(value: object) -> bytes:
        encoded.append(value)
        return encode(value)

    monkeypatch.setattr("sqlfront_cluster.codec.dags.encode", noted)
    template = lookup()
    encode_dag(template)
    encoded.clear()

    other = larger_than(2)
    encode_dag(template.with_processors({"filter": other}))

    assert encoded[:-1] == [other]  # and the message itself


def test_another_run_of_a_plan_decodes_only_what_changed() -> None:
    first = decode_dag(encode_dag(lookup(1)))
    other = decode_dag(encode_dag(lookup(2)))

    assert other["filter"].processor == larger_than(2)
    assert other["scan"] is first["scan"]
    assert other.derive("key", lambda _: []) is first.derive("key", lambda _: [])


def test_the_edges_of_another_run_lead_to_its_own_vertices() -> None:
    decode_dag(encode_dag(lookup(1)))
    other = decode_dag(encode_dag(lookup(3)))

    assert other.edges[0].destination is other["filter"]


def test_a_dag_with_a_processor_of_a_users_own_is_refused_unless_its_module_is_allowed() -> None:
    dag = DAG()
    dag.edge(Edge.between(dag.vertex("a", Batches("a")), dag.vertex("b", Collect())))

    encoded = encode_dag(dag)
    with pytest.raises(NotSupportedError, match="Collect doesn't run on this member"):
        decode_dag(encoded)
    assert decode_dag(encoded, AllowedCode(modules=("tests.engine",))).vertices[1].processor == Collect()
    with pytest.raises(NotSupportedError, match="Collect doesn't run on this member"):
        decode_dag(encoded)


def message(vertices: object, edges: object, processors: Sequence[Processor]) -> bytes:
    return encode((encode((vertices, edges)), processors))


EDGE = (0, 0, 1, 0, "unicast", (), 1, (), "local", None, 0, None, False)
VERTICES = (("a", "Union", None, None), ("b", "ResultSink", None, None))
PROCESSORS = [Union(), ResultSink()]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (message((), (), []), "no vertices"),
        (message(VERTICES, (EDGE, (1, 0, 0, *EDGE[3:])), PROCESSORS), "cycle"),
        (message(VERTICES, ((0, 0, 5, *EDGE[3:]),), PROCESSORS), "range"),
        (message(VERTICES, ((-2, 0, 1, *EDGE[3:]),), PROCESSORS), "negative"),
        (message(VERTICES, (EDGE,), PROCESSORS[:1]), "1 processors for 2 vertices"),
        (message(VERTICES, (EDGE,), PROCESSORS[::-1]), "Invalid value 'ResultSink'"),
        (message((("a", "Unknown", None, None),), (), [Union()]), "no processor 'Unknown'"),
        (message((("a", "Union", 0, None),), (), [Union()]), "positive"),
        (message(VERTICES, ((*EDGE[:4], "teleport", *EDGE[5:]),), PROCESSORS), "teleport"),
    ],
)
def test_what_is_no_dag_is_refused(bad: bytes, reason: str) -> None:
    with pytest.raises(OperationalError, match=reason):
        decode_dag(bad)


@given(st.binary(max_size=200))
def test_random_bytes_are_no_dag(data: bytes) -> None:
    with pytest.raises(OperationalError):
        decode_dag(data)


@given(st.data())
def test_a_damaged_message_is_a_dag_or_an_operational_error(data: st.DataObject) -> None:
    damaged = bytearray(encode_dag(data.draw(st.sampled_from([lookup, everything]))()))
    for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=4)):
        damaged[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(damaged)) | st.none())

    try:
        assert isinstance(decode_dag(bytes(damaged[:cut])), DAG)
    except OperationalError:
        pass
