"""A plan is made once and bound for each run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest

from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_planner.binder import Arguments, BindSettings
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_query
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_planner.testing import example_catalog
from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.arrow.forms import plain
from sqlfront_values.errors import DataError, InternalError
from sqlfront_values.expressions import RunValue
from sqlfront_values.settings import Settings
from sqlfront_values.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ

MIDNIGHT = datetime(2024, 5, 1, 23, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = Engine(workers=1)
    yield engine
    engine.close()


def planned(sql: str, *arguments: object) -> QueryPlan:
    return plan_query(parse_query(sql), example_catalog(), BindSettings(), Arguments.of(arguments))


def rows(engine: Engine, plan: QueryPlan, *arguments: object) -> list[tuple[object, ...]]:
    dag, resources = plan.bind(arguments)
    job = engine.run(dag, JobConfig(resources=resources, inline=plan.inline))
    return [
        row
        for batch in job.batches()
        for row in zip(*(to_python(plain(column)) for column in batch.columns), strict=True)
    ]


def test_without_parameters_every_run_has_the_same_dag() -> None:
    plan = planned("select a from t where b > 10")

    assert plan.bind()[0] is plan.bind()[0] is plan.dag


def test_one_plan_answers_for_every_argument(engine: Engine) -> None:
    plan = planned("select b from t where a = ? order by b", 2)

    assert rows(engine, plan, 2) == [(20,), (21,)]
    assert rows(engine, plan, 1) == [(10,)]
    assert rows(engine, plan, None) == []


def test_parameters_are_bound_in_every_operator(engine: Engine) -> None:
    sql = """select a + ?, sum(b + ?) from t where b > ? group by a having sum(b) > ? order by 1"""
    plan = planned(sql, 1, 2, 3, 4)

    assert rows(engine, plan, 100, 1000, 15, 0) == [(None, 1040), (102, 2041)]


def test_the_template_keeps_its_parameters() -> None:
    plan = planned("select b from t where a = ?", 2)
    before = [vertex.processor.describe() for vertex in plan.dag]

    plan.bind((2,))

    assert [vertex.processor.describe() for vertex in plan.dag] == before


def test_missing_argument_is_our_fault() -> None:
    plan = planned("select b from t where a = ?", 2)

    with pytest.raises(InternalError, match="parameter 0"):
        plan.bind(())


def test_values_of_the_run_are_not_part_of_the_plan(engine: Engine) -> None:
    plan = planned("select current_date(), current_timestamp() = now()")

    ((today, same),) = rows(engine, plan)

    assert isinstance(today, date)
    assert same is True


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("current_date", DATE, date(2024, 5, 2)),
        ("now", TIMESTAMP, MIDNIGHT),
        ("localtimestamp", TIMESTAMP_NTZ, datetime(2024, 5, 2, 1, 30)),
        ("current_timezone", STRING, "Europe/Berlin"),
        ("current_schema", STRING, "default"),
        ("current_catalog", STRING, "spark_catalog"),
    ],
)
def test_run_values(name: str, kind: object, value: object) -> None:
    values = RunValues(Settings("Europe/Berlin"), lambda: MIDNIGHT)

    assert values.literal(RunValue(kind, name)).value == value  # type: ignore[attr-defined]


def test_result_has_the_names_that_the_query_gives() -> None:
    plan = planned("select a as x, a + 1, b as x from t")

    assert plan.schema.names == ["x", "(a + 1)", "x"]


@pytest.mark.parametrize(
    "sql",
    ["select 1/0 from t", "select 1/0 from t where a > 100", "select a from t where a > 0 or 1/0 > 1"],
)
def test_a_constant_that_fails_is_an_error_of_planning(sql: str) -> None:
    with pytest.raises(DataError) as caught:
        planned(sql)

    assert caught.value.condition == "DIVIDE_BY_ZERO"


@pytest.mark.parametrize(
    "sql",
    [
        "select case when a > 100 then 1/0 end from t",
        "select coalesce(a, 1/0) from t where a = 1",
        "select a from (select a, 1/0 as z from t)",
        "select 1/0 from t limit 0",
        "select a from t where exists (select 1/0 from u)",
    ],
)
def test_a_constant_that_nobody_asks_for_is_no_error(sql: str, engine: Engine) -> None:
    rows(engine, planned(sql))


def test_scalar_subquery_with_several_rows_fails(engine: Engine) -> None:
    with pytest.raises(DataError) as caught:
        rows(engine, planned("select (select c from u where u.a = t.a) from t"))

    assert caught.value.condition == "SCALAR_SUBQUERY_TOO_MANY_ROWS"


def test_several_rows_for_a_value_that_no_outer_row_has_do_no_harm(engine: Engine) -> None:
    assert rows(engine, planned("select (select c from u where u.a = t.a) from t where a = 5")) == [(None,)]
