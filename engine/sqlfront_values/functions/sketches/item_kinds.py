"""The types of items that approx_top_k counts: the keys that stand for the items, Java's hash codes, and the
bytes of the items in a sketch."""

import struct
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Final, Protocol, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    is_decimal,
    is_string,
    physical,
)

#: An item as a sketch has it: a boolean, the bits of a number, date or timestamp as a signed integer, a text,
#: or the unscaled value of a decimal.
Key: TypeAlias = bool | int | str | Decimal

_LOW: Final = 0xFFFFFFFF
_TRUE_HASH: Final = 1231
_FALSE_HASH: Final = 1237
#: Digits up to which a decimal has the form of an int, or of a bigint.
_INT_DIGITS: Final = 9
_BIGINT_DIGITS: Final = 18
_LENGTH: Final = struct.Struct("<i")
#: Digits of all decimals.
_EXACT: Final = Context(prec=80)


class ItemKind(Protocol):
    """A type of items."""

    @property
    def key_type(self) -> pa.DataType:
        """The Arrow type of the keys."""

    def keys(self, values: pa.Array) -> pa.Array:
        """Return the keys of a column in physical form; nulls stay."""

    def values(self, keys: pa.Array) -> pa.Array:
        """Return the column whose keys are given, in the physical form that it has in an array."""

    def hash_code(self, key: Key) -> int:
        """Return Java's ``hashCode`` of an item, a signed integer of 32 bits."""

    def dump(self, keys: Sequence[Key]) -> bytes:
        """Return the bytes of the items in a sketch."""

    def load(self, buffer: bytes, start: int, count: int) -> tuple[list[Key], int]:
        """Return the ``count`` items whose bytes begin at ``start``, and the place behind them. Raises
        ValueError or struct.error if the bytes aren't those of items."""


def _signed(hash_code: int) -> int:
    """Return the lower 32 bits as Java's int."""
    hash_code &= _LOW
    return hash_code - (1 << 32) if hash_code >> 31 else hash_code


def _folded(bits: int) -> int:
    """Return Java's hash code of a long."""
    return _signed(bits ^ (bits >> 32))


class _Numbers(msgspec.Struct, frozen=True):
    """Numbers, dates and timestamps of the logical type ``type``; ``form`` is the struct format of one in a
    sketch, which begins with ``tag``. Floats count by their bits: 0.0 and -0.0 differ, all NaNs are one."""

    type: pa.DataType
    form: str
    tag: bytes = b""

    @property
    def key_type(self) -> pa.DataType:
        return BIGINT

    def keys(self, values: pa.Array) -> pa.Array:
        numbers = numpy_view(values)
        if pa.types.is_floating(self.type):
            numbers = np.where(np.isnan(numbers), numbers.dtype.type(np.nan), numbers)
        bits = numbers.view(f"i{numbers.dtype.itemsize}").astype(np.int64)
        return from_numpy(bits, BIGINT, valid_mask(values))

    def values(self, keys: pa.Array) -> pa.Array:
        target = physical(self.type)
        bits = numpy_view(keys).astype(f"i{target.bit_width // 8}")
        return pa.Array.from_buffers(target, len(bits), [keys.buffers()[0], pa.py_buffer(bits)])

    def hash_code(self, key: Key) -> int:
        assert isinstance(key, int)
        return _signed(key) if self.tag else _folded(key)

    def dump(self, keys: Sequence[Key]) -> bytes:
        pack = struct.Struct(f"<{self.form}").pack
        return b"".join([self.tag + pack(key) for key in keys])

    def load(self, buffer: bytes, start: int, count: int) -> tuple[list[Key], int]:
        size = len(self.tag) + struct.calcsize(f"<{self.form}")
        end = start + count * size
        if len(buffer) < end:
            raise ValueError("too short")
        skipped = f"{len(self.tag)}s"
        keys: list[Key] = []
        for tag, key in struct.iter_unpack(f"<{skipped}{self.form}", buffer[start:end]):
            if tag != self.tag:
                raise ValueError("a number of another type")
            keys.append(key)
        return keys, end


class _Booleans(msgspec.Struct, frozen=True):
    """Booleans, which a sketch packs into bits."""

    @property
    def key_type(self) -> pa.DataType:
        return BOOLEAN

    def keys(self, values: pa.Array) -> pa.Array:
        return values

    def values(self, keys: pa.Array) -> pa.Array:
        return keys

    def hash_code(self, key: Key) -> int:
        return _TRUE_HASH if key else _FALSE_HASH

    def dump(self, keys: Sequence[Key]) -> bytes:
        return np.packbits(np.array(keys, np.bool_), bitorder="little").tobytes()

    def load(self, buffer: bytes, start: int, count: int) -> tuple[list[Key], int]:
        end = start + (count + 7) // 8
        if len(buffer) < end:
            raise ValueError("too short")
        bits = np.unpackbits(np.frombuffer(buffer[start:end], np.uint8), count=count, bitorder="little")
        return bits.astype(np.bool_).tolist(), end


class _Sized(msgspec.Struct, frozen=True):
    """Items whose bytes follow their number in a sketch."""

    def dump(self, keys: Sequence[Key]) -> bytes:
        items = [self._bytes_of(key) for key in keys]
        return b"".join([_LENGTH.pack(len(item)) + item for item in items])

    def load(self, buffer: bytes, start: int, count: int) -> tuple[list[Key], int]:
        keys: list[Key] = []
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(buffer, start)
            end = start + _LENGTH.size + length
            if length < 0 or len(buffer) < end:
                raise ValueError("too short")
            keys.append(self._key_of(buffer[start + _LENGTH.size : end]))
            start = end
        return keys, start

    def _bytes_of(self, key: Key) -> bytes:
        raise NotImplementedError

    def _key_of(self, item: bytes) -> Key:
        raise NotImplementedError


