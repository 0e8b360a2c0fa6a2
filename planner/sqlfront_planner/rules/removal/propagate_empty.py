"""Removal of subplans without rows."""

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    SetKind,
    transform_plan,
)
from sqlfront_values.expressions import Literal
from sqlfront_values.settings import Settings


def propagate_empty(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Replace by an empty relation a filter whose condition is FALSE, a LIMIT 0, and each node that has no
    rows if its input is empty: projections, groupings with keys, inner joins.

    >>> from sqlfront_planner.testing import example
    >>> print(example(propagate_empty, "select a from t where false"))
    Values:
    """
    return transform_plan(plan, _propagate)


def is_empty(plan: LogicalPlan) -> bool:
    """Return whether the plan is a constant relation without rows."""
    return isinstance(plan, LogicalValues) and not plan.rows


def _empty(plan: LogicalPlan) -> LogicalPlan:
    return LogicalValues(plan.schema, ())


def _propagate(plan: LogicalPlan) -> LogicalPlan:
    match plan:
        case LogicalScan(filters=filters) if any(_is_never(part) for part in filters):
            return _empty(plan)
        case LogicalFilter(condition=condition) if _is_never(condition):
            return _empty(plan)
        case LogicalLimit(count=0) | LogicalSort(limit=0):
            return _empty(plan)
        case (
            LogicalFilter()
            | LogicalProject()
            | LogicalSort()
            | LogicalLimit()
            | LogicalWindow()
            | LogicalGenerate()
        ):
            return _empty(plan) if is_empty(plan.input) else plan
        case LogicalAggregate(keys=(_, *_)):
            return _empty(plan) if is_empty(plan.input) else plan
        case LogicalJoin():
            return _propagate_join(plan)
        case LogicalSetOperation():
            return _propagate_set_operation(plan)
        case _:
            return plan


def _is_never(condition: object) -> bool:
    return isinstance(condition, Literal) and condition.value is not True


def _propagate_join(plan: LogicalJoin) -> LogicalPlan:
    left, right = is_empty(plan.left), is_empty(plan.right)
    if left and plan.kind not in (JoinKind.RIGHT, JoinKind.FULL):
        return _empty(plan)
    if not right:
        return plan
    match plan.kind:
        case JoinKind.INNER | JoinKind.SEMI:
            return _empty(plan)
        case JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI:
            return plan.left
        case JoinKind.LEFT | JoinKind.FULL if not left:
            row = plan.row()
            nulls = (Literal(column.type, None) for column in row[plan.left.width :])
            items = (*row[: plan.left.width], *nulls)
            return LogicalProject(plan.left, items, tuple(column.name for column in row))
        case _:
            return plan


def _propagate_set_operation(plan: LogicalSetOperation) -> LogicalPlan:
    match plan.kind:
        case SetKind.UNION_ALL:
            branches = tuple(branch for branch in plan.branches if not is_empty(branch))
            if not branches:
                return _empty(plan)
            if len(branches) == 1:
                return branches[0]
            return plan if len(branches) == len(plan.branches) else LogicalSetOperation(plan.kind, branches)
        case SetKind.INTERSECT | SetKind.INTERSECT_ALL:
            return _empty(plan) if any(map(is_empty, plan.branches)) else plan
        case _:
            return _empty(plan) if is_empty(plan.branches[0]) else plan
