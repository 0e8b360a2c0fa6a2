"""Each rule on its fixtures: the plans' text, their invariants, and the rows with the rule and without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest

from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.check import check
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.lowering import lower, scans
from sqlfront_planner.optimizer import RULES, optimize
from sqlfront_planner.plan import template_of
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_planner.testing import bound, example_catalog
from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.arrow.forms import plain
from tests.planner.fixtures import SETTINGS, Pair, pairs, plans, rule_named

#: Without these a plan can't be lowered; their rows are compared with DuckDB's.
NEEDED = ("unnest_subqueries",)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine(workers=2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return example_catalog()


def rows_of(engine: Engine, plan: LogicalPlan, *, parallel: bool) -> Counter[tuple[object, ...]]:
    dag, resources = template_of(lower(plan, Cardinality(), parallel=parallel)).bind()
    job = engine.run(dag, JobConfig(resources=resources, inline=not parallel))
    rows: Counter[tuple[object, ...]] = Counter()
    for batch in job.batches():
        columns = [to_python(plain(column)) for column in batch.columns]
        rows.update(zip(*columns, strict=True) if columns else [()] * batch.num_rows)
    return rows


def optimized(sql: str, catalog: Catalog, *, without: str = "") -> LogicalPlan:
    plan = bound(sql, catalog)
    for rule in RULES:
        if rule.name != without:
            plan = check(rule(plan, SETTINGS))
    return plan


def duckdb_rows(sql: str) -> Counter[tuple[object, ...]]:
    with duckdb.connect() as connection:
        connection.execute("set default_null_order = 'nulls_first'")
        connection.execute(
            "create table t as from (values (1, 10), (2, 20), (2, 21), (null, 40), (5, null)) v(a, b)"
        )
        connection.execute("create table u as from (values (2, 7), (2, null), (3, 9), (null, 1)) v(a, c)")
        return Counter(connection.execute(sql).fetchall())


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_rule_gives_the_plan(pair: Pair) -> None:
    before, after = plans(pair.sql, rule_named(pair.file))

    assert plan_text(before) == pair.before
    assert plan_text(after) == pair.after


@pytest.mark.parametrize("pair", [pair for pair in pairs() if pair.title.startswith("Noop")], ids=str)
def test_noop_changes_nothing(pair: Pair) -> None:
    assert pair.before == pair.after


@pytest.mark.parametrize("parallel", [False, True], ids=["serial", "parallel"])
@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_rule_keeps_the_rows(
    pair: Pair, parallel: bool, engine: Engine, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scans, "BATCH_ROWS", 0)  # even these tables are read by several instances
    with_rule = rows_of(engine, optimized(pair.sql, catalog), parallel=parallel)

    if pair.file in NEEDED:
        assert with_rule == duckdb_rows(pair.sql)
    else:
        without = optimized(pair.sql, catalog, without=pair.file)
        assert with_rule == rows_of(engine, without, parallel=False)


def test_every_rule_has_fixtures() -> None:
    assert {pair.file for pair in pairs()} >= {rule.name for rule in RULES} - {"surface_constant_errors"}


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_rules_that_are_passed_over_would_change_nothing(pair: Pair, catalog: Catalog) -> None:
    assert plan_text(optimize(bound(pair.sql, catalog), SETTINGS)) == plan_text(optimized(pair.sql, catalog))
