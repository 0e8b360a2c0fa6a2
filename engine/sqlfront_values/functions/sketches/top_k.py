"""The most frequent items: the states of approx_top_k and its relatives, and the values that they return."""

import re
import struct
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values
from sqlfront_values.errors import DataError, spark_error
from sqlfront_values.functions.sketches.frequent_items import ItemsSketch, lg_size, load
from sqlfront_values.functions.sketches.item_kinds import ItemKind, Key, item_kind
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    INT,
    PRIMITIVES,
    STRING,
    decimal,
    is_string,
    physical,
    sql_name,
)

#: The most items that a sketch tracks, and the numbers where a call gives none.
MOST_TRACKED: Final = 1_000_000
DEFAULT_TRACKED: Final = 10_000
DEFAULT_K: Final = 5
_NULLS: Final = struct.Struct(">q")
#: A column's name and type: an item's declaration in a state.
_DECLARATION: Final = r"\s*\S+\s+(\w+)(?:\s*\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\))?(?:(?i:\s+NOT\s+NULL))?\s*"


def top_type(item: pa.DataType) -> pa.DataType:
    """Return the type of the most frequent items, of the type ``item``, with their counts."""
    return pa.list_(pa.struct([("item", item), ("count", BIGINT)]))


def state_type(item: pa.DataType) -> pa.DataType:
    """Return the type of a state of items of the type ``item``; the value of ``itemDataType`` is null."""
    return pa.struct(
        [("sketch", BINARY), ("maxItemsTracked", INT), ("itemDataType", item), ("itemDataTypeDDL", STRING)]
    )


def declared(item: pa.DataType) -> str:
    """Return a state's declaration of items of the type ``item``.

    >>> declared(INT), declared(STRING)
    ('item INT NOT NULL', 'item string not null')
    """
    return "item string not null" if is_string(item) else f"item {sql_name(item)} NOT NULL"


def declared_type(text: str) -> pa.DataType:
    """Return the type that a state declares.

    >>> declared_type("item DECIMAL(12,2) NOT NULL")
    Decimal128Type(decimal128(12, 2))

    Raises PARSE_SYNTAX_ERROR for a text that declares no item, and DataError for a type that approx_top_k
    doesn't count."""
    match = re.fullmatch(_DECLARATION, text)
    if match is None:
        raise spark_error("PARSE_SYNTAX_ERROR", "Syntax error at or near end of input.")
    name, precision, scale = match.groups()
    if precision is not None:
        return decimal(int(precision), int(scale))
    found = {type_name: data_type for data_type, type_name in PRIMITIVES.items()}.get(name.lower())
    if found is None or item_kind(found) is None:
        raise DataError(f"approx_top_k doesn't count values of the type {name}")
    return found


def check_tracked(tracked: object) -> int:
    """Return the number of items to track. Raises Spark's errors for null and for a number that no sketch
    tracks."""
    number = _positive(tracked, "maxItemsTracked")
    if number > MOST_TRACKED:
        raise spark_error(
            "APPROX_TOP_K_MAX_ITEMS_TRACKED_EXCEEDS_LIMIT",
            f"The max items tracked `maxItemsTracked`({number}) of `approx_top_k` should be less than or "
            f"equal to {MOST_TRACKED}.",
        )
    return number


def check_k(k: object) -> int:
    """Return the number of items to return. Raises Spark's errors for null and for less than one."""
    return _positive(k, "k")


def check_at_most(k: int, tracked: int) -> None:
    """Raise APPROX_TOP_K_MAX_ITEMS_TRACKED_LESS_THAN_K if more items are wanted than tracked."""
    if k > tracked:
        raise spark_error(
            "APPROX_TOP_K_MAX_ITEMS_TRACKED_LESS_THAN_K",
            f"The max items tracked `maxItemsTracked`({tracked}) of `approx_top_k` should be greater than or"
            f" equal to `k`({k}).",
        )


