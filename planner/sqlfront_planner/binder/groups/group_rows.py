"""Rewriting of expressions over the input's row as expressions over the groups' row, which has the keys, then
the values of the aggregate calls, then the values of ``grouping``."""

from collections.abc import Sequence
from typing import Final

import msgspec
import pyarrow as pa
from sqlglot import exp

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.binder.collected_calls import AggregateOutput, Aggregates, GroupingCall, GroupingOutput
from sqlfront_planner.binder.expressions.columns import unresolved
from sqlfront_planner.binder.functions.aggregates import no_grouping_sets
from sqlfront_planner.binder.groups.group_by import Grouping
from sqlfront_planner.binder.outer_columns import replace_outer
from sqlfront_planner.binder.time_windows import sessions
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.expressions.closures import OpenLambda, closed, opened
from sqlfront_planner.expressions.rewriting import FALSE, TRUE
from sqlfront_planner.expressions.same_meaning import is_same
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalJoin,
    LogicalPlan,
    LogicalProject,
    LogicalSetOperation,
    LogicalValues,
    OuterColumn,
    SetKind,
    Subquery,
)
from sqlfront_planner.statistics.cardinality import Cardinality
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import AggregateCall, Case, Column, Expr, HigherOrder, Literal
from sqlfront_values.types import BOOLEAN, INT, TINYINT

#: Grouping sets up to which each set is always a branch of the plan: planning so few branches takes less than
#: 50 ms.
_MOST_BRANCHES: Final = 16
#: Estimated rows of the input up to which repeating the rows for a set (0.3 us each) costs less than planning
#: and starting a branch for it (3 ms); with more rows a branch's own aggregate needs a fifth of the time.
_MOST_REPEATED: Final = 10_000


def grouped_plan(
    plan: LogicalPlan, grouping: Grouping, aggregates: Aggregates, node: exp.Expr, *, grouped: bool
) -> tuple[LogicalPlan, "GroupRow"]:
    """Return the plan that groups the rows of ``plan``, and a rewriter of expressions over the input's row as
    expressions over the groups' row. ``node``: the query in the text. ``grouped``: it has GROUP BY.

    Grouping sets are a UNION ALL with one Aggregate each. For many sets of few rows, the plan repeats the
    rows once per set, as Spark does (its Expand), and groups once: thousands of branches take seconds to
    start. Raises ProgrammingError: UNSUPPORTED_GROUPING_EXPRESSION, GROUPING_COLUMN_MISMATCH for a misplaced
    ``grouping``.
    """
    keys, calls = grouping.keys, tuple(aggregates.calls)
    names = (*(_key_name(key, place) for place, key in enumerate(keys)), *(call.function for call in calls))
    if grouping.sets is None:
        if aggregates.groupings:
            raise no_grouping_sets(aggregates.groupings[0].node)
        plan, read = sessions.merge_sessions(plan, keys, calls, node)
        return LogicalAggregate(plan, read, calls, names), GroupRow(keys, len(calls), grouped, names)
    names = (*names, *("grouping" for _ in aggregates.groupings))
    row = GroupRow(keys, len(calls), grouped, names)
    if grouping.sets == ((),) and not keys:
        return _grand_total(plan, calls, aggregates.groupings, names), row
    if len(grouping.sets) > _MOST_BRANCHES and Cardinality().rows(plan) <= _MOST_REPEATED:
        return _expanded(plan, grouping, calls, aggregates.groupings, names), row
    branches = tuple(
        _one_set(plan, grouping, places, calls, aggregates.groupings, names) for places in grouping.sets
    )
    return LogicalSetOperation(SetKind.UNION_ALL, branches), row


def _grand_total(
    plan: LogicalPlan,
    calls: tuple[AggregateCall, ...],
    groupings: Sequence[GroupingCall],
    names: tuple[str, ...],
) -> LogicalPlan:
    """Return the plan of a query whose only grouping set is the empty set, ``GROUPING SETS (())``: one row,
    even without input rows."""
    total = LogicalAggregate(plan, (), calls, names[: len(calls)])
    if not groupings:
        return total
    values = (Literal(call.type, _grouping_value(call, (), ())) for call in groupings)
    return LogicalProject(total, (*total.row(), *values), names)


def _expanded(
    plan: LogicalPlan,
    grouping: Grouping,
    calls: tuple[AggregateCall, ...],
    groupings: Sequence[GroupingCall],
    names: tuple[str, ...],
) -> LogicalPlan:
    """Return the plan of many grouping sets: one Aggregate over the cross join of ``plan`` with a table of
    the sets.

    The table has a row per set: the set's number, the values of ``grouping``, and for each key a flag whether
    the set has the key. Equal sets have different numbers, so that each gives groups of its own."""
    assert grouping.sets is not None
    keys = grouping.keys
    input_row = plan.row()
    keyed = LogicalProject(
        plan, (*input_row, *keys), (*(column.name for column in input_row), *names[: len(keys)])
    )
    joined = LogicalJoin(keyed, _sets_table(grouping, groupings), JoinKind.INNER)
    row = joined.row()
    first_flag = len(row) - len(keys)
    numbers, flags = row[keyed.width : first_flag], row[first_flag:]
    known = [
        Case(key.type, ((flag, key),), Literal(key.type, None))
        for key, flag in zip(row[len(input_row) : keyed.width], flags, strict=True)
    ]
    groups = LogicalAggregate(
        joined,
        (*known, *numbers),
        calls,
        (
            *names[: len(keys)],
            *(number.name for number in numbers),
            *names[len(keys) : len(keys) + len(calls)],
        ),
    )
    columns, width = groups.row(), len(keys) + len(numbers)
    shown = (*columns[: len(keys)], *columns[width:], *columns[len(keys) + 1 : width])
    return LogicalProject(groups, shown, names)


