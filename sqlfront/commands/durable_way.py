"""The way of a query that runs as a durable job. SET sqlfront.lane = durable asks for the job, or the query
would hold more rows than the memory has room for, or its light job has lacked memory."""

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sqlfront.commands.jobs import bound_for_job, removed, service_of
from sqlfront.commands.run import StatementRun
from sqlfront.jobs.durable_job import DurableJob
from sqlfront.jobs.job_plan import PlannedJob, plan_job
from sqlfront.jobs.job_rows import JobRows
from sqlfront.lanes import explaining, jobs
from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.request import Cause, Replan, StatementRequest, no_memory
from sqlfront.results.result import Result, Statistics
from sqlfront_engine.durable.failures import MORE_MEMORY
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.query_run import Progress, QueryRun
from sqlfront_planner.catalog import FoundElsewhere
from sqlfront_planner.explain.explanation import RunArguments, explanation
from sqlfront_planner.lanes import Lane, held_size
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from sqlfront_values.errors import NO_MEMORY, Error, InterfaceError, NotSupportedError
from sqlfront_values.room import in_units
from sqlfront_values.settings import Settings

if TYPE_CHECKING:
    from sqlfront.jobs.service import JobService
    from sqlfront.state.context import Context
    from sqlfront_planner.statements.structs import Explain

_NO_OPTIONS: Final[Mapping[str, str]] = MappingProxyType({})
_ASKED: Final = "sqlfront.lane is durable"
_AUTO: Final = "SET sqlfront.lane = auto runs the query without a durable job"
#: The options of a job whose rows came out too large for the parts of a job before: the number of parts
#: follows from the planner's estimate, which is low for long texts.
_SMALL_PARTS: Final = {"buckets": "512"}
#: Seconds between two checks whether a query whose job runs is cancelled or has exceeded its timeout.
_PAUSE: Final = 0.05


class DurableWay(OwnWay, eq=False, gc=False):
    """The way of a query that runs as a durable job. ``planned``: the query, planned as a job. ``settings``:
    the settings under which the plan was made. ``why``: the reason for the lane. ``divides``: see
    :func:`~sqlfront.jobs.job_plan.plan_job`. ``options``: the options of the job, as of CREATE JOB."""

    planned: PlannedJob
    settings: Settings
    why: str
    divides: bool
    options: Mapping[str, str]

    @property
    def lane(self) -> Lane:
        """Return the lane ``durable``."""
        return Lane.DURABLE

    @property
    def reason(self) -> str:
        """Return the reason for the lane, which EXPLAIN shows."""
        return self.why

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the query as a durable job, wait for the job's end, and return a result that reads the job's
        files; never returns a Replan. The job is removed when the result is read or closed, and when the
        query fails, is cancelled or exceeds its timeout."""
        began, context = time.perf_counter(), self.context
        service = _service(StatementRun(context, request))
        query = request.query or context.begin(request.text)
        name = f"select-{secrets.token_hex(4)}"
        job = service.submit(name, request.text, self.planned, self.settings, self.options)
        service.passing.add(job.id)
        try:
            _AwaitedJob(job, query).wait(context)
            return self._result(request, query, service, job, began)
        except BaseException:
            _give_up(service, job)
            raise

    def _result(
        self,
        request: StatementRequest,
        query: QueryRun,
        service: "JobService",
        job: DurableJob,
        began: float,
    ) -> Result:
        """Return the result that reads the files of the finished ``job``. Raises the error of a job that has
        failed or was cancelled."""
        context = self.context
        plan = plan_logical(service.rows(job.id).plan(), self.settings, context.target)
        reading = jobs.submit(context, plan, timeout=request.timeout, query=query)
        return Result(
            plan.schema,
            reading.batches(),
            Statistics(Lane.DURABLE, self.why, time.perf_counter() - began),
            settings=self.settings,
            job=JobRows(reading, service, job.id),
            owner=context,
        )

    def explain(self, request: StatementRequest, statement: "Explain") -> Result | Replan:
        """Return the result of EXPLAIN for the query; never returns a Replan. Raises NotSupportedError for
        EXPLAIN ANALYZE."""
        began, mode = time.perf_counter(), statement.mode
        if mode.is_analyze:
            raise _hinted(NotSupportedError("EXPLAIN ANALYZE of a query that runs as a durable job"))
        arguments = RunArguments(request.arguments.values, RunValues(self.settings))
        query = self.planned.query
        parallelism = explaining.drawn_with(self.context, query, statement)
        found = explanation(query, arguments, extended=mode.is_extended, parallelism=parallelism)
        found = replace(found, lane=str(Lane.DURABLE), reason=self.why)
        return explaining.answer(self.context, found, statement, began)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan by which another durable job runs the query after a lack of memory: a job that
        divides all rows, and after such a job, one with smaller parts. Raises the job's ``error`` if neither
        can help, and any other error."""
        if error.sqlstate == NO_MEMORY and not self.divides:
            return no_memory("durable", error)
        if error.sqlstate == NO_MEMORY and error.hint == MORE_MEMORY and not self.options:
            return replace(no_memory("durable", error), cause=Cause.PARTS_TOO_LARGE)
        raise error


