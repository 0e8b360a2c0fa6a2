"""The plans of a query's shared rows: which jobs compute them, and in which order.

The rows of a WITH RECURSIVE are computed level by level. Shared rows that its step alone reads are computed
once before the first step, or, if they depend on the rows of a level, anew for each level.
"""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.logical import (
    LogicalFilter,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    LogicalValues,
    all_nodes,
    map_inputs,
)
from sqlfront_planner.plan import SharedPlan, StepPlan, Template
from sqlfront_planner.recursion import LevelRows, LogicalRecursion
from sqlfront_planner.shared_rows import SharedRows, shared_scan

#: Makes the template of the jobs that compute the rows of an optimized plan.
MakeTemplate = Callable[[LogicalPlan], Template]


def shared_plans(plan: LogicalPlan, template: MakeTemplate) -> tuple[SharedPlan, ...]:
    """Return the plans of the shared rows that an optimized plan reads, directly or indirectly, in the order
    of their computation. ``template`` makes the template of each."""
    tables = _Tables(plan)
    return tuple(_planned(table, plan, tables.keys, template) for table in tables.ordered)


class _Tables:
    """The shared rows that a plan needs before its own job: ``ordered``, each after those that it needs.
    ``done``: the keys of those that are computed before."""

    def __init__(self, plan: LogicalPlan, done: frozenset[str] = frozenset()) -> None:
        self.ordered: list[SharedRows] = []
        self._outside = {table.key: table for table in _needed(plan, done)}
        self._added = set(done)
        for table in self._outside.values():
            self._add(table)
        self.keys = frozenset(self._added)

    def _add(self, table: SharedRows) -> None:
        if table.key in self._added:
            return
        self._added.add(table.key)
        for below in _needed(table.plan, frozenset()):
            self._add(below)
        if isinstance(table.plan, LogicalRecursion):
            for below in _needed(table.plan.step, frozenset()):
                if below.key in self._outside:
                    self._add(below)
        self.ordered.append(table)


def _needed(plan: LogicalPlan, done: frozenset[str]) -> list[SharedRows]:
    """Return the shared rows that a plan needs, directly or indirectly, without those in ``done`` and those
    that only the steps of recursions need."""
    found: dict[str, SharedRows] = {}
    waiting, seen = [plan], set[int]()
    while waiting:
        part = waiting.pop()
        for node in all_nodes(part.anchor if isinstance(part, LogicalRecursion) else part, seen=seen):
            if isinstance(node, LogicalScan) and isinstance(node.table, SharedRows):
                table = node.table
                if table.key not in found and table.key not in done:
                    found[table.key] = table
                    waiting.append(table.plan)
    return list(found.values())


def _planned(
    table: SharedRows, query: LogicalPlan, done: frozenset[str], template: MakeTemplate
) -> SharedPlan:
    """Return the plan of shared rows that the plan ``query`` reads. ``done``: the keys of all shared rows
    that are computed before a step that reads them."""
    plan = table.plan
    if not isinstance(plan, LogicalRecursion):
        return SharedPlan(table.key, table.name, template(plan), plan)
    recursion = _limited(query, plan, table)
    inside = _Tables(recursion.step, done)
    kept: list[SharedPlan] = []
    shared: list[SharedPlan] = []
    for part in inside.ordered:
        depends = recursion.level.key in levels_read(part.plan)
        (shared if depends else kept).append(_planned(part, recursion.step, inside.keys, template))
    anchor, step = map(recursion.of_level, recursion.inputs())
    limits = (recursion.levels, recursion.rows, recursion.limit)
    name = f"{table.name}, each further level"
    further = StepPlan(recursion.level.key, name, template(step), step, tuple(kept), tuple(shared), *limits)
    return SharedPlan(table.key, table.name, template(anchor), anchor, further)


def _limited(query: LogicalPlan, recursion: LogicalRecursion, table: SharedRows) -> LogicalRecursion:
    """Return the ``recursion``, whose rows are ``table``, with the number of rows that the plan ``query``
    needs of it as its limit, if each of its scans has a limit."""
    limits = [None if scan.filters else scan.limit for scan in _scans_of(query, table)]
    known = [limit for limit in limits if limit is not None]
    return replace(recursion, limit=max(known)) if known and len(known) == len(limits) else recursion


def _scans_of(plan: LogicalPlan, table: SharedRows) -> Iterator[LogicalScan]:
    """Yield the scans of the shared rows ``table`` in the plan, and in the plans of all shared rows that the
    plan reads."""
    waiting, seen = [plan], set[int]()
    while waiting:
        for node in all_nodes(waiting.pop(), seen=seen):
            if isinstance(node, LogicalScan) and isinstance(node.table, SharedRows):
                if node.table.key == table.key:
                    yield node
                waiting.append(node.table.plan)


def levels_read(plan: LogicalPlan) -> frozenset[str]:
    """Return the keys of the :class:`~sqlfront_planner.recursion.LevelRows` that a plan reads, directly or by
    shared rows, without those of recursions inside of the plan."""
    read, inside = set[str](), set[str]()
    waiting, seen = [plan], set[int]()
    while waiting:
        for node in all_nodes(waiting.pop(), seen=seen):
            if isinstance(node, LogicalRecursion):
                inside.add(node.level.key)
            elif isinstance(node, LogicalScan):
                if isinstance(node.table, LevelRows):
                    read.add(node.table.key)
                elif isinstance(node.table, SharedRows):
                    waiting.append(node.table.plan)
    return frozenset(read - inside)


def optimized_recursion(
    recursion: LogicalRecursion, optimize: Callable[[LogicalPlan], LogicalPlan]
) -> LogicalRecursion:
    """Return the recursion with the plans of its anchor and its step as ``optimize`` returns them. The static
    parts of the step, which don't read the level before, become shared rows, so that they are computed once
    and not for each level. A part that only scans, filters and projects a table, or calls a function with
    another value at each call, stays as it is."""
    step = _with_kept(optimize(recursion.step), recursion.level)
    return replace(recursion, anchor=optimize(recursion.anchor), step=step)


def _with_kept(plan: LogicalPlan, level: LevelRows) -> LogicalPlan:
    if level.key in levels_read(plan):
        return map_inputs(plan, lambda child: _with_kept(child, level))
    nodes = tuple(all_nodes(plan))
    if all(isinstance(node, LogicalScan | LogicalFilter | LogicalProject | LogicalValues) for node in nodes):
        return plan
    if not all(is_deterministic(operand) for node in nodes for operand in node.operands()):
        return plan
    return shared_scan(f"static rows of {level.name}", plan)
