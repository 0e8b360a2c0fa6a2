"""Which members take part in a job, which partitions they handle, and where each vertex exists."""

import pytest

from sqlfront_engine.dag import DAG, Edge, OnlyOn
from sqlfront_engine.plans.placement import Demands, Placement, demands_of, only, place, vertex_members
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import InterfaceError, OperationalError
from tests.engine.jobs import Forward, Numbers

MEMBERS = ("a", "b", "c")
#: Nine partitions, dealt to three members in turn.
OWNERS = tuple(MEMBERS[number % 3] for number in range(9))
NOTHING = Demands((), (), False)


def test_without_required_partitions_every_owner_takes_part() -> None:
    assert place(NOTHING, OWNERS, MEMBERS, "a") == Placement("a", MEMBERS, ((0, 3, 6), (1, 4, 7), (2, 5, 8)))


def test_partitions_of_a_missing_owner_go_to_the_others_in_turn() -> None:
    placed = place(NOTHING, OWNERS, ("a", "b"), "a")

    assert placed.members == ("a", "b")
    assert placed.partitions == ((0, 2, 3, 6, 8), (1, 4, 5, 7))


def test_a_member_that_owns_nothing_takes_no_part() -> None:
    assert place(NOTHING, ("a", "b"), MEMBERS, "a").members == ("a", "b")


def test_a_lite_coordinator_is_a_participant_without_partitions() -> None:
    placed = place(NOTHING, OWNERS, MEMBERS, "client")

    assert placed.members == MEMBERS
    assert placed.participants == (*MEMBERS, "client")
    assert placed.owned_by("client") == ()


def test_required_partitions_prune_members() -> None:
    placed = place(NOTHING, OWNERS, MEMBERS, "a", required=[4, 1])

    assert (placed.members, placed.partitions) == (("b",), ((1, 4),))


def test_no_required_partition_needs_no_member() -> None:
    placed = place(NOTHING, OWNERS, MEMBERS, "client", required=())

    assert (placed.members, placed.participants) == ((), ("client",))


def test_a_target_of_an_edge_is_a_required_member() -> None:
    placed = place(Demands(("a",), (), False), OWNERS, MEMBERS, "c", required=[1])

    assert (placed.members, placed.partitions) == (("a", "b"), ((), (1,)))


def test_partitions_that_an_edge_needs_go_to_the_required_members_only() -> None:
    every = place(Demands((), (), True), OWNERS, MEMBERS, "a", required=[1, 2])
    constant = place(Demands((), (0, 1), False), OWNERS, MEMBERS, "a", required=[1])

    assert every.members == ("b", "c")
    assert sorted(every.all_partitions()) == list(range(9))
    assert (constant.members, constant.partitions) == (("b",), ((0, 1),))


def test_the_round_robin_carries_on_from_missing_owners() -> None:
    placed = place(Demands((), (), True), ("x", "a", "b", "a"), ("a", "b"), "a", required=[0, 1, 2])

    # 0 went to `a` in place of the missing owner; 3 is next in turn.
    assert placed.partitions == ((0, 1), (2, 3))


def test_a_missing_target_is_an_error() -> None:
    with pytest.raises(OperationalError, match="'z' is missing or a lite member"):
        place(Demands(("z",), (), False), OWNERS, MEMBERS, "a")


@pytest.mark.parametrize("coordinator", ["a", "z"])
def test_a_job_does_not_run_without_a_required_member_that_has_left(coordinator: str) -> None:
    """Its rows would be missing from the result; ``z`` runs no scan even where it coordinates the job."""
    with pytest.raises(OperationalError, match="'z' has left") as caught:
        place(NOTHING, OWNERS, MEMBERS, coordinator, required_members=("b", "z"))
    assert caught.value.sqlstate == "40001"


def test_without_data_members_there_is_no_job() -> None:
    with pytest.raises(OperationalError, match="no data member is left"):
        place(NOTHING, OWNERS, (), "client")


def test_a_partition_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(InterfaceError, match="no partition 9"):
        place(NOTHING, OWNERS, MEMBERS, "a", required=[9])


def test_the_dag_tells_what_it_demands() -> None:
    dag = DAG()
    source, keyed = dag.vertex("source", Numbers(1)), dag.vertex("keyed", Forward())
    constant, single = dag.vertex("constant", Forward()), dag.vertex("single", Forward(), 1, OnlyOn("b"))
    dag.edge(Edge.between(source, constant).distributed().to_one(5))
    assert demands_of(dag) == Demands(("b",), (5,), False)

    dag.edge(Edge.between(constant, single).distribute_to("c").to_one())
    dag.edge(Edge.between(single, keyed).partitioned([0]))
    assert demands_of(dag) == Demands(("c", "b"), (5, 1), True)


def test_vertices_exist_where_rows_can_reach_them() -> None:
    dag = DAG()
    source, behind = dag.vertex("source", Numbers(1)), dag.vertex("behind", Forward())
    spread, sink = dag.vertex("spread", Forward()), dag.vertex("sink", ResultSink())
    dag.edge(Edge.between(source, behind))
    dag.edge(Edge.between(behind, spread).distributed().partitioned([0]))
    dag.edge(Edge.between(spread, sink).to_one().distribute_to())
    placed = place(demands_of(dag), OWNERS, MEMBERS, "client")

    assert vertex_members(dag, placed) == {
        "source": MEMBERS,
        "behind": MEMBERS,
        "spread": MEMBERS,
        "sink": ("client",),
    }


def test_a_source_of_the_coordinator_reaches_others_by_distributed_edges_only() -> None:
    dag = DAG()
    source = dag.vertex("source", Numbers(1), 1, OnlyOn())
    local, spread = dag.vertex("local", Forward()), dag.vertex("spread", Forward())
    dag.edge(Edge.between(source, local))
    dag.edge(Edge.between(local, spread).distributed().broadcast())
    placed = place(demands_of(dag), OWNERS, MEMBERS, "b")

    assert vertex_members(dag, placed) == {"source": ("b",), "local": ("b",), "spread": MEMBERS}


def test_a_single_instance_runs_with_the_owner_of_its_partition() -> None:
    dag = DAG()
    dag.vertex("source", Numbers(1), None, OnlyOn(partition=4))

    assert vertex_members(dag, place(demands_of(dag), OWNERS, MEMBERS, "a")) == {"source": ("b",)}
    pruned = place(demands_of(dag), OWNERS, MEMBERS, "a", required=[0])
    assert vertex_members(dag, pruned) == {"source": ("a",)}


def test_a_total_parallelism_of_one_allows_no_other_local_one() -> None:
    with pytest.raises(InterfaceError, match="total parallelism of one, but a local one of 2"):
        DAG().vertex("source", Numbers(1), 2, OnlyOn())


def test_one_member_has_all_partitions() -> None:
    assert only("a", 3) == Placement("a", ("a",), ((0, 1, 2),))
