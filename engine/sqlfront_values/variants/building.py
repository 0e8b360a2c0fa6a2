"""Values as variants, in the bytes that Spark's ``VariantBuilder`` makes of the same values.

A builder collects the names of objects in the order in which they come up; each value becomes bytes, and the
bytes of an object or array are those of its entries behind a header.
"""

import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import Final

from sqlfront_values.arrow.variant_rows import NO_NAMES, packed
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.variants import layout
from sqlfront_values.variants.layout import (
    ARRAY,
    MAX_SHORT_STRING,
    MAX_SIZE,
    OBJECT,
    integer_size,
    java_order,
)
from sqlfront_values.variants.reading import Type, Variant

#: The values without content.
NULL: Final = bytes([layout.NULL << 2])
TRUE: Final = bytes([layout.TRUE << 2])
FALSE: Final = bytes([layout.FALSE << 2])
_INTEGERS: Final = (
    (1 << 7, layout.INT1, struct.Struct("<Bb").pack),
    (1 << 15, layout.INT2, struct.Struct("<Bh").pack),
    (1 << 31, layout.INT4, struct.Struct("<Bi").pack),
    (1 << 63, layout.INT8, struct.Struct("<Bq").pack),
)
_DAYS: Final = struct.Struct("<Bi").pack
_MICROS: Final = struct.Struct("<Bq").pack
_DOUBLE: Final = struct.Struct("<Bd").pack
_SINGLE: Final = struct.Struct("<Bf").pack
_SIZED: Final = struct.Struct("<BI").pack
_MOST_DIGITS: Final = 38
#: Entries of the largest object or array whose count takes a byte.
_MOST_SMALL: Final = 255
_NO_FIELDS: Final = bytes([OBJECT, 0, 0])
#: The first byte of a short string, by the string's length in bytes.
_SHORT: Final = [bytes([size << 2 | layout.SHORT_STRING]) for size in range(MAX_SHORT_STRING + 1)]


class VariantKeyError(ValueError):
    """An error for an object with two fields called ``key``."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


class VariantSizeError(ValueError):
    """An error for a variant of more than ``MAX_SIZE`` bytes."""


def duplicate_key(key: str) -> DatabaseError:
    """Build Spark's error VARIANT_DUPLICATE_KEY."""
    return spark_error(
        "VARIANT_DUPLICATE_KEY",
        f"Failed to build variant because of a duplicate object key `{key}`.",
    )


def too_large(function: str) -> DatabaseError:
    """Build Spark's error VARIANT_SIZE_LIMIT, raised by the SQL function ``function``."""
    return spark_error(
        "VARIANT_SIZE_LIMIT",
        f"Cannot build variant bigger than 128.0 MiB in {function}. Please avoid large input strings to this"
        " expression (for example, add function call(s) to check the expression size and convert it to NULL"
        " first if it is too big).",
    )


def boolean(value: bool) -> bytes:
    """Return a boolean as a variant's value."""
    return TRUE if value else FALSE


def integer(value: int) -> bytes:
    """Return an integer of at most 64 bits as a variant's value, in the fewest bytes."""
    for bound, kind, pack in _INTEGERS:
        if -bound <= value < bound:
            return pack(kind << 2, value)
    raise OverflowError(value)


def double(value: float) -> bytes:
    """Return a double as a variant's value."""
    return _DOUBLE(layout.DOUBLE << 2, value)


def single(value: float) -> bytes:
    """Return a float as a variant's value."""
    return _SINGLE(layout.FLOAT << 2, value)


def scaled(unscaled: int, scale: int) -> bytes:
    """Return the decimal of at most 38 digits ``unscaled * 10 ** -scale`` as a variant's value."""
    digits = max(len(str(abs(unscaled))), scale)
    kind, size = (
        (layout.DECIMAL4, 4)
        if digits <= 9
        else (layout.DECIMAL8, 8)
        if digits <= 18
        else (layout.DECIMAL16, 16)
    )
    return bytes([kind << 2, scale]) + unscaled.to_bytes(size, "little", signed=True)


def number(text: str) -> bytes:
    """Return a number, given by its JSON text, as a variant's value: an integer of at most 64 bits, a decimal
    if it has no exponent and at most 38 digits, else a double.

    >>> number("1.50").hex(), number("1e2").hex()
    ('200296000000', '1c0000000000005940')
    """
    if text.isdigit() or (text[0] == "-" and text[1:].isdigit()):
        value = int(text)
        if -(1 << 63) <= value < 1 << 63:
            return integer(value)
    if "e" in text or "E" in text:
        return double(float(text))
    whole, _, fraction = text.partition(".")
    unscaled = int(whole + fraction)
    if len(fraction) > _MOST_DIGITS or abs(unscaled) >= 10**_MOST_DIGITS:
        return double(float(text))
    return scaled(unscaled, len(fraction))


def decimal(value: Decimal) -> bytes:
    """Return a decimal as a variant's value, with its scale."""
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    return scaled(-unscaled if sign else unscaled, max(-exponent, 0))


def string(value: str) -> bytes:
    """Return a text as a variant's value. Raises UnicodeEncodeError for half a surrogate pair, which Spark
    refuses."""
    raw = value.encode()
    if len(raw) <= MAX_SHORT_STRING:
        return _SHORT[len(raw)] + raw
    return _SIZED(layout.LONG_STRING << 2, len(raw)) + raw


def binary(value: bytes) -> bytes:
    """Return bytes as a variant's value."""
    return _SIZED(layout.BINARY << 2, len(value)) + value


