"""The DAG's invariants, its edges and its DOT text."""

from decimal import Decimal

import pyarrow as pa
import pytest
from msgspec.structs import replace

from sqlfront_engine.dag import COORDINATOR, DAG, Distribution, Edge, EdgeConfig, OnlyOn, Routing, Vertex
from sqlfront_engine.dot import to_dot
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import InterfaceError
from sqlfront_values.expressions import Literal, SortKey
from sqlfront_values.partitioning.partitions import partition_ids


class Pass(Processor, frozen=True):
    label: str = ""

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take())) is not None:
            yield batch


def three() -> tuple[DAG, Vertex, Vertex, Vertex]:
    dag = DAG()
    return dag, dag.vertex("a", Pass()), dag.vertex("b", Pass()), dag.vertex("c", Pass())


# ---- names and vertices


def test_unique_names_count_from_two() -> None:
    dag = DAG()
    names = []
    for _ in range(3):
        names.append(dag.unique_name("scan"))
        dag.vertex(names[-1], Pass())

    assert names == ["scan", "scan-2", "scan-3"]


def test_a_name_is_used_once() -> None:
    dag, *_ = three()

    with pytest.raises(InterfaceError, match="'a' already"):
        dag.vertex("a", Pass())


@pytest.mark.parametrize("parallelism", [0, -1])
def test_parallelism_is_positive(parallelism: int) -> None:
    with pytest.raises(InterfaceError, match="must be positive"):
        Vertex("a", Pass(), parallelism)


@pytest.mark.parametrize(
    ("explicit", "preferred", "default", "expected"),
    [(3, 2, 8, 3), (None, 2, 8, 2), (None, 12, 8, 8), (None, None, 8, 8), (12, None, 8, 12)],
)
def test_parallelism_is_explicit_or_preferred_or_default(
    explicit: int | None, preferred: int | None, default: int, expected: int
) -> None:
    class Preferring(Pass, frozen=True, tag=f"Preferring{preferred}"):
        preferred_parallelism = preferred

    assert Vertex("a", Preferring(), explicit).parallelism(default) == expected


# ---- edges refused


def test_an_edge_needs_a_destination() -> None:
    dag, a, _, _ = three()

    with pytest.raises(InterfaceError, match="no destination"):
        dag.edge(Edge.from_(a))


def test_a_destination_is_set_once() -> None:
    _, a, b, c = three()

    with pytest.raises(InterfaceError, match="has a destination already"):
        Edge.from_(a).to(b).to(c)


@pytest.mark.parametrize("end", ["source", "destination"])
def test_both_ends_are_known(end: str) -> None:
    dag, a, _, _ = three()
    stranger = Vertex("stranger", Pass())
    edge = Edge.between(stranger, a) if end == "source" else Edge.between(a, stranger)

    with pytest.raises(InterfaceError, match=f"the {end} 'stranger' is not a vertex"):
        dag.edge(edge)


@pytest.mark.parametrize("end", ["source", "destination"])
def test_an_impostor_of_the_same_name_is_told_apart(end: str) -> None:
    dag, a, _, _ = three()
    impostor = Vertex("b", Pass())
    edge = Edge.between(impostor, a) if end == "source" else Edge.between(a, impostor)

    with pytest.raises(InterfaceError, match=f"the {end} 'b' is another vertex"):
        dag.edge(edge)


def test_a_self_edge_can_be_made_but_not_added() -> None:
    dag, a, _, _ = three()
    edge = Edge.between(a, a)

    with pytest.raises(InterfaceError, match="itself"):
        dag.edge(edge)


def test_a_source_ordinal_is_used_once_and_the_message_shows_the_way() -> None:
    dag, a, b, c = three()
    dag.edge(Edge.between(a, b))

    with pytest.raises(InterfaceError, match=r"output 0 of 'a' is used already; use Edge.from_"):
        dag.edge(Edge.between(a, c))


def test_a_destination_ordinal_is_used_once_without_hint_if_ordinals_were_given() -> None:
    dag, a, b, c = three()
    dag.edge(Edge.from_(a, 0).to(c, 1)).edge(Edge.from_(b, 0).to(c, 0))

    with pytest.raises(InterfaceError, match=r"input 1 of 'c' is used already$"):
        dag.edge(Edge.from_(b, 1).to(c, 1))


