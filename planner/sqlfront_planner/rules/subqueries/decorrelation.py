"""Decorrelation: a correlated subquery becomes a plan without correlation, and the predicates by which this
plan's rows match a row of the enclosing query (the enclosing row).

The plan is processed bottom-up. Each predicate over an :class:`~.logical.OuterColumn` is lifted through the
operators above until the predicate can be a join condition. Only equalities can pass a grouping, a window or
a limit: the inner side of the equality then becomes a grouping (partitioning) key, which computes the
subquery for all values of the inner side at once. What can't be lifted so is left to
:mod:`~sqlfront_planner.rules.subqueries.dependent_joins`.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_planner.expressions.rewriting import (
    FALSE,
    TRUE,
    filtered,
    holds_outer_column,
    is_correlated,
    shift,
    substitute,
)
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalSetOperation,
    LogicalSort,
    LogicalWindow,
    OuterColumn,
    call_operands,
    with_call_operands,
)
from sqlfront_planner.rules.expressions.fold_constants import fold
from sqlfront_planner.rules.expressions.simplify_expressions import simplify
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Column,
    Expr,
    FrameUnit,
    Literal,
    SortOrder,
    WindowCall,
    WindowFrame,
    columns_used,
    conjunction,
    conjuncts,
    transform,
)
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep
from sqlfront_values.types import BOOLEAN, INT


class DecorrelatedSubquery(msgspec.Struct, frozen=True):
    """The result of decorrelation: a plan without correlation, to be joined with the enclosing rows.

    For each enclosing row the subquery's rows are the rows of ``plan`` that satisfy all ``predicates``, and
    the subquery's columns are ``values``; both read the plan's row and, by OuterColumn, the enclosing row.
    ``empty`` is the subquery's row if no row of the plan satisfies the predicates (an aggregation without
    GROUP BY has such a row), None if the subquery then has no row. ``limited``: LIMIT 1 allows one row at
    most.
    """

    plan: LogicalPlan
    predicates: tuple[Expr, ...]
    values: tuple[Expr, ...]
    empty: tuple[Expr, ...] | None = None
    limited: bool = False

    def equalities(self) -> tuple[tuple[Expr, ...], Callable[[int], tuple[Expr, ...]]]:
        """Split the predicates, each of the form ``inner side = outer side`` (or ``<=>``), so that the inner
        sides can become grouping keys. Return the inner sides, and a function of an ordinal, which returns
        the predicates over a row that has the inner sides as its columns from this ordinal on. Raises
        NotLiftedError for a predicate of another form."""
        inner: list[Expr] = []
        outer: list[tuple[str, Expr]] = []
        for predicate in self.predicates:
            match predicate:
                case Call(function="equal" | "equal_null_safe" as function, arguments=(first, second)):
                    sides = (first, second) if holds_outer_column(second) else (second, first)
                case _:
                    raise NotLiftedError("a condition on the outer column other than =")
            if holds_outer_column(sides[0]) or columns_used(sides[1]):
                raise NotLiftedError("a condition that mixes inner and outer columns")
            inner.append(sides[0])
            outer.append((function, sides[1]))

        def tied(start: int) -> tuple[Expr, ...]:
            places = enumerate(zip(inner, outer, strict=True), start)
            return tuple(
                Call(BOOLEAN, function, (Column(mine.type, place), other))
                for place, (mine, (function, other)) in places
            )

        return tuple(inner), tied


class NotLiftedError(Exception):
    """The error of a correlation that can't be lifted out of a subquery, with the construct's name."""


def over_joined_row(expression: Expr, width: int) -> Expr:
    """Translate an expression over the subquery's row and outer columns to one over the joined row: the
    enclosing row, which has ``width`` columns, followed by the subquery's row."""
    return transform(
        shift(expression, width),
        lambda item: Column(item.type, item.ordinal, item.name) if isinstance(item, OuterColumn) else item,
    )


def marked(plan: LogicalPlan) -> LogicalPlan:
    """Return the plan with a last column that is TRUE, so that an outer join's rows show whether the join
    found a row."""
    row = plan.row()
    return LogicalProject(plan, (*row, TRUE), (*(column.name for column in row), "matched"))


