"""Submission of a session's plans as light jobs."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.query_run import QueryRun, stopped_error
from sqlfront_planner.binder import Arguments
from sqlfront_planner.plan import QueryPlan, SharedPlan, StepPlan, Template
from sqlfront_planner.planning import plan_query
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statements.structs import Query
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.lanes import recursions
    from sqlfront.state.context import Context
    from sqlfront_engine import dot
    from sqlfront_engine.dag import DAG
    from sqlfront_engine.jobs.light_job import LightJob
    from sqlfront_engine.processors.sources.held_rows import HeldBatches
    from sqlfront_planner.explain import scan_pruning
else:
    recursions = lazy_module("sqlfront.lanes.recursions")
    dot = lazy_module("sqlfront_engine.dot")
    scan_pruning = lazy_module("sqlfront_planner.explain.scan_pruning")

logger: Final = logging.getLogger(__name__)


def plan_job(context: "Context", query: Query, arguments: Arguments) -> QueryPlan:
    """Plan a query as a job, even if a row program could answer the query; return the plan."""
    return plan_query(query, context.catalog, context.bind_settings, arguments, context.target)


def submit(
    context: "Context",
    plan: QueryPlan,
    values: Sequence[object] = (),
    *,
    timeout: float | None = None,
    query: QueryRun | None = None,
) -> "LightJob":
    """Submit a plan as a light job, and return the job. ``values``: the values of the plan's parameters. Rows
    that several parts of the query read (its shared rows) are computed first, by this call, within the same
    timeout and memory. ``timeout`` in seconds, None = the session's; ``query``: the run of the statement,
    None = a new run. The job reads the versions of the tables that the plan was made with."""
    dag, config = prepared(context, plan, values, timeout=timeout, query=query)
    return runner_of(context, plan.template)(dag, config)


def prepared(
    context: "Context",
    plan: QueryPlan,
    values: Sequence[object] = (),
    *,
    timeout: float | None = None,
    query: QueryRun | None = None,
    statistics: bool = False,
) -> "tuple[DAG, JobConfig]":
    """Compute the query's shared rows (those that several parts of the query read), and return the DAG and
    the configuration of the query's job, which has the shared rows among its resources, by key. The
    parameters are those of :func:`submit`; ``statistics``: whether the job counts bytes, too, and members
    report their counters, for EXPLAIN ANALYZE."""
    run_values, query = RunValues(context.settings), query or context.begin("")
    config = JobConfig(
        settings=context.settings,
        timeout=timeout if timeout is not None else context.options.timeout,
        inline=plan.inline,
        query=query,
        statistics=statistics or query.jobs is not None,
    )
    held: Mapping[str, object] = {}
    if plan.shared:
        held = _SharedRuns(context, plan, values, run_values, config).compute(plan.shared, held)
    dag, resources = plan.bind(values, run_values)
    if logger.isEnabledFor(logging.DEBUG):
        _log(context, plan, plan.template, dag, values)
    return dag, replace(config, resources={**resources, **held})


class _SharedRuns:
    """The runs of the jobs that compute a query's shared rows, with these ``values`` of the parameters, these
    values of the run, and this configuration of each job."""

    def __init__(
        self,
        context: "Context",
        plan: QueryPlan,
        values: Sequence[object],
        run_values: RunValues,
        config: JobConfig,
    ) -> None:
        self._context = context
        self._plan = plan
        self._values = values
        self._run_values = run_values
        self._config = config
        # The DAG of each template that has run, and the objects for its sources: each level of a recursion
        # runs the same.
        self._bound: dict[int, tuple[DAG, Mapping[str, object]]] = {}

    def compute(self, parts: Sequence[SharedPlan], held: Mapping[str, object]) -> Mapping[str, object]:
        """Compute the shared rows ``parts``, in this order, and return them by key, together with ``held``,
        the rows that other jobs have computed before."""
        found = dict(held)
        for part in parts:
            if part.step is None:
                found[part.key] = self._run(part, found)
            else:
                found.update(recursions.compute(part, part.step, found, self._run, self.compute))
        return found

    def _run(self, part: SharedPlan | StepPlan, held: Mapping[str, object]) -> "HeldBatches":
        self._check_query()
        template = part.template
        known = self._bound.get(id(template))
        if known is None:
            known = self._bound[id(template)] = template.bind(self._values, self._run_values)
            if logger.isEnabledFor(logging.DEBUG):
                _log(self._context, self._plan, template, known[0], self._values)
        dag, resources = known
        job = replace(self._config, resources={**resources, **held})
        run = runner_of(self._context, template)
        return self._context.engine.hold(f"shared rows {part.name}", dag, job, run)

    def _check_query(self) -> None:
        """Raise the error of the query if it was cancelled or its timeout is over: a job that ends within one
        round doesn't notice, and a recursion may run any number of such jobs."""
        query, now = self._config.query, self._context.engine.clock.now
        assert query is not None
        if (error := query.stopped(now)) is not None:
            raise error
        timeout = self._config.timeout
        if timeout is not None and now() >= query.began + timeout:
            raise stopped_error(JobStatus.TIMED_OUT, timeout)


def _log(
    context: "Context", plan: QueryPlan, template: Template, dag: "DAG", values: Sequence[object]
) -> None:
    """Log at DEBUG the ``dag``, which is about to run. The DAG was made from ``template``, a part of
    ``plan``, with these ``values`` of the parameters."""
    read = scan_pruning.read_partitions(template, values, RunValues(context.settings))
    parallelism = 1 if plan.inline else context.engine.workers
    logger.debug("a query runs this DAG:\n%s", dot.to_dot(dag, parallelism, required_partitions=read))


def runner_of(context: "Context", template: Template) -> "Callable[[DAG, JobConfig], LightJob]":
    """Return the function that runs the DAGs made from ``template``: on all members of the cluster if the
    template is distributed, else in this process alone. A template is a plan's DAG before its parameters have
    values."""
    if template.distributed:
        assert context.cluster is not None
        return context.cluster.submit
    return context.engine.run