class _Texts(_Sized, frozen=True):
    """Strings."""

    @property
    def key_type(self) -> pa.DataType:
        return pa.string()

    def keys(self, values: pa.Array) -> pa.Array:
        return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values

    def values(self, keys: pa.Array) -> pa.Array:
        return keys

    def hash_code(self, key: Key) -> int:
        assert isinstance(key, str)
        units, code = key.encode("utf-16-le"), 0
        for unit in memoryview(units).cast("H"):
            code = (31 * code + unit) & _LOW
        return _signed(code)

    def _bytes_of(self, key: Key) -> bytes:
        assert isinstance(key, str)
        return key.encode()

    def _key_of(self, item: bytes) -> Key:
        return item.decode()


class _UnscaledIntegers(_Sized, frozen=True):
    """The integers of any size that stand for decimals in a sketch."""

    def _bytes_of(self, key: Key) -> bytes:
        assert isinstance(key, int)
        size = (key if key >= 0 else ~key).bit_length() // 8 + 1
        return key.to_bytes(size, "big", signed=True)

    def _key_of(self, item: bytes) -> Key:
        return int.from_bytes(item, "big", signed=True)


class _Decimals(msgspec.Struct, frozen=True):
    """Decimals of the type ``type``, whose keys are decimals without a scale; ``unscaled`` has the bytes of
    their unscaled values."""

    type: pa.DataType
    unscaled: _Numbers | _UnscaledIntegers

    @property
    def key_type(self) -> pa.DataType:
        return pa.decimal128(self.type.precision, 0)

    def keys(self, values: pa.Array) -> pa.Array:
        return _with_scale(values.cast(self.type), 0)

    def values(self, keys: pa.Array) -> pa.Array:
        return _with_scale(keys, self.type.scale)

    def hash_code(self, key: Key) -> int:
        return _hash_of_decimal(int(key), self.type.scale)

    def dump(self, keys: Sequence[Key]) -> bytes:
        return self.unscaled.dump([int(key) for key in keys])

    def load(self, buffer: bytes, start: int, count: int) -> tuple[list[Key], int]:
        keys, end = self.unscaled.load(buffer, start, count)
        return [Decimal(key) for key in keys], end


def _with_scale(decimals: pa.Array, scale: int) -> pa.Array:
    """Return the decimals with the same unscaled values and another scale."""
    target = pa.decimal128(decimals.type.precision, scale)
    return pa.Array.from_buffers(target, len(decimals), decimals.buffers(), offset=decimals.offset)


def _hash_of_decimal(unscaled: int, scale: int) -> int:
    """Return the hash code of Scala's BigDecimal, which is that of an equal integer or double."""
    power = 10**scale
    if unscaled % power == 0:
        return _hash_of_integer(unscaled // power)
    exact = Decimal(unscaled).scaleb(-scale, _EXACT)
    double = float(exact)
    if Decimal(repr(double)) == exact:
        return _hash_of_double(double)
    while unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    mixed = scale * 0xCC9E2D51 & _LOW
    mixed = (mixed << 15 | mixed >> 17) & _LOW
    return _signed(_hash_of_big_integer(unscaled) ^ mixed * 0x1B873593)


def _hash_of_integer(value: int) -> int:
    if not -(1 << 63) <= value < 1 << 63:
        return _hash_of_big_integer(value)
    return value if -(1 << 31) <= value < 1 << 31 else _folded(value)


def _hash_of_big_integer(value: int) -> int:
    """Return the hash code of Java's BigInteger."""
    code, magnitude = 0, abs(value)
    for shift in reversed(range(0, magnitude.bit_length(), 32)):
        code = (31 * code + (magnitude >> shift & _LOW)) & _LOW
    return _signed(-code if value < 0 else code)


def _hash_of_double(value: float) -> int:
    """Return Scala's hash code of a double, which is that of an equal float."""
    single = np.float32(value)
    if float(single) == value:
        return int(single.view(np.int32))
    return _folded(struct.unpack("<q", struct.pack("<d", value))[0])


_INT: Final = _Numbers(INT, "i", b"\x09")
_BIGINT: Final = _Numbers(BIGINT, "q")
_NUMBERS: Final[dict[pa.DataType, ItemKind]] = {
    TINYINT: _Numbers(TINYINT, "b", b"\x02"),
    SMALLINT: _Numbers(SMALLINT, "h", b"\x03"),
    INT: _INT,
    DATE: _Numbers(DATE, "i", b"\x09"),
    FLOAT: _Numbers(FLOAT, "i", b"\x06"),
    BIGINT: _BIGINT,
    TIMESTAMP: _Numbers(TIMESTAMP, "q"),
    TIMESTAMP_NTZ: _Numbers(TIMESTAMP_NTZ, "q"),
    DOUBLE: _Numbers(DOUBLE, "q"),
    BOOLEAN: _Booleans(),
}


def item_kind(data_type: pa.DataType) -> ItemKind | None:
    """Return how a sketch has items of a logical type, None for a type that approx_top_k doesn't count."""
    if is_string(data_type):
        return _Texts()
    if not is_decimal(data_type):
        return _NUMBERS.get(data_type)
    if data_type.precision > _BIGINT_DIGITS:
        return _Decimals(data_type, _UnscaledIntegers())
    form = _BIGINT if data_type.precision > _INT_DIGITS else _INT
    return _Decimals(data_type, form)
