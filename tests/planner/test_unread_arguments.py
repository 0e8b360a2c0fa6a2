"""No argument of sqlglot's tree is dropped: set any that a statement doesn't have, and binding must fail or
give another plan."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp

from sqlfront_planner.binder import bind
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.statements.structs import Query
from tests.planner.bound_queries import catalog

STATEMENTS = [
    "select a, b + 1 as c, t.*, 'x' || s, -a, ~b, a & b, st.x from t where a > 1 and not p or s is null",
    "select count(*), sum(distinct a) filter (where b > 1), max(a) from t group by b having max(a) > 1",
    "select b, grouping(b) from t group by rollup (b) order by 1 desc nulls last limit 3 offset 1",
    "select b, count(*) from t group by grouping sets ((a, b), ()), b",
    "select sum(a) over (partition by b order by d rows between 1 preceding and current row) from t",
    "select lag(a, 1) over w from t window w as (partition by b order by d)",
    "with c (x) as (select a from t) select x from c union select 1 intersect all select 2 except select 3",
    "select * from t join u on t.a = u.a left join u v using (c), u w cross join range(3) as r (n)",
    "select a from t where a in (1, 2) and b in (select a from u) and exists (select 1 from u)",
    "select a from (select a from t order by a limit 1) as q (a) where a between 1 and 2 and a <=> 3",
    "select (select max(a) from u), case a when 1 then 2 else 3 end, case when p then 1 end from t",
    "select cast(a as decimal(10, 2)), try_cast(s as int), s::date, array(1)[0], map('a', 1)['a'] from t",
    "select s like 'a%' escape '/', s not like 'b', s rlike 'c', s ilike any ('a', 'b') from t",
    "select trim(both 'x' from s), substring(s from 1), extract(year from d), position('a' in s) from t",
    "select overlay(s placing 'x' from 1), interval 1 day, date'2024-01-01', x'ff', current_date from t",
    "select distinct a from t where p is true or s is distinct from 'a'",
    "values (1, 'a'), (2, 'b') order by 1 limit 1",
    "(select a from t) order by 1",
]
#: What says nothing about the statement, or that sqlglot never sets together with what the statements have.
MEANINGLESS = {
    *("Identifier.quoted", "Identifier.global_", "Identifier.temporary"),  # names are compared without case
    *("DataType.nested", "Literal.is_string", "Interval.fraction_in_string"),  # how it was written
    "Select.hint",  # Spark's hints choose among plans of the same answer
    *("Select.joins", "In.expressions", "Join.on"),  # never without FROM, with a query, with USING
    *("Window.over", "Window.first", "Window.alias"),  # of a named window's definition
}


def places(tree: exp.Expr) -> Iterator[tuple[int, str]]:
    """Each argument that a node of the tree could have and doesn't, by the node's number in ``walk``."""
    for number, node in enumerate(tree.walk()):
        for name in node.arg_types:
            if not node.args.get(name) and f"{type(node).__name__}.{name}" not in MEANINGLESS:
                yield number, name


def outcome(query: Query) -> str:
    """The plan, or that there is none: the sentinel is no SQL, and who reads it may fail in any way."""
    try:
        plan = bind(query, catalog())
    except Exception:  # noqa: BLE001 - see above
        return "refused"
    return f"{plan_text(plan)} {plan.schema}"


@pytest.mark.parametrize("sql", STATEMENTS)
def test_an_argument_that_is_set_is_read_or_refused(sql: str) -> None:
    plain = outcome(parse_query(sql))
    assert plain != "refused"
    dropped = set()
    for number, name in places(parse_query(sql).tree):
        query = parse_query(sql)
        node = next(node for place, node in enumerate(query.tree.walk()) if place == number)
        node.set(name, exp.Var(this="SENTINEL"))
        if outcome(query) == plain:
            dropped.add(f"{type(node).__name__}.{name}")

    assert not dropped
