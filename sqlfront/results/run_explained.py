"""Facts about a statement's run besides its rows: for ``Result.stats`` and ``Result.explain``."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlfront.results.run_facts import NO_FACTS, RunFacts
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.explain import shown
from sqlfront_planner.explain.explanation import (
    Explanation,
    RunArguments,
    explained_job,
    explained_scans,
    explanation,
)
from sqlfront_planner.explain.rows import explained_rows
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.run_values import RunValues
from sqlfront_values.errors import Error, InterfaceError
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront_connectors.spark.run import SparkRun


def facts(
    plan: QueryPlan | RowPlan | None,
    values: Sequence[object],
    job: "LightJob | SparkRun | None",
    settings: Settings,
) -> RunFacts:
    """The facts about a plan with these values of its parameters, and about its job. The scans are missing if
    reading the plan's tables for them now fails, for example because a table is gone."""
    match plan:
        case None:
            return NO_FACTS
        case RowPlan():
            found = _by_rows(plan, values, settings).job
            return RunFacts(found.scans, found.vertices)
        case QueryPlan():
            ran = explained_job(plan.dag, job.statistics() if isinstance(job, LightJob) else None)
            try:
                scans = explained_scans(plan.template, RunArguments(values, RunValues(settings)), None)
            except Error:
                scans = ()
            return RunFacts(scans, ran.vertices, ran.members)


def has_completed(job: "LightJob | SparkRun | None") -> bool:
    """Whether a job here has ended by itself; False if unknown, as for Spark's jobs."""
    try:
        return isinstance(job, LightJob) and job.status is JobStatus.COMPLETED
    except InterfaceError:  # the job is the parent process's
        return False


def explained(
    plan: QueryPlan | RowPlan, values: Sequence[object], settings: Settings, *, extended: bool
) -> str:
    """The text that ``EXPLAIN`` shows of a plan with these values of its parameters. ``extended``: with the
    logical plans of a query plan before and after optimization; a row plan has no such part."""
    if isinstance(plan, RowPlan):
        return shown(_by_rows(plan, values, settings))
    return shown(explanation(plan, RunArguments(values, RunValues(settings)), extended=extended))


def _by_rows(plan: RowPlan, values: Sequence[object], settings: Settings) -> Explanation:
    """The explanation of a row plan with these values; without the values if its tables have changed too much
    since the run."""
    try:
        return explained_rows(plan, values, settings)
    except (NotByRows, Error):
        return explained_rows(plan, None, settings)
