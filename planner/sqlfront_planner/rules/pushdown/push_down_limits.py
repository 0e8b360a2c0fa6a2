"""Pushing of limits towards the tables."""

from msgspec.structs import replace

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.logical import (
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    SetKind,
    over,
)
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep


def push_down_limits(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Move a limit below projections, into the branches of a UNION ALL, to the left side of a LEFT join and
    into the scan; a limit over a Sort makes a top-n.

    Each of these nodes gives at least one row for each row of the limited input, in its order. If the pushed
    limit isn't exact (a union's branches, a join that multiplies rows), the limit also stays above.

    >>> from sqlfront_planner.testing import example
    >>> print(example(push_down_limits, "select a + 1 as x from t order by a limit 3"))
    Project: x#0
      Sort: order1#1 limit 3
        Project: a#0 + 1 AS x, a#0 AS order1
          Scan: t [a, b]
    """
    return _top_down(plan)


@deep
def _top_down(plan: LogicalPlan) -> LogicalPlan:
    if isinstance(plan, LogicalLimit):
        moved = _push(plan)
        if moved is not plan:
            return _top_down(moved)
        # The limit that stays above is done; a limit that was pushed below is visited next.
    return over(plan, [_top_down(child) for child in plan.inputs()])


def _push(limit: LogicalLimit) -> LogicalPlan:
    """Return the plan of a limit, moved one node down or with a restricted input; the limit itself if nothing
    changes."""
    child = limit.input
    match child:
        case LogicalLimit():
            return _merge_limits(limit, child)
        case LogicalProject():
            return child.with_inputs((replace(limit, input=child.input),))
        case LogicalSort(limit=None, offset=0) if limit.count is not None:
            return replace(child, limit=limit.count, offset=limit.offset)
        case _:
            return _cut_below(limit)


def _merge_limits(outer: LogicalLimit, inner: LogicalLimit) -> LogicalLimit:
    """Merge two limits to one: the rows from ``outer.offset`` on of the rows from ``inner.offset`` on are the
    rows from the sum of both offsets on."""
    counts = []
    if outer.count is not None:
        counts.append(outer.count)
    if inner.count is not None:
        counts.append(max(0, inner.count - outer.offset))
    return LogicalLimit(inner.input, min(counts, default=None), outer.offset + inner.offset)


def _cut_below(limit: LogicalLimit) -> LogicalPlan:
    """Return the limit over an input that may stop after the rows that the limit needs."""
    if limit.count is None:
        return limit
    wanted = limit.count + limit.offset
    cut = _cut(limit.input, wanted)
    return limit if cut is limit.input else replace(limit, input=cut)


@deep
def _cut(plan: LogicalPlan, wanted: int) -> LogicalPlan:
    """Return a plan that gives the same rows but may stop after any ``wanted`` of them; the plan itself if it
    can't stop earlier."""
    match plan:
        case LogicalScan(limit=limit) if limit is None or limit > wanted:
            return replace(plan, limit=wanted)
        case LogicalLimit(count=count) if count is not None and count <= wanted:
            return plan
        case LogicalProject():
            cut = _cut(plan.input, wanted)
            return plan if cut is plan.input else plan.with_inputs((cut,))
        case LogicalSetOperation(kind=SetKind.UNION_ALL):
            branches = tuple(_limited(branch, wanted) for branch in plan.branches)
            changed = any(new is not old for new, old in zip(branches, plan.branches, strict=True))
            return plan.with_inputs(branches) if changed else plan
        case LogicalJoin(kind=JoinKind.LEFT):
            left = _limited(plan.left, wanted)
            return plan if left is plan.left else replace(plan, left=left)
        case _:
            return plan


def _limited(plan: LogicalPlan, wanted: int) -> LogicalPlan:
    match plan:
        case LogicalLimit(count=count) if count is not None and count <= wanted:
            return plan
        case LogicalSort(limit=count) if count is not None and count <= wanted:
            return plan
        case _:
            return LogicalLimit(plan, wanted)
