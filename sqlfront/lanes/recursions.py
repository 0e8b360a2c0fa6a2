"""The run of a WITH RECURSIVE: a light job for the anchor, and one for each further level, over the rows of
the level before.

Each job is one of the query's: the query's cancellation, timeout and memory limit hold for it.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_engine.processors.sources.held_rows import HeldBatches
from sqlfront_planner.plan import SharedPlan, StepPlan
from sqlfront_planner.recursion import UNLIMITED
from sqlfront_values.columns.batches import concat_batches
from sqlfront_values.errors import spark_error

#: The rows that the jobs of a query find, by the key of their resource.
Held = Mapping[str, object]
#: Runs the jobs of shared rows, which find the rows given; returns the rows given and those computed.
Compute = Callable[[Sequence[SharedPlan], Held], Held]
#: Runs the job of a plan's rows, which finds the rows given.
RunJob = Callable[[SharedPlan | StepPlan, Held], HeldBatches]

#: Rows up to which the batches of levels are joined to larger ones: a batch costs its readers as much as some
#: hundred rows.
_JOINED_ROWS = 4_096


def compute(part: SharedPlan, step: StepPlan, held: Held, run: RunJob, others: Compute) -> dict[str, object]:
    """Run the recursion of which ``part`` is the anchor and ``step`` the step, and return its rows by the key
    of ``part``. ``held``: the rows that earlier jobs have computed; ``run`` runs a job, ``others`` the jobs
    of other shared rows. If the jobs count, the statistics of the step's jobs are under the step's key.

    Raises RECURSION_LEVEL_LIMIT_EXCEEDED and RECURSION_ROW_LIMIT_EXCEEDED beyond the plan's limits, and the
    errors of the jobs."""
    levels: list[HeldBatches] = []
    steps: list[HeldBatches] = []
    given: dict[str, object] = dict(held)
    count, level = 0, run(part, given)
    try:
        while level.rows:
            if step.levels != UNLIMITED and len(levels) >= step.levels:
                raise _too_many_levels(step.levels)
            levels.append(level)
            count += level.rows
            if step.limit is not None and count >= step.limit:
                break
            if step.limit is None and step.rows != UNLIMITED and count >= step.rows:
                raise _too_many_rows(step.rows)
            if len(levels) == 1:
                given.update(others(step.kept, given))
            given[step.key] = level
            level = run(step, others(step.shared, given))
            steps.append(level)
        rows = _joined(levels) if levels else level
        runs = [each.statistics for each in steps if each.statistics is not None]
    finally:
        levels.clear()  # so that no traceback keeps the rows, which count for the query's memory
        steps.clear()
        given.pop(step.key, None)
    found = {**given, part.key: rows}
    return {**found, step.key: HeldBatches((), _summed(runs))} if runs else found


def _joined(levels: Sequence[HeldBatches]) -> HeldBatches:
    """Return the rows of all levels, at least one, with the column names of the first."""
    names = levels[0].batches[0].schema.names
    batches, small = [], []
    for batch in (batch for level in levels for batch in level.batches):
        batch = batch if batch.schema.names == names else batch.rename_columns(names)
        if batch.num_rows >= _JOINED_ROWS:
            batches.append(batch)
            continue
        small.append(batch)
        if sum(each.num_rows for each in small) >= _JOINED_ROWS:
            batches.append(concat_batches(small))
            small = []
    if small:
        batches.append(concat_batches(small))
    return HeldBatches(tuple(batches), levels[0].statistics, tuple(levels))


def _summed(runs: Sequence[object]) -> JobStatistics:
    """Return the statistics of the step's jobs as those of one job."""
    counted = [run for run in runs if isinstance(run, JobStatistics)]
    others: dict[str, tuple[object, ...]] = {}
    for run in counted:
        for member, tasklets in run.others.items():
            others[member] = (*others.get(member, ()), *tasklets)
    return replace(
        counted[-1],
        elapsed=sum(run.elapsed for run in counted),
        tasklets=tuple(tasklet for run in counted for tasklet in run.tasklets),
        others=others,
    )


def _too_many_levels(most: int) -> Exception:
    return spark_error(
        "RECURSION_LEVEL_LIMIT_EXCEEDED",
        f"Recursion level limit {most} reached but query has not exhausted, try increasing it like "
        "'WITH RECURSIVE t(col) MAX RECURSION LEVEL 200'.",
    )


def _too_many_rows(most: int) -> Exception:
    return spark_error(
        "RECURSION_ROW_LIMIT_EXCEEDED",
        f"Recursion row limit {most} reached but query has not exhausted, try setting a larger LIMIT value "
        "when querying the CTE relation.",
    )
