"""Decoding of Protocol Buffers' messages without a schema: fields have numbers, not names (Protocol Buffers'
documentation, "Encoding")."""

from collections.abc import Iterator
from typing import Final

from sqlfront_connectors.files.varints import MalformedData, read_varint

#: The wire types: numbers of variable length, bytes after their length, and the sizes in bytes of the types
#: that are skipped.
_VARINT, _BYTES = 0, 2
_FIXED: Final = {1: 8, 5: 4}


class ProtobufMessage:
    """A decoded message, whose fields are found by their numbers. Raises MalformedData if the bytes are not a
    message, IndexError if they end within a number.

    >>> ProtobufMessage(bytes([0x08, 0x05, 0x12, 0x02, 0x03, 0x04])).number(1)
    5
    """

    def __init__(self, data: bytes) -> None:
        self._fields = list(_fields(data))

    def number(self, field: int) -> int:
        """Return the value of the field with the number ``field``, which holds an integer; the last value if
        the field occurs several times, 0 if it is missing."""
        return next(
            (value for key, value in reversed(self._fields) if key == field and isinstance(value, int)), 0
        )

    def has(self, *fields: int) -> bool:
        """Return whether all fields with these numbers are present."""
        return {key for key, _ in self._fields}.issuperset(fields)

    def numbers(self, field: int) -> list[int]:
        """Return all values of the field with the number ``field``, a repeated field of integers, packed or
        not."""
        found: list[int] = []
        for key, value in self._fields:
            if key == field and isinstance(value, int):
                found.append(value)
            elif key == field and isinstance(value, bytes):
                found += _packed(value)
        return found

    def parts(self, field: int) -> list[bytes]:
        """Return all values of the field with the number ``field``, a repeated field of bytes, texts or
        messages."""
        return [value for key, value in self._fields if key == field and isinstance(value, bytes)]


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the number and the value of each field in the order of the data; fields of a fixed size (32 or 64
    bits) are left out. Raises MalformedData for bytes that are not a message."""
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        if wire_type in _FIXED:
            at += _FIXED[wire_type]
            if at > len(data):
                raise MalformedData("it ends too early")
            continue
        if wire_type not in (_VARINT, _BYTES):
            raise MalformedData(f"a field is of the type {wire_type}")
        value, at = read_varint(data, at)
        if wire_type == _VARINT:
            yield number, value
        else:
            at += value
            if at > len(data):
                raise MalformedData("it ends too early")
            yield number, data[at - value : at]


def _packed(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = read_varint(data, at)
        found.append(value)
    return found
