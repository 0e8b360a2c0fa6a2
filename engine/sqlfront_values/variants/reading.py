"""A variant as a tree: the type of a value, the fields of an object, the elements of an array, primitive
values.

Only the bytes that a caller asks for are read: the field of an object is found by its header, and its
siblings are skipped. The names of a metadata are decoded once for all rows that share it."""

import struct
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Final
from uuid import UUID

from sqlfront_values.arrow.variant_rows import parts
from sqlfront_values.errors import spark_error
from sqlfront_values.evaluation_errors import malformed_variant as malformed
from sqlfront_values.variants import layout
from sqlfront_values.variants.layout import OBJECT, PRIMITIVE, SHORT_STRING, VERSION


class Type(Enum):
    """The types of a variant's value, as Spark's ``VariantUtil.Type``; integers of all sizes are one type."""

    OBJECT = "object"
    ARRAY = "array"
    NULL = "null"
    BOOLEAN = "boolean"
    LONG = "long"
    STRING = "string"
    DOUBLE = "double"
    DECIMAL = "decimal"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    FLOAT = "float"
    BINARY = "binary"
    UUID = "uuid"


_PRIMITIVES: Final = {
    layout.NULL: Type.NULL,
    layout.TRUE: Type.BOOLEAN,
    layout.FALSE: Type.BOOLEAN,
    layout.INT1: Type.LONG,
    layout.INT2: Type.LONG,
    layout.INT4: Type.LONG,
    layout.INT8: Type.LONG,
    layout.DOUBLE: Type.DOUBLE,
    layout.DECIMAL4: Type.DECIMAL,
    layout.DECIMAL8: Type.DECIMAL,
    layout.DECIMAL16: Type.DECIMAL,
    layout.DATE: Type.DATE,
    layout.TIMESTAMP: Type.TIMESTAMP,
    layout.TIMESTAMP_NTZ: Type.TIMESTAMP_NTZ,
    layout.FLOAT: Type.FLOAT,
    layout.BINARY: Type.BINARY,
    layout.LONG_STRING: Type.STRING,
    layout.UUID: Type.UUID,
}
#: The type by a value's first byte; None: no type.
TYPES: Final[tuple[Type | None, ...]] = tuple(
    (_PRIMITIVES.get(first >> 2), Type.STRING, Type.OBJECT, Type.ARRAY)[first & 3] for first in range(256)
)
_DOUBLE: Final = struct.Struct("<d")
_SINGLE: Final = struct.Struct("<f")


@lru_cache(maxsize=1024)
def names_of(metadata: bytes) -> tuple[str, ...]:
    """Return the names of a metadata's dictionary, by id. Raises MALFORMED_VARIANT.

    >>> names_of(b"\\x01\\x02\\x00\\x01\\x02ab")
    ('a', 'b')
    """
    if not metadata or metadata[0] & 0x0F != VERSION:
        raise malformed()
    size = (metadata[0] >> 6) + 1
    count = int.from_bytes(metadata[1 : 1 + size], "little")
    start = 1 + (count + 2) * size
    if start > len(metadata):
        raise malformed()
    offsets = _numbers(metadata, 1 + size, count + 1, size)
    if any(begin > end for begin, end in pairwise(offsets)):
        raise malformed()
    if start + offsets[-1] > len(metadata):
        raise malformed()
    try:
        return tuple(metadata[start + begin : start + end].decode() for begin, end in pairwise(offsets))
    except UnicodeDecodeError:
        raise malformed() from None


@lru_cache(maxsize=1024)
def _ids(names: tuple[str, ...]) -> dict[str, int] | None:
    """Return the names' ids; None if a name repeats."""
    ids = {name: number for number, name in enumerate(names)}
    return ids if len(ids) == len(names) else None


