"""What is known of a statement's run beside its rows: for ``Result.stats`` and ``Result.explain``."""

from collections.abc import Sequence

from msgspec.structs import replace

from sqlfront.result import Statistics
from sqlfront_engine.errors import Error
from sqlfront_engine.light_job import LightJob
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_engine.settings import Settings
from sqlfront_planner.explain import shown
from sqlfront_planner.explain.explanation import (
    Bound,
    Explanation,
    explained_job,
    explained_scans,
    explanation,
)
from sqlfront_planner.explain.rows import explained_rows
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.run_values import RunValues


def completed(
    statistics: Statistics,
    plan: QueryPlan | RowPlan | None,
    values: Sequence[object],
    job: LightJob | None,
    settings: Settings,
    affected: int | None,
) -> Statistics:
    """The statistics with what a plan and its job have to say."""
    if affected != statistics.affected:
        statistics = replace(statistics, affected=affected)
    match plan:
        case None:
            return statistics
        case RowPlan():
            found = _by_rows(plan, values, settings).job
            return replace(statistics, scans=found.scans, vertices=found.vertices)
        case QueryPlan():
            ran = None if job is None else job.statistics()
            found = explained_job(plan.dag, ran)
            bound = Bound(values, RunValues(settings))
            scans = explained_scans(plan.template, bound, None)
            return replace(statistics, scans=scans, vertices=found.vertices, members=found.members)


def explained(
    plan: QueryPlan | RowPlan, values: Sequence[object], settings: Settings, *, extended: bool
) -> str:
    """What ``EXPLAIN`` shows of a plan with these values of its parameters."""
    if isinstance(plan, RowPlan):
        return shown(_by_rows(plan, values, settings))
    return shown(explanation(plan, Bound(values, RunValues(settings)), extended=extended))


def _by_rows(plan: RowPlan, values: Sequence[object], settings: Settings) -> Explanation:
    """A program's plan with these values or, where its tables have changed too much since, without."""
    try:
        return explained_rows(plan, values, settings)
    except (NotByRows, Error):
        return explained_rows(plan, None, settings)
