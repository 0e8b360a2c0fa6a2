"""The way of statements other than queries, and of EXPLAIN."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sqlfront import commands
from sqlfront.commands import changes
from sqlfront.commands.run import StatementRun
from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront.results.result import COMMAND_REASON, Result
from sqlfront_planner.lanes import Lane
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlfront.lanes.way import QueryWay
    from sqlfront.state.plans import ChangePlan
    from sqlfront_planner.statements.structs import Explain, Statement


class _CommandWay(OwnWay, eq=False, gc=False):
    """A way of a statement that is not a query."""

    @property
    def lane(self) -> Lane:
        """See :meth:`~sqlfront.lanes.way.Way.lane`."""
        return Lane.COMMAND

    @property
    def reason(self) -> str:
        """See :meth:`~sqlfront.lanes.way.Way.reason`."""
        return COMMAND_REASON


class CommandWay(_CommandWay, eq=False, gc=False):
    """The way of a parsed statement."""

    statement: "Statement"

    def run(self, request: StatementRequest) -> Result | Replan:
        """See :meth:`~sqlfront.lanes.way.Way.run`."""
        context = self.context
        request = replace(request, query=request.query or context.begin(request.text))
        try:
            with context.watched(request.query):
                return commands.run(StatementRun(context, request), self.statement)
        finally:
            context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive


class ChangeWay(_CommandWay, eq=False, gc=False):
    """The way of a DELETE or UPDATE by a cached plan with these ``values`` of its parameters."""

    plan: "ChangePlan"
    values: "Sequence[object]"

    def run(self, request: StatementRequest) -> Result | Replan:
        """See :meth:`~sqlfront.lanes.way.Way.run`."""
        return changes.change_again(StatementRun(self.context, request), self.plan, self.values)


class ExplainWay(_CommandWay, eq=False, gc=False):
    """The way of EXPLAIN, which asks ``way``, the way of the explained query, for the answer."""

    statement: "Explain"
    way: "QueryWay"

    def run(self, request: StatementRequest) -> Result | Replan:
        """See :meth:`~sqlfront.lanes.way.Way.run`."""
        context = self.context
        request = replace(request, query=request.query or context.begin(request.text))
        with context.watched(request.query):
            return self.way.explain(request, self.statement)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """See :meth:`~sqlfront.lanes.way.Way.after`."""
        return self.way.after(error, replace(request, text=self.statement.query.text))
