"""The footers of an ORC file: its types, the library that has written it, the time zones of its
timestamps, and whether something is wrong (ORC's specification, "File Tail" and "Stripe Footer").

The footers are read here before Arrow's reader is asked for rows: some damaged ones end its process. The
numbers of fields are those of ``orc_proto.proto``.
"""

import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, Final

import msgspec
import pyarrow as pa

from sqlfront_connectors.files.protobuf import Message
from sqlfront_connectors.files.varints import Malformed, read_varint

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
#: Bytes of memory for a value, for a text beside its own.
_VALUE: Final = 16
#: A chunk's header.
_HEADER: Final = 3
_NONE, _ZLIB, _SNAPPY, _LZ4, _ZSTD = 0, 1, 2, 4, 5
#: The bytes of an uncompressed chunk where the file doesn't say, and the most that it may say.
_BLOCK: Final = 1 << 18
_WIDEST: Final = 1 << 23
#: The most bytes of an uncompressed footer: a few compressed ones may stand for gigabytes.
_LARGEST: Final = 1 << 23


class TooLarge(Malformed):
    """A footer has more bytes than are read of one, here or by Arrow."""


class Description(msgspec.Struct, frozen=True):
    """``kinds``: of types that columns, or parts of them, have. ``is_java``: whether ORC's Java library has
    written the file. ``zones``: the time zones in which it has written values of the kind TIMESTAMP; empty
    if no column is of that kind. ``fault``: which of the types or stripes is not as it must be (Arrow ends
    the process over some of these), None = all are. ``rows``: those of each stripe. ``sizes``: by the names
    of columns, about the bytes of memory that their values take, as far as the file's statistics tell."""

    kinds: frozenset[int]
    is_java: bool
    zones: frozenset[str]
    fault: str | None = None
    rows: tuple[int, ...] = ()
    sizes: Mapping[str, int] = msgspec.field(default_factory=dict)

    def size(self, stripe: int, columns: Collection[str]) -> int:
        """About the bytes of memory that these columns of the stripe take."""
        total = sum(self.sizes.get(column, 0) for column in columns)
        return total * self.rows[stripe] // max(sum(self.rows), 1)


def description(source: str) -> Description:
    """The description in the footers of an ORC file. Malformed if the file's end can't be read, TooLarge if
    its footer has too many bytes; a fault in what can be read is told by the description."""
    with open(source, "rb") as file, _decoding():
        return _description(file)


@contextmanager
def _decoding() -> Iterator[None]:
    """Errors of decoding inside become Malformed."""
    try:
        yield
    except (IndexError, UnicodeDecodeError, zlib.error, pa.ArrowException) as error:
        raise Malformed(str(error)) from error
    except OSError as error:
        if error.errno is not None:
            raise
        raise Malformed(str(error)) from error  # Arrow's for what it can't uncompress


def _description(file: BinaryIO) -> Description:
    size = file.seek(0, os.SEEK_END)
    last = _part(file, size - min(size, 256), min(size, 256))
    length = last[-1]
    postscript = Message(last[-1 - length : -1])
    footer_length = postscript.number(1)
    end = size - 1 - length - footer_length
    compression, block = postscript.number(2), postscript.number(3) or _BLOCK
    if end < 0:
        raise Malformed("its end is longer than the file")
    if block > _WIDEST:
        raise Malformed(f"its parts have {block} bytes")
    footer = _message(_part(file, end, footer_length), compression, block)
    types = [Message(kind) for kind in footer.parts(4)]
    stripes = [Message(stripe) for stripe in footer.parts(3)]
    kinds = frozenset(kind.number(1) for kind in types)
    is_java = footer.number(9) == 0
    fault = _fault_of_types(types) or _fault_of_stripes(stripes, footer.number(6), end)
    if not is_java and postscript.number(6) < _FIRST_OF_OTHERS:
        fault = f"it is of the version {postscript.number(6)} of a library that has none of this number"
    zones: set[str] = set()
    if fault is None:
        zones, fault = _stripes(file, stripes, types, compression, block)
        if TIMESTAMP not in kinds:
            zones = set()
    rows = tuple(stripe.number(5) for stripe in stripes)
    return Description(kinds, is_java, frozenset(zones), fault, rows, {} if fault else _sizes(types, footer))


