"""The chunks in which compressed ORC files store footers and streams: a header of three bytes, then the
chunk, compressed or uncompressed (ORC's specification, "Compression")."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

import pyarrow as pa

from sqlfront_connectors.files.varints import MalformedData, read_varint

#: The bytes of a chunk's header.
_HEADER: Final = 3
NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5


@contextmanager
def decoding() -> Iterator[None]:
    """Return a context manager that turns errors of decoding within its block into MalformedData; other
    OSErrors of the system are raised unchanged."""
    try:
        yield
    except (IndexError, UnicodeDecodeError, zlib.error, pa.ArrowException) as error:
        raise MalformedData(str(error)) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise MalformedData(str(error)) from error  # Arrow's error of decompression


def part(file: BinaryIO, start: int, length: int) -> bytes:
    """Return ``length`` bytes of the file, from the offset ``start`` on; fewer bytes if the file ends
    before."""
    file.seek(start)
    return file.read(length)


def unpacked_size(file: BinaryIO, start: int, length: int, block: int) -> int:
    """Return an upper bound of the size of ``length`` stored bytes after decompression. ``start``: the offset
    of these bytes in the file. ``block``: the most uncompressed bytes of a chunk. Raises MalformedData unless
    the stored bytes are a series of chunks of at most ``block`` bytes."""
    end, found = start + length, 0
    while start < end:
        size = int.from_bytes(part(file, start, _HEADER), "little") >> 1
        start += _HEADER + size
        if start > end or size > block:
            raise MalformedData("a chunk is longer than its stream")
        found += block
    return found


def plain(stored: bytes, compression: int, block: int, most: int) -> bytes:
    """Return the uncompressed bytes of ``stored``, a series of chunks; decompression stops once the result
    has more than ``most`` bytes. ``compression``: ORC's number of the codec. ``block``: the most uncompressed
    bytes of a chunk. Raises MalformedData for a chunk that is too long, and the error of the codec (such as
    ``zlib.error``) for bytes that can't be decompressed."""
    if compression == NONE:
        return stored
    found, at = bytearray(), 0
    while at < len(stored) and len(found) <= most:
        header = int.from_bytes(stored[at : at + _HEADER], "little")
        at += _HEADER + (header >> 1)
        if at > len(stored) or header >> 1 > block:
            raise MalformedData("a chunk is longer than its stream")
        chunk = stored[at - (header >> 1) : at]
        found += chunk if header & 1 else _unpacked(chunk, compression, block)
    return bytes(found)


def _unpacked(chunk: bytes, compression: int, block: int) -> bytes:
    if compression == _ZLIB:
        return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(chunk, block)
    if compression == _ZSTD:
        return bytes(pa.input_stream(pa.py_buffer(chunk), compression="zstd").read(block))
    if compression not in (_SNAPPY, _LZ4):
        raise MalformedData(f"the compression is {compression}")
    is_snappy = compression == _SNAPPY
    length = read_varint(chunk, 0)[0] if is_snappy else _length(chunk)
    if length > block:
        raise MalformedData("a part is larger than the limit")
    return bytes(pa.Codec("snappy" if is_snappy else "lz4_raw").decompress(chunk, length, asbytes=True))


def _length(chunk: bytes) -> int:
    """Return the number of bytes that ``chunk``, in LZ4's block format, has after decompression."""
    at = total = 0
    while True:
        token = chunk[at]
        literals, at = _extended(chunk, token >> 4, at + 1)
        at, total = at + literals, total + literals
        if at >= len(chunk):
            return total
        repeated, at = _extended(chunk, token & 15, at + 2)
        total += repeated + 4


def _extended(chunk: bytes, length: int, at: int) -> tuple[int, int]:
    more = length == 15
    while more:
        length, more, at = length + chunk[at], chunk[at] == 255, at + 1
    return length, at
