"""Texts that are compressed, as Hadoop's codecs write them: told by the ending of the file's name."""

import bz2
import gzip
import struct
import zlib
from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_connectors.files.failures import file_unreadable
from sqlfront_engine.errors import NotSupportedError

#: The lengths before a block of snappy or lz4, and before each of its parts.
_LENGTH: Final = struct.Struct(">I")

_UNREADABLE: Final = frozenset({"lzo", "xz"})


def is_packed(path: str) -> bool:
    """Whether the file's name says that its content is compressed."""
    ending = _ending(path)
    return ending in _CODECS or ending in _UNREADABLE


def _ending(path: str) -> str:
    return path.rpartition(".")[2].lower()


def decompressed(path: str, content: bytes) -> bytes:
    """The text of a file of that name. NotSupportedError for compressions that Spark may know and this
    doesn't."""
    ending = _ending(path)
    if ending in _UNREADABLE:
        raise NotSupportedError(f"compressed files like {path.rsplit('/', 1)[-1]}")
    unpack = _CODECS.get(ending)
    if unpack is None:
        return content
    try:
        return unpack(content)
    except (OSError, EOFError, zlib.error, ValueError, struct.error, pa.ArrowException) as error:
        if ending in ("gz", "gzip"):
            raise file_unreadable(path, error) from error
        # Spark takes what it can read of some of these.
        raise NotSupportedError(f"{path}: {ending} that can't be read to its end") from error


def _blocks(codec: str) -> Callable[[bytes], bytes]:
    def unpack(content: bytes) -> bytes:
        parts, place = [], 0
        while place < len(content):
            (left,) = _LENGTH.unpack_from(content, place)
            place += _LENGTH.size
            while left:
                (packed,) = _LENGTH.unpack_from(content, place)
                place += _LENGTH.size
                part = _part(codec, content[place : place + packed], left)
                parts.append(part)
                place, left = place + packed, left - len(part)
        return b"".join(parts)

    return unpack


def _part(codec: str, packed: bytes, left: int) -> bytes:
    """One part of a block of which ``left`` bytes are to come."""
    size = _varint(packed) if codec == "snappy" else left
    if not 0 < size <= left:
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


def _zstd(content: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        found = stream.read()
    assert isinstance(found, bytes)
    return found


_CODECS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "gz": gzip.decompress,
    "gzip": gzip.decompress,
    "bz2": bz2.decompress,
    "deflate": zlib.decompress,
    "snappy": _blocks("snappy"),
    "lz4": _blocks("lz4_raw"),
    "zst": _zstd,
    "zstd": _zstd,
}
