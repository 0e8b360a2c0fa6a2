"""What DAG a pipeline becomes."""

import pyarrow as pa
import pytest

from sqlfront_engine.dag import DAG, Distribution, Edge, OnlyOn, Routing
from sqlfront_engine.dot import to_dot
from sqlfront_planner.pipeline.aggregations import aggregation
from sqlfront_planner.pipeline.endpoints import logger_sink, service
from sqlfront_planner.pipeline.plan import Circumstances, plan
from sqlfront_planner.pipeline.stages import Pipeline, Stage
from sqlfront_planner.pipeline.steps import OwnerOf
from sqlfront_values.errors import DataError, InterfaceError, ProgrammingError
from sqlfront_values.expressions import Call, Column, Literal, Parameter
from sqlfront_values.types import BIGINT
from tests.planner.pipeline.pipelines import numbers, table

N = pa.field("n", pa.int64())
BOTH = numbers(0).schema


def dag_of(pipeline: Pipeline, workers: int = 4, *arguments: Literal) -> DAG:
    return plan(pipeline.definition(), Circumstances(workers, arguments)).dag


def names(dag: DAG) -> list[str]:
    return [vertex.name for vertex in dag]


def edge_into(dag: DAG, name: str, ordinal: int = 0) -> Edge:
    return dag.inbound(dag[name])[ordinal]


def same(n: int, even: bool) -> tuple[int, bool]:
    return n, even


def read(*, preserve_order: bool = False, parallelism: int | None = None) -> Stage:
    return Pipeline(preserve_order=preserve_order).read(numbers(10), parallelism=parallelism)


# ---- fusion


def test_stateless_steps_of_the_same_parallelism_are_fused() -> None:
    steps = read().map(same, BOTH).filter(same).flat_map(same, N).map_batches(lambda batch: batch, N)

    assert names(dag_of(steps.collect())) == [
        "numbers",
        "fused(map, filter, flat-map, map-batches)",
        "result",
    ]


def test_a_step_by_itself_keeps_its_name() -> None:
    assert names(dag_of(read().map(same, BOTH, name="double").collect())) == ["numbers", "double", "result"]


def test_another_parallelism_ends_a_fusion() -> None:
    steps = read().map(same, BOTH).map(same, BOTH, parallelism=3).filter(same, parallelism=3)

    assert names(dag_of(steps.collect()))[1:-1] == ["map", "fused(map, filter)"]


def test_rebalancing_ends_a_fusion() -> None:
    steps = read().map(same, BOTH).rebalance().filter(same)

    assert names(dag_of(steps.collect()))[1:-1] == ["map", "filter"]


def test_a_service_is_not_fused() -> None:
    steps = (
        read()
        .map(same, BOTH)
        .map_using_service(service(lambda context: context.member_index), same, BOTH)
        .filter(same)
    )

    assert names(dag_of(steps.collect()))[1:-1] == ["map", "map-using-service", "filter"]


def test_a_step_with_two_consumers_ends_a_fusion() -> None:
    stage = read().map(same, BOTH)
    stage.filter(same).write(logger_sink())
    dag = dag_of(stage.filter(same).collect())

    assert names(dag) == ["numbers", "map", "filter", "filter-2", "loggerSink", "result"]
    assert [edge.source_ordinal for edge in dag.outbound(dag["map"])] == [0, 1]


# ---- edges


def test_rows_go_round_robin_within_a_member() -> None:
    edge = edge_into(dag_of(read().map(same, BOTH).collect()), "map")

    assert (edge.routing, edge.distribution) == (Routing.UNICAST, Distribution.LOCAL)


@pytest.mark.parametrize(("columns", "routing"), [((), Routing.UNICAST), (("even",), Routing.PARTITIONED)])
def test_rebalanced_rows_go_to_all_members(columns: tuple[str, ...], routing: Routing) -> None:
    edge = edge_into(dag_of(read().rebalance(*columns).map(same, BOTH).collect()), "map")

    assert (edge.routing, edge.distribution) == (routing, Distribution.TO_ALL)
    assert edge.key_columns == ((1,) if columns else ())