def _numbers(data: bytes, start: int, count: int, size: int) -> "list[int] | bytes":
    """Return ``count`` unsigned integers of ``size`` bytes, from ``start`` on."""
    if size == 1:
        found: list[int] | bytes = data[start : start + count]
        if len(found) < count:
            raise malformed()
        return found
    if start + count * size > len(data):
        raise malformed()
    return [
        int.from_bytes(data[place : place + size], "little")
        for place in range(start, start + count * size, size)
    ]


class Variant:
    """The value at ``place`` of the bytes ``data``; ``names`` are the names that its objects' ids stand
    for. Methods raise MALFORMED_VARIANT for bytes that aren't a variant, and must be called for values of the
    fitting type only."""

    __slots__ = ("data", "names", "place")

    def __init__(self, data: bytes, names: tuple[str, ...], place: int = 0) -> None:
        self.data = data
        self.names = names
        self.place = place

    @property
    def type(self) -> Type:
        """The type of the value. Raises UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT for one that Spark doesn't know."""
        if self.place >= len(self.data):
            raise malformed()
        found = TYPES[self.data[self.place]]
        if found is None:
            raise spark_error(
                "UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT",
                f"Unknown primitive type with id {self.data[self.place] >> 2} was found in a variant value.",
            )
        return found

    # ---- objects and arrays

    def _sizes(self) -> tuple[int, int, int, int]:
        """Return, for an object or array: the number of its entries, the place behind that number, the bytes
        of an offset, and of an id (0 for arrays)."""
        first = self.data[self.place]
        info = first >> 2
        is_object = first & 3 == OBJECT
        large = (info >> (4 if is_object else 2)) & 1
        width = 4 if large else 1
        start = self.place + 1
        if start + width > len(self.data):
            raise malformed()
        count = int.from_bytes(self.data[start : start + width], "little") if large else self.data[start]
        return count, start + width, (info & 3) + 1, (((info >> 2) & 3) + 1) if is_object else 0

    def __len__(self) -> int:
        """The number of an object's fields or an array's elements."""
        return self._sizes()[0]

    def field(self, name: str) -> "Variant | None":
        """Return the value of an object's field; None if there is no such field."""
        count, start, offset_size, id_size = self._sizes()
        known = _ids(self.names)
        if known is None:
            ids = _numbers(self.data, start, count, id_size)
            place = next((place for place, number in enumerate(ids) if self._name(number) == name), -1)
        elif (number := known.get(name)) is None:
            return None
        elif id_size == 1:
            place = self.data.find(number, start, start + count) - start if number < 256 else -1
        else:
            ids = _numbers(self.data, start, count, id_size)
            place = next((place for place, other in enumerate(ids) if other == number), -1)
        if place < 0:
            return None
        return self._child(start + count * id_size, count, offset_size, place)

    def element(self, index: int) -> "Variant | None":
        """Return an array's element, from 0; None if there are fewer."""
        count, start, offset_size, _ = self._sizes()
        return self._child(start, count, offset_size, index) if index < count else None

    def _child(self, offsets: int, count: int, offset_size: int, place: int) -> "Variant":
        at = offsets + place * offset_size
        body = offsets + (count + 1) * offset_size
        if body > len(self.data):
            raise malformed()
        offset = int.from_bytes(self.data[at : at + offset_size], "little")
        return Variant(self.data, self.names, body + offset)

    def _name(self, number: int) -> str:
        try:
            return self.names[number]
        except IndexError:
            raise malformed() from None

    def fields(self) -> Iterator[tuple[str, "Variant"]]:
        """Iterate over an object's fields, in the order of their names."""
        count, start, offset_size, id_size = self._sizes()
        ids = _numbers(self.data, start, count, id_size)
        offsets = start + count * id_size
        places = _numbers(self.data, offsets, count, offset_size)
        body = offsets + (count + 1) * offset_size
        for number, offset in zip(ids, places, strict=True):
            yield self._name(number), Variant(self.data, self.names, body + offset)

    def elements(self) -> Iterator["Variant"]:
        """Iterate over an array's elements."""
        count, start, offset_size, _ = self._sizes()
        body = start + (count + 1) * offset_size
        for offset in _numbers(self.data, start, count, offset_size):
            yield Variant(self.data, self.names, body + offset)

    # ---- primitive values

    def _bytes(self, start: int, size: int) -> bytes:
        found = self.data[self.place + start : self.place + start + size]
        if len(found) < size:
            raise malformed()
        return found

    def boolean(self) -> bool:
        """Return a boolean."""
        return self.data[self.place] >> 2 == layout.TRUE

    def integer(self) -> int:
        """Return a long; the days of a date; the microseconds of a timestamp of either kind."""
        size = layout.SIZES[self.data[self.place] >> 2] - 1
        return int.from_bytes(self._bytes(1, size), "little", signed=True)

    def number(self) -> float:
        """Return a double or a float."""
        if self.data[self.place] >> 2 == layout.FLOAT:
            single: float = _SINGLE.unpack(self._bytes(1, 4))[0]
            return single
        double: float = _DOUBLE.unpack(self._bytes(1, 8))[0]
        return double

    def scaled(self) -> tuple[int, int]:
        """Return a decimal's unscaled number and its scale, as they are stored."""
        kind = self.data[self.place] >> 2
        unscaled = int.from_bytes(self._bytes(2, layout.SIZES[kind] - 2), "little", signed=True)
        scale = self._bytes(1, 1)[0]
        digits = layout.DECIMAL_DIGITS[kind]
        if scale > digits or abs(unscaled) >= 10**digits:
            raise malformed()
        return unscaled, scale

    def stripped(self) -> tuple[int, int]:
        """Return a decimal's unscaled number and scale without zeros at the end of its fraction, as Spark
        reads it everywhere."""
        unscaled, scale = self.scaled()
        while scale and unscaled % 10 == 0:
            unscaled //= 10
            scale -= 1
        return unscaled, scale

    def string(self) -> str:
        """Return a string."""
        first = self.data[self.place]
        if first & 3 == SHORT_STRING:
            raw = self._bytes(1, first >> 2)
        else:
            raw = self._bytes(5, int.from_bytes(self._bytes(1, 4), "little"))
        return raw.decode(errors="replace")

    def binary(self) -> bytes:
        """Return a binary."""
        return self._bytes(5, int.from_bytes(self._bytes(1, 4), "little"))

    def uuid(self) -> UUID:
        """Return a UUID, whose bytes are big-endian."""
        return UUID(bytes=self._bytes(1, 16))

    # ---- the bytes

    def is_valid(self) -> bool:
        """Return whether the value's bytes are those of a variant throughout; raises MALFORMED_VARIANT, or
        another error, for some that aren't."""
        match self.type:
            case Type.OBJECT:
                entries = [value for _, value in self.fields()]
            case Type.ARRAY:
                entries = list(self.elements())
            case Type.DECIMAL:
                self.scaled()
                entries = []
            case _:
                entries = []
        self.raw()
        return all(entry.is_valid() for entry in entries)

    def size(self) -> int:
        """Return the number of the value's bytes."""
        first = self.data[self.place]
        basic = first & 3
        if basic == SHORT_STRING:
            return 1 + (first >> 2)
        if basic == PRIMITIVE:
            fixed = layout.SIZES.get(first >> 2)
            if fixed is not None:
                return fixed
            if first >> 2 not in (layout.BINARY, layout.LONG_STRING):
                _ = self.type
            return 5 + int.from_bytes(self._bytes(1, 4), "little")
        count, start, offset_size, id_size = self._sizes()
        last = start + count * (id_size + offset_size)
        end = int.from_bytes(self.data[last : last + offset_size], "little")
        return last + offset_size + end - self.place

    def raw(self) -> bytes:
        """Return the value's bytes."""
        return self._bytes(0, self.size())


def variant_of(row: bytes) -> Variant:
    """Return the variant of a column's row (:mod:`sqlfront_values.arrow.variant_rows`). Raises
    MALFORMED_VARIANT."""
    value, metadata = parts(row)
    return Variant(value, names_of(metadata))
