"""Functions that tell about a statement's run besides its rows, for ``Result.stats`` and
``Result.explain``."""

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
    from sqlfront.jobs.job_rows import JobRows
    from sqlfront_connectors.spark.run import SparkRun


def facts(
    plan: QueryPlan | RowPlan | None,
    values: Sequence[object],
    job: "LightJob | SparkRun | JobRows | None",
    settings: Settings,
) -> RunFacts:
    """Return the facts about the run of ``plan`` that ``Result.stats`` shows: scans, vertices and members.
    ``values``: the values of the plan's parameters; ``job``: the job that ran the plan, None = no job.
    Without a plan, all facts are empty. Members are known only for a light job. The scans are missing if
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


def has_completed(job: "LightJob | SparkRun | JobRows | None") -> bool:
    """Return whether ``job`` is a light job that has ended without an error and was not cancelled. False for
    Spark's jobs, for no job, and for a job of the process from which this process was forked."""
    try:
        return isinstance(job, LightJob) and job.status is JobStatus.COMPLETED
    except InterfaceError:  # the job is the parent process's
        return False


def explained(
    plan: QueryPlan | RowPlan, values: Sequence[object], settings: Settings, *, extended: bool
) -> str:
    """Return the text that ``EXPLAIN`` shows of ``plan`` with the parameters' ``values``. ``extended``: show
    the logical plans before and after optimization, too; a row plan has none."""
    if isinstance(plan, RowPlan):
        return shown(_by_rows(plan, values, settings))
    return shown(explanation(plan, RunArguments(values, RunValues(settings)), extended=extended))


def _by_rows(plan: RowPlan, values: Sequence[object], settings: Settings) -> Explanation:
    """Return the explanation of a row plan with the parameters' ``values``. If the plan can't run with these
    values any more, because its tables have changed, the explanation is that for unknown values."""
    try:
        return explained_rows(plan, values, settings)
    except (NotByRows, Error):
        return explained_rows(plan, None, settings)
