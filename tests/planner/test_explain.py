"""EXPLAIN: the lane and its reason first, then the plan: as a tree, as JSON, as a graph."""

from __future__ import annotations

import json
import re

import pytest

from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_planner.explain import shown
from sqlfront_planner.explain.explanation import RunArguments, explanation
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.statements.structs import ExplainFormat
from sqlfront_planner.testing import bound, example_catalog
from sqlfront_values.settings import Settings
from tests.planner.known_tables import TPCH, known_catalog


def planned(sql: str) -> QueryPlan:
    return plan_logical(bound(sql, example_catalog()), Settings())


def explain(plan: QueryPlan, *, extended: bool = False, form: ExplainFormat = ExplainFormat.TEXT) -> str:
    arguments, parallelism = (RunArguments(), 2) if form is ExplainFormat.DAG else (None, None)
    return shown(explanation(plan, arguments, extended=extended, parallelism=parallelism), form)


def run(plan: QueryPlan) -> JobStatistics:
    """The statistics of a run."""
    with Engine(workers=1) as engine:
        dag, resources = plan.bind()
        job = engine.run(dag, JobConfig(resources=resources, inline=plan.inline, statistics=True))
        list(job.batches())
        return job.statistics()


def test_first_line_says_lane_and_reason() -> None:
    text = explain(planned("select a from t"))

    assert text.splitlines()[0] == "lane: light (about 5 rows of 1 table, inline on the caller's thread)"


def test_query_without_a_table() -> None:
    assert (
        explain(planned("select 1")).splitlines()[0]
        == "lane: light (no table, inline on the caller's thread)"
    )


@pytest.mark.parametrize("order", ["", " NULLS LAST", " DESC", " DESC NULLS FIRST"])
def test_windows_order_shows_as_in_sql_without_defaults(order: str) -> None:
    text = explain(planned(f"select rank() over (order by b{order}) from t"), extended=True)

    assert f"by [] order by b#1{order}\n" in text


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
    text = shown(explanation(plan, runs={"": run(plan)}))

    head, total, result, below, scan = text.splitlines()
    assert head.startswith("lane: light")
    assert total.startswith("time: ")
    assert "[rows 3, batches 1, 13 B, busy " in result
    assert "rows 3" in below
    assert "rows 5" in scan


# ---- formats

JOINED = "select t.a, count(*) from t join u on t.a = u.a where t.b > 10 group by t.a"


def test_json_is_the_structure() -> None:
    found = json.loads(explain(planned("select a from t where b > 10"), form=ExplainFormat.JSON))

    assert list(found) == ["lane", "reason", "job", "shared", "bound", "optimized", "version"]
    assert (found["version"], found["lane"], found["bound"], found["shared"]) == (1, "light", None, [])
    assert [vertex["operator"] for vertex in found["job"]["vertices"]] == [
        "MemoryScan: t",
        "Filter: b#1 > 10; Project: a#0",
        "Result",
    ]
    assert found["job"]["vertices"][0] == {
        "name": "scan t",
        "operator": "MemoryScan: t",
        "parallel": False,
        "place": "here",
        "counters": None,
        "members": {},
    }
    assert found["job"]["edges"][0] == {
        "source": "scan t",
        "target": found["job"]["vertices"][1]["name"],
        "output": 0,
        "input": 0,
        "routing": "unicast",
        "distribution": "local",
        "keys": [],
        "merged": False,
    }


def test_json_of_an_extended_plan_holds_the_logical_ones() -> None:
    found = json.loads(explain(planned("select a from t"), extended=True, form=ExplainFormat.JSON))

    assert found["bound"] == "Project: a#0\n  Scan: t [a, b]"
    assert found["optimized"] == "Scan: t [a]"


def test_json_of_a_run_holds_its_counters() -> None:
    plan = planned("select a from t where b > 10")
    found = json.loads(shown(explanation(plan, runs={"": run(plan)}), ExplainFormat.JSON))
    scan = found["job"]["vertices"][0]["counters"]

    assert (scan["instances"], scan["rows"], scan["batches"]) == (1, 5, 1)
    assert scan["bytes"] > 0
    assert found["job"]["seconds"] > 0
    assert found["job"]["members"] == ["embedded"]


def test_dot_draws_rows_up_to_the_result() -> None:
    assert explain(planned("select a from t where b > 10"), form=ExplainFormat.DOT).splitlines() == [
        "digraph plan {",
        "  rankdir=BT;",
        '  label="light: about 5 rows of 1 table, inline on the caller\'s thread";',
        "  node [shape=box];",
        '  "scan t" [label="MemoryScan: t"];',
        '  "filter" [label="Filter: b#1 > 10; Project: a#0"];',
        '  "result" [label="Result"];',
        '  "scan t" -> "filter";',
        '  "filter" -> "result";',
        "}",
    ]


def test_mermaid_escapes_what_it_would_take_for_its_own() -> None:
    text = explain(planned("select 'x\"<b>' as s, a from t where b > 10"), form=ExplainFormat.MERMAID)

    assert text.splitlines()[:4] == [
        "---",
        'title: "light: about 5 rows of 1 table, inline on the caller\'s thread"',
        "---",
        "flowchart BT",
    ]
    assert '  v0["MemoryScan: t"]' in text
    assert "b#35;1 #gt; 10" in text
    assert "x#quot;#lt;b#gt;" in text
    assert "  v0 --> v1" in text


@pytest.mark.parametrize("form", [ExplainFormat.DOT, ExplainFormat.MERMAID])
def test_graphs_of_a_run_show_rows_bytes_and_times(form: ExplainFormat) -> None:
    plan = planned(JOINED)
    text = shown(explanation(plan, runs={"": run(plan)}), form)

    assert re.search(r"\d+ rows, \d+ B, busy [\d.]+ ms", text)


@pytest.mark.parametrize("form", ExplainFormat)
def test_shared_rows_are_shown_in_every_format(form: ExplainFormat) -> None:
    plan = planned("with r as (select rand() as x from t) select a.x from r a join r b on a.x = b.x")
    text = explain(plan, form=form)

    assert [part.name in text for part in plan.shared] == [True]
    assert ('"scan t" [' if form is ExplainFormat.DAG else "MemoryScan: t") in text
