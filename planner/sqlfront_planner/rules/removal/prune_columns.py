"""Removal of columns that no node reads."""

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_engine.join_kinds import FILTERING_JOINS
from sqlfront_planner.expressions.rewriting import map_operands, remap, selected
from sqlfront_planner.logical import (
    JoinKey,
    LogicalAggregate,
    LogicalFilter,
    LogicalGenerate,
    LogicalJoin,
    LogicalLimit,
    LogicalPlan,
    LogicalProject,
    LogicalScalarRow,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalValues,
    LogicalWindow,
    SetKind,
    call_operands,
)
from sqlfront_values.expressions import Column, SortKey, columns_used
from sqlfront_values.settings import Settings
from sqlfront_values.stacks import deep

Needed = frozenset[int]
#: A pruned plan, and the new ordinal of each needed column.
Pruned = tuple[LogicalPlan, dict[int, int]]


def prune_columns(plan: LogicalPlan, settings: Settings) -> LogicalPlan:
    """Reduce every node's output to the columns that the nodes above read; scans read no other columns,
    unused aggregates are not computed.

    A projection of mere columns disappears. A projection is added above a filter or a join that reads columns
    that no node above reads, so that rows are narrow wherever they are copied.

    >>> from sqlfront_planner.testing import example
    >>> print(example(prune_columns, "select a from (select a, b, a + b as c from t)"))
    Scan: t [a]
    """
    pruned, places = _prune(plan, frozenset(range(plan.width)))
    return selected(pruned, [places[place] for place in range(plan.width)])


@deep
def _prune(plan: LogicalPlan, needed: Needed) -> Pruned:
    match plan:
        case LogicalScan():
            return _prune_scan(plan, needed)
        case LogicalValues():
            return _prune_values(plan, needed)
        case LogicalProject():
            return _prune_project(plan, needed)
        case LogicalFilter():
            child, places = _prune(plan.input, needed | columns_used(plan.condition))
            return _narrow(LogicalFilter(child, remap(plan.condition, places)), places, needed)
        case LogicalJoin():
            return _prune_join(plan, needed)
        case LogicalAggregate():
            return _prune_aggregate(plan, needed)
        case LogicalWindow():
            return _prune_window(plan, needed)
        case LogicalGenerate():
            return _prune_generate(plan, needed)
        case LogicalSort():
            child, places = _prune(plan.input, needed | {key.ordinal for key in plan.keys})
            keys = tuple(SortKey(places[key.ordinal], key.order) for key in plan.keys)
            return _narrow(replace(plan, input=child, keys=keys), places, needed)
        case LogicalLimit():
            child, places = _prune(plan.input, needed)
            return plan.with_inputs((child,)), places
        case LogicalScalarRow():
            child, places = _prune(plan.input, needed or frozenset((0,)))
            return LogicalScalarRow(child), places
        case LogicalSetOperation():
            return _prune_set_operation(plan, needed)
        case _:
            return _keep_all(plan)


def _keep_all(plan: LogicalPlan) -> Pruned:
    inputs = tuple(_select(child, range(child.width)) for child in plan.inputs())
    return plan.with_inputs(inputs), {place: place for place in range(plan.width)}


def _select(plan: LogicalPlan, ordinals: range | list[int]) -> LogicalPlan:
    """Prune the plan, and return a plan of exactly its columns ``ordinals``, in this order."""
    pruned, places = _prune(plan, frozenset(ordinals))
    return selected(pruned, [places[ordinal] for ordinal in ordinals])


def _narrow(plan: LogicalPlan, places: dict[int, int], needed: Needed) -> Pruned:
    """Project away the columns of ``plan``, a node just pruned, that no node above reads. ``places``: the
    ordinal in ``plan`` of each column before pruning; ``needed``: the columns that the nodes above read, as
    ordinals before pruning. Return the plan, and the new ordinals of the needed columns."""
    if not plan.width:
        return plan, places
    kept = sorted({places[place] for place in needed} or {narrowest(plan)})
    if len(kept) == plan.width:
        return plan, places
    order = {place: position for position, place in enumerate(kept)}
    return selected(plan, kept), {place: order[places[place]] for place in needed}


def narrowest(plan: LogicalPlan) -> int:
    """Return the ordinal of the plan's column with the fewest bytes per value. Pruning keeps this column if
    the nodes above need rows but no values."""

    def size(column: Column) -> int:
        try:
            return int(column.type.bit_width)
        except ValueError:
            return 1 << 20

    return min(plan.row(), key=size).ordinal


def _some(plan: LogicalPlan, needed: Needed) -> Needed:
    """Return the needed columns, or the narrowest column if none is needed: joins and unions need rows with
    columns."""
    return needed or frozenset((narrowest(plan),) if plan.width else ())


def _prune_scan(plan: LogicalScan, needed: Needed) -> Pruned:
    kept = sorted(needed)
    places = {place: position for position, place in enumerate(kept)}
    if len(kept) == len(plan.columns):
        return plan, places
    return replace(plan, columns=tuple(plan.columns[place] for place in kept)), places