@pytest.mark.parametrize(("source", "destination"), [(0, 1), (1, 0), (1, 1)])
def test_only_two_zeros_advise_to_name_the_ordinals(source: int, destination: int) -> None:
    dag, a, b, c = three()
    dag.edge(Edge.from_(a, source).to(b, destination))

    with pytest.raises(InterfaceError, match=r"is used already$"):
        dag.edge(Edge.from_(a, source).to(c, destination))
    with pytest.raises(InterfaceError, match=r"is used already$"):
        dag.edge(Edge.from_(c, source).to(b, destination))


def test_a_destination_ordinal_of_zero_advises_too() -> None:
    dag, a, b, c = three()
    dag.edge(Edge.between(a, c))

    with pytest.raises(InterfaceError, match=r"input 0 of 'c' is used already; use Edge.from_"):
        dag.edge(Edge.between(b, c))


def test_edges_are_listed_by_their_ordinals_at_either_end() -> None:
    dag, a, b, c = three()
    edges = [Edge.from_(a, 1).to(c, 1), Edge.from_(b).to(c, 0), Edge.from_(a, 0).to(b)]
    for edge in edges:
        dag.edge(edge)

    assert dag.edges == tuple(edges)
    assert dag.inbound(c) == (edges[1], edges[0])
    assert dag.outbound(a) == (edges[2], edges[0])
    assert (dag.inbound(a), dag.outbound(c)) == ((), ())


def test_the_vertices_of_a_dag_are_known_by_name() -> None:
    dag, a, b, c = three()

    assert [dag[name] for name in "abc"] == [a, b, c]
    assert len(dag) == 3
    with pytest.raises(KeyError):
        dag["d"]


def test_several_edges_between_two_vertices() -> None:
    dag, a, b, _ = three()
    dag.edge(Edge.from_(a, 0).to(b, 1)).edge(Edge.from_(a, 1).to(b, 0))

    assert [edge.source_ordinal for edge in dag.inbound(b)] == [1, 0]
    assert [edge.destination_ordinal for edge in dag.outbound(a)] == [1, 0]


# ---- validation


def test_an_empty_dag_is_refused() -> None:
    with pytest.raises(InterfaceError, match="no vertices"):
        DAG().validate()


@pytest.mark.parametrize(
    ("source", "destination", "message"),
    [(0, 1, "input ordinals of 'b' have a gap"), (1, 0, "output ordinals of 'a' have a gap")],
)
def test_ordinals_have_no_gaps(source: int, destination: int, message: str) -> None:
    dag, a, b, _ = three()
    dag.edge(Edge.from_(a, source).to(b, destination))

    with pytest.raises(InterfaceError, match=message):
        dag.validate()


def test_iteration_is_topological() -> None:
    dag, a, b, c = three()
    dag.edge(Edge.between(c, b)).edge(Edge.between(b, a))

    assert [vertex.name for vertex in dag] == ["c", "b", "a"]


def test_a_cycle_is_found() -> None:
    dag, a, b, c = three()
    dag.edge(Edge.between(a, b)).edge(Edge.between(b, c)).edge(Edge.from_(c).to(b, 1))

    with pytest.raises(InterfaceError, match="cycle: through some of 'b', 'c'"):
        list(dag)


# ---- locking


def test_a_locked_dag_refuses_changes() -> None:
    dag, a, b, _ = three()
    dag.lock()

    with pytest.raises(InterfaceError, match="can't be changed"):
        dag.vertex("d", Pass())
    with pytest.raises(InterfaceError, match="can't be changed"):
        dag.edge(Edge.between(a, b))


def test_vertices_and_edges_are_frozen() -> None:
    _, a, b, _ = three()

    with pytest.raises(AttributeError, match="immutable"):
        a.local_parallelism = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        Edge.between(a, b).input_priority = 1  # type: ignore[misc]


# ---- edges' properties


def test_defaults_of_an_edge() -> None:
    _, a, b, _ = three()
    edge = Edge.between(a, b)

    assert (edge.source_ordinal, edge.destination_ordinal) == (0, 0)
    assert (edge.routing, edge.distribution) == (Routing.UNICAST, Distribution.LOCAL)
    assert (edge.input_priority, edge.sort_keys, edge.config) == (0, (), None)


