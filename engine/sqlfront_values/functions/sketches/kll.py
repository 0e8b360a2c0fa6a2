"""KLL sketches of bigints, doubles and floats."""

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions.sketches.family import datasketches, require_library
from sqlfront_values.functions.sketches.kll_layout import KllContents, read_contents
from sqlfront_values.types import BIGINT, DOUBLE, FLOAT

_LEAST: Final = 8
_MOST: Final = 65535
#: The size parameter of a call without one.
DEFAULT_K: Final = 200


class _Sketch(Protocol):
    """A sketch of the library, whose classes differ by the type of the values."""

    k: int
    n: int

    def update(self, value: object) -> None: ...

    def merge(self, other: "_Sketch") -> None: ...

    def serialize(self, *form: object) -> bytes: ...


class KllKind(msgspec.Struct, frozen=True):
    """A type of values: Spark's suffix in the functions' names, the type in Arrow, and the numpy type of a
    value in a sketch's bytes."""

    suffix: str
    type: pa.DataType
    items: str

    def new(self, k: int) -> _Sketch:
        """Return an empty sketch."""
        require_library()
        match self.suffix:
            case "bigint":
                return datasketches.kll_items_sketch(k)
            case "double":
                return datasketches.kll_doubles_sketch(k)
            case _:
                return datasketches.kll_floats_sketch(k)

    def read(self, buffer: bytes, function: str) -> KllContents:
        """Return the contents of the sketch in ``buffer``. Raises KLL_INVALID_INPUT_SKETCH_BUFFER for other
        bytes."""
        try:
            return read_contents(buffer, self.items)
        except ValueError:
            raise invalid_buffer(function) from None

    def load(self, buffer: bytes, function: str) -> _Sketch:
        """Return the sketch in ``buffer``. Raises KLL_INVALID_INPUT_SKETCH_BUFFER for other bytes."""
        require_library()
        try:
            read_contents(buffer, self.items)
            match self.suffix:
                case "bigint":
                    return datasketches.kll_items_sketch.deserialize(buffer, datasketches.PyLongsSerDe())
                case "double":
                    return datasketches.kll_doubles_sketch.deserialize(buffer)
                case _:
                    return datasketches.kll_floats_sketch.deserialize(buffer)
        except (ValueError, RuntimeError, IndexError):
            raise invalid_buffer(function) from None

    def dump(self, sketch: _Sketch) -> bytes:
        """Return the bytes of a sketch."""
        if isinstance(sketch, datasketches.kll_items_sketch):
            return sketch.serialize(datasketches.PyLongsSerDe())
        return sketch.serialize()


KINDS: Final = (
    KllKind("bigint", BIGINT, "<i8"),
    KllKind("double", DOUBLE, "<f8"),
    KllKind("float", FLOAT, "<f4"),
)


def invalid_buffer(function: str) -> DatabaseError:
    """Make Spark's error for bytes that are no KLL sketch."""
    return spark_error(
        "KLL_INVALID_INPUT_SKETCH_BUFFER",
        f"Invalid call to `{function}`; only valid KLL sketch buffers are supported as inputs (such as those"
        " produced by the `kll_sketch_agg` function).",
    )


def check_k(k: object, function: str) -> int:
    """Return the size parameter. Raises Spark's errors for null and for a size that no sketch has."""
    if not isinstance(k, int):
        raise spark_error(
            "DATATYPE_MISMATCH.UNEXPECTED_NULL",
            f'Cannot resolve "{function}" due to data type mismatch: The k must not be null.',
        )
    if not _LEAST <= k <= _MOST:
        raise spark_error(
            "DATATYPE_MISMATCH.TYPE_CHECK_FAILURE_WITH_HINT",
            f'Cannot resolve "{function}" due to data type mismatch: [KLL_SKETCH_K_OUT_OF_RANGE] For '
            f"function `{function}`, the k parameter must be between {_LEAST} and {_MOST} (inclusive), but "
            f"got {k}. SQLSTATE: 22003.",
        )
    return k


class KllSketches(msgspec.Struct, frozen=True):
    """Sketches of the values of one kind, with the size parameter ``k``."""

    kind: KllKind
    k: int

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        sketch = self.kind.new(self.k) if state is None else self.kind.load(state, "")
        if self.kind.suffix == "bigint":
            for value in values:
                sketch.update(value)
        elif values:
            sketch.update(np.array(values, np.dtype(self.kind.items)))
        return self.kind.dump(sketch)

    def merged(self, states: Sequence[bytes]) -> bytes:
        sketch = self.kind.new(self.k)
        for state in states:
            sketch.merge(self.kind.load(state, ""))
        return self.kind.dump(sketch)

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        return state if streamed else self.merged([state])


class KllMerges(msgspec.Struct, frozen=True):
    """Merges of sketches of one kind, with the size parameter ``k`` or (None) that of the first sketch."""

    function: str
    kind: KllKind
    k: int | None = None

    def added(self, values: Sequence[object], state: bytes | None) -> bytes:
        sketch = None if state is None else self.kind.load(state, self.function)
        for value in values:
            assert isinstance(value, bytes)
            other = self.kind.load(value, self.function)
            if sketch is None:
                sketch = self.kind.new(self.k or other.k)
            sketch.merge(other)
        return self.kind.dump(self.kind.new(self.k or DEFAULT_K) if sketch is None else sketch)

    def merged(self, states: Sequence[bytes]) -> bytes:
        return self.added(
            [state for state in states if self.kind.load(state, self.function).n] or states[:1], None
        )

    def result(self, state: bytes, *, streamed: bool) -> bytes:
        return state
