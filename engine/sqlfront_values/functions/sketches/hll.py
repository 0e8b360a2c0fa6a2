"""HLL sketches, of which Spark makes those with a byte per register."""

import struct
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions.sketches.family import datasketches, require_library
from sqlfront_values.functions.sketches.hll_layout import check_hll
from sqlfront_values.functions.sketches.texts import text_of

_LEAST: Final = 4
_MOST: Final = 21
#: Places in the bytes of a sketch, and values there.
_FLAGS: Final = 5
_LEAST_VALUE: Final = 6
_MODE: Final = 7
_LEAST_COUNT: Final = 32
_FIRST_REGISTER: Final = 40
_OUT_OF_ORDER: Final = 16
_REGISTERS: Final = 2
#: The binary logarithm of the number of registers where a call gives none.
DEFAULT_LG_K: Final = 12


def check_lg_k(lg_k: int, function: str) -> None:
    """Raise HLL_INVALID_LG_K for a size that no sketch has."""
    if not _LEAST <= lg_k <= _MOST:
        raise spark_error(
            "HLL_INVALID_LG_K",
            f"Invalid call to `{function}`; the `lgConfigK` value must be between {_LEAST} and {_MOST}, "
            f"inclusive: {lg_k}.",
        )


def load(buffer: bytes, function: str) -> "datasketches.hll_sketch":
    """Return the sketch in ``buffer``. Raises HLL_INVALID_INPUT_SKETCH_BUFFER for other bytes."""
    require_library()
    try:
        check_hll(buffer)
        return datasketches.hll_sketch.deserialize(buffer)
    except (ValueError, RuntimeError, IndexError, struct.error):
        raise spark_error(
            "HLL_INVALID_INPUT_SKETCH_BUFFER",
            f"Invalid call to `{function}`; only valid HLL sketch buffers are supported as inputs (such as"
            " those produced by the `hll_sketch_agg` function).",
        ) from None


def union(sketches: Iterable["datasketches.hll_sketch"], lg_k: int) -> bytes:
    """Return the bytes of the union of the sketches, with at most ``2 ** lg_k`` registers."""
    joined = datasketches.hll_union(lg_k)
    for sketch in sketches:
        joined.update(sketch)
    return _with_least(joined.get_result(datasketches.HLL_8).serialize_updatable())


def _with_least(written: bytes) -> bytes:
    """Return the bytes of a union with the least value of its registers and the number of registers that have
    it, which Java's library writes."""
    if written[_MODE] & 3 != _REGISTERS or not written[_FLAGS] & _OUT_OF_ORDER:
        return written
    registers = written[_FIRST_REGISTER:]
    least = min(registers)
    count = registers.count(least).to_bytes(4, "little")
    return b"".join(
        (
            written[:_LEAST_VALUE],
            bytes([least]),
            written[_MODE:_LEAST_COUNT],
            count,
            written[_LEAST_COUNT + 4 :],
        )
    )


def different_sizes(first: int, second: int, function: str) -> DatabaseError:
    """Make Spark's error for a union of sketches of different sizes that aren't allowed."""
    return spark_error(
        "HLL_UNION_DIFFERENT_LG_K",
        f"Sketches have different `lgConfigK` values: {first} and {second}. Set the `allowDifferentLgConfigK`"
        f" parameter to true to call `{function}` with different `lgConfigK` values.",
    )


class HllSketches(msgspec.Struct, frozen=True):
    """Sketches of whole numbers, texts or binaries with ``2 ** lg_k`` registers."""

    lg_k: int

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        require_library()
        if state is None:
            sketch = datasketches.hll_sketch(self.lg_k, datasketches.HLL_8)
        else:
            sketch = datasketches.hll_sketch.deserialize(state)
        for value in values:
            sketch.update(text_of(value) if isinstance(value, bytes) else value)
        return sketch.serialize_updatable()

    def merged(self, states: Sequence[bytes]) -> bytes:
        require_library()
        return union(map(datasketches.hll_sketch.deserialize, states), self.lg_k)

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        return state


class HllUnions(msgspec.Struct, frozen=True):
    """Unions of sketches, of the size of the first one. ``mixed``: sketches of other sizes are allowed."""

    function: str
    mixed: bool = False

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        require_library()
        sketches = [load(value, self.function) for value in values if isinstance(value, bytes)]
        if state is not None:
            sketches.insert(0, datasketches.hll_sketch.deserialize(state))
        if not sketches:
            return datasketches.hll_sketch(DEFAULT_LG_K, datasketches.HLL_8).serialize_updatable()
        lg_k = sketches[0].lg_config_k
        for sketch in sketches:
            if sketch.lg_config_k != lg_k and not self.mixed:
                raise different_sizes(lg_k, sketch.lg_config_k, self.function)
        return union(sketches, lg_k)

    def merged(self, states: Sequence[bytes]) -> bytes:
        return self.added(states, None)

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        return state