def test_groups_are_prepared_on_each_member_and_combined_over_all() -> None:
    dag = dag_of(read().group_by("even").aggregate(n=aggregation("count")).collect())
    prepare, combine = edge_into(dag, "group-and-aggregate-prepare"), edge_into(dag, "group-and-aggregate")

    assert (prepare.routing, prepare.distribution) == (Routing.PARTITIONED, Distribution.LOCAL)
    assert (combine.routing, combine.distribution) == (Routing.PARTITIONED, Distribution.TO_ALL)
    assert (prepare.key_columns, combine.key_columns) == ((1,), (0,))


def test_all_rows_are_combined_in_one_instance() -> None:
    dag = dag_of(read().aggregate(n=aggregation("count")).collect())

    assert names(dag) == ["numbers", "aggregate-prepare", "aggregate", "result"]
    assert edge_into(dag, "aggregate").key_columns == ()
    assert dag["aggregate"].local_parallelism == 1


def test_a_distinct_aggregation_sees_whole_groups() -> None:
    call = aggregation("count", "n", distinct=True)
    dag = dag_of(read().group_by("even").aggregate(n=call).collect())

    assert names(dag) == ["numbers", "group-and-aggregate", "result"]
    assert edge_into(dag, "group-and-aggregate").distribution is Distribution.TO_ALL


def test_two_aggregations_have_two_names() -> None:
    once = read().group_by("n").aggregate(n_count=aggregation("count"))
    dag = dag_of(once.group_by("n_count").aggregate(n=aggregation("count")).collect())

    assert names(dag)[3:5] == ["group-and-aggregate-2-prepare", "group-and-aggregate-2"]
    assert to_dot(dag).count("subgraph") == 2


def test_both_sides_of_a_join_are_partitioned_over_all_members() -> None:
    pipeline = Pipeline()
    left, right = pipeline.read(numbers(3)), pipeline.read(table(key=[1], value=["one"]))
    dag = dag_of(left.join(right, {"n": "key"}).collect())

    edges = [edge_into(dag, "join", ordinal) for ordinal in (0, 1)]
    assert [(edge.key_columns, edge.distribution) for edge in edges] == [((0,), Distribution.TO_ALL)] * 2


def test_the_result_is_on_the_coordinator() -> None:
    dag = dag_of(read().collect())

    assert dag["result"].only_on == OnlyOn()
    assert edge_into(dag, "result").distribution is Distribution.TO_ONE


# ---- order


def test_preserved_order_isolates_paths_and_caps_parallelism() -> None:
    steps = read(preserve_order=True, parallelism=2).map(same, BOTH)
    dag = dag_of(steps.filter(same, parallelism=9).write(logger_sink(), parallelism=3))

    assert [dag[name].parallelism(4) for name in names(dag)] == [2, 2, 2, 3]
    assert {edge.routing for edge in dag.edges} == {Routing.ISOLATED}


def test_order_needs_no_cap_where_the_source_has_all_workers() -> None:
    dag = dag_of(read(preserve_order=True, parallelism=4).map(same, BOTH).collect())

    assert dag["map"].local_parallelism is None


@pytest.mark.parametrize("keyed", ["group_by", "rebalance"])
def test_what_meets_by_key_has_all_workers_again(keyed: str) -> None:
    stage = read(preserve_order=True, parallelism=1)
    if keyed == "group_by":
        stage = stage.group_by("n").aggregate(even=aggregation("max", "even"))
    else:
        stage = stage.rebalance("n")
    dag = dag_of(stage.map(same, BOTH).collect())

    assert dag["map"].parallelism(4) == 4
    assert edge_into(dag, "map").routing is (Routing.ISOLATED if keyed == "group_by" else Routing.PARTITIONED)


def test_rows_that_keep_their_order_cannot_be_spread_evenly() -> None:
    with pytest.raises(InterfaceError, match="preserve their order"):
        dag_of(read(preserve_order=True).rebalance().map(same, BOTH).collect())


# ---- total parallelism of one


def test_a_sink_of_total_parallelism_one_gets_all_rows() -> None:
    dag = dag_of(read().write(logger_sink(), only_on=OnlyOn(partition=7)))

    assert edge_into(dag, "loggerSink").partition == 7
    assert edge_into(dag, "loggerSink").distribution is Distribution.TO_ALL
    assert dag["loggerSink"].parallelism(4) == 1