def _sizes(types: list[Message], footer: Message) -> dict[str, int]:
    """The bytes that columns take, by their names: texts as the statistics tell, other values alike."""
    statistics = [Message(each) for each in footer.parts(7)]
    sizes = [each.number(1) * _VALUE + _length_of_texts(each) for each in statistics]
    sizes += [0] * (len(types) - len(sizes))
    for place in range(len(types) - 1, 0, -1):
        sizes[place] += sum(sizes[child] for child in types[place].numbers(2))
    names = [name.decode() for name in types[0].parts(3)]
    return {name: sizes[child] for name, child in zip(names, types[0].numbers(2), strict=True)}


def _length_of_texts(statistics: Message) -> int:
    """The sum that the statistics of texts or binaries state, a signed number; 0 for other values."""
    sums = [*(Message(each).number(3) for each in statistics.parts(4))]
    sums += [Message(each).number(1) for each in statistics.parts(8)]
    return sum(each >> 1 for each in sums if not each & 1)


def _stripes(
    file: BinaryIO, stripes: list[Message], types: list[Message], compression: int, block: int
) -> tuple[set[str], str | None]:
    """The time zones in the stripes' footers, and the fault of the first damaged one, if there is one."""
    zones, fault = set(), None
    for stripe in stripes:
        size = stripe.number(2) + stripe.number(3)  # of index and data
        try:
            with _decoding():
                stored = _part(file, stripe.number(1) + size, stripe.number(4))
                footer = _message(stored, compression, block)
                zones.add(b"".join(footer.parts(3)).decode())
                fault = _fault_of_stripe(footer, types, size)
        except Malformed as error:
            fault = f"a stripe's: {error}"
        if fault is not None:
            break
    return zones, fault


def _fault_of_types(types: list[Message]) -> str | None:
    """The first fault in the tree of types, None = there is none. A type stands before its parts."""
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


def _fault_of_type(kind: Message) -> str | None:
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


def _fault_of_stripes(stripes: list[Message], rows: int, end: int) -> str | None:
    if sum(stripe.number(5) for stripe in stripes) != rows:
        return "the rows of its stripes are not those of the file"
    if any(sum(map(stripe.number, (1, 2, 3, 4))) > end for stripe in stripes):
        return "a stripe is not in the file"
    return None


def _fault_of_stripe(footer: Message, types: list[Message], size: int) -> str | None:
    streams = [Message(stream) for stream in footer.parts(1)]
    encodings = [Message(encoding).number(1) for encoding in footer.parts(2)]
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


def _message(stored: bytes, compression: int, block: int) -> Message:
    """The message that was stored in chunks of at most ``block`` bytes before their compression."""
    plain = _plain(stored, compression, block)
    if len(plain) > _LARGEST:
        raise TooLarge("it is larger than footers are")
    return Message(plain)


def _plain(stored: bytes, compression: int, block: int) -> bytes:
    """The bytes of the chunks, uncompressed: all of them, or more than ``_LARGEST``."""
    if compression == _NONE:
        return stored
    found, at = bytearray(), 0
    while at < len(stored) and len(found) <= _LARGEST:
        header = int.from_bytes(stored[at : at + _HEADER], "little")
        chunk = stored[at + _HEADER : at + _HEADER + (header >> 1)]
        found += chunk if header & 1 else _unpacked(chunk, compression, block)
        at += _HEADER + len(chunk)
    return bytes(found)


def _unpacked(chunk: bytes, compression: int, block: int) -> bytes:
    if compression == _ZLIB:
        return zlib.decompressobj(wbits=-zlib.MAX_WBITS).decompress(chunk, block)
    if compression == _ZSTD:
        return bytes(pa.input_stream(pa.py_buffer(chunk), compression="zstd").read(block))
    if compression not in (_SNAPPY, _LZ4):
        raise Malformed(f"its compression is {compression}")
    is_snappy = compression == _SNAPPY
    length = read_varint(chunk, 0)[0] if is_snappy else _length(chunk)
    if length > block:
        raise Malformed("a part is larger than parts are")
    return bytes(pa.Codec("snappy" if is_snappy else "lz4_raw").decompress(chunk, length, asbytes=True))


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
