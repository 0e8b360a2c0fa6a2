"""Pushing of limits towards the tables."""

import msgspec
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
from sqlfront_values.expressions import Expr, Literal
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep
from sqlfront_values.types import BIGINT


def push_down_limits(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Move a limit below projections, into the branches of a UNION ALL, to the left side of a LEFT join, to
    both sides of a cross join and into the scan; a limit over a Sort makes a top-n.

    Each of these nodes gives at least one row for each row of the limited input, in its order (a cross join
    if the other side has a row, and else none). If the pushed
    limit isn't exact (a union's branches, a join that multiplies rows), the limit also stays above. So does a
    limit whose numbers are arguments: a Sort and a scan below it get the bound of the numbers. Above a
    projection the bound would not do, since the projection may fail for a row that no run returns.

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
        case LogicalLimit() if not limit.varies and not child.varies:
            return _merge_limits(limit, child)
        case LogicalProject():
            return child.with_inputs((replace(limit, input=child.input),))
        case LogicalSort(limit=None, offset=0) if limit.count is not None:
            if limit.varies:
                return replace(limit, input=replace(child, limit=limit.count + limit.offset))
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
    cut = _cut(limit.input, _wanted(limit, limit.count))
    return limit if cut is limit.input else replace(limit, input=cut)


class _Wanted(msgspec.Struct, frozen=True):
    """The number of rows that a limit needs of its input: ``rows``, or in each run the sum of ``run``, which
    is at most ``rows`` (empty = exactly ``rows``)."""

    rows: int
    run: tuple[Expr, ...]

    def of(self, plan: LogicalPlan) -> LogicalPlan:
        """Return the plan limited to this number of rows."""
        return LogicalLimit(plan, self.rows, 0, self.run)


def _wanted(limit: LogicalLimit, count: int) -> _Wanted:
    """Return what the limit, whose number of rows is ``count``, needs of its input."""
    run: tuple[Expr, ...] = ()
    if limit.varies:
        skipped = (Literal(BIGINT, limit.offset),) if limit.offset else ()
        run = (*(limit.run_count or (Literal(BIGINT, count),)), *(limit.run_offset or skipped))
    return _Wanted(count + limit.offset, run)


@deep
def _cut(plan: LogicalPlan, wanted: _Wanted) -> LogicalPlan:
    """Return a plan that gives the same rows but may stop after any ``wanted`` of them; the plan itself if it
    can't stop earlier."""
    match plan:
        case LogicalScan(limit=limit) if limit is None or limit > wanted.rows:
            return replace(plan, limit=wanted.rows)
        case LogicalLimit(count=count) if count is not None and count <= wanted.rows:
            return plan
        case LogicalProject():
            cut = _cut(plan.input, wanted)
            return plan if cut is plan.input else plan.with_inputs((cut,))
        case LogicalSetOperation(kind=SetKind.UNION_ALL):
            branches = tuple(_limited(branch, wanted) for branch in plan.branches)
            changed = any(new is not old for new, old in zip(branches, plan.branches, strict=True))
            return plan.with_inputs(branches) if changed else plan
        case LogicalJoin(kind=JoinKind.INNER, condition=None, keys=()):
            sides = tuple(_limited(side, wanted) for side in plan.inputs())
            changed = any(new is not old for new, old in zip(sides, plan.inputs(), strict=True))
            return plan.with_inputs(sides) if changed else plan
        case LogicalJoin(kind=JoinKind.LEFT):
            left = _limited(plan.left, wanted)
            return plan if left is plan.left else replace(plan, left=left)
        case _:
            return plan


def _limited(plan: LogicalPlan, wanted: _Wanted) -> LogicalPlan:
    match plan:
        case LogicalLimit(count=count) if count is not None and count <= wanted.rows:
            return plan
        case LogicalSort(limit=count) if count is not None and count <= wanted.rows:
            return plan
        case _:
            return wanted.of(plan)
