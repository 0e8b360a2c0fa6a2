"""The interface of lanes: the way of a statement."""

from typing import TYPE_CHECKING, Protocol

from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront_planner.lanes import Lane
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.results.result import Result
    from sqlfront_planner.statements.structs import Explain


class Way(Protocol):
    """The way of a statement: a lane, the reason for the lane, and the work that the lane does."""

    @property
    def lane(self) -> Lane:
        """The lane."""

    @property
    def reason(self) -> str:
        """The reason for the lane, in words that EXPLAIN shows."""

    def run(self, request: StatementRequest) -> "Result | Replan":
        """Run the statement, and return its result; or a Replan if this way doesn't serve. Raises the
        statement's error."""

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan after :meth:`run`, or EXPLAIN, raised ``error``. Raises the error if no other
        way may serve."""


class QueryWay(Way, Protocol):
    """The way of a query, which can also answer EXPLAIN of the query."""

    def explain(self, request: StatementRequest, statement: "Explain") -> "Result | Replan":
        """Return the result of EXPLAIN for the query, or a Replan if this way doesn't serve. ``request`` and
        ``statement`` are those of EXPLAIN."""
