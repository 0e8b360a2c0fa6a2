"""What a DAG becomes on each of several members: instances, their partitions, and connections."""

from collections.abc import Callable

import pytest

from sqlfront_engine.dag import DAG, Edge, Vertex
from sqlfront_engine.plans.blueprint import (
    NOBODY,
    Blueprint,
    IncomingStream,
    Link,
    OutgoingStream,
    TaskletPlace,
    draw,
)
from sqlfront_engine.plans.placement import Placement, demands_of, place
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import InterfaceError
from tests.engine.jobs import Forward, Numbers

MEMBERS = ("a", "b", "c")
COUNT = 9
#: Nine partitions, dealt to three members in turn: a owns 0, 3 and 6.
OWNERS = tuple(MEMBERS[number % 3] for number in range(COUNT))
Route = Callable[[Edge], Edge]


def placed(dag: DAG, required: list[int] | None = None, coordinator: str = "a") -> Placement:
    return place(demands_of(dag), OWNERS, MEMBERS, coordinator, required)


def routed(route: Route, producers: int = 2, consumers: int = 2) -> DAG:
    """A source of all members, one edge, and what is behind it."""
    dag = DAG()
    source, target = dag.vertex("source", Numbers(1), producers), dag.vertex("target", Forward(), consumers)
    return dag.edge(route(Edge.between(source, target)))


def drawn(dag: DAG, member: str, required: list[int] | None = None) -> Blueprint:
    dag.lock()
    return draw(dag, member, placed(dag, required), 2, COUNT)


def instances(blueprint: Blueprint, dag: DAG, name: str) -> list[TaskletPlace]:
    vertices = list(dag)
    return [each for each in blueprint.places if each.vertex >= 0 and vertices[each.vertex].name == name]


def remote(blueprint: Blueprint) -> tuple[list[str], list[str]]:
    """The members that rows are sent to and received from, one entry per edge."""
    sends = [each.stream.member for each in blueprint.links if isinstance(each, OutgoingStream)]
    receives = [each.stream.member for each in blueprint.links if isinstance(each, IncomingStream)]
    return sends, receives


def queues(blueprint: Blueprint) -> int:
    return sum(isinstance(link, Link) for link in blueprint.links)


def shared_ends(blueprint: Blueprint) -> list[str]:
    """The senders and receivers."""
    return [each.name for each in blueprint.places if each.vertex < 0]


def owned(dag: DAG, member: str, required: list[int] | None = None) -> list[list[int]]:
    """The partitions whose rows each consumer gets from the producers of its own member."""
    blueprint = drawn(dag, member, required)
    wiring = instances(blueprint, dag, "source")[0].outputs[0]
    assert wiring.owners is not None
    return [[p for p in range(COUNT) if wiring.owners[p] == place] for place in range(wiring.local)]


# ---- partitions of members and of instances


@pytest.mark.parametrize(
    ("member", "required", "expected"),
    [
        ("a", None, [[0, 6], [3]]),
        ("b", None, [[1, 7], [4]]),
        # a and b are left, and what the edge needs besides is dealt out to them: 1, 4, 6 and 2, 5, 8.
        ("a", [0, 3, 7], [[0, 3, 6], [1, 4]]),
        ("b", [0, 3, 7], [[2, 7], [5, 8]]),
    ],
)
def test_a_distributed_edge_shares_the_members_own_partitions(
    member: str, required: list[int] | None, expected: list[list[int]]
) -> None:
    dag = routed(lambda edge: edge.distributed().partitioned([0]))

    assert owned(dag, member, required) == expected


@pytest.mark.parametrize("member", MEMBERS)
def test_a_local_edge_shares_all_partitions_of_the_job(member: str) -> None:
    dag = routed(lambda edge: edge.partitioned([0]), consumers=3)

    assert owned(dag, member) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_the_partitions_of_a_pruned_job_may_have_gaps() -> None:
    dag = DAG()
    dag.vertex("source", Numbers(1), 2)
    blueprint = drawn(dag, "a", [0, 4, 6])

    assert [each.partitions for each in instances(blueprint, dag, "source")] == [(0,), (6,)]
    assert [each.partitions for each in drawn(dag, "b", [0, 4, 6]).places] == [(4,), ()]
    assert drawn(dag, "c", [0, 4, 6]).places == ()


def test_indexes_count_participants_only() -> None:
    dag = DAG()
    dag.vertex("source", Numbers(1), 2)

    assert [
        (
            each.member_index,
            each.member_count,
            each.first_global_index + each.instance,
            each.total_parallelism,
        )
        for each in drawn(dag, "c", [0, 2]).places
    ] == [(1, 2, 2, 4), (1, 2, 3, 4)]