def planned(query: Query, request: StatementRequest, context: "Context") -> DurableWay:
    """Plan a query as a durable job, since the setting of the lane asks for it, and return the query's way.
    Raises NotSupportedError for a query that no durable job can run; the hint says how to run the query
    otherwise."""
    return _planned(query, request, context, _ASKED, divides=False)


def _planned(
    query: Query,
    request: StatementRequest,
    context: "Context",
    why: str,
    *,
    divides: bool = True,
    options: Mapping[str, str] = _NO_OPTIONS,
) -> DurableWay:
    """Plan a query as a durable job, as :func:`planned` does. ``why``, ``divides`` and ``options``: see
    :class:`DurableWay`."""
    run, settings = StatementRun(context, request), context.settings
    try:
        rows = bound_for_job(run, query)
    except FoundElsewhere as error:
        raise _hinted(error) from None
    try:
        values, collect_rows = request.arguments.values, context.config.collect_rows
        job = plan_job(rows, values, settings, collect_rows, divides=divides)
    except NotSupportedError as error:
        raise _hinted(error) from None
    return DurableWay(context, job, settings, why, divides, options)


def planned_if_large(
    plan: QueryPlan, query: Query, request: StatementRequest, context: "Context"
) -> DurableWay | None:
    """Return the way of a query as a durable job if the light job of the query's ``plan`` would hold more
    rows than one statement may hold, by the planner's estimate. None if the memory is large enough, if SET
    sqlfront.lane = light keeps the query from other lanes, if another process owns the job store, or if no
    durable job can run the query."""
    memory = context.statement_memory
    if plan.input_size <= memory or context.options.lane == Lane.LIGHT:
        return None
    held = sum(map(held_size, (plan.optimized, *(each.optimized for each in plan.shared))))
    assert context.jobs is not None
    if held <= memory or context.jobs.is_coordinated_elsewhere():
        return None
    why = f"the query holds about {in_units(int(held))}; the memory limit is {in_units(memory)}"
    with suppress(NotSupportedError):
        return _planned(query, request, context, why)
    return None


def planned_after(replan: Replan, request: StatementRequest, context: "Context") -> DurableWay:
    """Return the way of a query as a durable job that divides all rows, after the query's job has lacked
    memory, into smaller parts if that job has divided them; ``replan``: the outcome of that job. Raises that
    job's error if no durable job can run the query."""
    query = request.parsed or parse(request.text)
    assert isinstance(query, Query)
    assert replan.error is not None
    with suppress(NotSupportedError):
        options = _SMALL_PARTS if replan.cause is Cause.PARTS_TOO_LARGE else _NO_OPTIONS
        return _planned(query, request, context, replan.reason, options=options)
    raise replan.error


class _AwaitedJob:
    """A durable job for whose end a query waits: a :class:`~sqlfront_engine.jobs.query_run.JobElsewhere`."""

    def __init__(self, job: DurableJob, query: QueryRun) -> None:
        self._job = job
        self.query: QueryRun | None = query

    def stop(self, status: JobStatus) -> None:
        """Do nothing: the thread in :meth:`wait` sees by itself that the query is cancelled."""

    def progress(self) -> Progress:
        """Return how many of the job's stages and tasks have begun, and how many of them have finished."""
        return self._job.progress

    def wait(self, context: "Context") -> None:
        """Wait for the job's end. Raises the error of a query that was cancelled or exceeds its timeout, and
        OperationalError if this process's coordinator has lost the job, or if no process runs the job any
        more."""
        assert self.query is not None
        self.query.add(self)
        try:
            while not self._job.wait(_PAUSE).has_ended:
                stopped = self.query.stopped(context.engine.clock.now)
                if stopped is not None:
                    raise stopped
            self._job.wait()  # a job whose end is in the log may still run its last steps
        finally:
            self.query.remove(self)


def _service(run: StatementRun) -> "JobService":
    try:
        return service_of(run)
    except NotSupportedError as error:
        raise _hinted(error) from None


def _give_up(service: "JobService", job: DurableJob) -> None:
    """Cancel the job if it has not ended, and remove it; the job of a closed session is removed already."""
    with suppress(InterfaceError):
        removed(service, job)
        service.passing.discard(job.id)


def _hinted(error: Error) -> Error:
    """Return the error with the hint how to run the query without a durable job, after its own hint."""
    error.hint = _AUTO if error.hint is None else f"{error.hint}; or {_AUTO}"
    return error
