"""Lowering of joins: the choice of the build side, which is read first and held in memory, and of the routing
that brings equal keys together. The other side, the probe side, is streamed."""

from collections.abc import Callable
from typing import Final

import msgspec

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.joins.join_rows import wanted_rows
from sqlfront_engine.processors.joins.nested_loop_join import NestedLoopJoin
from sqlfront_planner.logical import LogicalJoin, LogicalPlan, LogicalScan
from sqlfront_planner.lowering.builder import Builder, Fragment, lies_by, narrowed
from sqlfront_planner.lowering.scans import lower_filtered_by_keys, lower_found_by_keys
from sqlfront_planner.pruning.joins import holds_left, keys_from_join
from sqlfront_values.evaluate import can_fail
from sqlfront_values.expressions import Column
from sqlfront_values.settings import DEFAULT_PARTITIONS

#: Estimated bytes of a held side up to which the side is broadcast, instead of partitioning both sides: every
#: instance builds and keeps a table of its own.
BROADCAST_BYTES: Final = 4_000_000
#: The share of the other side's rows up to which the held side's rows are broadcast, too: copying one row for
#: each of fifty costs less than routing the fifty.
BROADCAST_SHARE: Final = 0.02
#: Bytes: the width of a row by which, over several members, ``collect_rows`` limits the size of a broadcast.
#: 20,000 collected rows of this width are the four million bytes of BROADCAST_BYTES.
BROADCAST_ROW_BYTES: Final = 200

#: The share of the streamed side's keys up to which the held side's keys filter the streamed side: with a
#: larger share most rows pass, and the test is lost work;
FILTERING_SHARE: Final = 0.5
#: and the rows of the held side up to which the held side's keys filter: the filter's table grows with the
#: rows, and a large table is no quicker than the look-up that it saves.
MOST_FILTERING_ROWS: Final = 2_000_000

#: Kinds whose output rows each belong to a left row, so the right side may be copied to every instance.
_STREAM_LEFT: Final = FILTERING_JOINS | {JoinKind.INNER, JoinKind.LEFT}


class _Sides(msgspec.Struct, frozen=True):
    """A join and its lowered inputs: ``left_keys`` and ``right_keys`` are the keys' ordinals in the rows of
    the inputs, ``output`` the ordinals of the join's row that are wanted."""

    join: LogicalJoin
    left: Fragment
    right: Fragment
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    output: tuple[int, ...]


def key_columns(join: LogicalJoin) -> bool:
    """Return whether all keys of the join are columns, as its processor requires, rather than computed
    expressions."""
    return all(isinstance(key.left, Column) and isinstance(key.right, Column) for key in join.keys)


def lower_sides(
    builder: Builder, join: LogicalJoin, lower: Callable[[LogicalPlan], Fragment]
) -> tuple[Fragment, Fragment, bool]:
    """Lower both sides of a join by ``lower``. Return the left fragment, the right fragment, and whether the
    left side is the build side, which is read first and held in memory.

    If that pays, the keys of the build side are also used to look up or filter the rows of the other side,
    the probe side. The build side then feeds two vertices, both of which read it to its end before any other
    input, so neither can block the other.
    """
    wanted = keys_from_join(join, builder.cardinality, builder.conditions)
    if wanted is not None:
        held = join.left if wanted.holds_left else join.right
        found, other = lower_found_by_keys(builder, wanted, lower(held))
        return (other, found, True) if wanted.holds_left else (found, other, False)
    hold_left = bool(join.keys) and holds_left(join, builder.cardinality)
    held, streamed = (join.left, join.right) if hold_left else (join.right, join.left)
    keys = _filtering_keys(builder, join, hold_left)
    if keys and isinstance(streamed, LogicalScan):
        filtered, other = lower_filtered_by_keys(builder, streamed, lower(held), keys)
        return (other, filtered, True) if hold_left else (filtered, other, False)
    return lower(join.left), lower(join.right), hold_left


