"""Statements that are planned once and run often."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from sqlfront.lanes.request import StatementRequest
from sqlfront.results.result import Parameters, Result
from sqlfront.walk import walk
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import Arguments
from sqlfront_planner.catalog import Catalog
from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan_cache import CachedPlan, arguments_key
from sqlfront_values.errors import Error
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.observability.observation import Observation
    from sqlfront.spark.lane import SparkLane
    from sqlfront.state.context import Context
    from sqlfront.state.plans import Plan
    from sqlfront_values import evaluation_errors
else:
    evaluation_errors = lazy_module("sqlfront_values.evaluation_errors")


class PreparingSession(Protocol):
    """The attributes and methods of a session that its prepared statements need."""

    context: "Context"
    spark: "SparkLane | None"

    @property
    def closed(self) -> bool:
        """Whether the session takes no more statements."""

    def check_open(self) -> None:
        """Raise InterfaceError if the session takes no more statements."""

    def begin(self, text: str) -> QueryRun:
        """Begin a run for the statement ``text``."""

    def arguments(self, parameters: Parameters | Arguments | None) -> Arguments:
        """Return ``parameters`` with their types."""

    def locate(self, error: Error, text: str) -> Error:
        """Add to ``error`` its position in ``text``, and a hint."""


class RunText(Protocol):
    """A function of a session that runs a statement by its text."""

    def __call__(
        self,
        text: str,
        parameters: Parameters | Arguments | None,
        timeout: float | None,
        query: QueryRun | None,
        observation: "Observation | None",
        /,
    ) -> Result:
        """Run the statement, and return its result."""


class PreparedStatement:
    """A statement that is planned once and run often: later executions neither parse nor plan its text. The
    statement keeps its plan as long as the plan is current, even if the session's plan cache drops the plan.
    ``?`` takes a sequence of values, ``:name`` a mapping.

    Made by :meth:`sqlfront.Connection.prepare`; threads may share a prepared statement.

    >>> import sqlfront
    >>> add = sqlfront.connect().prepare("SELECT ? + 1 AS n")
    >>> add.execute([1]).collect(), add.execute([41]).collect()
    ([Row(n=2)], [Row(n=42)])
    """

    def __init__(self, session: PreparingSession, text: str, run_text: RunText) -> None:
        self._session, self._run_text = session, run_text
        #: The statement's text.
        self.text = text
        # Invariant: replaced as a whole. The plan, the key of the plan's settings and arguments, and the
        # values of the text's literals.
        self._held: tuple[CachedPlan[Plan], object, tuple[object, ...]] | None = None

    def execute(
        self,
        parameters: Parameters | None = None,
        *,
        timeout: float | None = None,
        query: QueryRun | None = None,
    ) -> Result:
        """Run the statement with the values ``parameters``, and return its result. ``timeout`` in seconds
        overrides the session's timeout; ``query``: the statement's run from
        :meth:`~sqlfront.session.Session.begin`, None = a new run. Raises the errors of the statement."""
        session = self._session
        observer = session.context.observer
        if observer is None or session.closed:
            return self._execute(parameters, timeout, query)
        run = partial(self._execute, parameters, timeout)
        return observer.observe(self.text, query or session.begin(self.text), run)

    def _execute(
        self,
        parameters: Parameters | None,
        timeout: float | None,
        query: QueryRun | None,
        observation: "Observation | None" = None,
    ) -> Result:
        """Run the statement as :meth:`execute` does: by the plan that the statement holds if the plan is
        current, else by the text. ``observation`` collects metrics and traces; None = nobody observes the
        statement."""
        session, held = self._session, self._held
        context, spark = session.context, session.spark
        settled = spark is None or spark.is_settled
        if held is None or not settled or session.closed or context.bases:
            return self._by_text(parameters, timeout, query, observation)
        try:
            arguments, (cached, key, literals) = session.arguments(parameters), held
        except Error:  # perhaps for a parameter that only Spark knows
            return self._by_text(parameters, timeout, query, observation)
        try:
            now = context.plan_key, arguments_key(arguments, cached)
            if key == now and cached.is_current(context.catalog):
                values = (*arguments.values, *literals) if literals else arguments.values
                query = context.limited(self.text, timeout, query)
                current = cached.plan, values
                request = StatementRequest(
                    self.text, arguments, timeout, query, held=current, observation=observation
                )
                return walk(request, context)
        except Error as error:
            session.locate(error, self.text)
            raise
        except Exception as error:
            raise session.locate(evaluation_errors.foreign_error(error), self.text) from error
        return self._by_text(arguments, timeout, query, observation)

    def held_plan(
        self, arguments: Arguments, accept: "Callable[[CachedPlan[Plan]], bool]"
    ) -> "tuple[CachedPlan[Plan], tuple[object, ...]] | None":
        """Return the plan that this object has kept from an earlier execution, with the values of the
        literals in the text that became parameters of the plan. None if no plan is kept, if the plan is not
        current or was made for other types or settings, or if ``accept`` returns False for the plan."""
        held, context = self._held, self._session.context
        if held is None:
            return None
        cached, key, literals = held
        now = context.plan_key, arguments_key(arguments, cached)
        if key != now or not accept(cached) or not cached.is_current(context.catalog):
            return None
        return cached, literals

    def _by_text(
        self,
        parameters: Parameters | Arguments | None,
        timeout: float | None,
        query: QueryRun | None,
        observation: "Observation | None",
    ) -> Result:
        """Parse, plan and run the statement's text, and hold the plan for later executions. A statement that
        Spark ran has no plan to hold."""
        session, context = self._session, self._session.context
        session.check_open()
        result = self._run_text(self.text, parameters, timeout, query, observation)
        if result.stats.lane == Lane.SPARK:
            return result
        arguments, key = session.arguments(parameters), context.plan_key
        found = context.plans.find(context.usual(self.text), arguments, key, context.catalog)
        if found is not None:
            cached, literals = found
            self._held = cached, (key, arguments_key(arguments, cached)), literals
            context.plans.add_holder(self)
        return result

    def sweep(self, catalog: Catalog) -> None:
        """Release the kept plan if the tables in ``catalog`` have changed since the plan was made, so that
        old versions of tables aren't held in memory."""
        held = self._held
        if held is not None and not held[0].is_current(catalog):
            self._held = None
