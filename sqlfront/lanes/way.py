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
        """Run the statement. Raises the statement's error."""

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """The outcome of a run, or of EXPLAIN, that raised ``error``. Raises the error if no other way may
        serve."""


class QueryWay(Way, Protocol):
    """The way of a query, which EXPLAIN can ask for."""

    def explain(self, request: StatementRequest, statement: "Explain") -> "Result | Replan":
        """The answer of EXPLAIN to the query; ``request`` is that of EXPLAIN."""
