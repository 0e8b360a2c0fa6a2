"""The ways of statements that need the Spark session: by Spark, by Spark's start, and mixed."""

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from sqlfront.lanes import explaining
from sqlfront.lanes.light import run_plan
from sqlfront.lanes.request import FOR_SPARK, Cause, Replan, StatementRequest
from sqlfront.results.result import Result
from sqlfront.spark.mixed import MixedQuery
from sqlfront.spark.reasons import SYNTAX
from sqlfront_planner.explain.explanation import with_spark
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.planning import plan_logical
from sqlfront_planner.statement import is_query
from sqlfront_values.errors import DataError, Error

if TYPE_CHECKING:
    from sqlfront.state.context import Context
    from sqlfront.state.spark_beside import SparkBeside
    from sqlfront_planner.statements.structs import Explain

#: A part of Spark's message that Spark has no format of tables ``memory``.
_NO_MEMORY: Final = "Failed to find the data source: memory."


class SparkWay:
    """The way of a statement that Spark runs. ``ours``: the error of sqlfront's attempt to plan or run the
    statement; None if sqlfront did not try."""

    lane = Lane.SPARK

    def __init__(self, spark: "SparkBeside", reason: str, ours: Error | None = None) -> None:
        self._spark = spark
        #: See the class.
        self.ours = ours
        self.reason = reason

    def run(self, request: StatementRequest) -> Result:
        """Run the statement by Spark, and return Spark's result."""
        return self._spark.run(request, self.reason)

    def explain(self, request: StatementRequest, statement: "Explain") -> Result:
        """Return Spark's answer to EXPLAIN, below a line with the lane. If the query fails in Spark, too,
        raise the error."""
        if self.ours is not None:
            self._spark.replan_after(self.ours, request)
        return self._spark.run(request, self.reason)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Raise ``error``, Spark's error; or, if Spark doesn't know the statement or its table format but
        sqlfront does, sqlfront's earlier error. Never returns a Replan."""
        ours = self.ours
        is_known_here = ours is not None and ours.condition != SYNTAX and not is_query(request.text)
        if ours is not None and is_known_here and (error.condition == SYNTAX or _NO_MEMORY in error.message):
            raise ours from None
        raise error


class StartWay:
    """The way of a statement with a name that only Spark can resolve, while Spark isn't started: it starts
    Spark, then the statement's way is chosen again."""

    lane = Lane.SPARK

    def __init__(self, spark: "SparkBeside", reason: str) -> None:
        self._spark = spark
        self.reason = reason

    def run(self, request: StatementRequest) -> Replan:
        """Start Spark, wait until it is ready, and return a Replan. Raises OperationalError if Spark can't be
        started."""
        self._spark.start(request, self.reason)
        return Replan(Cause.SPARK_STARTED, self.reason)

    def explain(self, request: StatementRequest, statement: "Explain") -> Replan:
        """Start Spark, wait until it is ready, and return a Replan. Raises OperationalError if Spark can't be
        started."""
        return self.run(request)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Raise ``error``, since no other way can help."""
        raise error


class MixedWay:
    """The way of a query over tables of sqlfront and of Spark; ``found`` is the reason why sqlfront alone
    doesn't run the query."""

    lane = Lane.MIXED

    def __init__(self, spark: "SparkBeside", context: "Context", mixed: MixedQuery, found: str) -> None:
        self._spark = spark
        self._context = context
        self._mixed = mixed
        self._found = found
        self.reason = mixed.reason

    def run(self, request: StatementRequest) -> Result:
        """Have Spark run its parts of the query, run the rest as a light job, and return the result."""
        began = time.perf_counter()
        request = replace(request, query=request.query or self._context.begin(request.text))
        plan = self._plan(request, fetch=True)
        return run_plan(self._context, plan, timeout=request.timeout, query=request.query, began=began)

    def explain(self, request: StatementRequest, statement: "Explain") -> Result:
        """Return the result of EXPLAIN for the query. With ANALYZE the query runs, and the times of the run
        include those of Spark's parts, each of which is shown, too."""
        began, mode = time.perf_counter(), statement.mode
        spent: dict[str, float] = {}
        plan = self._plan(request, fetch=mode.is_analyze, spent=spent)
        found = explaining.explained_plan(self._context, plan, (), request, statement, began)
        if mode.is_analyze:
            shared = tuple(replace(part, job=with_spark(part.job, spent)) for part in found.shared)
            found = replace(found, job=with_spark(found.job, spent), shared=shared)
        return explaining.answer(self._context, found, statement, began)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan by which Spark runs the whole query after ``error``. Raises ``error`` if Spark
        should not run the query."""
        if isinstance(
            error, DataError
        ):  # perhaps in rows without a join partner: the whole query may not fail
            return Replan(Cause.FOR_SPARK, self._found)
        if not isinstance(error, FOR_SPARK):
            raise error
        return Replan(Cause.FOR_SPARK, self._spark.reason_for_whole(error, self._found))

    def _plan(
        self, request: StatementRequest, *, fetch: bool, spent: dict[str, float] | None = None
    ) -> QueryPlan:
        """Return the plan of the light job over the rows of Spark's parts. ``fetch``: whether Spark runs the
        parts; False, for EXPLAIN, leaves the parts without rows. ``spent``: see :meth:`MixedQuery.fetched`.
        Raises NotSupportedError if the job's input is larger than the members' memory."""
        context, mixed = self._context, self._mixed
        run_part = partial(self._spark.link.run, timeout=context.limit(request), query=request.query)
        plan = mixed.fetched(run_part, mixed.most_moved, spent) if fetch else mixed.with_rows({})
        planned = plan_logical(plan, context.settings, context.target)
        self._spark.check_size(planned.input_size)
        return replace(planned, lane=Lane.MIXED, reason=mixed.reason)
