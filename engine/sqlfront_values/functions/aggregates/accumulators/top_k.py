"""Accumulators of approx_top_k and its relatives."""

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators.base import Accumulator, Groups
from sqlfront_values.functions.aggregates.accumulators.sketches import Sketches, Writer
from sqlfront_values.functions.sketches import top_k
from sqlfront_values.functions.sketches.item_kinds import ItemKind, item_kind
from sqlfront_values.functions.sketches.top_k import Counted, ItemCounts, StateCounts, TopKState
from sqlfront_values.types import logical


def tops(item: pa.DataType, constants: Sequence[object]) -> Accumulator:
    """Return the accumulator of approx_top_k of items of the type ``item``; ``constants``: k and the number
    of items to track, as far as the call gives them. Raises Spark's errors for numbers that it doesn't
    take."""
    numbers: list[object] = [top_k.DEFAULT_K, top_k.DEFAULT_TRACKED]
    numbers[: len(constants)] = constants
    wanted, most = top_k.check_k(numbers[0]), top_k.check_tracked(numbers[1])
    top_k.check_at_most(wanted, most)
    kind = _kind_of(item)

    def write(results: list[object]) -> pa.Array:
        return top_k.tops([found for found in results if isinstance(found, Counted)], wanted, item, kind)

    return _counts(kind, most, write)


def states(item: pa.DataType, constants: Sequence[object]) -> Accumulator:
    """Return the accumulator of approx_top_k_accumulate; ``constants``: the number of items to track, if the
    call gives it. Raises Spark's errors for a number that isn't one of items to track."""
    tracked = top_k.check_tracked(constants[0] if constants else top_k.DEFAULT_TRACKED)
    kind = _kind_of(item)
    declaration = top_k.declared(item)

    def write(results: list[object]) -> pa.Array:
        found = [
            TopKState(counted.dump(), tracked, declaration)
            for counted in results
            if isinstance(counted, Counted)
        ]
        return top_k.states(found, item)

    return _counts(kind, tracked, write)


def combined_states(states_type: pa.DataType, constants: Sequence[object]) -> Accumulator:
    """Return the accumulator of approx_top_k_combine; ``constants``: the number of items to track, if the
    call gives it. Raises Spark's errors for a number that isn't one of items to track."""
    tracked = top_k.check_tracked(constants[0]) if constants else None
    item = states_type.field(2).type

    def write(results: list[object]) -> pa.Array:
        return top_k.states([found for found in results if isinstance(found, TopKState)], item)

    return Sketches(StateCounts(item, tracked), states_type, read=_all, write=write)


def _kind_of(item: pa.DataType) -> ItemKind:
    kind = item_kind(logical(item))
    assert kind is not None
    return kind


def _counts(kind: ItemKind, tracked: int, write: Writer) -> Accumulator:
    return Sketches(ItemCounts(kind, tracked), kind.key_type, read=partial(_keys, kind), write=write)


def _keys(kind: ItemKind, groups: Groups, arguments: Sequence[pa.Array]) -> tuple[Groups, pa.Array]:
    """Return the keys of the items, nulls included."""
    return groups, kind.keys(arguments[0])


def _all(groups: Groups, arguments: Sequence[pa.Array]) -> tuple[Groups, pa.Array]:
    return groups, arguments[0]
