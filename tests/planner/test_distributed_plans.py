"""The DAGs of typical queries on one member and on several, kept as DOT and read in review.

``python -m tests.planner.test_distributed_plans`` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlfront_connectors.base import Location, Partitioning
from sqlfront_engine.dag import Distribution
from sqlfront_engine.dot import to_dot
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import PlanTarget, plan_logical
from sqlfront_planner.testing import bound
from sqlfront_values.settings import Settings
from tests.planner.known_tables import TPCH, known_table

PLANS = Path(__file__).parent / "distributed_plans"
#: Spread over the members by these columns, or by none; part consists of files, region is with its session.
CLUSTERED: dict[str, Partitioning | None] = {
    "lineitem": Partitioning((0,), 271),
    "orders": Partitioning((0,), 271),
    "customer": Partitioning((0,), 8),
    "supplier": None,
    "partsupp": None,
}
QUERIES = {
    "aggregate_few_groups": "select l_shipmode, sum(l_tax) from lineitem group by l_shipmode",
    "aggregate_two_stages": "select l_partkey, sum(l_tax) from lineitem group by l_partkey",
    "aggregate_many_groups": "select l_partkey, l_suppkey, sum(l_tax) from lineitem group by all",
    "aggregate_where_its_rows_lie": "select l_orderkey, sum(l_tax) from lineitem group by l_orderkey",
    "aggregate_distinct": "select count(distinct l_partkey) from lineitem",
    "distinct": "select distinct l_partkey, l_suppkey from lineitem",
    "join_broadcast": "select l_tax, s_name from lineitem, supplier where l_suppkey = s_suppkey",
    "join_partitioned": "select l_tax, ps_comment from lineitem, partsupp where l_partkey = ps_partkey",
    "join_co_located": "select l_tax, o_clerk from lineitem, orders where l_orderkey = o_orderkey",
    "join_of_other_buckets": """select o_clerk, c_name, c_comment from orders full join customer
        on o_orderkey = c_custkey""",
    "join_small_with_small": "select s_name, r_name from supplier, region where s_nationkey = r_regionkey",
    "not_in": "select l_tax from lineitem where l_orderkey not in (select o_orderkey from orders)",
    "nested_loop_join": "select s_name from supplier, region where s_suppkey > r_regionkey",
    "sort": "select l_tax from lineitem order by l_tax",
    "top": "select l_tax from lineitem order by l_tax limit 5",
    "limit": "select l_tax from lineitem limit 5",
    "window": "select l_tax, sum(l_tax) over (partition by l_partkey) from lineitem",
    "window_where_its_rows_lie": "select l_tax, sum(l_tax) over (partition by l_orderkey) from lineitem",
    "except": "select o_custkey from orders except select c_nationkey from customer",
    "union_with_the_session": "select s_name from supplier union all select r_name from region",
    "files": "select p_brand, count(*) from part group by p_brand",
    "small_files": "select r_name from region where r_regionkey = 1",
}


def _catalog() -> Catalog:
    catalog = Catalog()
    for name, (rows, columns) in TPCH.items():
        location = Location.ANYWHERE if name == "part" else Location.HERE
        if name in CLUSTERED:
            location = Location.SPREAD
        catalog.add(TableEntry(name, known_table(rows, columns, location, CLUSTERED.get(name))))
    return catalog


CATALOG = _catalog()


def planned(sql: str, members: int, collect_rows: float = 20_000) -> QueryPlan:
    return plan_logical(bound(sql, CATALOG), Settings(), PlanTarget(2, members > 1, collect_rows))


def text(name: str) -> str:
    one, three = (to_dot(planned(QUERIES[name], members).dag) for members in (1, 3))
    return f"{QUERIES[name]}\n\n---- one member\n{one}\n\n---- three members\n{three}\n"


@pytest.mark.parametrize("name", QUERIES)
def test_plan(name: str) -> None:
    assert text(name) == (PLANS / f"{name}.txt").read_text()


def test_what_needs_one_member_only_is_no_distributed_job() -> None:
    assert not planned(QUERIES["small_files"], 3).template.distributed
    assert not planned("select 1", 3).template.distributed
    assert planned(QUERIES["files"], 3).template.distributed


def test_small_inputs_are_exchanged_only_if_told_so() -> None:
    sql = "select s_nationkey, max(s_name) from supplier group by s_nationkey"

    def exchanged(collect_rows: float) -> list[tuple[int, ...]]:
        edges = planned(sql, 3, collect_rows).dag.edges
        return [edge.key_columns for edge in edges if edge.distribution is Distribution.TO_ALL]

    assert exchanged(20_000) == []
    assert exchanged(0) == [(0,)]


if __name__ == "__main__":
    PLANS.mkdir(exist_ok=True)
    for name in QUERIES:
        (PLANS / f"{name}.txt").write_text(text(name))
