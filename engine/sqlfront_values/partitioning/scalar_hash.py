"""Spark's ``hash()`` of single keys in plain Python, the first step of a lookup by key.

:mod:`sqlfront_values.partitioning.partitions` explains the hash, and computes it for Arrow arrays.
"""

import datetime as dt
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import field_keys
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.types import MAX_SHORT_PRECISION, ddl, is_interval, is_time, logical, physical

#: The seed of Spark's hash partitioning.
SEED: Final = 42

#: Hash of one non-null value, given the seed; both are unsigned 32-bit numbers.
ValueHasher = Callable[..., int]
#: Hash of a key (one Python value per column, None = null), as Spark's signed 32-bit number.
KeyHasher = Callable[[Sequence[object]], int]

_MASK: Final = 0xFFFFFFFF
_EPOCH_DAY: Final = dt.date(1970, 1, 1).toordinal()
_EPOCH: Final = dt.datetime(1970, 1, 1)
_EPOCH_UTC: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND: Final = dt.timedelta(microseconds=1)


def key_hasher(types: Sequence[pa.DataType]) -> KeyHasher:
    """Return a function that computes Spark's hash of a key, a signed 32-bit number. The key is a tuple with
    a Python value for each of the column ``types`` (logical or physical), None for null. Raises
    NotSupportedError for maps.

    >>> key_hasher([pa.int64()])((1,)), key_hasher([pa.int64(), pa.string()])((1, "a"))
    (-1712319331, 573093329)
    """
    hashers = tuple(value_hasher(data_type) for data_type in types)
    if len(hashers) == 1:
        return _lone_hasher(hashers[0])

    def hash_key(key: Sequence[object]) -> int:
        value = SEED
        for hasher, component in zip(hashers, key, strict=True):
            if component is not None:
                value = hasher(component, value)
        return value - 0x1_0000_0000 if value & 0x8000_0000 else value

    return hash_key


def _lone_hasher(hasher: ValueHasher) -> KeyHasher:
    def hash_key(key: Sequence[object]) -> int:
        (component,) = key
        value = SEED if component is None else hasher(component)
        return value - 0x1_0000_0000 if value & 0x8000_0000 else value

    return hash_key


def value_hasher(data_type: pa.DataType) -> ValueHasher:
    """Return the function that computes from a non-null Python value of the type and a seed the value's hash,
    which is the seed for the next value. Seed and hash are unsigned 32-bit numbers. Raises NotSupportedError
    for maps."""
    data_type = physical(data_type) if is_interval(data_type) or is_time(data_type) else logical(data_type)
    simple = _HASHERS.get(data_type)
    if simple is not None:
        return simple
    if pa.types.is_decimal(data_type):
        return _decimal_hasher(data_type)
    if pa.types.is_list(data_type):
        return _list_hasher(value_hasher(data_type.value_type))
    if pa.types.is_struct(data_type):
        hashers = [value_hasher(field.type) for field in data_type]
        return _struct_hasher(dict(zip(field_keys(data_type), hashers, strict=True)))
    raise NotSupportedError(f"a key of type {ddl(data_type)}")


# ---- murmur3


def hash_int(value: int, seed: int = SEED) -> int:
    """Hash a 32-bit integer with a seed; seed and hash are unsigned 32-bit numbers."""
    word = value & _MASK
    word = word * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) * 0x1B873593 & _MASK
    seed ^= word
    seed = (seed << 13 | seed >> 19) * 5 + 0xE6546B64 & _MASK
    return _finish(seed ^ 4)


def hash_long(value: int, seed: int = SEED) -> int:
    """Hash a 64-bit integer with a seed; seed and hash are unsigned 32-bit numbers."""
    word = (value & _MASK) * 0xCC9E2D51 & _MASK
    word = (word << 15 | word >> 17) * 0x1B873593 & _MASK
    seed ^= word
    seed = ((seed << 13 | seed >> 19) * 5 + 0xE6546B64) & _MASK
    word = value >> 32 & _MASK
    if word:  # a zero word, as in small numbers, mixes to zero
        word = word * 0xCC9E2D51 & _MASK
        seed ^= (word << 15 | word >> 17) * 0x1B873593 & _MASK
    seed = ((seed << 13 | seed >> 19) * 5 + 0xE6546B64) & _MASK
    seed ^= 8
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _MASK
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _MASK
    return seed ^ seed >> 16