@pytest.mark.parametrize("consumers", [2, 3])
def test_the_target_member_of_an_edge_shares_all_partitions_of_the_job(consumers: int) -> None:
    dag = routed(lambda edge: edge.partitioned([0]).distribute_to("b"), consumers=consumers)
    blueprint = drawn(dag, "b")

    (receiver, _) = [each for each in blueprint.places if each.vertex < 0]
    owners = receiver.outputs[0].owners
    assert owners is not None
    assert [sorted(p for p in range(COUNT) if owners[p] == c) for c in range(consumers)] == [
        list(range(COUNT))[c::consumers] for c in range(consumers)
    ]
    assert instances(drawn(dag, "a"), dag, "target") == []


def test_rows_of_no_partition_of_the_job_have_nobody() -> None:
    dag = routed(lambda edge: edge.distributed().partitioned([0]))
    wiring = instances(drawn(dag, "a"), dag, "source")[0].outputs[0]

    assert wiring.owners is not None
    assert NOBODY not in wiring.owners


# ---- connections


def two_steps(first: Route, second: Route) -> DAG:
    dag = DAG()
    vertices: list[Vertex] = [
        dag.vertex("source", Numbers(1), 2),
        dag.vertex("middle", Forward(), 2),
        dag.vertex("end", Forward(), 2),
    ]
    dag.edge(first(Edge.between(vertices[0], vertices[1])))
    return dag.edge(second(Edge.between(vertices[1], vertices[2])))


def local(edge: Edge) -> Edge:
    return edge


def to_b(edge: Edge) -> Edge:
    return edge.to_one().distribute_to("b")


def to_all(edge: Edge) -> Edge:
    return edge.distributed().partitioned([0])


@pytest.mark.parametrize(
    ("first", "second", "member", "sends", "receives"),
    [
        (local, local, "a", "", ""),
        (to_all, local, "a", "bc", "bc"),
        (to_all, to_all, "a", "bcbc", "bcbc"),
        (to_b, local, "a", "b", ""),
        (to_b, local, "b", "", "ac"),
        (to_b, to_all, "a", "b", "b"),  # only b has something to send on
        (to_b, to_all, "b", "ac", "ac"),
        (to_all, to_b, "c", "abb", "ab"),
    ],
    ids=["local", "to-all", "twice", "to-one", "at-one", "behind-one", "from-one", "all-then-one"],
)
def test_connections_exist_where_rows_can_go(
    first: Route, second: Route, member: str, sends: str, receives: str
) -> None:
    assert remote(drawn(two_steps(first, second), member)) == (list(sends), list(receives))


@pytest.mark.parametrize("member", MEMBERS)
def test_a_local_edge_behind_one_member_exists_only_there(member: str) -> None:
    dag = two_steps(to_b, local)

    assert len(instances(drawn(dag, member), dag, "end")) == (2 if member == "b" else 0)


def test_queues_are_made_for_pairs_that_can_carry_rows() -> None:
    assert queues(drawn(routed(local, 2, 3), "a")) == 2 * 3
    assert queues(drawn(routed(Edge.isolated, 2, 4), "a")) == 4
    # Two producers to three consumers and two senders, two receivers to three consumers.
    assert queues(drawn(routed(to_all, 2, 3), "a")) == 2 * (3 + 2) + 2 * 3


def test_several_producers_share_a_sender_and_several_consumers_a_receiver() -> None:
    assert shared_ends(drawn(routed(to_all, 2, 2), "b")) == [
        "'source' -> 'target' to a",
        "'source' -> 'target' to c",
        "'source' -> 'target' from a",
        "'source' -> 'target' from c",
    ]


def test_the_only_producer_sends_and_the_only_consumer_receives_itself() -> None:
    blueprint = drawn(routed(to_all, 1, 1), "b")

    assert shared_ends(blueprint) == []
    assert remote(blueprint) == (["a", "c"], ["a", "c"])
    assert queues(blueprint) == 1


@pytest.mark.parametrize("route", [Edge.unicast, Edge.broadcast, Edge.fanout, Edge.isolated])
def test_only_partitioned_edges_may_have_a_target(route: Route) -> None:
    with pytest.raises(InterfaceError, match=r"only partitioned ones|can't be distributed"):
        drawn(routed(lambda edge: route(edge).distribute_to("b")), "a")


def test_a_coordinators_sink_costs_nothing_elsewhere() -> None:
    dag = DAG()
    source = dag.vertex("source", Numbers(1), 1)
    result = dag.vertex("result", ResultSink())
    dag.edge(Edge.between(source, result).to_one().distribute_to())

    assert [each.name for each in drawn(dag, "c").places] == ["source"]
    assert queues(drawn(dag, "c")) == 0
