"""The run of a statement: decide its way, run the way, and decide again if the way doesn't serve."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from sqlfront.decide import decide
from sqlfront.lanes.request import Cause, Replan, StatementRequest
from sqlfront.results.result import Result
from sqlfront_planner.lanes import Lane
from sqlfront_planner.statement import only_reads
from sqlfront_values.errors import Error, OperationalError

if TYPE_CHECKING:
    from sqlfront.state.context import Context

#: Attempts to run a query while the cluster changes, at least; seconds from the first attempt until the last
#: one, since members that join or leave one by one make a plan obsolete several times; seconds to wait for a
#: change before the next attempt.
_ATTEMPTS: Final = 5
_CHANGING: Final = 2.0
_CHANGE: Final = 0.5
#: Seconds between two later attempts, at least.
_PAUSE: Final = 0.02
#: The SQLSTATE of errors of members that know another state of the cluster than the plan's.
_CHANGED: Final = "40001"


def walk(request: StatementRequest, context: "Context", replan: Replan | None = None) -> Result:
    """Run a statement, and return its result. If a way returns a Replan, another way is chosen, until one
    returns a result. If the cluster's members have changed since a statement that only reads was planned, the
    statement is planned again, a few times. ``replan``: the outcome of an attempt before this call, None =
    there was none. Raises the statement's error."""
    changes, deadline = 0, 0.0
    while True:
        try:
            outcome = _attempt(request, context, replan)
        except OperationalError as error:
            if not _has_changed(context, error, request):
                raise
            outcome = Replan(Cause.MEMBERS_CHANGED, error.message, error)
        if not isinstance(outcome, Replan):
            return outcome
        if outcome.cause is Cause.MEMBERS_CHANGED and outcome.error is not None:
            deadline = deadline or time.monotonic() + _CHANGING
            changes += 1
            if changes >= _ATTEMPTS:
                if time.monotonic() >= deadline:
                    raise outcome.error
                time.sleep(_PAUSE)
            _await_change(context, request)
        replan = outcome


def _await_change(context: "Context", request: StatementRequest) -> None:
    """Forget all plans, and wait a little until the cluster has changed."""
    assert context.cluster is not None
    context.plans.clear()
    change = partial(context.cluster.await_change, _CHANGE)
    change() if request.observation is None else request.observation.in_wait(change)


def _attempt(request: StatementRequest, context: "Context", replan: Replan | None) -> Result | Replan:
    """Decide the way of a statement, and run the statement on its way. Return the result, or a Replan if
    another way has to be decided. Raises the statement's error if no other way may serve."""
    observation = request.observation
    if observation is not None:
        observation.plans()
    way = decide(request, context, replan)
    if observation is not None:
        observation.runs(way)
    try:
        outcome = way.run(request)
    except Error as error:
        if _has_changed(context, error, request):
            raise
        return way.after(error, request)
    if isinstance(outcome, Replan) or outcome.job is None:
        return outcome
    if context.spark is not None and way.lane is not Lane.SPARK:
        outcome.otherwise = partial(_otherwise, request, context, context.spark.replan_after)
    elif context.jobs is not None and way.lane is Lane.LIGHT:
        outcome.otherwise = partial(_otherwise, request, context, way.after)
    return outcome


def _has_changed(context: "Context", error: Error, request: StatementRequest) -> bool:
    """Return whether a statement that only reads failed because the cluster has changed since the statement
    was planned."""
    return context.cluster is not None and error.sqlstate == _CHANGED and only_reads(request.text)


def _otherwise(
    request: StatementRequest,
    context: "Context",
    after: Callable[[Error, StatementRequest], Replan],
    error: Error,
) -> Result | None:
    """Return the result of another way, such as Spark's, of a query whose job failed in sqlfront with
    ``error`` before any row was delivered to the caller. ``after`` returns the Replan for the other way, or
    raises ``error``; then the result is None. Raises the error of the other way if the query fails there,
    too."""
    try:
        replan = after(error, request)
    except Error:
        return None
    return walk(request, context, replan=replan)
