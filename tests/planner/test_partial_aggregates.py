"""Grouping before a join: the same rows, and the plan when there is one and when there is none."""

import pytest

from sqlfront_engine.engine import Engine
from sqlfront_planner.check import check
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.logical import LogicalFilter, LogicalPlan, LogicalProject, LogicalScan, walk_plan
from sqlfront_planner.optimizer import optimize
from sqlfront_planner.rules.aggregates.partial_aggregates import push_partial_aggregates
from sqlfront_planner.testing import bound
from tests.planner.test_rules import rows_of


def is_t(plan: LogicalPlan) -> bool:
    """Whether the plan is a part of ``t``'s rows."""
    return all(
        isinstance(node, LogicalFilter | LogicalProject | LogicalScan)
        and (not isinstance(node, LogicalScan) or node.name == "t")
        for node in walk_plan(plan)
    )


def pushed(sql: str) -> tuple[LogicalPlan, LogicalPlan]:
    """The optimized plan of a query over the example tables, and what grouping ``t`` makes of it."""
    plan = optimize(bound(sql))
    return plan, check(push_partial_aggregates(plan, is_t))


@pytest.mark.parametrize(
    "sql",
    [
        "select c, count(*), sum(b), min(b), max(b) from t join u on t.a = u.a group by c",
        "select t.a, avg(b), avg(b + 0.5D), count(b) from t join u on t.a = u.a group by t.a",
        "select count(*), count(b), sum(b), avg(b) from t join u on t.a = u.a where b > 1000",
        (
            "select c, sum(b) filter (where b > 20), count(*) filter (where b < 20) from t, u "
            "where t.a = u.a group by c"
        ),
        "select c + t.a, sum(cast(b as decimal(12,2))), sum(b * t.a) from t join u on t.a = u.a group by 1",
        (
            "select x.c, y.c, count(*), sum(b) from t join u x on t.a = x.a join u y on t.a <= y.a "
            "group by x.c, y.c"
        ),
        (
            "select u.c, sum(b) from t join u on t.a = u.a where t.a in (select a from u where c > 7) "
            "group by u.c"
        ),
        "select s, count(*) from (select a + 1 as k, b * 2 as s from t) v join u on k = u.a group by s",
        "select c, count(*) from u join t on t.a < u.c group by c having count(*) > 1",
        "select c, count(distinct b) from t join u on t.a = u.a group by c",
    ],
)
def test_the_answer_is_the_same(sql: str) -> None:
    plan, grouped = pushed(sql)
    assert plan_text(grouped).count("Aggregate") == plan_text(plan).count("Aggregate") + 1
    with Engine(workers=2) as engine:
        for parallel in (False, True):
            found = rows_of(engine, optimize(grouped), parallel=parallel)
            assert found == rows_of(engine, plan, parallel=parallel)
    assert grouped.schema.types == plan.schema.types


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select t.a, sum(c) from t join u on t.a = u.a group by t.a", "the values are the other's"),
        ("select c, sum(b + c) from t join u on t.a = u.a group by c", "the values are of both"),
        ("select count(*) from t, u", "without a condition no row would join once there is none"),
        (
            "select c, count(distinct b), count(distinct b + 1) from t join u on t.a = u.a group by c",
            "different values",
        ),
        ("select c, collect_list(b) from t join u on t.a = u.a group by c", "a list is no sum of lists"),
        ("select c, avg(cast(b as decimal(9,2))) from t join u on t.a = u.a group by c", "decimal means"),
        ("select c, count(*) from u left join t on t.a = u.a group by c", "rows without partner"),
        (
            "select string(k), count(*) from (select double(a) as k from t) join u on k = u.a group by 1",
            "-0.0 and 0.0 are one group with two texts",
        ),
        ("select count(*) from t join u on t.a = u.a group by floor(rand() * 9)", "each row has its group"),
        ("select a, count(*) from t group by a", "there is no join"),
    ],
)
def test_what_stays_as_it_is(sql: str, why: str) -> None:
    plan, grouped = pushed(sql)
    assert plan_text(grouped) == plan_text(plan), why


def test_the_plan() -> None:
    _, grouped = pushed("select c, count(*), sum(b) from t join u on t.a = u.a where b < 40 group by c")
    assert plan_text(grouped).splitlines() == [
        "Project: c#0, coalesce(sum#1, 0) AS count, sum#2",
        "  Aggregate: by [c#2] sum(count#0), sum(sum#1)",
        "    Project: count#1, sum#2, c#4",
        "      Join: inner on a#0 = right.a#0",
        "        Aggregate: by [a#0] count(*), sum(b#1)",
        "          Scan: t [a, b] where b#1 < 40",
        "        Scan: u [a, c]",
    ]
