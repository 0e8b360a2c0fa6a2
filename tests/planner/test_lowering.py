"""The DAG of typical queries: what is exchanged, and between how many instances."""

from __future__ import annotations

import pytest

from sqlfront_engine.dag import Routing
from sqlfront_engine.processors.window import Window
from sqlfront_planner.explain.explanation import explained_job
from sqlfront_planner.explain.text import tree
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import PlanTarget, plan_logical
from sqlfront_planner.testing import bound, example_catalog
from sqlfront_values.settings import Settings
from tests.planner.known_tables import TPCH, known_catalog

LARGE = known_catalog(TPCH)
SMALL = example_catalog()


def large(sql: str, workers: int = 8) -> QueryPlan:
    return plan_logical(bound(sql, LARGE), Settings(), PlanTarget(workers))


def small(sql: str) -> QueryPlan:
    return plan_logical(bound(sql, SMALL), Settings())


def shape(plan: QueryPlan) -> str:
    """Operators and routing without their arguments."""
    lines = []
    for line in tree(explained_job(plan.dag)).splitlines():
        operator = line.split(":")[0].split(" single")[0].split(" partial")[0].split(" final")[0]
        operator = operator.replace(" inner", "").partition(" x n")[0].partition(" ->")[0]
        routing = line.partition(" -> ")[2]
        many = " x n" if " x n" in line else ""
        lines.append(f"{operator}{many}{' -> ' if routing else ''}{routing}")
    return "\n".join(lines)


def routings(plan: QueryPlan) -> list[Routing]:
    return [edge.routing for edge in plan.dag.edges]


@pytest.mark.parametrize(
    "sql",
    [
        "select a, count(*) from t group by a order by a",
        "select t.b, c from t join u on t.a = u.a",
        "select a, row_number() over (partition by a order by b) from t",
        "select a from t intersect select a from u",
    ],
)
def test_small_queries_exchange_nothing(sql: str) -> None:
    plan = small(sql)

    assert plan.inline
    assert set(routings(plan)) == {Routing.UNICAST}
    assert all(vertex.local_parallelism == 1 for vertex in plan.dag)


def test_few_groups_are_aggregated_locally_then_by_one() -> None:
    plan = large("select l_shipmode, sum(l_tax) from lineitem group by l_shipmode")

    assert shape(plan) == "Result\n  Aggregate\n    Aggregate x n -> to one\n      Values x n"


def test_many_groups_are_aggregated_where_their_keys_go() -> None:
    plan = large("select l_orderkey, sum(l_tax) from lineitem group by l_orderkey")

    assert shape(plan) == (
        "Result\n  Aggregate x n -> to one\n    Aggregate x n -> partitioned by #0\n      Values x n"
    )


def test_a_small_side_is_given_to_every_instance() -> None:
    plan = large("select l_tax, s_name from lineitem, supplier where l_suppkey = s_suppkey")

    assert shape(plan) == ("Result\n  HashJoin x n -> to one\n    Values x n\n    Values -> broadcast")


def test_large_sides_meet_by_their_keys() -> None:
    plan = large("select l_tax, o_clerk, o_comment from lineitem, orders where l_orderkey = o_orderkey")

    assert shape(plan) == (
        "Result\n  HashJoin x n -> to one\n    Values x n -> partitioned by #0\n"
        "    Values x n -> partitioned by #0"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "select l_orderkey, sum(l_tax) from lineitem group by l_orderkey",
        "select l_tax, o_clerk, o_comment from lineitem, orders where l_orderkey = o_orderkey",
        "select l_orderkey, row_number() over (partition by l_orderkey order by l_tax) from lineitem",
        "select o_orderkey from orders except select l_orderkey from lineitem",
    ],
)
def test_with_few_workers_what_has_to_meet_is_collected(sql: str) -> None:
    plan = large(sql, workers=2)

    assert all(not edge.key_columns for edge in plan.dag.edges)
    assert Routing.PARTITIONED in routings(plan)  # that is: to one instance


def test_rows_that_lie_by_their_key_stay() -> None:
    counts = "select l_orderkey, count(*) as n from lineitem group by l_orderkey"
    sql = f"select o_comment, n from orders, ({counts}) where l_orderkey = o_orderkey"

    text = shape(large(sql))

    assert text.count("partitioned") == 2
    assert "    Aggregate x n\n" in text


