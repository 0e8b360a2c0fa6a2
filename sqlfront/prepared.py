"""Prepared statements: run many times with other arguments."""

from typing import TYPE_CHECKING

from sqlfront.queries import Plan
from sqlfront.result import Parameters, Result
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import Arguments
from sqlfront_planner.plan_cache import CachedPlan, arguments_key
from sqlfront_values.errors import Error, OperationalError

if TYPE_CHECKING:
    from sqlfront.session import Session


class PreparedStatement:
    """A statement that holds its plan, so that an execution does not look at the text. The statement holds
    the plan as long as the plan is current, even if the session's plan cache drops it. ``?`` takes a
    sequence, ``:name`` a mapping.

    Made by :meth:`sqlfront.Connection.prepare`; threads may share a prepared statement.

    >>> import sqlfront
    >>> add = sqlfront.connect().prepare("SELECT ? + 1 AS n")
    >>> add.execute([1]).collect(), add.execute([41]).collect()
    ([Row(n=2)], [Row(n=42)])
    """

    def __init__(self, session: "Session", text: str) -> None:
        self._session = session
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
        """Run the statement. ``timeout``, ``query`` and errors: see
        :meth:`sqlfront.session.Session.execute`."""
        session, held = self._session, self._held
        spark = session.spark
        if held is None or session.closed or session.bases or not (spark is None or spark.is_settled):
            return self._execute(parameters, timeout, query)
        queries = session.queries
        try:
            arguments = Arguments.of(parameters, session.parameter_zone)
            cached, key, literals = held
            now = queries.key, arguments_key(arguments, cached.pinned)
            if key == now and cached.is_current(session.catalog):
                values = (*arguments.values, *literals) if literals else arguments.values
                return queries.run(self.text, cached.plan, values, arguments, timeout, query)
        except OperationalError as error:
            if error.sqlstate != "40001":
                error.locate(self.text)
                raise
        except Error as error:
            error.locate(self.text)
            raise
        return self._execute(parameters, timeout, query)

    def _execute(
        self, parameters: Parameters | None, timeout: float | None, query: QueryRun | None
    ) -> Result:
        """Run the statement by its text, and hold the plan that was made or found."""
        session, queries = self._session, self._session.queries
        arguments = Arguments.of(parameters, session.parameter_zone)
        result = session.execute(self.text, arguments, timeout=timeout, query=query)
        key = queries.key
        found = queries.plans.find(self.text, arguments, key, session.catalog)
        if found is not None:
            cached, literals = found
            self._held = cached, (key, arguments_key(arguments, cached.pinned)), literals
        return result
