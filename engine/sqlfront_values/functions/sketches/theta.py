"""Theta sketches, in Java's compact and compressed form."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sqlfront_values.errors import DataError, NotSupportedError, spark_error
from sqlfront_values.functions.sketches.family import datasketches, require_library
from sqlfront_values.functions.sketches.texts import text_of
from sqlfront_values.functions.sketches.theta_layout import check_theta

_LEAST: Final = 4
_MOST: Final = 26
#: The binary logarithm of the number of entries where a call gives none.
DEFAULT_LG_ENTRIES: Final = 12
_HEADER: Final = 8
_COMPACT: Final = 3
#: Java's names of the families of sketches, by their number in a sketch's bytes.
_FAMILIES: Final = {
    1: "ALPHA",
    2: "QUICKSELECT",
    4: "UNION",
    5: "INTERSECTION",
    6: "A_NOT_B",
    7: "HLL",
    8: "QUANTILES",
    9: "TUPLE",
    15: "KLL",
}
_IS_EMPTY: Final = 4
_IS_SINGLE: Final = 32
_FLAGS: Final = 5
_SEED: Final = slice(6, 8)
#: The hash of the seed of all of Spark's sketches.
_SEED_HASH: Final = bytes.fromhex("CC93")
#: Java's empty sketch, in which no seed is written.
_EMPTY: Final = bytes.fromhex("01030300001E0000")


def check_lg_entries(lg_entries: int, function: str) -> None:
    """Raise SKETCH_INVALID_LG_NOM_ENTRIES for a size that no sketch has, and NotSupportedError for the least
    one, which the library hasn't."""
    if not _LEAST <= lg_entries <= _MOST:
        raise spark_error(
            "SKETCH_INVALID_LG_NOM_ENTRIES",
            f"Invalid call to `{function}`; the `lgNomEntries` value must be between {_LEAST} and {_MOST}, "
            f"inclusive: {lg_entries}.",
        )
    if lg_entries == _LEAST:
        raise NotSupportedError(f"{function} with an lgNomEntries of {_LEAST} is not supported")


def load(buffer: bytes, function: str, *, any_seed: bool = False) -> "datasketches.compact_theta_sketch":
    """Return the sketch in ``buffer``; ``any_seed``: also one of another seed.

    Raises THETA_INVALID_INPUT_SKETCH_BUFFER or THETA_INVALID_INPUT_SKETCH_BUFFER_FAMILY for other bytes, and
    DataError for a sketch of another seed.
    """
    require_library()
    family = buffer[2] if len(buffer) >= _HEADER else _COMPACT
    if family in _FAMILIES:
        raise spark_error(
            "THETA_INVALID_INPUT_SKETCH_BUFFER_FAMILY",
            f"Invalid call to `{function}`: expected COMPACT sketch family but received {_FAMILIES[family]}."
            " Only valid Theta sketch buffers (produced by `theta_sketch_agg`) are supported as inputs.",
        )
    if len(buffer) >= _HEADER and buffer[_SEED] != _SEED_HASH:
        if not (any_seed or buffer[_FLAGS] & _IS_EMPTY):
            raise DataError("Incompatible Seed Hashes")
        buffer = buffer[:6] + _SEED_HASH + buffer[_HEADER:]
    try:
        check_theta(buffer)
        return datasketches.compact_theta_sketch.deserialize(buffer)
    except (ValueError, RuntimeError, IndexError):
        raise spark_error(
            "THETA_INVALID_INPUT_SKETCH_BUFFER",
            f"Invalid call to `{function}`; only valid Theta sketch buffers are supported as inputs (such as"
            " those produced by the `theta_sketch_agg` function).",
        ) from None


def dump(sketch: "datasketches.compact_theta_sketch") -> bytes:
    """Return the bytes that Java's library writes for a sketch."""
    if sketch.is_empty():
        return _EMPTY
    written = sketch.serialize(True)
    if sketch.num_retained == 1 and not sketch.is_estimation_mode():
        return written[:_FLAGS] + bytes([written[_FLAGS] | _IS_SINGLE]) + written[_FLAGS + 1 :]
    return written


def union(
    sketches: Iterable["datasketches.compact_theta_sketch"], lg_entries: int
) -> "datasketches.compact_theta_sketch":
    """Return the union of the sketches, with at most ``2 ** lg_entries`` entries."""
    joined = datasketches.theta_union(lg_entries)
    try:
        for sketch in sketches:
            joined.update(sketch)
    except ValueError as error:
        raise DataError(f"Invalid theta sketch: {error}") from None
    return joined.get_result(True)


def intersection(
    sketches: Sequence["datasketches.compact_theta_sketch"],
) -> "datasketches.compact_theta_sketch":
    """Return the intersection of the sketches, of which there is at least one."""
    common = datasketches.theta_intersection()
    try:
        for sketch in sketches:
            common.update(sketch)
    except ValueError as error:
        raise DataError(f"Invalid theta sketch: {error}") from None
    return common.get_result(True)


def difference(
    left: "datasketches.compact_theta_sketch", right: "datasketches.compact_theta_sketch"
) -> "datasketches.compact_theta_sketch":
    """Return the sketch of the values of ``left`` that aren't those of ``right``."""
    try:
        return datasketches.theta_a_not_b().compute(left, right, True)
    except ValueError as error:
        raise DataError(f"Invalid theta sketch: {error}") from None


class ThetaSketches(msgspec.Struct, frozen=True):
    """Sketches of numbers, texts or binaries, with about ``2 ** lg_entries`` entries."""

    lg_entries: int

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        require_library()
        sketch = datasketches.update_theta_sketch(self.lg_entries)
        for value in values:
            sketch.update(text_of(value) if isinstance(value, bytes) else value)
        written = sketch.compact(True).serialize(False)
        return written if state is None else self.merged([state, written])

    def merged(self, states: Sequence[bytes]) -> bytes:
        require_library()
        sketches = map(datasketches.compact_theta_sketch.deserialize, states)
        return union(sketches, self.lg_entries).serialize(False)

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        # A union has no more entries than asked for; a sketch has up to twice as many until then.
        return dump(datasketches.compact_theta_sketch.deserialize(self.merged([state])))


class ThetaUnions(msgspec.Struct, frozen=True):
    """Unions of sketches."""

    function: str
    lg_entries: int

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        require_library()
        sketches = [load(value, self.function) for value in values if isinstance(value, bytes)]
        if state is not None:
            sketches.insert(0, load(state, self.function))
        return dump(union(sketches, self.lg_entries))

    def merged(self, states: Sequence[bytes]) -> bytes:
        return self.added(states, None)

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        return state


class ThetaIntersections(msgspec.Struct, frozen=True):
    """Intersections of sketches; of none it is the empty sketch."""

    function: str

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        require_library()
        buffers = [value for value in (state, *values) if isinstance(value, bytes)]
        # Without a value nothing is known: the state of no rows must not empty those of others.
        if not buffers:
            return b""
        return dump(intersection([load(buffer, self.function) for buffer in buffers]))

    def merged(self, states: Sequence[bytes]) -> bytes:
        return self.added([state for state in states if state], None)

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        return state or _EMPTY