def _filtering_keys(builder: Builder, join: LogicalJoin, hold_left: bool) -> list[tuple[int, int]]:
    """Return the pairs of ordinals (probe key, build key) by which a filter drops most rows of the probe side
    right after reading; empty if such a filter is impossible or doesn't pay. ``hold_left``: the left side is
    the build side."""
    held, streamed = (join.left, join.right) if hold_left else (join.right, join.left)
    if not builder.parallel or not isinstance(streamed, LogicalScan) or not streamed.filters:
        return []
    wanted = wanted_rows(join.kind, build_left=hold_left)
    if wanted.unmatched_probe or any(map(can_fail, streamed.filters)):
        return []
    keys = [key for key in join.keys if not key.null_safe]
    pairs = [(key.right, key.left) if hold_left else (key.left, key.right) for key in keys]
    there = builder.cardinality.groups(held, tuple(other for _, other in pairs))
    possible = builder.cardinality.key_side(streamed, tuple(mine for mine, _ in pairs)).values
    if builder.cardinality.rows(held) > MOST_FILTERING_ROWS or there > FILTERING_SHARE * possible:
        return []
    columns = [
        (mine, other) for mine, other in pairs if isinstance(mine, Column) and isinstance(other, Column)
    ]
    return [(mine.ordinal, other.ordinal) for mine, other in columns]


def lower_join(
    builder: Builder,
    join: LogicalJoin,
    left: Fragment,
    right: Fragment,
    output: tuple[int, ...],
    *,
    hold_left: bool,
) -> Fragment:
    """Lower a join over its lowered sides. ``output``: the ordinals of the join's row that are wanted.
    ``hold_left``: the left side is the build side, else the right side."""
    if not join.keys:
        return _lower_nested_loop(builder, join, left, right, output)
    left_keys = tuple(key.left.ordinal for key in join.keys if isinstance(key.left, Column))
    right_keys = tuple(key.right.ordinal for key in join.keys if isinstance(key.right, Column))
    sides = _Sides(join, left, right, left_keys, right_keys, output)
    if not left.parallel and not right.parallel:
        return _lower_collected(builder, sides, hold_left)
    if builder.distributed and join.kind is not JoinKind.NULL_AWARE_ANTI:
        if _lie_alike(sides):
            return _lower_partitioned(builder, sides, hold_left)
        if not builder.exchanges(builder.cardinality.rows(join.left) + builder.cardinality.rows(join.right)):
            return _lower_collected(builder, sides, hold_left)
    if _broadcasts(builder, join, hold_left):
        return _lower_broadcast(builder, sides, hold_left)
    if builder.exchange or builder.distributed:
        return _lower_partitioned(builder, sides, hold_left)
    return _lower_collected(builder, sides, hold_left)


def _processor(sides: _Sides, hold_left: bool) -> HashJoin:
    join = sides.join
    return HashJoin(
        join.kind,
        sides.left_keys,
        sides.right_keys,
        join.condition,
        join.left.schema,
        join.right.schema,
        hold_left,
        tuple(key.null_safe for key in join.keys) if any(key.null_safe for key in join.keys) else (),
        sides.output,
    )


def _broadcasts(builder: Builder, join: LogicalJoin, hold_left: bool) -> bool:
    """Return whether every instance gets all rows of the build side, the left side if ``hold_left``. A build
    side whose unmatched rows are part of the result must not be copied."""
    if join.kind is JoinKind.NULL_AWARE_ANTI:
        return True
    if join.kind is not JoinKind.INNER if hold_left else join.kind not in _STREAM_LEFT:
        return False
    if builder.divides:
        return False
    held, other = (join.left, join.right) if hold_left else (join.right, join.left)
    most: float = BROADCAST_BYTES
    if builder.distributed:
        most = min(most, builder.collect_rows * BROADCAST_ROW_BYTES)
    if builder.cardinality.size(held) <= most:
        return True
    return builder.cardinality.rows(held) <= BROADCAST_SHARE * builder.cardinality.rows(other)


def _lower_collected(builder: Builder, sides: _Sides, hold_left: bool) -> Fragment:
    """Add the join with one instance, which gets all rows of both sides."""
    vertex = builder.vertex("join", _processor(sides, hold_left), parallel=False)
    builder.to_one(sides.left, vertex, 0)
    builder.to_one(sides.right, vertex, 1)
    return Fragment(vertex, False)