@deep
def pull_up(plan: LogicalPlan, settings: Settings) -> DecorrelatedSubquery:
    """Decorrelate a subquery's plan: move the predicates that read the enclosing row out of the plan, to its
    top. Raises NotLiftedError if a predicate can't be moved."""
    if not is_correlated(plan):
        return DecorrelatedSubquery(plan, (), plan.row())
    match plan:
        case LogicalFilter():
            return _pull_filter(plan, settings)
        case LogicalProject():
            inner = pull_up(plan.input, settings)
            values = tuple(substitute(item, inner.values) for item in plan.expressions)
            empty = None
            if inner.empty is not None:
                empty = tuple(substitute(item, inner.empty) for item in plan.expressions)
            return replace(inner, values=values, empty=empty)
        case LogicalJoin():
            return _pull_join(plan, settings)
        case LogicalAggregate():
            return _pull_aggregate(plan, settings)
        case LogicalSort(limit=None, offset=0):
            return pull_up(plan.input, settings)
        case LogicalLimit() | LogicalSort():
            return _pull_limit(plan, settings)
        case LogicalWindow():
            return _pull_window(plan, settings)
        case LogicalSetOperation(kind=kind):
            raise NotLiftedError(f"the outer column inside of {kind.value.upper()}")
        case _:
            raise NotLiftedError(f"the outer column inside of {plan.label}")


def _pull_filter(plan: LogicalFilter, settings: Settings) -> DecorrelatedSubquery:
    inner = pull_up(plan.input, settings)
    parts = tuple(substitute(part, inner.values) for part in conjuncts(plan.condition))
    lifted = tuple(part for part in parts if holds_outer_column(part))
    kept = tuple(part for part in parts if not holds_outer_column(part))
    empty = inner.empty
    if empty is not None:
        passes = simplify_constant(substitute(plan.condition, empty), settings)
        if not isinstance(passes, Literal):
            raise NotLiftedError("the outer column in HAVING")
        if passes.value is True:  # a group that HAVING drops would count as a group without rows
            raise NotLiftedError("a HAVING that is true for a group without rows")
        empty = None
    predicates = (*inner.predicates, *lifted)
    return DecorrelatedSubquery(filtered(inner.plan, kept), predicates, inner.values, empty, inner.limited)


def simplify_constant(expression: Expr, settings: Settings) -> Expr:
    """Fold and simplify the expression; the result is a literal if the value can be computed."""
    return transform(fold(expression, settings), lambda item: fold(simplify(item), settings))


def _pull_join(plan: LogicalJoin, settings: Settings) -> DecorrelatedSubquery:
    left = pull_up(plan.left, settings)
    right = pull_up(plan.right, settings)
    if left.empty is not None or right.empty is not None:
        raise NotLiftedError("a join of an aggregation that reads the outer column")
    width = left.plan.width
    values = (*left.values, *(shift(value, width) for value in right.values))
    padded = {JoinKind.LEFT: right.values, JoinKind.RIGHT: left.values, JoinKind.FULL: values}
    if any(map(holds_outer_column, padded.get(plan.kind, ()))):  # null where the join finds no row
        raise NotLiftedError(f"the outer column beside a {plan.kind.value} join")
    on: list[Expr] = []
    on += (key.over_both(plan.left.width) for key in plan.keys)
    on += conjuncts(plan.condition) if plan.condition is not None else ()
    parts = tuple(substitute(part, values) for part in on)
    lifted = tuple(part for part in parts if holds_outer_column(part))
    kept = tuple(part for part in parts if not holds_outer_column(part))
    if plan.kind is not JoinKind.INNER and (lifted or right.predicates):
        raise NotLiftedError(f"the outer column inside of a {plan.kind.value} join")
    if plan.kind in (JoinKind.RIGHT, JoinKind.FULL) and left.predicates:
        raise NotLiftedError(f"the outer column inside of a {plan.kind.value} join")
    predicates = (*left.predicates, *(shift(part, width) for part in right.predicates), *lifted)
    join = LogicalJoin(left.plan, right.plan, plan.kind, conjunction(kept))
    return DecorrelatedSubquery(join, predicates, left.values if plan.kind in FILTERING_JOINS else values)


def _inner_only(expressions: tuple[Expr, ...], what: str) -> tuple[Expr, ...]:
    if any(holds_outer_column(item) for item in expressions):
        raise NotLiftedError(f"the outer column inside of {what}")
    return expressions


