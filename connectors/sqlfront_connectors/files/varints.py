"""Numbers in as many bytes as they need, seven bits a byte and the lowest first (LEB128), as Thrift's compact
protocol and Protocol Buffers write them."""

from typing import Final

#: The bits of a number that has ten bytes, the most for one of 64 bits.
_BITS: Final = 63


class Malformed(Exception):
    """The bytes are not what their format demands."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned number that begins at the index ``at``, and the index behind it. Malformed for more than
    ten bytes; IndexError where the data end within it.

    >>> read_varint(bytes([0xAC, 0x02, 0x00]), 0)
    (300, 2)
    """
    value = shift = 0
    while (byte := data[at]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > _BITS:
            raise Malformed("a number has too many bytes")
    return value | byte << shift, at + 1