def _positive(value: object, name: str) -> int:
    if not isinstance(value, int):
        raise spark_error("APPROX_TOP_K_NULL_ARG", f"The value of `{name}` in `approx_top_k` cannot be NULL.")
    if value <= 0:
        raise spark_error(
            "APPROX_TOP_K_NON_POSITIVE_ARG",
            f"The value of `{name}` in `approx_top_k` must be a positive integer, but got {value}.",
        )
    return value


class Counted(NamedTuple):
    """A sketch of the items of a stream, and the number of the stream's nulls."""

    sketch: ItemsSketch
    nulls: int

    def dump(self, *, exact: bool = False) -> bytes:
        """Return the bytes that Spark writes; ``exact``: see :meth:`ItemsSketch.dump`."""
        return self.sketch.dump(exact=exact) + _NULLS.pack(self.nulls)

    def top(self, k: int) -> list[tuple[Key | None, int]]:
        """Return at most ``k`` of the most frequent items with their counts. Null stands behind the items
        that are as frequent."""
        found: list[tuple[Key | None, int]] = list(self.sketch.frequent_items())
        if self.nulls:
            before = sum(count >= self.nulls for _, count in found)
            found.insert(before, (None, self.nulls))
        return found[:k]


def load_counted(buffer: bytes, kind: ItemKind) -> Counted:
    """Return what ``buffer`` holds. Raises DataError for other bytes than Spark writes."""
    try:
        sketch = load(buffer[: -_NULLS.size], kind)
        return Counted(sketch, *_NULLS.unpack(buffer[-_NULLS.size :]))
    except (ValueError, struct.error):
        raise DataError("Invalid sketch of approx_top_k") from None


def _merged(parts: Sequence[Counted]) -> Counted:
    """Return the first part, to which the others are added."""
    first, *others = parts
    for other in others:
        first.sketch.merge(other.sketch)
    return Counted(first.sketch, sum(part.nulls for part in parts))


def _in_two_steps(counted: Counted, kind: ItemKind, tracked: int) -> Counted:
    """Return what Spark's second step makes of the written result of its first one."""
    written = load_counted(counted.dump(), kind)
    return _merged([Counted(ItemsSketch(kind, lg_size(tracked)), 0), written])


class ItemCounts(msgspec.Struct, frozen=True):
    """Sketches of the items of a kind, of which ``tracked`` are tracked; None stands for a null."""

    kind: ItemKind
    tracked: int

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        if state is None:
            sketch, nulls = ItemsSketch(self.kind, lg_size(self.tracked)), 0
        else:
            sketch, nulls = load_counted(state, self.kind)
        keys = [value for value in values if isinstance(value, Key)]
        sketch.add_all(keys)
        return Counted(sketch, nulls + len(values) - len(keys)).dump(exact=True)

    def merged(self, states: Sequence[bytes]) -> bytes:
        return _merged([load_counted(state, self.kind) for state in states]).dump(exact=True)

    def result(self, state: bytes, *, streamed: bool) -> Counted:
        counted = load_counted(state, self.kind)
        return counted if streamed else _in_two_steps(counted, self.kind, self.tracked)


class TopKState(msgspec.Struct, frozen=True, array_like=True):
    """The result of approx_top_k_accumulate, and a state of approx_top_k_combine: the bytes of a sketch, the
    number of items that it tracks, and the declaration of the items. The last two are None before the first
    value of approx_top_k_combine."""

    sketch: bytes
    tracked: int | None = None
    declaration: str | None = None