def hash_bytes(value: bytes, seed: int = SEED) -> int:
    """Hash a byte string with a seed: first its 4-byte words, then each remaining byte, sign-extended. Seed
    and hash are unsigned 32-bit numbers."""
    length = len(value)
    whole = length >> 2
    words = struct.unpack_from(f"<{whole}I{length & 3}b", value)
    for word in words:
        word = (word & _MASK) * 0xCC9E2D51 & _MASK
        word = (word << 15 | word >> 17) * 0x1B873593 & _MASK
        seed ^= word
        seed = (seed << 13 | seed >> 19) * 5 + 0xE6546B64 & _MASK
    return _finish(seed ^ length)


def _finish(seed: int) -> int:
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _MASK
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _MASK
    return seed ^ seed >> 16


# ---- Python values


def _hash_float(value: float, seed: int = SEED) -> int:
    # Adding 0.0 makes a zero positive; the bits of `_NAN` are Java's canonical NaN.
    bits = struct.pack("<f", value + 0.0 if value == value else _NAN)
    return hash_int(int.from_bytes(bits, "little"), seed)


def _hash_double(value: float, seed: int = SEED) -> int:
    bits = struct.pack("<d", value + 0.0 if value == value else _NAN)
    return hash_long(int.from_bytes(bits, "little"), seed)


_NAN: Final = float("nan")


def _hash_string(value: str, seed: int = SEED) -> int:
    return hash_bytes(value.encode(), seed)


def _hash_date(value: dt.date, seed: int = SEED) -> int:
    return hash_int(value.toordinal() - _EPOCH_DAY, seed)


def _hash_timestamp(value: dt.datetime, seed: int = SEED) -> int:
    return hash_long((value - _EPOCH_UTC) // _MICROSECOND, seed)


def _hash_timestamp_ntz(value: dt.datetime, seed: int = SEED) -> int:
    return hash_long((value - _EPOCH) // _MICROSECOND, seed)


def _hash_duration(value: dt.timedelta, seed: int = SEED) -> int:
    return hash_long(value // _MICROSECOND, seed)


_HASHERS: Final[Mapping[pa.DataType, ValueHasher]] = {
    pa.null(): hash_int,
    pa.bool_(): hash_int,
    pa.int8(): hash_int,
    pa.int16(): hash_int,
    pa.int32(): hash_int,
    pa.int64(): hash_long,
    pa.float32(): _hash_float,
    pa.float64(): _hash_double,
    pa.string(): _hash_string,
    pa.binary(): hash_bytes,
    pa.date32(): _hash_date,
    pa.timestamp("us", tz="UTC"): _hash_timestamp,
    pa.timestamp("us"): _hash_timestamp_ntz,
    pa.duration("us"): _hash_duration,
}


def _decimal_hasher(data_type: pa.DataType) -> ValueHasher:
    scale: int = data_type.scale

    if data_type.precision <= MAX_SHORT_PRECISION:

        def hash_short(value: Decimal, seed: int = SEED) -> int:
            return hash_long(int(value.scaleb(scale)), seed)

        return hash_short

    def hash_wide(value: Decimal, seed: int = SEED) -> int:
        unscaled = _unscaled(value, scale)
        magnitude = ~unscaled if unscaled < 0 else unscaled
        return hash_bytes(unscaled.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True), seed)

    return hash_wide


def _unscaled(value: Decimal, scale: int) -> int:
    """Return the integer ``value * 10**scale``, exact beyond the 28 digits of the default decimal context."""
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * 10 ** (scale + int(exponent))
    return -number if sign else number


def _list_hasher(hash_element: ValueHasher) -> ValueHasher:
    def hash_list(value: Sequence[object], seed: int = SEED) -> int:
        for element in value:
            if element is not None:
                seed = hash_element(element, seed)
        return seed

    return hash_list


def _struct_hasher(fields: Mapping[str, ValueHasher]) -> ValueHasher:
    def hash_struct(value: Mapping[str, object], seed: int = SEED) -> int:
        for name, hash_field in fields.items():
            component = value[name]
            if component is not None:
                seed = hash_field(component, seed)
        return seed

    return hash_struct