def _lower_broadcast(builder: Builder, sides: _Sides, hold_left: bool) -> Fragment:
    held, streamed = (sides.left, sides.right) if hold_left else (sides.right, sides.left)
    vertex = builder.vertex("join", _processor(sides, hold_left), parallel=streamed.parallel)
    builder.keep(streamed, vertex, int(hold_left))
    if streamed.parallel:
        builder.broadcast(held, vertex, int(not hold_left))
    else:
        builder.to_one(held, vertex, int(not hold_left))
    offset = sides.join.left.width if hold_left else 0
    partitioned = streamed.partitioned
    known = None if partitioned is None else tuple(ordinal + offset for ordinal in partitioned)
    result = Fragment(
        vertex, streamed.parallel, known, partitions=streamed.partitions, in_pieces=streamed.in_pieces
    )
    return narrowed(result, sides.output)


def _lower_partitioned(builder: Builder, sides: _Sides, hold_left: bool) -> Fragment:
    """Add the join with several instances, and route both sides to them by the keys; a side that is already
    partitioned by the keys isn't routed again."""
    vertex = builder.vertex("join", _processor(sides, hold_left), parallel=True)
    keys = _agreed_keys(sides)
    left_keys = tuple(sides.left_keys[place] for place in keys)
    right_keys = tuple(sides.right_keys[place] for place in keys)
    alike = _lie_alike(sides)
    for ordinal, (source, wanted) in enumerate(((sides.left, left_keys), (sides.right, right_keys))):
        if alike or lies_by(source, wanted):
            builder.keep(source, vertex, ordinal)
        else:
            builder.spread(source, vertex, wanted, ordinal)
    # Unmatched rows have nulls in the other side's columns, in every instance.
    width = sides.join.left.width
    known = {
        JoinKind.RIGHT: tuple(width + ordinal for ordinal in right_keys),
        JoinKind.FULL: None,
    }.get(sides.join.kind, left_keys)
    partitions = sides.left.partitions if alike else DEFAULT_PARTITIONS
    return narrowed(Fragment(vertex, True, known, partitions=partitions), sides.output)


def _lie_alike(sides: _Sides) -> bool:
    """Return whether rows of the two sides that agree in all keys are in the same instance already."""
    left, right = sides.left, sides.right
    if not (left.parallel and right.parallel and left.partitions == right.partitions):
        return False
    keys = _agreed_keys(sides)
    return left.partitioned == tuple(sides.left_keys[place] for place in keys) and (
        right.partitioned == tuple(sides.right_keys[place] for place in keys)
    )


def _agreed_keys(sides: _Sides) -> tuple[int, ...]:
    """Return the positions of the keys to partition by: if a side is already partitioned by some of the keys,
    these keys; else all keys."""
    for source, keys in ((sides.left, sides.left_keys), (sides.right, sides.right_keys)):
        if source.parallel and source.partitioned and set(source.partitioned) <= set(keys):
            return tuple(keys.index(ordinal) for ordinal in source.partitioned)
    return tuple(range(len(sides.left_keys)))


def _lower_nested_loop(
    builder: Builder, join: LogicalJoin, left: Fragment, right: Fragment, output: tuple[int, ...]
) -> Fragment:
    """Join every left row with every right row, as far as the condition holds; the right side is read first
    and held in memory."""
    processor = NestedLoopJoin(join.kind, join.condition, join.left.schema, join.right.schema, output)
    parallel = left.parallel and join.kind in _STREAM_LEFT
    vertex = builder.vertex("join", processor, parallel=parallel)
    if parallel:
        builder.keep(left, vertex, 0)
        builder.broadcast(right, vertex, 1)
        result = Fragment(
            vertex, True, left.partitioned, partitions=left.partitions, in_pieces=left.in_pieces
        )
        return narrowed(result, output)
    builder.to_one(left, vertex, 0)
    builder.to_one(right, vertex, 1)
    return Fragment(vertex, False)
