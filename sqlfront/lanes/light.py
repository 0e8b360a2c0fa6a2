"""The way of a query that runs as a light job."""

import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront.lanes import jobs
from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.request import Replan, StatementRequest, no_memory
from sqlfront.results.result import Result, Statistics
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_values.errors import NO_MEMORY, Error
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.lanes import explaining
    from sqlfront.state.context import Context
    from sqlfront_planner.statements.structs import Explain
else:
    explaining = lazy_module("sqlfront.lanes.explaining")


class LightWay(OwnWay, eq=False, gc=False):
    """The way of a query that runs as a light job: its ``plan``, with these ``values`` of the plan's
    parameters."""

    plan: QueryPlan
    values: Sequence[object]

    @property
    def lane(self) -> Lane:
        """The lane that the planner has given the plan."""
        return self.plan.lane

    @property
    def reason(self) -> str:
        """The planner's reason for the lane, which EXPLAIN shows."""
        return self.plan.reason

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the plan as a light job, and return the result, which reads the job's rows."""
        query = request.query or self.context.begin(request.text)
        return run_plan(self.context, self.plan, self.values, timeout=request.timeout, query=query)

    def explain(self, request: StatementRequest, statement: "Explain") -> Result | Replan:
        """Return the result of EXPLAIN for the query, with the plan of its job; EXPLAIN ANALYZE runs the
        job."""
        return explaining.of_job(self.context, self.plan, self.values, request, statement)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan by which Spark or, after a lack of memory, a durable job runs the query after
        ``error``. Raises ``error`` if neither can help."""
        if error.sqlstate == NO_MEMORY and _may_be_durable(self.context):
            return no_memory("light", error)
        return super().after(error, request)


def _may_be_durable(context: "Context") -> bool:
    """Return whether the session may run a query as a durable job without being asked to: it has a job store
    that no other process owns, no Spark session, and the lane ``auto``."""
    if context.jobs is None or context.spark is not None or context.options.lane == Lane.LIGHT:
        return False
    return not context.jobs.is_coordinated_elsewhere()


def run_plan(
    context: "Context",
    plan: QueryPlan,
    values: Sequence[object] = (),
    *,
    timeout: float | None = None,
    query: QueryRun | None = None,
    began: float | None = None,
) -> Result:
    """Submit a plan as a light job, wait for its first batch, and return a result that reads the job's rows.
    An error before or in the first batch is raised here. ``values``: the values of the plan's parameters;
    ``timeout`` in seconds, None = the session's; ``query``: the run of the statement, None = a new run.
    ``began``: the time at which the statement began, as ``perf_counter`` gives it; None = now."""
    began = began or time.perf_counter()
    job = jobs.submit(context, plan, values, timeout=timeout, query=query)
    batches = job.batches()
    first = next(batches, None)
    rest: Iterator[pa.RecordBatch] = iter(()) if first is None else chain((first,), batches)
    statistics = Statistics(plan.lane, plan.reason, time.perf_counter() - began)
    return Result(
        plan.schema,
        rest,
        statistics,
        settings=context.settings,
        job=job,
        plan=plan,
        values=values,
        owner=context,
    )
