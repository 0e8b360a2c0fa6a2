"""The interface of a statement's way: the lane, the reason for the lane, and the work."""

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
        """The lane that answers the statement."""

    @property
    def reason(self) -> str:
        """The reason for the lane, in words that EXPLAIN shows."""

    def run(self, request: StatementRequest) -> "Result | Replan":
        """Run the statement, and return its result; return a Replan if the statement needs another way.
        Raises the statement's error."""

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan for another way after :meth:`run`, or EXPLAIN, has raised ``error``. Raises the
        error itself if no other way can help."""


class QueryWay(Way, Protocol):
    """The way of a query, which can also answer EXPLAIN of the query."""

    def explain(self, request: StatementRequest, statement: "Explain") -> "Result | Replan":
        """Return the result of EXPLAIN for the query; return a Replan if the query needs another way.
        ``request`` and ``statement``: the request and the statement of the EXPLAIN itself."""
