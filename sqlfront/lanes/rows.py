"""The way of a query over a few rows: a program over Python tuples, on the caller's thread."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlfront.lanes.own import OwnWay
from sqlfront.lanes.request import Cause, Replan, StatementRequest
from sqlfront.results.result import Result, RowsResult
from sqlfront_engine.row_programs.program import NotByRows
from sqlfront_planner.lanes import Lane
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_values.errors import OperationalError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.lanes import explaining
    from sqlfront_planner.logical import LogicalPlan
    from sqlfront_planner.statements.structs import Explain
else:
    explaining = lazy_module("sqlfront.lanes.explaining")

#: The SQLSTATE of lookups on a member that is lost or has left.
_LOST: Final = "08006"
_MANY: "Replan" = Replan(Cause.NOT_BY_ROWS, "the rows are too many for a row program")


class RowsWay(OwnWay, eq=False, gc=False):
    """The way of a query that a row program answers: its ``plan``, with these ``values`` of the plan's
    parameters; ``bound``: the query's logical plan, for EXPLAIN."""

    plan: RowPlan
    values: Sequence[object]
    bound: "LogicalPlan | None" = None

    @property
    def lane(self) -> Lane:
        """The lane of the plan: direct, or light for a row program that replaces a small job."""
        return self.plan.lane

    @property
    def reason(self) -> str:
        """The plan's reason for its lane, which EXPLAIN shows."""
        return self.plan.reason

    def run(self, request: StatementRequest) -> Result | Replan:
        """Run the row program, and return its rows as a result; return a Replan if the rows are too many for
        a row program, so that a job has to run the query, or if a member was lost that was asked for rows, so
        that others have to be asked."""
        began, settings = time.perf_counter(), self.context.options.settings
        try:
            rows = self.plan.rows(self.values, settings, request.query)
        except NotByRows:
            if request.query is not None:
                request.query.rows_by_programs = None  # a job reads them again
            return _MANY
        except OperationalError as error:
            if error.sqlstate != _LOST or self.context.cluster is None:
                raise
            return Replan(Cause.MEMBERS_CHANGED, error.message, error)
        return RowsResult(self.plan, self.values, rows, settings, time.perf_counter() - began)

    def explain(self, request: StatementRequest, statement: "Explain") -> Result | Replan:
        """Return the result of EXPLAIN for the row program; return a Replan if the rows are too many for a
        row program, so that a job has to run the query."""
        assert self.bound is not None
        try:
            return explaining.of_rows(self.context, self.plan, self.values, self.bound, statement)
        except NotByRows:
            return _MANY
