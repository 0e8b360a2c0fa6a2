"""Decompression of text files as Hadoop's codecs write them; the ending of the file's name states the
codec."""

import bz2
import gzip
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from io import BufferedReader
from typing import Final, Protocol

import pyarrow as pa

from sqlfront_connectors.files.failures import file_unreadable
from sqlfront_values.errors import NotSupportedError

#: The lengths before a block of snappy or lz4, and before each of its parts.
_LENGTH: Final = struct.Struct(">I")

#: Bytes to unpack at a time: bounds the memory of a file that unpacks to many times its size.
_STEP: Final = 4 << 20
#: Bytes of a block's part, which is unpacked at once, at most: Hadoop's parts have 256 KiB; a larger number
#: is a broken or hostile file's.
_LARGEST_PART: Final = 64 << 20

_UNREADABLE: Final = frozenset({"lzo", "xz"})


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def is_packed(path: str) -> bool:
    """Return whether the ending of the file's name states a compression, including codecs that can't be read
    here."""
    ending = _ending(path)
    return ending in _CODECS or ending in _UNREADABLE


def _ending(path: str) -> str:
    return path.rpartition(".")[2].lower()


def unpacked(path: str, file: BufferedReader) -> Iterator[bytes]:
    """Yield the unpacked bytes of the open ``file``, in parts of about :data:`_STEP` bytes; the ending of
    ``path`` states the codec, other endings mean no compression. Raises NotSupportedError for codecs that
    Spark may support and this module doesn't, OperationalError for a broken gzip file."""
    ending = _ending(path)
    if ending in _UNREADABLE:
        raise NotSupportedError(f"files with a compression like that of {path.rsplit('/', 1)[-1]}")
    try:
        yield from _CODECS.get(ending, _steps)(file)
    except (OSError, EOFError, zlib.error, ValueError, struct.error, pa.ArrowException) as error:
        if ending not in _CODECS or ending in ("gz", "gzip"):
            raise file_unreadable(path, error) from error
        # For some of these codecs Spark uses the part of the text before the error.
        raise NotSupportedError(f"{path}: {ending} data that can't be read to the end") from error


def _steps(file: _Readable) -> Iterator[bytes]:
    while part := file.read(_STEP):
        yield part


def _gzip(file: BufferedReader) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=file) as stream:
        yield from _steps(stream)


def _bzip2(file: BufferedReader) -> Iterator[bytes]:
    if not file.peek(1):
        return  # an empty file is an empty text
    with bz2.BZ2File(file) as stream:
        yield from _steps(stream)


def _deflate(file: BufferedReader) -> Iterator[bytes]:
    stream = zlib.decompressobj()
    for packed in _steps(file):
        left = packed
        while left and not stream.eof:
            yield stream.decompress(left, _STEP)
            left = stream.unconsumed_tail
    yield stream.flush()
    if not stream.eof:
        raise EOFError("an incomplete stream")


def _zstd(file: BufferedReader) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as stream:
        yield from _steps(stream)


def _blocks(codec: str, file: BufferedReader) -> Iterator[bytes]:
    while length := file.read(_LENGTH.size):
        (left,) = _LENGTH.unpack(length)
        while left:
            (packed,) = _LENGTH.unpack(file.read(_LENGTH.size))
            if packed > 2 * _LARGEST_PART:
                raise ValueError(f"a packed part of {packed} bytes")
            part = _part(codec, file.read(packed), left)
            yield part
            left -= len(part)


def _part(codec: str, packed: bytes, left: int) -> bytes:
    """Unpack one part of a block. ``codec``: Arrow's name. ``left``: the number of unpacked bytes that the
    block still lacks. Raises ValueError for a part with more bytes."""
    size = _varint(packed) if codec == "snappy" else left
    if not 0 < size <= min(left, _LARGEST_PART):
        raise ValueError(f"a part of {size} bytes in a block of {left}")
    found = pa.Codec(codec).decompress(packed, size, asbytes=True)
    assert isinstance(found, bytes)
    return found


def _varint(packed: bytes) -> int:
    value = shift = 0
    for byte in packed[:5]:
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7
    raise ValueError("no length")


_CODECS: Final[dict[str, Callable[[BufferedReader], Iterator[bytes]]]] = {
    "gz": _gzip,
    "gzip": _gzip,
    "bz2": _bzip2,
    "deflate": _deflate,
    "snappy": partial(_blocks, "snappy"),
    "lz4": partial(_blocks, "lz4_raw"),
    "zst": _zstd,
    "zstd": _zstd,
}