def test_the_last_routing_wins() -> None:
    _, a, b, _ = three()

    assert Edge.between(a, b).broadcast().unicast().routing is Routing.UNICAST
    assert Edge.between(a, b).to_one().partitioned((2,)).key_columns == (2,)
    assert Edge.between(a, b).partitioned((2,)).to_one().key_columns == ()


def test_each_method_changes_one_property() -> None:
    _, a, b, _ = three()
    edge = Edge.between(a, b)

    assert edge.isolated().routing is Routing.ISOLATED
    assert edge.fanout().routing is Routing.FANOUT
    assert edge.priority(3).input_priority == 3
    assert edge.ordered((SortKey(0),)).sort_keys == (SortKey(0),)
    assert edge.distributed().distribution is Distribution.TO_ALL
    assert edge.distribute_to("m").target_member == "m"
    assert edge.queue_size(7).config == EdgeConfig(queue_size=7)


def test_an_edge_names_its_ordinals() -> None:
    _, a, b, _ = three()
    edge = Edge.from_(a, 2).to(b, 3)

    assert (edge.source, edge.source_ordinal) == (a, 2)
    assert (edge.destination, edge.destination_ordinal) == (b, 3)


def test_all_to_one_has_a_partition_or_any() -> None:
    _, a, b, _ = three()

    assert (Edge.between(a, b).to_one().partition, Edge.between(a, b).to_one(7).partition) == (1, 7)
    assert Edge.between(a, b).partitioned((2, 0)).key_columns == (2, 0)


def test_the_last_distribution_wins() -> None:
    _, a, b, _ = three()
    edge = Edge.between(a, b).to_one()

    assert edge.distribute_to("m").distributed().target_member is None
    assert edge.distributed().distribute_to().distribution is Distribution.TO_ONE
    assert edge.distribute_to().target_member == COORDINATOR


def test_partitioned_needs_key_columns() -> None:
    _, a, b, _ = three()

    with pytest.raises(InterfaceError, match="to_one"):
        Edge.between(a, b).partitioned(())


@pytest.mark.parametrize("name", ["queue_size", "packet_size_limit", "receive_window_multiplier"])
def test_buffer_sizes_are_positive(name: str) -> None:
    with pytest.raises(InterfaceError, match=f"{name} must be positive"):
        EdgeConfig(**{name: 0})


def test_edges_are_equal_by_what_they_connect() -> None:
    _, a, b, _ = three()

    assert Edge.between(a, b) == Edge.between(a, b).broadcast()
    assert len({Edge.between(a, b), Edge.between(a, b).priority(1), Edge.from_(a, 1).to(b)}) == 2


def test_changing_one_part_of_the_configuration_keeps_the_others() -> None:
    _, a, b, _ = three()
    config = EdgeConfig(queue_size=5, receive_window_multiplier=2)

    changed = replace(Edge.between(a, b), config=config).queue_size(9)

    assert changed.config == EdgeConfig(queue_size=9, receive_window_multiplier=2)


# ---- total parallelism of one


@pytest.mark.parametrize("place", [OnlyOn(), OnlyOn("m"), OnlyOn(partition=3)])
def test_a_vertex_of_total_parallelism_one_has_one_instance(place: OnlyOn) -> None:
    assert Vertex("a", Pass(), None, place).parallelism(8) == 1
    assert Vertex("a", Pass(), 1, place).parallelism(8) == 1


def test_the_owner_of_a_key_is_that_of_its_partition() -> None:
    key = (Literal(pa.int64(), 5), Literal(pa.string(), "x"))
    columns = [pa.array([5], pa.int64()), pa.array(["x"])]

    assert OnlyOn.owner_of(key).partition == partition_ids(columns, 1, 271)[0]
    assert OnlyOn.owner_of(key, 7).partition == partition_ids(columns, 1, 7)[0]
    assert OnlyOn.owner_of([Literal(pa.decimal128(5, 2), Decimal("1.50"))]).partition is not None


# ---- rebinding


def test_a_rebound_dag_has_the_shape_and_other_processors() -> None:
    dag, a, b, c = three()
    dag.edge(Edge.between(a, b)).edge(Edge.between(b, c))

    bound = dag.with_processors({"b": Pass("bound")})

    assert bound.locked
    assert [vertex.processor for vertex in bound] == [Pass(), Pass("bound"), Pass()]
    assert bound.edges == dag.edges
    assert bound.edges[0].destination is bound["b"]
    assert bound.outbound(bound["b"])[0].source is bound["b"]
    assert to_dot(bound) == to_dot(dag)
    assert dag["b"] is b