def test_a_sink_may_name_its_member() -> None:
    edge = edge_into(dag_of(read().write(logger_sink(), only_on=OnlyOn("m2"))), "loggerSink")

    assert (edge.distribution, edge.target_member) == (Distribution.TO_ONE, "m2")


def test_a_total_parallelism_of_one_has_no_other_local_one() -> None:
    with pytest.raises(InterfaceError, match="total parallelism of one"):
        dag_of(read().write(logger_sink(), parallelism=2, only_on=OnlyOn()))


PARAMETER = Parameter(BIGINT, 0)


@pytest.mark.parametrize(
    ("key", "argument", "value"),
    [(PARAMETER, 5, 5), (PARAMETER, 6, 6), (Call(BIGINT, "add", (PARAMETER, Literal(BIGINT, 1))), 5, 6)],
    ids=["argument", "another argument", "expression"],
)
def test_the_owner_is_computed_from_each_runs_arguments(
    key: Parameter | Call, argument: int, value: int
) -> None:
    stage = Pipeline().read(numbers(3), only_on=OwnerOf((key,)))

    dag = dag_of(stage.collect(), 4, Literal(BIGINT, argument))

    assert dag["numbers"].only_on == OnlyOn.owner_of([Literal(BIGINT, value)])


@pytest.mark.parametrize("key", [PARAMETER, Column(BIGINT, 0)])
def test_a_key_without_a_value_has_no_owner(key: Parameter | Column) -> None:
    with pytest.raises(ProgrammingError):
        dag_of(Pipeline().read(numbers(3), only_on=OwnerOf((key,))).collect())


def test_a_key_that_fails_fails_the_submission() -> None:
    key = Call(BIGINT, "div", (PARAMETER, Literal(BIGINT, 0)))

    with pytest.raises(DataError):
        dag_of(Pipeline().read(numbers(3), only_on=OwnerOf((key,))).collect(), 4, Literal(BIGINT, 1))


# ---- refused


def test_a_transform_without_consumer_is_an_error() -> None:
    stage = read().map(same, BOTH, name="lost")
    pipeline = stage.collect()
    stage.filter(same, name="nowhere")

    with pytest.raises(InterfaceError, match="step 'nowhere' has no consumer"):
        dag_of(pipeline)


def test_an_empty_pipeline_is_an_error() -> None:
    with pytest.raises(InterfaceError, match="no steps"):
        dag_of(Pipeline())


def test_there_is_one_result() -> None:
    stage = read()
    stage.collect()

    with pytest.raises(InterfaceError, match="one result"):
        dag_of(stage.collect())


def test_a_read_is_not_joined_with_itself() -> None:
    stage = read()
    counted = stage.group_by("n").aggregate(times=aggregation("count"))

    with pytest.raises(InterfaceError, match="come from 'numbers'"):
        dag_of(stage.join(counted, "n").collect())


def test_keys_of_a_join_have_one_type() -> None:
    pipeline = Pipeline()

    with pytest.raises(ProgrammingError, match="'n' is bigint, but 'n' is string"):
        pipeline.read(numbers(3)).join(pipeline.read(table(n=["1"])), "n")


def test_the_sides_of_a_join_belong_to_one_pipeline() -> None:
    with pytest.raises(InterfaceError, match="one pipeline"):
        read().join(read(), "n")


def test_an_unknown_column_is_named_with_the_known_ones() -> None:
    with pytest.raises(ProgrammingError, match="no column 'm'; known columns: 'n', 'even'"):
        read().group_by("m")


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("summ", ("n",), "unknown aggregate function 'summ'"),
        ("sum", (), "sum takes 1 to 1 arguments, not 0"),
        ("sum", ("even",), "sum takes .* not boolean"),
    ],
)
def test_a_wrong_aggregation_is_refused(function: str, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        read().aggregate(x=aggregation(function, *arguments))


def test_an_output_is_a_field_or_a_schema() -> None:
    with pytest.raises(InterfaceError, match=r"pa\.Field or a pa\.Schema"):
        read().map(same, pa.int64())


def test_column_names_are_unique() -> None:
    with pytest.raises(ProgrammingError, match="several columns named 'n'"):
        read().map(same, pa.schema([N, N]))


def test_parallelism_is_positive() -> None:
    with pytest.raises(InterfaceError, match="must be positive"):
        read().map(same, BOTH, parallelism=0)