class StateCounts(msgspec.Struct, frozen=True):
    """Sketches of the items of several states: of ``tracked`` items or (None) as many as all states track.
    The states' items are of the type ``type`` if none of them says it."""

    type: pa.DataType
    tracked: int | None

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        return self._joined(None if state is None else _decoded(state), map(state_of, values), exact=True)

    def merged(self, states: Sequence[bytes]) -> bytes:
        first, *others = map(_decoded, states)
        return self._joined(first, others, exact=True)

    def result(self, state: bytes, *, streamed: bool) -> TopKState:
        written = self._joined(_decoded(state), [], exact=False)
        last = written if streamed else self._joined(None, [_decoded(written)], exact=False)
        found = _decoded(last)
        tracked = DEFAULT_TRACKED if found.tracked is None else found.tracked
        return TopKState(found.sketch, tracked, found.declaration or declared(self.type))

    def _joined(self, start: TopKState | None, added: Iterable[TopKState], *, exact: bool) -> bytes:
        """Return the state ``start`` (None = the empty one) with the items of those that are ``added``.
        ``exact``: see :meth:`ItemsSketch.dump`."""
        others, tracked, item = list(added), self.tracked, None
        for state in others if start is None else (start, *others):
            if self.tracked is None and state.tracked is not None:
                tracked = _same_size(tracked, state.tracked)
            if state.declaration is not None:
                item = _same_type(item, declared_type(state.declaration))
        kind = item_kind(item or self.type)
        assert kind is not None
        if start is None:
            counted = Counted(ItemsSketch(kind, lg_size(self.tracked or MOST_TRACKED)), 0)
        else:
            counted = load_counted(start.sketch, kind)
        counted = _merged([counted, *(load_counted(state.sketch, kind) for state in others)])
        declaration = None if item is None else declared(item)
        return msgspec.msgpack.encode(TopKState(counted.dump(exact=exact), tracked, declaration))


def _decoded(state: bytes) -> TopKState:
    return msgspec.msgpack.decode(state, type=TopKState)


def _same_size(first: int | None, second: int) -> int:
    if first is not None and first != second:
        raise spark_error(
            "APPROX_TOP_K_SKETCH_SIZE_NOT_MATCH",
            "Combining approx_top_k sketches of different sizes is not allowed. Found sketches of size "
            f"{first} and {second}.",
        )
    return second


def _same_type(first: pa.DataType | None, second: pa.DataType) -> pa.DataType:
    if first is not None and first != second:
        raise spark_error(
            "APPROX_TOP_K_SKETCH_TYPE_NOT_MATCH",
            "Combining approx_top_k sketches of different types is not allowed. Found sketches of type "
            f'"{sql_name(first)}" and "{sql_name(second)}".',
        )
    return second


def tops(found: Sequence[Counted], k: int, item: pa.DataType, kind: ItemKind) -> pa.Array:
    """Return the column, of the type :func:`top_type`, of the ``k`` most frequent items of each sketch."""
    lists = [counted.top(k) for counted in found]
    entries = [entry for entries in lists for entry in entries]
    items = kind.values(from_values([key for key, _ in entries], kind.key_type))
    counts = from_values([count for _, count in entries], BIGINT)
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum([len(entries) for entries in lists], out=offsets[1:])
    target = physical(top_type(item))
    structs = pa.StructArray.from_arrays([items, counts], fields=list(target.value_type))
    return pa.ListArray.from_arrays(from_numpy(offsets, INT), structs, type=target)


def states(found: Sequence[TopKState], item: pa.DataType) -> pa.Array:
    """Return the column, of the type :func:`state_type`, of the states."""
    target = physical(state_type(item))
    columns = [
        from_values([state.sketch for state in found], BINARY),
        from_values([state.tracked for state in found], INT),
        pa.nulls(len(found), target.field(2).type),
        from_values([state.declaration for state in found], STRING),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(target))


def state_of(value: object) -> TopKState:
    """Return the state that a struct holds, a dict of four fields. Raises DataError for nulls."""
    sketch, tracked, _, declaration = value.values() if isinstance(value, dict) else (None,) * 4
    if not (isinstance(sketch, bytes) and isinstance(tracked, int) and isinstance(declaration, str)):
        raise DataError("a null in a state of approx_top_k")
    return TopKState(sketch, tracked, declaration)
