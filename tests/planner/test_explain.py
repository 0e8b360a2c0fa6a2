"""EXPLAIN: the lane and its reason first, then the plan as a tree."""

from __future__ import annotations

from sqlfront_engine.coordinator import Engine, JobConfig
from sqlfront_engine.functions.registry import Settings
from sqlfront_planner.explain import explain, explain_analyzed
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.testing import bound, example_catalog
from tests.planner.known_tables import TPCH, known_catalog


def planned(sql: str) -> QueryPlan:
    return plan_logical(bound(sql, example_catalog()), Settings())


def test_first_line_says_lane_and_reason() -> None:
    text = explain(planned("select a from t"))

    assert text.splitlines()[0] == "lane: light (about 5 rows of 1 table, inline on the caller's thread)"


def test_query_without_a_table() -> None:
    assert (
        explain(planned("select 1")).splitlines()[0]
        == "lane: light (no table, inline on the caller's thread)"
    )


def test_large_input_is_parallel() -> None:
    plan = plan_logical(bound("select l_tax from lineitem", known_catalog(TPCH)), Settings())

    assert explain(plan).splitlines()[0] == "lane: light (about 6,001,215 rows of 1 table, parallel)"
    assert not plan.inline


def test_physical_plan_is_a_tree_from_the_result() -> None:
    assert explain(planned("select a + 1 as x from t where b > 10")).splitlines()[1:] == [
        "Result",
        "  Filter: b#1 > 10; Project: a#0 + 1",
        "    MemoryScan: t",
    ]


def test_extended_shows_every_stage() -> None:
    text = explain(planned("select a from t where b > 10"), extended=True)

    assert text.splitlines()[1:] == [
        "",
        "== Bound Plan ==",
        "Project: a#0",
        "  Filter: b#1 > 10",
        "    Scan: t [a, b]",
        "",
        "== Optimized Plan ==",
        "Scan: t [a] where b#1 > 10",
        "",
        "== Physical Plan ==",
        "Result",
        "  Filter: b#1 > 10; Project: a#0",
        "    MemoryScan: t",
    ]


def test_analyzed_shows_what_each_operator_did() -> None:
    plan = planned("select a from t where b > 10")
    engine = Engine(workers=1)
    dag, resources = plan.bind()
    job = engine.run(dag, JobConfig(resources=resources, inline=plan.inline))
    list(job.batches())
    text = explain_analyzed(plan, job.statistics())
    engine.close()

    head, total, result, below, scan = text.splitlines()
    assert head.startswith("lane: light")
    assert total.startswith("time: ")
    assert "[rows 3, batches 1, busy " in result
    assert "rows 3" in below
    assert "rows 5" in scan
