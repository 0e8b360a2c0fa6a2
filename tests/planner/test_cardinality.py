"""Estimated rows: right to the order of magnitude where the textbook's assumptions hold."""

from __future__ import annotations

import pytest

from sqlfront_planner.optimizer import optimize
from sqlfront_planner.statistics.cardinality import Cardinality, KeySide, joined_values
from sqlfront_planner.testing import bound
from tests.planner.known_tables import TPCH, known_catalog

CATALOG = known_catalog(TPCH)


def estimated(sql: str) -> float:
    return Cardinality().rows(optimize(bound(sql, CATALOG)))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("select l_tax from lineitem", 6_001_215),
        ("select p_name from part where p_size = 15", 4_000),
        ("select p_name from part where p_size in (1, 2, 3)", 12_000),
        ("select p_name from part where p_size <> 15", 196_000),
        ("select p_name from part where p_brand = 'Brand#1' and p_container = 'LG BAG'", 200),
        ("select l_tax from lineitem where l_quantity < 24", 2_820_000),
        (
            "select o_clerk from orders where o_orderdate >= '1994-01-01' and o_orderdate < '1995-01-01'",
            217_000,
        ),
        ("select o_clerk from orders where o_orderdate > '2001-01-01'", 0),
        ("select p_name from part where p_comment is null", 0),
        ("select p_name from part where p_size = 1 or p_size = 2", 7_900),
        ("select distinct l_shipmode from lineitem", 7),
        ("select l_orderkey, count(*) from lineitem group by l_orderkey", 1_500_000),
        ("select count(*) from lineitem", 1),
        ("select o_clerk from orders limit 10", 10),
        ("select o_clerk from orders order by o_clerk limit 10", 10),
        ("select o_clerk from orders union all select s_name from supplier", 1_510_000),
    ],
)
def test_one_table(sql: str, rows: float) -> None:
    assert estimated(sql) == pytest.approx(rows, rel=0.05, abs=0.5)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("lineitem, orders where l_orderkey = o_orderkey", 6_001_215),
        ("lineitem, part where l_partkey = p_partkey and p_size = 15", 120_000),
        ("lineitem, partsupp where l_partkey = ps_partkey and l_suppkey = ps_suppkey", 6_001_215),
        ("supplier, nation, region where s_nationkey = n_nationkey and n_regionkey = r_regionkey", 10_000),
        ("orders left join customer on o_custkey = c_custkey and c_mktsegment = 'X'", 1_500_000),
        ("orders where o_custkey in (select c_custkey from customer where c_mktsegment = 'X')", 450_000),
        ("region, nation", 125),
    ],
)
def test_joins(sql: str, rows: float) -> None:
    assert estimated(f"select 1 from {sql}") == pytest.approx(rows, rel=0.6)


def test_two_sides_that_look_unique_take_the_smaller() -> None:
    assert joined_values(KeySide(6_000_000, unique=True), KeySide(800_000, unique=True)) == 800_000


def test_else_the_side_with_more_values_has_them_all() -> None:
    assert joined_values(KeySide(100_000, unique=False), KeySide(150_000, unique=True)) == 150_000


def test_rows_of_the_statement_ask_for_some_keys_of_a_table() -> None:
    asked = KeySide(2, unique=True, listed=True)
    assert joined_values(asked, KeySide(150_000, unique=True)) == 150_000
    assert joined_values(KeySide(150_000, unique=True, counted=False), asked) == 2
