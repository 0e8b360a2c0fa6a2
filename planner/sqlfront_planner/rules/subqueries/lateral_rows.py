"""Lateral joins as plain joins on the correlation of their subquery."""

from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.rewriting import (
    filtered,
    holds_subquery,
    is_deterministic,
    strict_columns,
    substitute,
)
from sqlfront_planner.lateral_joins import LogicalLateralJoin
from sqlfront_planner.logical import LogicalFilter, LogicalJoin, LogicalPlan, LogicalProject
from sqlfront_planner.rules.subqueries.decorrelation import DecorrelatedSubquery, marked, over_joined_row
from sqlfront_planner.rules.subqueries.dependent_joins import EnclosingRows, decorrelated
from sqlfront_values.expressions import (
    Call,
    Case,
    Column,
    Expr,
    Literal,
    columns_used,
    conjunction,
    conjuncts,
)
from sqlfront_values.settings import Settings
from sqlfront_values.types import BOOLEAN


def push_below_laterals(node: LogicalPlan) -> LogicalPlan:
    """Return a filter of a lateral join's rows with the conditions that read its input's row alone below the
    join, so that the subquery is computed for fewer rows; any other node unchanged."""
    if not (isinstance(node, LogicalFilter) and isinstance(node.input, LogicalLateralJoin)):
        return node
    join, parts = node.input, conjuncts(node.condition)
    width = join.input.width
    own = tuple(part for part in parts if _reads_only(part, width))
    if not own:
        return node
    below = push_below_laterals(filtered(join.input, own))
    return filtered(replace(join, input=below), tuple(part for part in parts if part not in own))


def _reads_only(part: Expr, width: int) -> bool:
    """Return whether a condition, without subqueries, reads columns before the ordinal ``width`` only."""
    return (
        not holds_subquery(part)
        and is_deterministic(part)
        and all(ordinal < width for ordinal in columns_used(part))
    )


def unnest_lateral(node: LogicalLateralJoin, inner: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Return a plan of the rows of a lateral join. ``inner``: the plan of its subquery, without subqueries of
    its own."""
    rows = EnclosingRows(node.input)
    pulled = decorrelated(inner, rows, settings)
    names = tuple(column.name for column in node.row())
    if pulled.empty is not None:
        return _with_rows_of_no_rows(node, rows.plan, pulled, pulled.empty, names)
    width = node.input.width
    values = tuple(over_joined_row(value, width) for value in pulled.values)
    parts = tuple(over_joined_row(part, width) for part in pulled.predicates)
    columns = node.input.row()
    if node.condition is not None:
        parts = (*parts, substitute(node.condition, (*columns, *values)))
    right = pulled.plan
    if node.kind is JoinKind.LEFT and not all(map(strict_columns, pulled.values)):
        # Values that aren't null where the join finds no row have to become null.
        right = marked(right)
        found = _is_found(width + right.width - 1)
        values = tuple(
            value if strict_columns(own) else Case(value.type, ((found, value),), Literal(value.type, None))
            for own, value in zip(pulled.values, values, strict=True)
        )
    joined = LogicalJoin(rows.plan, right, node.kind, conjunction(parts))
    return LogicalProject(joined, (*columns, *values), names)


def _with_rows_of_no_rows(
    node: LogicalLateralJoin,
    left: LogicalPlan,
    pulled: DecorrelatedSubquery,
    empty: tuple[Expr, ...],
    names: tuple[str, ...],
) -> LogicalPlan:
    """Return the rows of a lateral join whose subquery has exactly one row for each row of ``left``:
    ``empty`` where the decorrelated plan has none."""
    right = marked(pulled.plan)
    width = left.width
    parts = tuple(over_joined_row(part, width) for part in pulled.predicates)
    joined = LogicalJoin(left, right, JoinKind.LEFT, conjunction(parts))
    found = _is_found(joined.width - 1)
    columns = node.input.row()
    values = tuple(
        Case(value.type, ((found, over_joined_row(value, width)),), over_joined_row(other, width))
        for value, other in zip(pulled.values, empty, strict=True)
    )
    plan = LogicalProject(joined, (*columns, *values), names)
    if node.condition is None or node.kind is JoinKind.INNER:
        return filtered(plan, () if node.condition is None else (node.condition,))
    made = tuple(
        Case(column.type, ((node.condition, column),), Literal(column.type, None))
        for column in plan.row()[node.input.width :]
    )
    return LogicalProject(plan, (*columns, *made), names)


def _is_found(ordinal: int) -> Expr:
    """Return the condition that the column ``ordinal``, a mark, isn't null: that a join found a row."""
    return Call(BOOLEAN, "is_not_null", (Column(BOOLEAN, ordinal, "matched"),))
