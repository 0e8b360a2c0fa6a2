"""The ways (lane and work) of EXPLAIN and of all statements other than queries."""

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
    """The way of a statement that is not a query, in the lane ``command``; base class of this module's
    ways."""

    @property
    def lane(self) -> Lane:
        """Return the lane ``command``; see :meth:`~sqlfront.lanes.way.Way.lane`."""
        return Lane.COMMAND

    @property
    def reason(self) -> str:
        """Return the fixed reason for the lane ``command``; see :meth:`~sqlfront.lanes.way.Way.reason`."""
        return COMMAND_REASON


class CommandWay(_CommandWay, eq=False, gc=False):
    """The way of a parsed ``statement`` other than a query or EXPLAIN."""

    statement: "Statement"

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the statement by :func:`sqlfront.commands.run`; see :meth:`~sqlfront.lanes.way.Way.run`."""
        context = self.context
        request = replace(request, query=request.query or context.begin(request.text))
        try:
            with context.watched(request.query):
                return commands.run(StatementRun(context, request), self.statement)
        finally:
            context.plans.sweep(context.catalog)  # cached plans keep old versions of changed tables alive


class ChangeWay(_CommandWay, eq=False, gc=False):
    """The way of a repeated DELETE or UPDATE, which runs by a cached plan with these ``values`` of its
    parameters."""

    plan: "ChangePlan"
    values: "Sequence[object]"

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the cached plan; see :meth:`~sqlfront.lanes.way.Way.run`."""
        return changes.change_again(StatementRun(self.context, request), self.plan, self.values)


class ExplainWay(_CommandWay, eq=False, gc=False):
    """The way of EXPLAIN; ``way`` is that of the explained query, which gives the text."""

    statement: "Explain"
    way: "QueryWay"

    def run(self, request: StatementRequest) -> Result | Replan:
        """Return the rows of EXPLAIN for the query; see :meth:`~sqlfront.lanes.way.Way.run`."""
        context = self.context
        request = replace(request, query=request.query or context.begin(request.text))
        with context.watched(request.query):
            return self.way.explain(request, self.statement)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan of the explained query after ``error``; see
        :meth:`~sqlfront.lanes.way.Way.after`."""
        return self.way.after(error, replace(request, text=self.statement.query.text))
