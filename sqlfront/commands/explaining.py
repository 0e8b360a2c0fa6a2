"""EXPLAIN: the plan of a query, and the statistics of its run."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.commands.run import Made, StatementRun
from sqlfront.file_checks import check_files
from sqlfront.python_values import rows_batch
from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_engine.processors.sources.held_rows import HeldBatches
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.binder import Binding, bind_query
from sqlfront_planner.catalog import FoundElsewhere
from sqlfront_planner.explain import shown
from sqlfront_planner.explain.explanation import Explanation, RunArguments, explanation, with_spark
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.explain.rows import explained_rows
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_logical, plan_small
from sqlfront_planner.row_lowering.row_plan import RowPlan
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statement import Explain, ExplainMode, Query
from sqlfront_values.types import STRING

if TYPE_CHECKING:
    from sqlfront.spark.lane import SparkLane

_PLAN: Final = pa.schema([("plan", STRING)])


def explain(run: StatementRun, statement: Explain) -> Made:
    """The plan as one row of text."""
    query, session, mode = statement.query, run.session, statement.mode
    try:
        binding = bind_query(query, session.catalog, session.bind_settings, run.arguments)
    except FoundElsewhere:
        spark = run.spark
        if spark is None or not spark.may_read_here(query.sql):
            raise
        return _made(_mixed(run, spark, query, mode), statement)
    plan = plan_small(binding, session.settings, session.target)
    found = _by_rows(run, plan, binding, mode) if isinstance(plan, RowPlan) else None
    if found is None:
        if isinstance(plan, RowPlan):
            plan = plan_logical(binding.plan, session.settings, session.target)
        if not mode.is_analyze:
            check_files(session, plan)
        found = _as_job(run, plan, binding.arguments.values, mode)
    return _made(found, statement)


def _made(found: Explanation, statement: Explain) -> Made:
    return _PLAN, [rows_batch(_PLAN, [(shown(found, statement.format),)])], None


def _by_rows(run: StatementRun, plan: RowPlan, binding: Binding, mode: ExplainMode) -> Explanation | None:
    """The explanation of a row program; None if the query runs as a job after all."""
    session = run.session
    owners = () if session.cluster is None else session.cluster.member_list.owners
    values = binding.arguments.values
    try:
        found = explained_rows(plan, values, session.settings, analyze=mode.is_analyze, owners=owners)
    except NotByRows:
        return None
    if not mode.is_extended:
        return found
    job = plan_logical(binding.plan, session.settings, session.target)
    return replace(found, bound=plan_text(job.bound), optimized=plan_text(job.optimized))


def _mixed(run: StatementRun, spark: "SparkLane", query: Query, mode: ExplainMode) -> Explanation:
    """The explanation of a query over tables of both sides. The time of a run includes Spark's time, which is
    also given for each of Spark's parts."""
    spent: dict[str, float] = {}
    began = time.perf_counter()
    plan = spark.plan_mixed(run, query, fetch=mode.is_analyze, spent=spent)
    found = _as_job(run, plan, (), mode, began=began)
    if not mode.is_analyze:
        return found
    shared = tuple(replace(part, job=with_spark(part.job, spent)) for part in found.shared)
    return replace(found, job=with_spark(found.job, spent), shared=shared)


def _as_job(
    run: StatementRun,
    plan: QueryPlan,
    values: Sequence[object],
    mode: ExplainMode,
    *,
    began: float | None = None,
) -> Explanation:
    """The explanation of a plan. ``began``: the start of the query (``perf_counter``), None = now."""
    session = run.session
    runs = _statistics(run, plan, values, began or time.perf_counter()) if mode.is_analyze else None
    return explanation(
        plan,
        RunArguments(values, RunValues(session.settings)),
        extended=mode.is_extended,
        runs=runs,
        participants=lambda dag: None if session.cluster is None else session.cluster.participants(dag),
    )


def _statistics(
    run: StatementRun, plan: QueryPlan, values: Sequence[object], began: float
) -> Mapping[str, JobStatistics]:
    """Run the query, begun at ``began``, to its end. Return the job's statistics under ``""``, and the
    statistics of shared rows by their keys."""
    session = run.session
    dag, config = session.prepared(plan, values, timeout=run.timeout, query=run.query, statistics=True)
    job = session.runner_of(plan.template)(dag, config)
    for _ in job.batches():
        pass
    found = {"": replace(job.statistics(), elapsed=time.perf_counter() - began)}
    for part in plan.shared:
        held = config.resources[part.key]
        if isinstance(held, HeldBatches) and isinstance(held.statistics, JobStatistics):
            found[part.key] = held.statistics
    return found
