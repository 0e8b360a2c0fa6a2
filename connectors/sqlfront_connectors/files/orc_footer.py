"""What an ORC file says of itself, before Arrow reads it: whether its types are some that Arrow's reader
survives and a part of a column is of ORC's type CHAR, which Spark reads with blanks at the end or without, as
the wanted type has it; and who has written timestamps, in which time zones. From the file's own description
(ORC's specification, "File Tail" and "Stripe Footer")."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final

import msgspec
import pyarrow as pa

#: The kinds of types that are looked at.
TIMESTAMP, _LIST, _MAP, _STRUCT, UNION, _DECIMAL, CHAR = 9, 10, 11, 12, 13, 14, 17
_KINDS: Final = range(19)
#: How many types a list and a map are made of.
_PARTS: Final = {_LIST: 1, _MAP: 2}
#: The most digits of a decimal; 0 stands for them.
_DIGITS: Final = 38
#: The kinds of types whose values are encoded in one way only, of those that have dictionaries, too (the odd
#: numbers), and how many encodings there are.
_ENCODINGS: Final = dict.fromkeys((0, 1, 5, 6, _STRUCT, UNION), 1)
_TEXTS: Final = frozenset({7, 16, CHAR})
_VERSIONS: Final = 4
#: The first version of writers other than ORC's Java library.
_FIRST_OF_OTHERS: Final = 6
#: Types within types.
_DEEPEST: Final = 100
#: A chunk's header.
_HEADER: Final = 3
_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5
#: The wire types of Protocol Buffers.
_VARINT, _BYTES = 0, 2
_FIXED: Final = {1: 8, 5: 4}
_BITS: Final = 63
#: Bytes of a chunk of which the file doesn't say more, and the most that a chunk has.
_BLOCK: Final = 1 << 18
_WIDEST: Final = 1 << 23

Value = int | bytes


class Damaged(Exception):
    """The file's description can't be read."""


class Description(msgspec.Struct, frozen=True):
    """``kinds``: of types that columns, or parts of them, have. ``is_java``: whether ORC's Java library has
    written the file. ``zones``: the time zones in which it has written values of the kind TIMESTAMP; empty
    if no column is of that kind. ``fault``: which of the types or stripes is not as it must be (Arrow ends
    the process over some of these), None = all are."""

    kinds: frozenset[int]
    is_java: bool
    zones: frozenset[str]
    fault: str | None = None


def description(source: str) -> Description:
    """What an ORC file says of itself; Damaged if it is none."""
    with open(source, "rb") as file, _decoding():
        return _description(file)


@contextmanager
def _decoding() -> Iterator[None]:
    """What can't be decoded inside is Damaged."""
    try:
        yield
    except (IndexError, UnicodeDecodeError, zlib.error, pa.ArrowException) as error:
        raise Damaged(str(error)) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise Damaged(str(error)) from error  # Arrow's for what it can't uncompress


def _description(file: BinaryIO) -> Description:
    size = file.seek(0, os.SEEK_END)
    last = _part(file, size - min(size, 256), min(size, 256))
    length = last[-1]
    postscript = _Message(last[-1 - length : -1])
    footer_length = postscript.number(1)
    end = size - 1 - length - footer_length
    compression, block = postscript.number(2), postscript.number(3) or _BLOCK
    if end < 0 or block > _WIDEST:
        raise Damaged("its end is longer than the file")
    footer = _Message(_plain(_part(file, end, footer_length), compression, block))
    types = [_Message(kind) for kind in footer.parts(4)]
    stripes = [_Message(stripe) for stripe in footer.parts(3)]
    kinds = frozenset(kind.number(1) for kind in types)
    is_java = footer.number(9) == 0
    fault = _fault_of_types(types) or _fault_of_stripes(stripes, footer.number(6), end)
    if not is_java and postscript.number(6) < _FIRST_OF_OTHERS:
        fault = f"it is of the version {postscript.number(6)} of a library that has none of this number"
    zones: set[str] = set()
    for stripe in stripes if fault is None else ():
        start = stripe.number(1) + stripe.number(2) + stripe.number(3)
        try:
            with _decoding():
                stored = _part(file, start, stripe.number(4))
                stripe_footer = _Message(_plain(stored, compression, block))
                zones.add(b"".join(stripe_footer.parts(3)).decode())
                size = stripe.number(2) + stripe.number(3)
                fault = fault or _fault_of_stripe(stripe_footer, types, size)
        except Damaged as error:
            fault = f"a stripe's: {error}"
    return Description(kinds, is_java, frozenset(zones) if TIMESTAMP in kinds else frozenset(), fault)


