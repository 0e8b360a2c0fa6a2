"""Decoding of Thrift's compact protocol, in which Parquet's footers and page headers are written (Thrift's
specification, "Thrift Compact protocol encoding")."""

from typing import Final

import msgspec

from sqlfront_connectors.files.varints import MalformedData, read_varint

#: The types of fields by their numbers in the protocol.
BOOL, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = (
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
    13,
)
_TRUE: Final = 1
#: Bytes of a double, and of a UUID.
_WIDE: Final = 8
_LONG: Final = 16
#: The deepest nesting of structs: Python's stack is limited.
_DEEPEST: Final = 64
#: Elements of a list at most, as in Arrow's reader.
_LONGEST: Final = 1_000_000

#: The fields of a struct, by :func:`field`: numbers, truths, bytes, ``Values`` and structs.
Struct = dict[int, object]


class ThriftValues(msgspec.Struct, frozen=True, gc=False):
    """The elements of a list, a set or a map. ``kind``: Thrift's number of the type of the elements of a list
    or set; MAP for a map. ``items``: the elements; for a map, its keys and values alternate."""

    kind: int
    items: list[object]


def field(number: int, kind: int) -> int:
    """Return the key under which a :data:`Struct` has the field ``number`` of the Thrift type ``kind``. The
    type is a part of the key, so a field that was written with another type isn't found."""
    return number << 4 | kind


def fields(*kinds: int) -> frozenset[int]:
    """Return the keys of the fields 1, 2, ... of a struct whose types are ``kinds``."""
    return frozenset(field(number, kind) for number, kind in enumerate(kinds, 1))


def read_struct(data: bytes) -> Struct:
    """Read the struct at the beginning of the bytes. The last of several fields with the same number counts.
    Raises MalformedData for bytes that are not a struct.

    >>> read_struct(bytes([0x15, 0x06, 0x00])) == {field(1, I32): 3}
    True
    """
    return read_part(data)[0]


def read_part(data: bytes) -> tuple[Struct, int]:
    """Read the Thrift struct at the beginning of the bytes; returns the struct and its length in bytes. The
    last of several fields with the same number counts. Raises MalformedData for bytes that are not a struct.
    """
    try:
        return _struct(data, 0, 0)
    except IndexError:
        raise MalformedData("it ends too early") from None


def _struct(data: bytes, at: int, depth: int) -> tuple[Struct, int]:
    found: Struct = {}
    number = 0
    while head := data[at]:
        kind = head & 15
        at += 1
        if head > 15:
            number += head >> 4
        else:
            number, at = _number(data, at)
        # Footers have so many numbers that a call for each would be slow.
        if kind in (I64, I32) and (byte := data[at]) < 128:
            found[number << 4 | kind] = byte >> 1 ^ -(byte & 1)
            at += 1
        elif kind > BOOL:
            found[number << 4 | kind], at = _value(data, at, kind, depth)
        elif kind:
            found[number << 4 | BOOL] = kind == _TRUE
        else:
            return found, at
    return found, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[object, int]:
    if kind == BINARY:
        length = data[at]
        at += 1
        if length > 127:
            length, at = read_varint(data, at - 1)
        if length > len(data) - at:
            raise MalformedData("it ends too early")
        return data[at : at + length], at + length
    if kind in (I64, I32, I16):
        return _number(data, at)
    if depth > _DEEPEST:
        raise MalformedData("it has structs too deep in each other")
    if kind == STRUCT:
        return _struct(data, at, depth + 1)
    if kind in (LIST, SET):
        return _list(data, at, depth + 1)
    if kind in (_TRUE, BOOL, BYTE):
        return data[at], at + 1
    if kind == DOUBLE:
        return data[at : at + _WIDE], at + _WIDE
    if kind == MAP:
        return _map(data, at, depth + 1)
    if kind == UUID:
        return data[at : at + _LONG], at + _LONG
    raise MalformedData(f"it has a field of the type {kind}")


def _list(data: bytes, at: int, depth: int) -> tuple[ThriftValues, int]:
    head = data[at]
    at += 1
    kind, length = head & 15, head >> 4
    if length == 15:
        length, at = read_varint(data, at)
    _check_length(data, at, length)
    items: list[object] = []
    for _ in range(length):
        if kind in (I64, I32) and (byte := data[at]) < 128:
            items.append(byte >> 1 ^ -(byte & 1))
            at += 1
        else:
            item, at = _value(data, at, kind, depth)
            items.append(item)
    return ThriftValues(kind, items), at


def _map(data: bytes, at: int, depth: int) -> tuple[ThriftValues, int]:
    length, at = read_varint(data, at)
    items: list[object] = []
    if length:
        _check_length(data, at, length)
        kinds = data[at]
        at += 1
        for _ in range(length):
            for kind in (kinds >> 4, kinds & 15):
                item, at = _value(data, at, kind, depth)
                items.append(item)
    return ThriftValues(MAP, items), at


def _check_length(data: bytes, at: int, length: int) -> None:
    """Raise MalformedData if a list states too many elements. ``at``: the index of the first element.
    ``length``: the stated number of elements, which may exceed neither the number of bytes left nor
    :data:`_LONGEST`."""
    if length > min(len(data) - at, _LONGEST):
        raise MalformedData("it ends too early")


def _number(data: bytes, at: int) -> tuple[int, int]:
    value, at = read_varint(data, at)
    return value >> 1 ^ -(value & 1), at
