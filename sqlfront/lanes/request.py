"""A request to run a statement, and the outcome of a way that doesn't serve."""

from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import NO_ARGUMENTS, Arguments
from sqlfront_values.errors import Error, NotSupportedError, OperationalError, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlfront.observability.observation import Observation
    from sqlfront.state.plans import Plan
    from sqlfront_planner.statements.structs import Query


#: The classes of errors of statements that Spark may be able to run.
FOR_SPARK: Final = (NotSupportedError, ProgrammingError, OperationalError)


class StatementRequest(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A statement to run: its text, the values of its parameters, its timeout in seconds (None = the
    session's) and its run (None = not begun). ``parsed``: the parsed query, if the query is part of another
    statement (EXPLAIN) and its plan should not be cached; None = parse ``text``. ``held``: a current plan of
    the statement with the values of the plan's parameters, None = find or make a plan. ``observation``: the
    statement's facts for operators, None = nobody observes the statement."""

    text: str = ""
    arguments: Arguments = NO_ARGUMENTS
    timeout: float | None = None
    query: QueryRun | None = None
    parsed: "Query | None" = None
    held: "tuple[Plan, Sequence[object]] | None" = None
    observation: "Observation | None" = None


class Cause(Enum):
    """The causes for which a statement needs another way (:class:`Replan`)."""

    NOT_BY_ROWS = "not by rows"
    """The rows are too many for a row program; a job may run the query."""
    MEMBERS_CHANGED = "members changed"
    """The cluster has changed since the statement was planned; the same way may serve now."""
    SPARK_NEEDED = "Spark needed"
    """Only Spark, which isn't started yet, knows a name."""
    SPARK_STARTED = "Spark started"
    """Spark's names are known now."""
    COPIED = "copied"
    """The relations of Spark's that the statement reads have been copied."""
    NO_MEMORY = "no memory"
    """A job lacked memory; a durable job that divides all rows holds less at a time."""
    PARTS_TOO_LARGE = "parts too large"
    """A durable job that divides all rows lacked memory; smaller parts may fit."""
    FOR_SPARK = "for Spark"
    """The statement can't run here, but Spark may run it."""


class Replan(msgspec.Struct, frozen=True):
    """The outcome of a way that couldn't run its statement: the statement needs another way, for this
    ``reason``. ``error``: the error that the way ended with, None = no error."""

    cause: Cause
    reason: str
    error: Error | None = None


def no_memory(kind: str, error: Error) -> Replan:
    """Return the Replan after the ``error`` of a job that lacked memory. ``kind``: the job's kind, light or
    durable."""
    reason = f"a {kind} job ended with a lack of memory: {error.message.rstrip('.')}"
    return Replan(Cause.NO_MEMORY, reason, error.with_traceback(None))
