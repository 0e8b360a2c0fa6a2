"""The run of a statement: decide its way, run the way, and decide again if the way doesn't serve."""

from functools import partial
from typing import TYPE_CHECKING, Final

from sqlfront.decide import decide
from sqlfront.lanes.light import LightWay
from sqlfront.lanes.way import Cause, Replan, StatementRequest, Way
from sqlfront.results.result import Result
from sqlfront_planner.statement import is_query
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.state.context import Context

#: Attempts to run a query while the cluster changes, and seconds to wait for a change before the next
#: attempt.
_ATTEMPTS: Final = 5
_CHANGE: Final = 0.5
#: The SQLSTATE of errors of members that know another state of the cluster than the plan's.
_CHANGED: Final = "40001"


def walk(request: StatementRequest, context: "Context", replan: Replan | None = None) -> Result:
    """Run a statement. ``replan``: the outcome of an attempt before. Raises the statement's error."""
    attempts = 1
    while True:
        way: Way | None = None
        try:
            way = decide(request, context, replan)
            outcome = way.run(request)
        except Error as error:
            if context.cluster is not None and error.sqlstate == _CHANGED and is_query(request.text):
                if attempts == _ATTEMPTS:
                    raise
                attempts += 1
                context.plans.clear()
                context.cluster.await_change(_CHANGE)
                outcome = Replan(Cause.MEMBERS_CHANGED, error.message)
            elif way is None:
                raise
            else:
                outcome = way.after(error, request)
        if not isinstance(outcome, Replan):
            if context.spark is not None and isinstance(way, LightWay):
                outcome.otherwise = partial(_otherwise, request, context)
            return outcome
        replan = outcome


def _otherwise(request: StatementRequest, context: "Context", error: Error) -> Result | None:
    """Spark's result of a query that failed here with ``error`` after its first rows had arrived; None if the
    query isn't for Spark."""
    assert context.spark is not None
    try:
        replan = context.spark.replan_after(error, request)
    except Error:
        return None
    return walk(request, context, replan=replan)
