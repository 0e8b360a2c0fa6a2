"""Lookups in joins: the few rows of one side give the keys by which the rows of the second side are looked
up."""

from typing import Final

import msgspec
from msgspec.structs import replace

from sqlfront_connectors import base
from sqlfront_engine.join_kinds import JoinKind
from sqlfront_planner.expressions.rewriting import remap
from sqlfront_planner.logical import LogicalFilter, LogicalJoin, LogicalScan
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.statistics.cardinality import Cardinality, table_rows
from sqlfront_values.evaluate import can_fail
from sqlfront_values.expressions import Column, conjuncts

#: Rows of a table per row that gives a key, from which on the table's rows are looked up: a look-up takes as
#: long as reading a few hundred rows in a scan,
ROWS_PER_KEY: Final = 200
#: and rows of a table from which on: a smaller table is read whole in less than a millisecond.
FEWEST_ROWS: Final = 20_000

#: The joins that never emit an unmatched row of the right side, or of the left side.
_NO_LONE_RIGHT: Final = frozenset({JoinKind.INNER, JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI})
_NO_LONE_LEFT: Final = frozenset({JoinKind.INNER, JoinKind.RIGHT, JoinKind.SEMI})


class KeysFromJoin(msgspec.Struct, frozen=True):
    """A lookup by which a join finds the rows of its scanned side, instead of reading the table. ``by`` are
    the key's columns (ordinals of the table); ``given`` are the columns of the join's other side whose rows
    give the keys. ``holds_left``: the other side is the left side.

    ``node`` is the scan as it stands in the plan, perhaps below a filter; ``scan`` is the same scan with
    the filter's conditions. ``null_safe``: a null key matches null."""

    node: LogicalScan
    scan: LogicalScan
    by: tuple[int, ...]
    given: tuple[int, ...]
    holds_left: bool
    null_safe: bool


def holds_left(join: LogicalJoin, cardinality: Cardinality) -> bool:
    """Return whether the join reads its left side first and holds it in memory, rather than its right side.
    The smaller side is held, except for NOT IN, which must know whether the right side has a null."""
    if join.kind is JoinKind.NULL_AWARE_ANTI:
        return False
    return cardinality.rows(join.left) < cardinality.rows(join.right)


def keys_from_join(
    join: LogicalJoin, cardinality: Cardinality, conditions: KeyConditions
) -> KeysFromJoin | None:
    """Find a lookup of the streamed side's rows by keys from the side that the join holds in memory; None
    if the streamed side should be scanned instead. For a row program (``conditions.by_rows``) either side
    may give the keys, tables of any size are looked up, and null-safe keys are allowed."""
    hold_left = bool(join.keys) and holds_left(join, cardinality)
    found = _keys_from(join, cardinality, conditions, hold_left=hold_left)
    if found is None and conditions.by_rows and join.keys:
        found = _keys_from(join, cardinality, conditions, hold_left=not hold_left)
    return found


def _keys_from(
    join: LogicalJoin, cardinality: Cardinality, conditions: KeyConditions, *, hold_left: bool
) -> KeysFromJoin | None:
    held, streamed = (join.left, join.right) if hold_left else (join.right, join.left)
    kinds = _NO_LONE_RIGHT if hold_left else _NO_LONE_LEFT
    node = streamed.input if isinstance(streamed, LogicalFilter) else streamed
    if not isinstance(node, LogicalScan) or join.kind not in kinds or not conditions.limit:
        return None
    if not conditions.by_rows:
        rows, most = cardinality.rows(held), table_rows(node)
        if most < FEWEST_ROWS or rows > conditions.limit or rows * ROWS_PER_KEY > most:
            return None
    scan = node
    if isinstance(streamed, LogicalFilter):
        parts = conjuncts(remap(streamed.condition, node.columns))
        scan = replace(node, filters=(*node.filters, *parts))
    keys = conditions.of(scan)
    if (keys is not None and keys.most is not None) or any(map(can_fail, scan.filters)):
        return None
    given, null_safe = {}, False
    for key in join.keys:
        mine, other = (key.right, key.left) if hold_left else (key.left, key.right)
        if key.null_safe and not conditions.by_rows:
            continue
        if isinstance(mine, Column) and isinstance(other, Column):
            given[scan.columns[mine.ordinal]] = other.ordinal
            null_safe = null_safe or key.null_safe
    access = base.key_access(scan.snapshot)
    for by in () if access is None else access.keys:
        if all(column in given for column in by):
            return KeysFromJoin(node, scan, by, tuple(given[column] for column in by), hold_left, null_safe)
    return None
