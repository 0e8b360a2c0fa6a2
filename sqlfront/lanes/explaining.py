"""The results of EXPLAIN for queries that this session runs without Spark."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront.lanes import jobs
from sqlfront.lanes.file_checks import check_files
from sqlfront.lanes.request import StatementRequest
from sqlfront.results.python_values import rows_batch
from sqlfront.results.result import Result, command_result
from sqlfront_connectors.memory.spread.backups import BackupState
from sqlfront_connectors.memory.spread.snapshot import SpreadSnapshot
from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_engine.processors.sources.held_rows import HeldBatches
from sqlfront_planner.explain import shown
from sqlfront_planner.explain.explanation import BackupsRead, Explanation, RunArguments, explanation
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.explain.rows import explained_rows
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.plan import QueryPlan, every_part
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statements.structs import Explain, ExplainFormat, ExplainMode
from sqlfront_values.types import STRING

if TYPE_CHECKING:
    from sqlfront.state.context import Context

_PLAN: Final = pa.schema([("plan", STRING)])


def answer(context: "Context", found: Explanation, statement: Explain, began: float) -> Result:
    """Return the result of EXPLAIN: one row with the text of the explanation ``found``, in the format that
    the statement asks for. ``began``: the time at which the statement began, as ``perf_counter`` gives it."""
    batches = [rows_batch(_PLAN, [(shown(found, statement.format),)])]
    result = command_result(_PLAN, batches, context.settings, time.perf_counter() - began)
    if statement.mode is ExplainMode.ANALYZE and statement.format is ExplainFormat.TEXT:
        result.explanation = found
    return result


def of_rows(
    context: "Context", plan: RowPlan, values: Sequence[object], bound: LogicalPlan, statement: Explain
) -> Result:
    """Return the result of EXPLAIN for a query that the row program ``plan`` answers; EXPLAIN ANALYZE runs
    the program. ``values``: the values of the plan's parameters. ``bound``: the query's logical plan, from
    which EXPLAIN EXTENDED makes the logical plans that it shows. Raises NotByRows if the rows are too many
    for a row program, so that a job has to run the query."""
    began, mode = time.perf_counter(), statement.mode
    owners = () if context.cluster is None else context.cluster.member_list.owners

    def owners_of(snapshot: object) -> Sequence[str]:
        """Return the members with the rows, which other members may own by now."""
        held = snapshot.owners if isinstance(snapshot, SpreadSnapshot) else ()
        return held or owners

    found = explained_rows(
        plan,
        values,
        context.settings,
        analyze=mode.is_analyze,
        owners=owners,
        owners_of=owners_of,
        backups=backups_read,
        draws=statement.format is ExplainFormat.DAG,
    )
    if mode.is_extended:
        job = plan_logical(bound, context.settings, context.target)
        found = replace(found, bound=plan_text(job.bound), optimized=plan_text(job.optimized))
    return answer(context, found, statement, began)


def of_job(
    context: "Context",
    plan: QueryPlan,
    values: Sequence[object],
    request: StatementRequest,
    statement: Explain,
) -> Result:
    """Return the result of EXPLAIN for a query that runs as a job; ``values``: the values of the plan's
    parameters. EXPLAIN ANALYZE runs the job; other modes only check the plan's files, and raise
    NotSupportedError for files with unsupported features, OperationalError or DataError for broken files."""
    began, mode = time.perf_counter(), statement.mode
    if not mode.is_analyze:
        check_files(context, plan)
    return answer(context, explained_plan(context, plan, values, request, statement), statement, began)


def explained_plan(
    context: "Context",
    plan: QueryPlan,
    values: Sequence[object],
    request: StatementRequest,
    statement: Explain,
    began: float | None = None,
) -> Explanation:
    """Return the explanation of a plan with these ``values`` of its parameters, as ``statement`` asks for it.
    For EXPLAIN ANALYZE, run the query to its end, and include its statistics. ``began``: the time at which
    the query began, as ``perf_counter`` gives it; None = now."""
    cluster, mode = context.cluster, statement.mode
    runs = _statistics(context, plan, values, request, began) if mode.is_analyze else None
    return explanation(
        plan,
        RunArguments(values, RunValues(context.settings)),
        extended=mode.is_extended,
        runs=runs,
        participants=lambda dag: None if cluster is None else cluster.participants(dag),
        backups=backups_read,
        parallelism=drawn_with(context, plan, statement),
    )


def drawn_with(context: "Context", plan: QueryPlan, statement: Explain) -> int | None:
    """Return the default parallelism that the texts of the plan's DAGs show; None if ``statement`` doesn't
    ask for these texts."""
    if statement.format is not ExplainFormat.DAG:
        return None
    return 1 if plan.inline else context.engine.workers


def backups_read(snapshot: object, readers: Sequence[str] | None) -> BackupsRead | None:
    """Return the backups of the rows that a scan of a table's snapshot reads on the members ``readers`` (None
    = on all members); None if the rows have no backups and are to have none."""
    shares = snapshot.shares() if isinstance(snapshot, SpreadSnapshot) else ()
    read = [share for share in shares if readers is None or share.reader in readers]
    state = BackupState.of_all([share.state for share in read])
    members = tuple(sorted({name for share in read for name in share.backups}))
    return BackupsRead(members, state.value) if members or state is not BackupState.COMPLETE else None


def _statistics(
    context: "Context",
    plan: QueryPlan,
    values: Sequence[object],
    request: StatementRequest,
    began: float | None,
) -> Mapping[str, JobStatistics]:
    """Run the query to its end, and return the statistics of its jobs: those of the main job under the key
    ``""``, those of the jobs that compute shared rows under the keys of the rows. The elapsed time of the
    main job counts from ``began`` (``perf_counter``; None = now)."""
    began = began or time.perf_counter()
    dag, config = jobs.prepared(
        context, plan, values, timeout=request.timeout, query=request.query, statistics=True
    )
    job = jobs.runner_of(context, plan.template)(dag, config)
    for _ in job.batches():
        pass
    found = {"": replace(job.statistics(), elapsed=time.perf_counter() - began)}
    for part in every_part(plan.shared):
        held = config.resources.get(part.key)
        if isinstance(held, HeldBatches) and isinstance(held.statistics, JobStatistics):
            found[part.key] = held.statistics
    return found