def date(days: int) -> bytes:
    """Return a date, given in days since 1970, as a variant's value."""
    return _DAYS(layout.DATE << 2, days)


def timestamp(micros: int) -> bytes:
    """Return a timestamp, given in microseconds since 1970 in UTC, as a variant's value."""
    return _MICROS(layout.TIMESTAMP << 2, micros)


def timestamp_ntz(micros: int) -> bytes:
    """Return a timestamp without time zone, given in microseconds since 1970, as a variant's value."""
    return _MICROS(layout.TIMESTAMP_NTZ << 2, micros)


def array(values: Sequence[bytes]) -> bytes:
    """Return an array of encoded values as a variant's value."""
    data = b"".join(values)
    offset_size = _size(len(data))
    large = len(values) > _MOST_SMALL
    first = large << 4 | (offset_size - 1) << 2 | ARRAY
    return b"".join((bytes([first]), _count(len(values), large), _offsets(values, offset_size), data))


def _size(number: int) -> int:
    if number > MAX_SIZE:
        raise VariantSizeError
    return integer_size(number)


def _count(count: int, large: bool) -> bytes:
    return count.to_bytes(4 if large else 1, "little")


def _offsets(values: Sequence[bytes], size: int) -> bytes:
    """Return the values' offsets, and the end of the last, as integers of ``size`` bytes."""
    return _packed_numbers([0, *accumulate(map(len, values))], size)


def _packed_numbers(numbers: Sequence[int], size: int) -> bytes:
    if size == 1:
        return bytes(numbers)
    return b"".join([each.to_bytes(size, "little") for each in numbers])


class VariantBuilder:
    """A builder of one variant: the names of its objects so far."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: dict[str, int] = {}

    def id_of(self, name: str) -> int:
        """Return the id of a name, which the dictionary gets if it has none. The ids follow the order in
        which Spark meets the names: that of an object's field before the names inside of the field's
        value."""
        return self._ids.setdefault(name, len(self._ids))

    def object(self, fields: list[tuple[str, int, bytes]]) -> bytes:
        """Return an object as a variant's value. ``fields``: the name, id and encoded value of each, in the
        order in which their values are stored. Raises VariantKeyError."""
        if not fields:
            return _NO_FIELDS
        names, ids, values = zip(*fields, strict=True)
        order, head = _layout(names, ids)
        data = b"".join(values)
        offsets = [0, *accumulate(map(len, values))]
        size = _size(offsets[-1])
        first = bytes([head[0] | (size - 1) << 2])
        return b"".join((first, head[1:], _packed_numbers(order(offsets), size), data))

    def copied(self, variant: Variant) -> bytes:
        """Return a part of another variant as a value of this one, as Spark's ``appendVariant`` does: with
        the fields of objects in the order of their names."""
        match variant.type:
            case Type.OBJECT:
                fields = []
                for name, value in variant.fields():
                    number = self.id_of(name)
                    fields.append((name, number, self.copied(value)))
                return self.object(fields)
            case Type.ARRAY:
                return array([self.copied(value) for value in variant.elements()])
            case _:
                return variant.raw()

    def metadata(self) -> bytes:
        """Return the dictionary of the names so far. Raises VariantSizeError, and UnicodeEncodeError for half
        a surrogate pair."""
        if not self._ids:
            return NO_NAMES
        return _dictionary(tuple(self._ids))

    def row(self, value: bytes) -> bytes:
        """Return the row (:mod:`sqlfront_values.arrow.variant_rows`) for an encoded value. Raises
        VariantSizeError."""
        if len(value) > MAX_SIZE:
            raise VariantSizeError
        return packed(value, self.metadata())


@lru_cache(maxsize=1024)
def _layout(
    names: tuple[str, ...], ids: tuple[int, ...]
) -> tuple[Callable[[Sequence[int]], Sequence[int]], bytes]:
    """Return how an object with these fields begins, but for the size of the offsets, and a function that
    takes the offsets of the fields, and the end of the last, to the order of the names. Raises
    VariantKeyError."""
    order = _order(names)
    ordered = [ids[place] for place in order]
    if len(set(ordered)) < len(ordered):
        raise VariantKeyError(
            next(names[order[at]] for at in range(1, len(ids)) if ordered[at] == ordered[at - 1])
        )
    large, id_size = len(names) > _MOST_SMALL, integer_size(max(ids))
    first = large << 6 | (id_size - 1) << 4 | OBJECT
    head = b"".join((bytes([first]), _count(len(names), large), _packed_numbers(ordered, id_size)))
    return itemgetter(*order, len(names)), head


@lru_cache(maxsize=1024)
def _dictionary(names: tuple[str, ...]) -> bytes:
    encoded = [name.encode() for name in names]
    data = b"".join(encoded)
    size = _size(max(len(data), len(names)))
    first = bytes([layout.VERSION | (size - 1) << 6])
    return b"".join((first, len(names).to_bytes(size, "little"), _offsets(encoded, size), data))


def _order(names: Sequence[str]) -> list[int]:
    """Return the places of the names in Java's order."""
    keys: Sequence[str | bytes] = (
        names if all(map(str.isascii, names)) else [java_order(name) for name in names]
    )
    return sorted(range(len(names)), key=keys.__getitem__)


def rebuilt(variant: Variant) -> bytes:
    """Return the row for a part of a variant alone, without the names that the part doesn't have."""
    if variant.type is not Type.OBJECT and variant.type is not Type.ARRAY:
        return packed(variant.raw())
    builder = VariantBuilder()
    return builder.row(builder.copied(variant))
