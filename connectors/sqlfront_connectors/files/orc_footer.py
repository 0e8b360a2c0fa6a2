"""What Arrow doesn't tell of an ORC file: whether a part of a column is of ORC's type CHAR, which Spark reads
with blanks at the end or without, as the wanted type has it. From the file's own description (ORC's
specification, "File Tail")."""

import os
import zlib
from collections.abc import Iterator
from typing import Final

import pyarrow as pa

#: The kind of the type CHAR.
CHAR: Final = 17
#: A chunk's header.
_HEADER: Final = 3
_NONE, _ZLIB, _SNAPPY, _ZSTD = 0, 1, 2, 5
#: The wire types of Protocol Buffers.
_VARINT, _BYTES = 0, 2
_FIXED: Final = {1: 8, 5: 4}
#: Bytes of a chunk of which the file doesn't say more.
_BLOCK: Final = 1 << 18

Value = int | bytes


def type_kinds(source: str) -> set[int]:
    """The kinds of types that columns of an ORC file, or parts of them, have. It is one that Arrow reads."""
    with open(source, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(-min(size, 256), os.SEEK_END)
        last = file.read()
        length = last[-1]
        postscript = dict(_fields(last[-1 - length : -1]))
        footer_length = _number(postscript, 1)
        file.seek(size - 1 - length - footer_length)
        stored = file.read(footer_length)
    footer = _plain(stored, _number(postscript, 2), _number(postscript, 3) or _BLOCK)
    types = [value for number, value in _fields(footer) if number == 4 and isinstance(value, bytes)]
    return {_number(dict(_fields(one)), 1) for one in types}


def _number(message: dict[int, Value], field: int) -> int:
    value = message.get(field, 0)
    return value if isinstance(value, int) else 0


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
