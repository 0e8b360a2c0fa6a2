"""Integers in as many bytes as they need, seven bits a byte and the lowest bits first (LEB128), as in
Thrift's compact protocol and Protocol Buffers."""

from typing import Final

#: The largest shift of a byte: a number of 64 bits has at most ten bytes.
_BITS: Final = 63


class MalformedData(Exception):
    """The error of bytes that violate their format."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Read the unsigned integer that begins at the index ``at``; returns the integer and the index after it.
    Raises MalformedData for more than ten bytes, IndexError if the data end within the integer.

    >>> read_varint(bytes([0xAC, 0x02, 0x00]), 0)
    (300, 2)
    """
    value = shift = 0
    while (byte := data[at]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > _BITS:
            raise MalformedData("a number has too many bytes")
    return value | byte << shift, at + 1
