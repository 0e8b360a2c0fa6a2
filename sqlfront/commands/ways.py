"""The way of statements other than queries, and of EXPLAIN."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sqlfront import commands
from sqlfront.commands import changes
from sqlfront.commands.run import StatementRun
from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.way import QueryWay, Replan, StatementRequest
from sqlfront.results.result import COMMAND_REASON, Result
from sqlfront_planner.lanes import Lane
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlfront.state.context import Context
    from sqlfront.state.plans import ChangePlan
    from sqlfront_planner.statement import Explain, Statement


class _CommandWay(OwnWay):
    """A way of a statement that is not a query."""

    __slots__ = ()
    lane = Lane.COMMAND
    reason = COMMAND_REASON


class CommandWay(_CommandWay):
    """The way of a parsed statement."""

    __slots__ = ("statement",)

    def __init__(self, context: "Context", statement: "Statement") -> None:
        super().__init__(context)
        self.statement = statement

    def run(self, request: StatementRequest) -> Result | Replan:
        """See :class:`~sqlfront.lanes.way.Way`."""
        context = self._context
        request = replace(request, query=request.query or context.begin(request.text))
        try:
            with context.watched(request.query):
                return commands.run(StatementRun(context, request), self.statement)
        finally:
            context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive


class ChangeWay(_CommandWay):
    """The way of a DELETE or UPDATE by a cached plan with these ``values`` of its parameters."""

    __slots__ = ("_values", "plan")

    def __init__(self, context: "Context", plan: "ChangePlan", values: "Sequence[object]") -> None:
        super().__init__(context)
        self.plan = plan
        self._values = values

    def run(self, request: StatementRequest) -> Result | Replan:
        """See :class:`~sqlfront.lanes.way.Way`."""
        return changes.change_again(StatementRun(self._context, request), self.plan, self._values)


class ExplainWay(_CommandWay):
    """The way of EXPLAIN: the answer of the way of its query."""

    __slots__ = ("_statement", "_way")

    def __init__(self, context: "Context", statement: "Explain", way: QueryWay) -> None:
        super().__init__(context)
        self._statement = statement
        self._way = way

    def run(self, request: StatementRequest) -> Result | Replan:
        """See :class:`~sqlfront.lanes.way.Way`."""
        context = self._context
        request = replace(request, query=request.query or context.begin(request.text))
        with context.watched(request.query):
            return self._way.explain(request, self._statement)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """See :class:`~sqlfront.lanes.way.Way`."""
        return self._way.after(error, replace(request, text=self._statement.query.text))