def _fault_of_types(types: list["_Message"]) -> str | None:
    """What is wrong with the tree of types; a part of a type stands below the type."""
    if types[0].number(1) != _STRUCT:
        return "its root is no struct"
    depths = {0: 0}
    for place, kind in enumerate(types):
        fault = _fault_of_type(kind)
        if fault is not None:
            return fault
        for child in kind.numbers(2):
            if not place < child < len(types) or child in depths or depths[place] >= _DEEPEST:
                return "its types are no tree"
            depths[child] = depths[place] + 1
        if place + 1 not in depths and place + 1 < len(types):
            return "its types are no tree"
    return None


def _fault_of_type(kind: "_Message") -> str | None:
    number, children = kind.number(1), kind.numbers(2)
    wanted = len(kind.parts(3)) if number == _STRUCT else _PARTS.get(number, 0)
    if number not in _KINDS:
        return f"a type is of the kind {number}"
    if number != UNION and len(children) != wanted:
        return f"a type has {len(children)} parts, not {wanted}"
    digits, scale = kind.number(5), kind.number(6)
    if number == _DECIMAL and (digits > _DIGITS or scale > (digits or _DIGITS)):
        return f"a decimal has {digits} digits, {scale} of them behind the point"
    return None


def _fault_of_stripes(stripes: list["_Message"], rows: int, end: int) -> str | None:
    if sum(stripe.number(5) for stripe in stripes) != rows:
        return "the rows of its stripes are not those of the file"
    if any(sum(map(stripe.number, (1, 2, 3, 4))) > end for stripe in stripes):
        return "a stripe is not in the file"
    return None


def _fault_of_stripe(footer: "_Message", types: list["_Message"], size: int) -> str | None:
    streams = [_Message(stream) for stream in footer.parts(1)]
    encodings = [_Message(encoding).number(1) for encoding in footer.parts(2)]
    if len(encodings) != len(types):
        return f"a stripe has {len(encodings)} columns, not {len(types)}"
    for kind, encoding in zip(types, encodings, strict=True):
        if encoding not in range(_ENCODINGS.get(kind.number(1), _VERSIONS)):
            return f"a column's encoding is {encoding}"
        if encoding % 2 and kind.number(1) not in _TEXTS:
            return f"a column's encoding is {encoding}"
    if any(stream.number(2) >= len(types) for stream in streams):
        return "a stream is of no column"
    if sum(stream.number(3) for stream in streams) > size:
        return "a stripe's streams are longer than the stripe"
    return None


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

    def numbers(self, field: int) -> list[int]:
        """The values of a field of numbers that stands several times, packed or not."""
        found: list[int] = []
        for key, value in self._fields:
            if key == field and isinstance(value, bytes):
                found += _varints(value)
            elif key == field:
                assert isinstance(value, int)
                found.append(value)
        return found

    def parts(self, field: int) -> list[bytes]:
        """The values of a field of bytes."""
        return [value for key, value in self._fields if key == field and isinstance(value, bytes)]


def _plain(stored: bytes, compression: int, block: int) -> bytes:
    """What was stored in chunks, uncompressed."""
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
        return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(chunk, block)
    if compression == _ZSTD:
        return bytes(pa.input_stream(pa.py_buffer(chunk), compression="zstd").read(block))
    if compression not in (_SNAPPY, _LZ4):
        raise Damaged(f"its compression is {compression}")
    name, length = ("snappy", _varint(chunk, 0)[0]) if compression == _SNAPPY else ("lz4_raw", _length(chunk))
    if length > block:
        raise Damaged("a part is larger than parts are")
    return bytes(pa.Codec(name).decompress(chunk, length, asbytes=True))


def _length(chunk: bytes) -> int:
    """The bytes that a block of LZ4 stands for (LZ4's block format)."""
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


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift <= _BITS:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise Damaged("a number has too many bytes")


def _varints(data: bytes) -> list[int]:
    found, at = [], 0
    while at < len(data):
        value, at = _varint(data, at)
        found.append(value)
    return found


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Numbers and values of a message of Protocol Buffers."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 in _FIXED:
            at += _FIXED[tag & 7]
            continue
        if tag & 7 not in (_VARINT, _BYTES):
            raise Damaged(f"a field is of the type {tag & 7}")
        value, at = _varint(message, at)
        if tag & 7 == _VARINT:
            yield tag >> 3, value
        else:
            at += value
            if at > len(message):
                raise Damaged("it ends too early")
            yield tag >> 3, message[at - value : at]