def test_a_rebound_dag_shares_what_was_derived() -> None:
    dag, *_ = three()
    bound = dag.with_processors({})

    assert dag.derive("size", len) == 3
    assert bound.derive("size", lambda _: -1) == 3


def test_a_vertex_keeps_its_class_of_processor() -> None:
    dag, *_ = three()

    with pytest.raises(InterfaceError, match="of the same class"):
        dag.with_processors({"a": ResultSink()})


# ---- DOT


def test_dot_of_defaults() -> None:
    dag, a, b, _ = three()
    dag.edge(Edge.between(a, b))

    assert to_dot(dag).splitlines() == [
        "digraph DAG {",
        '\t"a" [localParallelism=default];',
        '\t"c" [localParallelism=default];',
        '\t"b" [localParallelism=default];',
        '\t"a" -> "b" [queueSize=1024];',
        "}",
    ]
    assert '"a" [localParallelism=4];' in to_dot(dag, 4)
    assert "queueSize=16" in to_dot(dag, default_queue_size=16)


def test_dot_of_everything_else() -> None:
    dag = DAG()
    a, b = dag.vertex("a", Pass(), 3), dag.vertex("b", ResultSink())
    dag.edge(Edge.from_(a, 0).to(b, 1).partitioned((0,)).distributed().queue_size(8))
    dag.edge(Edge.from_(a, 1).to(b, 0).broadcast().ordered((SortKey(0),)))
    dag.edge(Edge.from_(a, 2).to(b, 2).to_one().distribute_to("m1"))

    assert to_dot(dag).splitlines() == [
        "digraph DAG {",
        '\t"a" [localParallelism=3];',
        '\t"b" [localParallelism=1];',
        '\t"a" -> "b" [label="distributed-partitioned", headlabel=1, taillabel=0, queueSize=8];',
        '\t"a" -> "b" [label="broadcast-ordered", headlabel=0, taillabel=1, queueSize=1024];',
        '\t"a" -> "b" [label="distributed to m1-partitioned", headlabel=2, taillabel=2, queueSize=1024];',
        "}",
    ]


def test_dot_groups_the_two_stages_of_an_aggregation() -> None:
    dag = DAG()
    source = dag.vertex("source", Pass(), 1)
    prepare, combine = dag.vertex("sum-prepare", Pass(), 2), dag.vertex("sum", Pass(), 2)
    dag.edge(Edge.between(source, prepare).partitioned((0,)))
    dag.edge(Edge.between(prepare, combine).partitioned((0,)).distributed())

    assert to_dot(dag).splitlines()[4:] == [
        '\t"source" -> "sum-prepare" [label="partitioned", queueSize=1024];',
        "\tsubgraph cluster_0 {",
        '\t\t"sum-prepare" -> "sum" [label="distributed-partitioned", queueSize=1024];',
        "\t}",
        "}",
    ]


def test_dot_shows_preferences_up_to_the_default() -> None:
    class Three(Pass, frozen=True, tag="Three"):
        preferred_parallelism = 3

    dag = DAG()
    dag.vertex("three", Three())
    dag.vertex("one", Pass(), None, OnlyOn())

    assert to_dot(dag).splitlines()[1:3] == [
        '\t"three" [localParallelism=3];',
        '\t"one" [localParallelism=1];',
    ]
    assert '"three" [localParallelism=2];' in to_dot(dag, 2)
    assert '"one" [localParallelism=1];' in to_dot(dag, 2)


def test_dot_numbers_its_groups() -> None:
    dag = DAG()
    before = dag.vertex("source", Pass())
    for name in ("sum", "max"):
        prepare, combine = dag.vertex(f"{name}-prepare", Pass()), dag.vertex(name, Pass())
        dag.edge(Edge.between(before, prepare)).edge(Edge.between(prepare, combine))
        before = combine

    groups = [line for line in to_dot(dag).splitlines() if "subgraph" in line]
    assert groups == ["\tsubgraph cluster_0 {", "\tsubgraph cluster_1 {"]


def test_dot_escapes_names() -> None:
    dag = DAG()
    dag.vertex('say "hi"\\\n', Pass(), 1)

    assert '\t"say \\"hi\\"\\\\\\n" [localParallelism=1];' in to_dot(dag).splitlines()
