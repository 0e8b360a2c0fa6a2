"""The ways (lane and work) of EXPLAIN and of all statements other than queries."""

from typing import TYPE_CHECKING

from msgspec.structs import replace

from sqlfront import commands
from sqlfront.commands import changes, insertions, merging
from sqlfront.commands.run import StatementRun
from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront.results.result import COMMAND_REASON, Result
from sqlfront_planner.lanes import Lane
from sqlfront_planner.statement import parse
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlfront.lanes.way import QueryWay
    from sqlfront.state.plans import ChangePlan, InsertPlan, MergePlan
    from sqlfront_planner.statements.structs import Explain, Statement


class _CommandWay(OwnWay, eq=False, gc=False):
    """The way of a statement that is not a query, in the lane ``command``; base class of this module's
    ways."""

    @property
    def lane(self) -> Lane:
        """Return the lane ``command``."""
        return Lane.COMMAND

    @property
    def reason(self) -> str:
        """Return the reason for the lane that EXPLAIN shows, the same for all commands."""
        return COMMAND_REASON


class CommandWay(_CommandWay, eq=False, gc=False):
    """The way of a parsed ``statement`` other than a query or EXPLAIN."""

    statement: "Statement"

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the statement by the command's function, and return its result."""
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
        """Run the cached plan of the DELETE or UPDATE, and return the statement's result."""
        with self.context.watched(request.query):
            return changes.change_again(StatementRun(self.context, request), self.plan, self.values)


class _RepeatedWay(_CommandWay, eq=False, gc=False):
    """The way of a repeated statement that runs by a cached plan with these ``values`` of its parameters."""

    values: "Sequence[object]"

    def again(self, run: StatementRun) -> Result | None:
        """Run the cached plan, and return the statement's result; None, and nothing is changed, if the rows
        need a job."""
        raise NotImplementedError

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the cached plan, or the statement anew if the rows need a job; return the statement's
        result."""
        with self.context.watched(request.query):
            made = self.again(StatementRun(self.context, request))
        return CommandWay(self.context, parse(request.text)).run(request) if made is None else made


class InsertWay(_RepeatedWay, eq=False, gc=False):
    """The way of a repeated INSERT of rows that are in the statement."""

    plan: "InsertPlan"

    def again(self, run: StatementRun) -> Result | None:
        """Insert the rows that the plan computes, and return the statement's result; None if they need a
        job."""
        return insertions.insert_again(run, self.plan, self.values)


class MergeWay(_RepeatedWay, eq=False, gc=False):
    """The way of a repeated MERGE whose changes are few."""

    plan: "MergePlan"

    def again(self, run: StatementRun) -> Result | None:
        """Make the changes that the plan computes, and return the statement's result; None if they need a
        job."""
        return merging.merge_again(run, self.plan, self.values)


class ExplainWay(_CommandWay, eq=False, gc=False):
    """The way of EXPLAIN; ``way`` is the way of the explained query, from which the text of the answer
    comes."""

    statement: "Explain"
    way: "QueryWay"

    def run(self, request: StatementRequest) -> Result | Replan:
        """Return the rows of EXPLAIN for the query; return a Replan if the query needs another way."""
        context = self.context
        request = replace(request, query=request.query or context.begin(request.text))
        with context.watched(request.query):
            return self.way.explain(request, self.statement)

    def after(self, error: Error, request: StatementRequest) -> Replan:
        """Return the Replan by which the explained query gets another way after ``error``. Raises ``error``
        if no other way can help; a durable job can't, since EXPLAIN ANALYZE measures light jobs only."""
        if self.context.spark is None:
            raise error
        return self.way.after(error, replace(request, text=self.statement.query.text))
