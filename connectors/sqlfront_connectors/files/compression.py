"""Texts that are compressed, as Hadoop's codecs write them: told by the ending of the file's name."""

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

#: Texts are unpacked so many bytes at a time.
_STEP: Final = 4 << 20
#: A part of a block is unpacked at once: Hadoop's have 256 KiB.
_LARGEST_PART: Final = 64 << 20

_UNREADABLE: Final = frozenset({"lzo", "xz"})


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def is_packed(path: str) -> bool:
    """Whether the file's name says that its content is compressed."""
    ending = _ending(path)
    return ending in _CODECS or ending in _UNREADABLE


def _ending(path: str) -> str:
    return path.rpartition(".")[2].lower()


def unpacked(path: str, file: BufferedReader) -> Iterator[bytes]:
    """The text of an open file of that name, in parts of about :data:`_STEP` bytes. NotSupportedError for
    compressions that Spark may know and this doesn't."""
    ending = _ending(path)
    if ending in _UNREADABLE:
        raise NotSupportedError(f"compressed files like {path.rsplit('/', 1)[-1]}")
    try:
        yield from _CODECS.get(ending, _steps)(file)
    except (OSError, EOFError, zlib.error, ValueError, struct.error, pa.ArrowException) as error:
        if ending not in _CODECS or ending in ("gz", "gzip"):
            raise file_unreadable(path, error) from error
        # Spark takes what it can read of some of these.
        raise NotSupportedError(f"{path}: {ending} that can't be read to its end") from error


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
    """One part of a block of which ``left`` bytes are to come."""
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