def _pull_aggregate(plan: LogicalAggregate, settings: Settings) -> DecorrelatedSubquery:
    inner = pull_up(plan.input, settings)
    if inner.empty is not None:
        raise NotLiftedError("an aggregation of an aggregation that reads the outer column")
    extra, tied = inner.equalities()
    keys = _inner_only(tuple(substitute(key, inner.values) for key in plan.keys), "GROUP BY")
    calls = tuple(_over_values(call, inner.values) for call in plan.calls)
    row = plan.row()
    names = (
        *(column.name for column in row[: len(keys)]),
        *("" for _ in extra),
        *(column.name for column in row[len(keys) :]),
    )
    grouped = LogicalAggregate(inner.plan, (*keys, *extra), calls, names)
    columns = grouped.row()
    values = (*columns[: len(keys)], *columns[len(keys) + len(extra) :])
    empty = None if plan.keys else tuple(empty_value(call) for call in plan.calls)
    return DecorrelatedSubquery(grouped, tied(len(keys)), values, empty)


def _over_values(call: AggregateCall, values: tuple[Expr, ...]) -> AggregateCall:
    operands = tuple(substitute(operand, values) for operand in call_operands(call))
    return with_call_operands(call, iter(_inner_only(operands, "an aggregate function")))


def empty_value(call: AggregateCall) -> Expr:
    """Return the value of an aggregate function over no rows.

    >>> empty_value(AggregateCall("count", (), INT)).value
    0
    """
    if call.function in ("count", "count_if", "regr_count", "approx_count_distinct"):
        return Literal(call.type, 0)
    if call.function in ("collect_list", "collect_set", "array_agg"):
        return Literal(call.type, [])
    return Literal(call.type, None)


def _pull_limit(plan: LogicalLimit | LogicalSort, settings: Settings) -> DecorrelatedSubquery:
    """Decorrelate a limit: it becomes a filter on the row number, counted separately for each combination of
    the inner sides' values, in the order of the limit."""
    count = plan.count if isinstance(plan, LogicalLimit) else plan.limit
    inner = pull_up(plan.input, settings)
    if inner.empty is not None:
        if plan.offset == 0 and count != 0:
            return inner
        return replace(inner, plan=filtered(inner.plan, (FALSE,)), empty=None)
    extra, _tied = inner.equalities()
    number = WindowCall("row_number", (), INT, WindowFrame(FrameUnit.ROWS, None, 0))
    order = _order(plan, settings) or tuple((item, SortOrder.ASCENDING) for item in extra[:1])
    window = LogicalWindow(inner.plan, extra, order, (number,), ("row_number",))
    place = Column(INT, inner.plan.width, "row_number")
    parts: list[Expr] = []
    if count is not None:
        last = Literal(INT, min(count + plan.offset, 2**31 - 1))
        parts.append(Call(BOOLEAN, "less_equal", (place, last)))
    if plan.offset:
        parts.append(Call(BOOLEAN, "greater", (place, Literal(INT, plan.offset))))
    rows = filtered(window, tuple(parts))
    return DecorrelatedSubquery(rows, inner.predicates, inner.values, limited=inner.limited or count == 1)


def _order(plan: LogicalPlan, settings: Settings) -> tuple[tuple[Expr, SortOrder], ...]:
    """Return the order below a limit, as pairs of expression and order over the row of the decorrelated plan;
    empty without an ORDER BY. Raises NotLiftedError for an order by an outer column."""
    while isinstance(plan, LogicalLimit | LogicalProject):
        plan = plan.input
    if not isinstance(plan, LogicalSort):
        return ()
    values = pull_up(plan.input, settings).values
    order = tuple((values[key.ordinal], key.order) for key in plan.keys)
    _inner_only(tuple(item for item, _ in order), "ORDER BY")
    return order


def _pull_window(plan: LogicalWindow, settings: Settings) -> DecorrelatedSubquery:
    inner = pull_up(plan.input, settings)
    if inner.empty is not None:
        raise NotLiftedError("a window over an aggregation that reads the outer column")
    extra, _tied = inner.equalities()
    moved = tuple(substitute(operand, inner.values) for operand in plan.operands())
    node = plan.with_operands(_inner_only(moved, "a window function"))
    assert isinstance(node, LogicalWindow)
    window = replace(node, input=inner.plan, partition=(*node.partition, *extra))
    added = window.row()[inner.plan.width :]
    return DecorrelatedSubquery(window, inner.predicates, (*inner.values, *added))
