"""Queries as plans: what names mean, which rows a clause sees, and the shape of the plan."""

import textwrap

import pyarrow as pa
import pytest

from sqlfront_planner.binder import Arguments, bind_query
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.logical import LogicalLimit, LogicalProject
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.expressions import Literal, Parameter
from sqlfront_values.types import INT
from tests.planner.bound_queries import catalog, names, plan

PLANS = [
    (
        "select u.a, sum(c) as s from u where c > 1 group by a having s > 2 order by s desc limit 3",
        """
        Limit: 3
          Sort: s#1 DESC
            Project: a#0, sum#1 AS s
              Filter: sum#1 > 2
                Aggregate: by [a#0] sum(c#1)
                  Filter: c#1 > 1
                    Scan: u [a, c]
        """,
    ),
    (
        "select a from u order by c",
        """
        Project: a#0
          Sort: order1#1
            Project: a#0, c#1 AS order1
              Scan: u [a, c]
        """,
    ),
]


def text(sql: str) -> str:
    """The plan of a query as text."""
    return plan_text(plan(sql))


def test_having_sees_grouped_columns_before_aliases() -> None:
    assert text("select a + 1 as a, sum(c) from u group by a having a > 1").count("Filter: a#0 > 1") == 1


def test_having_sees_an_alias_where_the_column_is_not_grouped() -> None:
    assert "Filter: (a#0 + 1) > 1" in text("select a + 1 as c, sum(c) from u group by a having c > 1")


def test_order_by_sees_aliases_before_columns() -> None:
    assert text("select c as a, a as c from u order by a").startswith("Sort: a#0")


def test_group_by_sees_columns_before_aliases() -> None:
    assert "Aggregate: by [a#0]" in text("select a from (select a, c as x from u) group by a")


@pytest.mark.parametrize("group", ["1", "x", "a + 1", "all"])
def test_group_by_position_alias_expression_and_all_mean_the_same(group: str) -> None:
    assert text(f"select a + 1 as x, count(*) from u group by {group}") == text(
        "select a + 1 as x, count(*) from u group by a + 1"
    )


def test_equal_aggregates_are_computed_once() -> None:
    assert text("select sum(c), sum(c) + 1 from u").count("sum(c#1)") == 1


def test_calls_over_one_window_share_a_node() -> None:
    sql = "select sum(c) over w, rank() over w, max(c) over () from u window w as (order by a)"

    assert text(sql).count("Window:") == 2


def test_using_gives_the_key_once_and_first() -> None:
    assert names("select * from u x join (select c, a from u) y using (a)") == ["a", "c", "c"]


def test_both_sides_of_using_stay_reachable() -> None:
    assert names("select x.a, y.a, a from u x right join u y using (a)") == ["a", "a", "a"]


def test_a_comma_binds_as_join_does() -> None:
    first, second = text("select 1 from u x, u y right join u z on y.a = z.a").splitlines()[1:3]

    assert (first.strip(), second.strip()) == ("Join: right on a#2 = a#4", "Join: inner")


def test_an_inner_with_shadows_an_outer_one() -> None:
    sql = "with x as (select 1 as a) select * from (with x as (select 2 as b) select * from x)"

    assert names(sql) == ["b"]


def test_a_with_query_hides_a_table() -> None:
    assert names("with u as (select 1 as only) select * from u") == ["only"]


def test_a_view_does_not_see_the_with_around_its_use() -> None:
    assert names("with t as (select 1 as z) select * from v") == ["x", "s"]


def test_star_except() -> None:
    assert names("select * except (c) from u") == ["a"]


def test_qualified_order_by_over_distinct() -> None:
    assert names("select distinct u.a from u order by u.a") == ["a"]


def test_names_do_not_know_case() -> None:
    assert names("select T.A from T where A > 1") == ["A"]


def test_union_distinct_groups_by_all_columns() -> None:
    assert text("select a from u union select b from t").startswith("Aggregate: by [a#0]")


def test_every_relation_that_was_read_is_known() -> None:
    bound = bind_query(parse_query("select * from v, u where exists (select 1 from t)"), catalog())

    assert sorted(bound.relations) == ["t", "u", "v"]


def test_parameters_are_typed_places() -> None:
    bound = plan("select a from u where c = :k", {"k": 5, "b": "x"})

    assert "?1" in plan_text(bound)


def test_a_parameter_in_a_name_is_pinned() -> None:
    bound = bind_query(parse_query("select a + ? from u where c > ?"), catalog(), parameters=[1, 2])

    assert bound.pinned == frozenset({0})
    assert [column.name for column in bound.plan.row()] == ["(a + 1)"]


def test_a_parameter_as_limit_is_known_by_its_bound() -> None:
    bound = bind_query(parse_query("select a from u limit ?"), catalog(), parameters=[3])

    assert isinstance(bound.plan, LogicalLimit)
    assert bound.plan.count == 16
    assert bound.plan.run_count == (Parameter(INT, 0, 3),)
    assert (bound.pinned, bound.bounded) == (frozenset(), frozenset({0}))


@pytest.mark.parametrize("limit", [0, 65_537, 2**31 - 1])
def test_a_parameter_as_limit_that_is_its_own_bound_doesnt_vary(limit: int) -> None:
    bound = bind_query(parse_query("select a from u limit ?"), catalog(), parameters=[limit])

    assert isinstance(bound.plan, LogicalLimit)
    assert (bound.plan.count, bound.plan.run_count) == (limit, ())
    assert bound.bounded == frozenset({0})


def test_a_parameter_as_limit_of_a_subquery_in_an_expression_is_pinned() -> None:
    query = parse_query("select a from u where c in (select c from u limit ?)")

    assert bind_query(query, catalog(), parameters=[3]).pinned == frozenset({0})


def test_null_as_argument_is_a_literal() -> None:
    bound = plan("select ? as x", [None])

    assert isinstance(bound, LogicalProject)
    assert bound.expressions == (Literal(pa.null(), None),)


def test_question_marks_count_in_the_order_of_the_text() -> None:
    bound = plan("select ? as x from u where a = ?", ["first", 2])

    assert isinstance(bound, LogicalProject)
    assert bound.expressions == (Parameter(pa.string(), 0),)


def test_named_arguments_stand_in_the_order_of_their_names() -> None:
    assert Arguments.of({"b": 1, "a": "x"}).values == ("x", 1)


@pytest.mark.parametrize("sql, expected", PLANS)
def test_plan(sql: str, expected: str) -> None:
    assert text(sql) == textwrap.dedent(expected).strip()
