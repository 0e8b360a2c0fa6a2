"""LATERAL subqueries in the logical plan: a join of each row with the rows of a subquery that reads the row.

As in Spark, the node holds the subquery as an expression, so that whatever looks into the plans of
subqueries finds this one, too. The rule
:func:`~sqlfront_planner.rules.subqueries.unnest_subqueries.unnest_subqueries` turns the node into joins.
"""

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    Subquery,
    UnaryPlan,
)
from sqlfront_values.expressions import Column, Expr


class LateralSubquery(Subquery, frozen=True, tag_field="kind", tag=True):
    """The subquery of a :class:`LogicalLateralJoin`, which gives rows, not a value: its ``type`` is VOID."""

    def describe(self) -> str:
        return "(lateral subquery)"


class LogicalLateralJoin(UnaryPlan, frozen=True):
    """A join of each input row with the rows of ``subquery``, in which an
    :class:`~sqlfront_planner.logical.OuterColumn` reads the input row. The output row is the input row
    followed by the subquery's row.

    ``kind`` is INNER or LEFT. ``condition`` is over the output row, None = true; a LEFT join gives each input
    row at least once, with nulls if no row of the subquery satisfies the condition."""

    subquery: LateralSubquery
    kind: JoinKind
    condition: Expr | None = None

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.input.schema, *self.subquery.plan.schema])

    def row(self) -> tuple[Column, ...]:
        before = self.input.row()
        made = self.subquery.plan.row()
        return (*before, *(Column(each.type, len(before) + each.ordinal, each.name) for each in made))

    @property
    def width(self) -> int:
        return self.input.width + self.subquery.plan.width

    def operands(self) -> tuple[Expr, ...]:
        return (self.subquery,) if self.condition is None else (self.subquery, self.condition)

    def with_operands(self, operands: tuple[Expr, ...]) -> "LogicalLateralJoin":
        subquery, *condition = operands
        assert isinstance(subquery, LateralSubquery)
        return replace(self, subquery=subquery, condition=condition[0] if condition else None)


def gives_one_row_at_most(plan: LogicalPlan) -> bool:
    """Return whether the plan's operators show that it has at most one row, for each row that it reads."""
    while True:
        match plan:
            case LogicalLimit(count=0 | 1) | LogicalSort(limit=0 | 1) | LogicalAggregate(keys=()):
                return True
            case LogicalProject() | LogicalSort() | LogicalFilter() | LogicalLimit() | LogicalWindow():
                plan = plan.input
            case LogicalValues(rows=rows):
                return len(rows) <= 1
            case _:
                return False