def test_null_aware_anti_join_gives_the_right_side_to_every_instance() -> None:
    plan = large("select l_tax from lineitem where l_orderkey not in (select o_orderkey from orders)")

    assert Routing.BROADCAST in routings(plan)


def test_top_n_is_found_locally_then_by_one() -> None:
    plan = large("select l_tax from lineitem order by l_tax limit 5")

    assert shape(plan) == "Result\n  TopN\n    TopN x n -> to one\n      Values x n"


def test_large_sort_is_merged() -> None:
    plan = large("select l_tax from lineitem order by l_tax")

    assert shape(plan) == "Result\n  Sort x n -> to one, merged in order\n    Values x n"


def test_order_is_merged_before_its_keys_are_dropped() -> None:
    plan = large("select l_tax from lineitem order by l_orderkey")

    assert shape(plan) == "Result\n  Project\n    Sort x n -> to one, merged in order\n      Values x n"


def test_between_two_windows_one_projection_changes_the_computed_keys() -> None:
    first, second = (f"sum(l_tax) over (order by l_orderkey + {number})" for number in (1, 2))
    plan = large(f"select * from (select {first} as a, {second} as b from lineitem) where a > b")

    names = [line.split(" ")[0] for line in shape(plan).replace("  ", "").splitlines()]
    assert names == ["Result", "Filter", "Project", "Window", "Project", "Window", "Project", "Values"]


def test_computed_keys_become_columns_for_the_operator_only() -> None:
    plan = small("select t.b, c from t join u on t.a + 1 = u.a * 2")

    assert [field.name for field in plan.schema] == ["b", "c"]
    assert "a#0 + 1" in tree(explained_job(plan.dag))


def test_scan_reads_what_only_the_filter_needs_and_drops_it() -> None:
    catalog = known_catalog({"part": TPCH["part"]})
    plan_logical(bound("select p_name from part where p_size = 3", catalog), Settings())
    entry = catalog.lookup(("part",))

    assert entry is not None
    (request,) = entry.table.known.asked  # type: ignore[union-attr]
    assert request.columns == (1, 5)
    assert len(request.filters) == 1


FILTERED_BY_KEYS = """
select l_quantity from lineitem, orders
where l_orderkey = o_orderkey and o_orderdate = date '1995-01-01' and l_shipdate > date '1995-02-01'
"""


def test_a_filtered_scan_is_filtered_by_the_few_keys_of_the_held_side_too() -> None:
    lines = [line.strip() for line in tree(explained_job(large(FILTERED_BY_KEYS).dag)).splitlines()]

    assert any(line.startswith("KeyFilter: #0 among #0; Filter: l_shipdate") for line in lines)
    assert sum("(shared)" in line for line in lines) == 1


@pytest.mark.parametrize(
    "sql",
    [
        FILTERED_BY_KEYS.replace("and o_orderdate = date '1995-01-01'", ""),
        FILTERED_BY_KEYS.replace("l_shipdate > date '1995-02-01'", "10 / l_quantity > 1"),
        """select l_quantity from (select * from lineitem where l_shipdate > date '1995-02-01') left join
        (select * from orders where o_orderdate = date '1995-01-01') on l_orderkey = o_orderkey""",
    ],
    ids=["all keys are held", "the condition may fail", "rows without a partner are wanted"],
)
def test_otherwise_a_scan_keeps_its_own_filter(sql: str) -> None:
    assert "KeyFilter" not in tree(explained_job(large(sql).dag))


@pytest.mark.parametrize(
    ("condition", "most"),
    [("n <= 3", 3), ("3 > n", 2), ("n = 1 and b > 0", 1), ("n = a", None), ("n > 1", None)],
)
def test_a_filter_by_row_number_prunes_the_windows_input(condition: str, most: int | None) -> None:
    numbered = "select *, row_number() over (partition by a order by b) n from t"
    plan = small(f"select * from ({numbered}) where {condition}")

    assert [window.most for window in windows(plan)] == [most]


def test_a_window_with_other_calls_keeps_its_input() -> None:
    calls = "row_number() over w n, count(*) over w"
    plan = small(
        f"select * from (select *, {calls} from t window w as (partition by a order by b)) where n = 1"
    )

    assert [window.most for window in windows(plan)] == [None]


def windows(plan: QueryPlan) -> list[Window]:
    return [vertex.processor for vertex in plan.dag if isinstance(vertex.processor, Window)]
