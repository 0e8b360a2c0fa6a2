"""What Arrow doesn't tell of an ORC file: whether a part of a column is of ORC's type CHAR, which Spark reads
with blanks at the end or without, as the wanted type has it; and who has written timestamps, in which time
zones. From the file's own description (ORC's specification, "File Tail" and "Stripe Footer")."""

import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

import msgspec
import pyarrow as pa

#: The kinds of the types TIMESTAMP, whose values are those of a clock, and CHAR.
TIMESTAMP, CHAR = 9, 17
#: A chunk's header.
_HEADER: Final = 3
_NONE, _ZLIB, _SNAPPY, _ZSTD = 0, 1, 2, 5
#: The wire types of Protocol Buffers.
_VARINT, _BYTES = 0, 2
_FIXED: Final = {1: 8, 5: 4}
#: Bytes of a chunk of which the file doesn't say more.
_BLOCK: Final = 1 << 18

Value = int | bytes


class Description(msgspec.Struct, frozen=True):
    """``kinds``: of types that columns, or parts of them, have. ``is_java``: whether ORC's Java library has
    written the file. ``zones``: the time zones in which it has written values of the kind TIMESTAMP; empty
    if no column is of that kind."""

    kinds: frozenset[int]
    is_java: bool
    zones: frozenset[str]


def description(source: str) -> Description:
    """What an ORC file, one that Arrow reads, says of itself."""
    with open(source, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        last = _part(file, size - min(size, 256), min(size, 256))
        length = last[-1]
        postscript = _Message(last[-1 - length : -1])
        footer_length = postscript.number(1)
        stored = _part(file, size - 1 - length - footer_length, footer_length)
        compression, block = postscript.number(2), postscript.number(3) or _BLOCK
        footer = _Message(_plain(stored, compression, block))
        kinds = frozenset(_Message(kind).number(1) for kind in footer.parts(4))
        zones: set[str] = set()
        for stripe in map(_Message, footer.parts(3) if TIMESTAMP in kinds else ()):
            start = stripe.number(1) + stripe.number(2) + stripe.number(3)
            stripe_footer = _Message(_plain(_part(file, start, stripe.number(4)), compression, block))
            zones.add(b"".join(stripe_footer.parts(3)).decode())
    return Description(kinds, footer.number(9) == 0, frozenset(zones))


def _part(file: BinaryIO, start: int, length: int) -> bytes:
    file.seek(start)
    return file.read(length)


class _Message:
    """The fields of a message of Protocol Buffers, by their numbers."""

    def __init__(self, message: bytes) -> None:
        self._fields = list(_fields(message))

    def number(self, field: int) -> int:
        """The value of a field of numbers; 0 if there is none."""
        return next(
            (value for key, value in self._fields[::-1] if key == field and isinstance(value, int)), 0
        )

    def parts(self, field: int) -> list[bytes]:
        """The values of a field of bytes."""
        return [value for key, value in self._fields if key == field and isinstance(value, bytes)]


def _plain(stored: bytes, compression: int, block: int) -> bytes:
    """What was stored in chunks, uncompressed; after the last of LZ4 something else may follow."""
    if compression == _NONE:
        return stored
    found, at = b"", 0
    while at < len(stored):
        header = int.from_bytes(stored[at : at + _HEADER], "little")
        chunk = stored[at + _HEADER : at + _HEADER + (header >> 1)]
        found += chunk if header & 1 else _unpacked(chunk, compression, block)
        at += _HEADER + len(chunk)
    return found


def _unpacked(chunk: bytes, compression: int, block: int) -> bytes:
    if compression == _ZLIB:
        return zlib.decompress(chunk, wbits=-zlib.MAX_WBITS)
    if compression == _SNAPPY:
        return bytes(pa.Codec("snappy").decompress(chunk, _varint(chunk, 0)[0], asbytes=True))
    if compression == _ZSTD:
        return bytes(pa.input_stream(pa.py_buffer(chunk), compression="zstd").read())
    return bytes(pa.Codec("lz4_raw").decompress(chunk, block, asbytes=True))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Numbers and values of a message of Protocol Buffers, up to where it is none."""
    at = 0
    while at < len(message):
        try:
            tag, at = _varint(message, at)
            value, following = _varint(message, at) if tag & 7 in (_VARINT, _BYTES) else (0, at)
        except IndexError:
            return
        if tag & 7 == _VARINT:
            yield tag >> 3, value
        elif tag & 7 == _BYTES:
            yield tag >> 3, message[following : following + value]
            following += value
        elif tag & 7 in _FIXED:
            following += _FIXED[tag & 7]
        else:
            return
        at = following
