"""From the input's row to the groups' row: keys, then the values of the aggregate calls, then those of
``grouping``."""

from collections.abc import Sequence

import msgspec
from sqlglot import exp

from sqlfront_engine.errors import Error, ProgrammingError
from sqlfront_engine.expressions import AggregateCall, Column, Expr, Literal
from sqlfront_engine.types import INT, TINYINT
from sqlfront_planner.binder.collected import AggregateOutput, Aggregates, GroupingCall, GroupingOutput
from sqlfront_planner.binder.columns import unresolved
from sqlfront_planner.binder.groups import Grouping, is_same
from sqlfront_planner.binder.outer import replace_outer
from sqlfront_planner.binder.syntax import failure
from sqlfront_planner.logical import (
    Aggregate,
    LogicalPlan,
    OuterColumn,
    Project,
    SetKind,
    SetOperation,
    Subquery,
)


def grouped_plan(
    plan: LogicalPlan, grouping: Grouping, aggregates: Aggregates, *, grouped: bool
) -> tuple[LogicalPlan, "GroupRow"]:
    """The plan of the groups, and the way to its row for expressions over the input's row.

    Grouping sets are a UNION ALL of one Aggregate each.
    Raises ProgrammingError: UNSUPPORTED_GROUPING_EXPRESSION, GROUPING_COLUMN_MISMATCH for a misplaced
    ``grouping``.
    """
    keys, calls = grouping.keys, tuple(aggregates.calls)
    names = (*(_key_name(key, place) for place, key in enumerate(keys)), *(call.function for call in calls))
    if grouping.sets is None:
        if aggregates.groupings:
            raise _no_grouping_sets(aggregates.groupings[0].node)
        return Aggregate(plan, keys, calls, names), GroupRow(keys, len(calls), grouped, names)
    names = (*names, *("grouping" for _ in aggregates.groupings))
    row = GroupRow(keys, len(calls), grouped, names)
    if grouping.sets == ((),) and not keys:
        return _grand_total(plan, calls, aggregates.groupings, names), row
    branches = tuple(
        _one_set(plan, grouping, places, calls, aggregates.groupings, names) for places in grouping.sets
    )
    return SetOperation(SetKind.UNION_ALL, branches), row


def _grand_total(
    plan: LogicalPlan,
    calls: tuple[AggregateCall, ...],
    groupings: Sequence[GroupingCall],
    names: tuple[str, ...],
) -> LogicalPlan:
    """``GROUPING SETS (())`` alone: one row, also where there is no input."""
    total = Aggregate(plan, (), calls, names[: len(calls)])
    if not groupings:
        return total
    values = (Literal(call.type, _grouping_value(call, (), ())) for call in groupings)
    return Project(total, (*total.row(), *values), names)


def _one_set(
    plan: LogicalPlan,
    grouping: Grouping,
    places: tuple[int, ...],
    calls: tuple[AggregateCall, ...],
    groupings: Sequence[GroupingCall],
    names: tuple[str, ...],
) -> LogicalPlan:
    """The groups of one grouping set, with nulls for the keys outside of it.

    The empty set groups by a constant: Spark has no row for it where there is no input.
    """
    keys = tuple(grouping.keys[place] for place in places) or (Literal(INT, 0),)
    key_names = tuple(names[place] for place in places) or ("all",)
    count = len(grouping.keys)
    aggregate = Aggregate(plan, keys, calls, (*key_names, *names[count : count + len(calls)]))
    columns = aggregate.row()
    values: list[Expr] = [
        columns[places.index(place)] if place in places else Literal(key.type, None)
        for place, key in enumerate(grouping.keys)
    ]
    values += columns[len(keys) :]
    values += [Literal(call.type, _grouping_value(call, grouping.keys, places)) for call in groupings]
    return Project(aggregate, tuple(values), names)


def _grouping_value(call: GroupingCall, keys: tuple[Expr, ...], places: tuple[int, ...]) -> int:
    """A bit per argument (per key without arguments), the first highest: 1 if the set leaves that key out.
    The arguments of ``grouping_id`` are all keys in their order."""
    value = 0
    if call.type != TINYINT and call.arguments and call.arguments != keys:
        raise failure(
            "GROUPING_ID_COLUMN_MISMATCH",
            "The arguments of grouping_id() are not the grouping columns in their order.",
            call.node,
        )
    for argument in call.arguments or keys:
        if argument not in keys:
            raise failure(
                "GROUPING_COLUMN_MISMATCH",
                "The argument of grouping() is not one of the grouping columns.",
                call.node,
            )
        value = 2 * value + (keys.index(argument) not in places)
    return value


def _no_grouping_sets(node: exp.Expr) -> Error:
    return failure(
        "UNSUPPORTED_GROUPING_EXPRESSION",
        "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup.",
        node,
    )


def _key_name(key: Expr, place: int) -> str:
    return key.name if isinstance(key, Column) and key.name else f"key{place}"


class GroupRow(msgspec.Struct, frozen=True):
    """The row of groups. ``grouped`` tells a query with GROUP BY from one without."""

    keys: tuple[Expr, ...]
    call_count: int
    grouped: bool
    names: tuple[str, ...]

    def over(self, expression: Expr, node: exp.Expr) -> Expr:
        """An expression over the input's row as one over the groups' row; ``node`` is where it stands.

        Raises ProgrammingError (MISSING_AGGREGATION, MISSING_GROUP_BY) if it needs a column that isn't
        grouped.
        """
        for place, key in enumerate(self.keys):
            if is_same(key, expression):
                return Column(key.type, place, self.names[place])
        match expression:
            case AggregateOutput(index=index):
                return self._column(expression, len(self.keys) + index)
            case GroupingOutput(index=index):
                return self._column(expression, len(self.keys) + self.call_count + index)
            case Column():
                raise self._missing(expression, node)
            case Subquery():
                expression = replace_outer(expression, lambda column: self._outer(column, node))
        children = expression.children()
        changed = tuple(self.over(child, node) for child in children)
        if all(new is old for new, old in zip(changed, children, strict=True)):
            return expression
        return expression.with_children(changed)

    def over_order(self, expression: Expr, node: exp.Expr) -> Expr:
        """As :meth:`over`, for ORDER BY: what isn't grouped is unknown there."""
        try:
            return self.over(expression, node)
        except ProgrammingError as error:
            if error.condition != "MISSING_AGGREGATION":
                raise
            raise unresolved([(name,) for name in self.names], (node.name or "expression",), node) from None

    def _column(self, output: Expr, place: int) -> Column:
        return Column(output.type, place, self.names[place])

    def _outer(self, column: OuterColumn, node: exp.Expr) -> OuterColumn:
        """A subquery's view of the groups' row."""
        for place, key in enumerate(self.keys):
            if isinstance(key, Column) and key.ordinal == column.ordinal:
                return OuterColumn(column.type, place, column.name)
        raise self._missing(column, node)

    def _missing(self, column: Column | OuterColumn, node: exp.Expr) -> Error:
        if not self.grouped:
            return failure(
                "MISSING_GROUP_BY",
                f'The query does not include a GROUP BY clause, but "{column.name}" is neither aggregated '
                "nor grouped. "
                "Add GROUP BY or turn it into the window functions using OVER clauses.",
                node,
            )
        return failure(
            "MISSING_AGGREGATION",
            f'The non-aggregating expression "{column.name}" is based on columns which are not participating '
            "in the "
            "GROUP BY clause.\nAdd the columns or the expression to the GROUP BY, aggregate the expression, "
            "or use "
            f'"any_value({column.name})" if you do not care which of the values within a group is returned.',
            node,
        )