def _prune_values(plan: LogicalValues, needed: Needed) -> Pruned:
    kept = sorted(needed)
    places = {place: position for position, place in enumerate(kept)}
    if len(kept) == plan.width:
        return plan, places
    schema = pa.schema([plan.output.field(place) for place in kept])
    return LogicalValues(schema, tuple(tuple(row[place] for place in kept) for row in plan.rows)), places


def _prune_project(plan: LogicalProject, needed: Needed) -> Pruned:
    kept = sorted(needed)
    items = [plan.expressions[place] for place in kept]
    child, places = _prune(plan.input, frozenset().union(*(columns_used(item) for item in items)))
    if all(isinstance(item, Column) for item in items):
        return child, {
            place: places[item.ordinal]
            for place, item in zip(kept, items, strict=True)
            if isinstance(item, Column)
        }
    expressions = tuple(remap(item, places) for item in items)
    names = tuple(plan.names[place] for place in kept)
    return LogicalProject(child, expressions, names), {place: position for position, place in enumerate(kept)}


def _prune_join(plan: LogicalJoin, needed: Needed) -> Pruned:
    width = plan.left.width
    on = columns_used(plan.condition) if plan.condition is not None else frozenset()
    used = needed | on
    left_used = frozenset(place for place in used if place < width).union(
        *(columns_used(key.left) for key in plan.keys)
    )
    right_used = frozenset(place - width for place in used if place >= width).union(
        *(columns_used(key.right) for key in plan.keys)
    )
    left, left_places = _prune(plan.left, _some(plan.left, left_used))
    right, right_places = _prune(plan.right, _some(plan.right, right_used))
    places = left_places | {width + place: left.width + to for place, to in right_places.items()}
    keys = tuple(
        JoinKey(remap(key.left, left_places), remap(key.right, right_places), key.null_safe)
        for key in plan.keys
    )
    condition = None if plan.condition is None else remap(plan.condition, places)
    join = LogicalJoin(left, right, plan.kind, condition, keys)
    return _narrow(join, left_places if plan.kind in FILTERING_JOINS else places, needed)


def _prune_aggregate(plan: LogicalAggregate, needed: Needed) -> Pruned:
    count = len(plan.keys)
    kept = [place for place in range(len(plan.calls)) if count + place in needed]
    calls = [plan.calls[place] for place in kept]
    if not plan.keys and not calls:
        return LogicalValues(pa.schema([]), ((),)), {}
    read = frozenset[int]().union(
        *(columns_used(key) for key in plan.keys),
        *(columns_used(operand) for call in calls for operand in call_operands(call)),
    )
    child, places = _prune(plan.input, read)
    names = (*plan.names[:count], *(plan.names[count + place] for place in kept))
    smaller = LogicalAggregate(plan.input, plan.keys, tuple(calls), names)
    node = map_operands(smaller, lambda operand: remap(operand, places)).with_inputs((child,))
    order = {place: place for place in range(count)}
    return node, order | {count + place: count + position for position, place in enumerate(kept)}


def _prune_window(plan: LogicalWindow, needed: Needed) -> Pruned:
    width = plan.input.width
    kept = [place for place in range(len(plan.calls)) if width + place in needed]
    through = frozenset(place for place in needed if place < width)
    if not kept:
        return _prune(plan.input, through)
    calls = tuple(plan.calls[place] for place in kept)
    names = tuple(plan.names[place] for place in kept)
    smaller = replace(plan, calls=calls, names=names)
    read = through.union(*(columns_used(operand) for operand in smaller.operands()))
    child, places = _prune(plan.input, _some(plan.input, read))
    node = map_operands(smaller, lambda operand: remap(operand, places)).with_inputs((child,))
    added = {width + place: child.width + position for position, place in enumerate(kept)}
    return _narrow(node, places | added, needed)


def _prune_generate(plan: LogicalGenerate, needed: Needed) -> Pruned:
    """Prune the input; the generated columns that no node above reads are projected away, so that the lowered
    operator doesn't make them."""
    width = plan.input.width
    through = frozenset(place for place in needed if place < width)
    read = through.union(*(columns_used(argument) for argument in plan.arguments))
    child, places = _prune(plan.input, read)
    node = map_operands(plan, lambda operand: remap(operand, places)).with_inputs((child,))
    added = {width + place: child.width + place for place in range(len(plan.names))}
    return _narrow(node, places | added, needed)


def _prune_set_operation(plan: LogicalSetOperation, needed: Needed) -> Pruned:
    if plan.kind is not SetKind.UNION_ALL:
        return _keep_all(plan)
    kept = sorted(_some(plan, needed))
    branches = tuple(_select(branch, kept) for branch in plan.branches)
    return plan.with_inputs(branches), {place: position for position, place in enumerate(kept)}