def _sets_table(grouping: Grouping, groupings: Sequence[GroupingCall]) -> LogicalValues:
    """Return the table of the grouping sets that :func:`_expanded` describes, with a row per set."""
    assert grouping.sets is not None
    schema = pa.schema(
        [
            ("set", INT),
            *((f"grouping{place}", call.type) for place, call in enumerate(groupings)),
            *((f"with{place}", BOOLEAN) for place in range(len(grouping.keys))),
        ]
    )
    rows = tuple(
        (
            Literal(INT, number),
            *(Literal(call.type, _grouping_value(call, grouping.keys, places)) for call in groupings),
            *(TRUE if place in places else FALSE for place in range(len(grouping.keys))),
        )
        for number, places in enumerate(grouping.sets)
    )
    return LogicalValues(schema, rows)


def _one_set(
    plan: LogicalPlan,
    grouping: Grouping,
    places: tuple[int, ...],
    calls: tuple[AggregateCall, ...],
    groupings: Sequence[GroupingCall],
    names: tuple[str, ...],
) -> LogicalPlan:
    """Return the plan of the groups of one grouping set, which has the keys at the positions ``places``; the
    other keys are null in its rows.

    The empty set groups by a constant, since Spark returns no row for it if there are no input rows.
    """
    keys = tuple(grouping.keys[place] for place in places) or (Literal(INT, 0),)
    key_names = tuple(names[place] for place in places) or ("all",)
    count = len(grouping.keys)
    aggregate = LogicalAggregate(plan, keys, calls, (*key_names, *names[count : count + len(calls)]))
    columns = aggregate.row()
    values: list[Expr] = [
        columns[places.index(place)] if place in places else Literal(key.type, None)
        for place, key in enumerate(grouping.keys)
    ]
    values += columns[len(keys) :]
    values += [Literal(call.type, _grouping_value(call, grouping.keys, places)) for call in groupings]
    return LogicalProject(aggregate, tuple(values), names)


def _grouping_value(call: GroupingCall, keys: tuple[Expr, ...], places: tuple[int, ...]) -> int:
    """Return the value of a ``grouping`` or ``grouping_id`` call in the grouping set of the keys at
    ``places``: one bit per argument (without arguments, per key), the first being the highest, which is 1 if
    the set omits that key. The arguments of ``grouping_id`` must be all keys in their order."""
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


def _key_name(key: Expr, place: int) -> str:
    return key.name if isinstance(key, Column) and key.name else f"key{place}"


class GroupRow(msgspec.Struct, frozen=True):
    """The row of a group, and the rewriting of expressions over it. The row has the ``keys``, the values of
    ``call_count`` aggregate calls and the values of ``grouping``; ``names`` are the names of its columns.
    ``grouped``: the query has GROUP BY."""

    keys: tuple[Expr, ...]
    call_count: int
    grouped: bool
    names: tuple[str, ...]

    def over(self, expression: Expr, node: exp.Expr) -> Expr:
        """Return an expression over the input's row rewritten as an expression over the groups' row; ``node``
        is the expression's node, for messages.

        Raises ProgrammingError (MISSING_AGGREGATION, MISSING_GROUP_BY) if the expression needs a column that
        isn't grouped.
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
            case HigherOrder():
                return self._over_lambdas(expression, node)
            case Subquery():
                expression = replace_outer(expression, lambda column: self._outer(column, node))
        children = expression.children()
        changed = tuple(self.over(child, node) for child in children)
        if all(new is old for new, old in zip(changed, children, strict=True)):
            return expression
        return expression.with_children(changed)

    def _over_lambdas(self, call: HigherOrder, node: exp.Expr) -> Expr:
        """Rewrite a call with lambdas. A key may be a part of a lambda's body, so that the bodies are opened
        for the rewriting."""
        lambdas = [OpenLambda(one.parameters, self.over(one.body, node)) for one in opened(call)]
        arguments = tuple(self.over(argument, node) for argument in call.arguments)
        return closed(HigherOrder(call.type, call.function, arguments, (), ()), lambdas)

    def over_order(self, expression: Expr, node: exp.Expr) -> Expr:
        """Return an expression of ORDER BY, which is over the input's row, rewritten as an expression over
        the groups' row. ``node`` is the expression's node, for messages. Raises UNRESOLVED_COLUMN or
        MISSING_GROUP_BY if the expression needs a column that isn't grouped."""
        try:
            return self.over(expression, node)
        except ProgrammingError as error:
            if error.condition != "MISSING_AGGREGATION":
                raise
            raise unresolved([(name,) for name in self.names], (node.name or "expression",), node) from None

    def _column(self, output: Expr, place: int) -> Column:
        return Column(output.type, place, self.names[place])

    def _outer(self, column: OuterColumn, node: exp.Expr) -> OuterColumn:
        """Return the outer column by which a subquery reads the groups' row, for ``column``, by which it
        reads the input's row. Raises MISSING_AGGREGATION or MISSING_GROUP_BY if the column isn't a key."""
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
