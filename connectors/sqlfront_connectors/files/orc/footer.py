"""The footers of an ORC file: its types, the library that has written it, the time zones of its timestamps,
and its first fault, if any (ORC's specification, "File Tail" and "Stripe Footer").

The footers are read here before Arrow's reader reads rows, because Arrow ends the process for some damaged
footers. The numbers of fields are those of ``orc_proto.proto``.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import BinaryIO, Final

import msgspec

from sqlfront_connectors.files.orc.chunks import NONE, decoding, part, plain
from sqlfront_connectors.files.orc.protobuf import ProtobufMessage
from sqlfront_connectors.files.varints import MalformedData

#: The kinds of types that this package distinguishes.
TIMESTAMP, _LIST, _MAP, _STRUCT, UNION, DECIMAL, CHAR = 9, 10, 11, 12, 13, 14, 17
_KINDS: Final = range(19)
#: The number of element types of a list and of a map.
_PARTS: Final = {_LIST: 1, _MAP: 2}
#: Digits of a decimal at most (ORC's and Spark's limit).
_DIGITS: Final = 38
#: The kinds of types whose values have one encoding only, the kinds that may have dictionaries (with the odd
#: encodings), and the number of encodings.
_ENCODINGS: Final = dict.fromkeys((0, 1, 5, 6, _STRUCT, UNION), 1)
_TEXTS: Final = frozenset({7, 16, CHAR})
_VERSIONS: Final = 4
#: The kinds of streams that any column may have (its nulls, indexes, Bloom filters), and those of its values.
NULLS, DATA, LENGTH, WORDS, SECOND = 0, 1, 2, 3, 5
_ANY: Final = frozenset({NULLS, 6, 7, 8})
_STREAMS: Final = (
    dict.fromkeys(range(19), frozenset({DATA}))
    | dict.fromkeys((*_TEXTS, 8), frozenset({DATA, LENGTH}))
    | dict.fromkeys((TIMESTAMP, 18, DECIMAL), frozenset({DATA, SECOND}))
    | dict.fromkeys((_LIST, _MAP), frozenset({LENGTH}))
    | {_STRUCT: frozenset[int]()}
)
#: Entries of a dictionary at most, beyond one for each row: maps and lists of a few rows have many values. A
#: larger number is a broken or hostile file's.
_FEW_WORDS: Final = 1 << 24
#: The end of a file, before the length of its postscript, and the versions of the format.
MAGIC: Final = b"ORC"
_FORMATS: Final[tuple[list[int], ...]] = ([], [0, 11], [0, 12])
#: The first version of writers other than ORC's Java library.
_FIRST_OF_OTHERS: Final = 6
#: The deepest nesting of types: each level is a recursion.
_DEEPEST: Final = 100
#: Bytes of memory for a value, about; a text has its own bytes besides.
_VALUE: Final = 16
#: Bytes of an uncompressed chunk: the length in a chunk's header has 23 bits.
_WIDEST: Final = 1 << 23
#: Bytes of an uncompressed footer at most: a few compressed ones may stand for gigabytes.
_LARGEST: Final = 1 << 23
#: Entries of the two caches of descriptions, and the most bytes of a file's footers for each: usual files and
#: large files. The four bound the caches' memory (4 and 8 MiB of footers).
_KEPT: Final = 256
_KEPT_BYTES: Final = 1 << 14
_LARGE_KEPT: Final = 4
_LARGE_KEPT_BYTES: Final = 1 << 21


class _End(msgspec.Struct, frozen=True):
    """The end of a file: the bytes of its postscript and of its footer. ``start``: the offset of the footer
    in the file."""

    postscript: bytes
    footer: bytes
    start: int


class NoFooter(MalformedData):
    """The error of a file that has no footer, neither for Spark's reader nor for Arrow's."""


class TooLarge(MalformedData):
    """The error of a footer that is too large for this package or for Arrow."""


class OrcStream(msgspec.Struct, frozen=True, gc=False):
    """A stream of a stripe. ``column``: the number of the column's type in the footer's list of types.
    ``kind``: ORC's number of the kind of stream. ``start`` and ``size``: the offset in the file and the
    number of bytes. ``type``, ``scale`` and ``encoding``: ORC's number of the column's type, the digits
    behind the point of a decimal, and ORC's number of the column's encoding."""

    column: int
    kind: int
    start: int
    size: int
    type: int
    scale: int
    encoding: int


class Stripe(msgspec.Struct, frozen=True):
    """A stripe of a file. ``rows``: the number of its rows. ``streams``: its streams in the order of the
    file."""

    rows: int
    streams: tuple[OrcStream, ...]


class Description(msgspec.Struct, frozen=True):
    """The contents of a file's footers. ``kinds``: ORC's numbers of the types that columns or parts of
    columns have. ``is_java``: whether ORC's Java library has written the file. ``zones``: the time zones in
    which the values of type TIMESTAMP were written; empty if there are none. ``fault``: the first fault of
    the types or stripes (Arrow ends the process for some faults, and accepts others), None = no fault.
    ``columns``: for each column the index of its type in the footer's list of types, then the length of that
    list; so the types of column i and its parts are those from ``columns[i]`` to ``columns[i + 1]``
    (exclusive). ``stripes``: all stripes if there is no fault, else some. ``compression`` and ``block``:
    ORC's number of the codec, and the most uncompressed bytes of a chunk. ``sizes``: by the name of a column,
    the approximate bytes of its values in memory, as far as the file's statistics state them."""

    kinds: frozenset[int]
    is_java: bool
    zones: frozenset[str]
    compression: int
    block: int
    columns: tuple[int, ...]
    stripes: tuple[Stripe, ...]
    fault: str | None = None
    sizes: Mapping[str, int] = msgspec.field(default_factory=dict)

    def size(self, stripe: int, columns: Collection[str]) -> int:
        """Return the approximate bytes, in memory, of the values of the named columns in the stripe with the
        index ``stripe``."""
        total = sum(self.sizes.get(column, 0) for column in columns)
        return total * self.stripes[stripe].rows // max(sum(stripe.rows for stripe in self.stripes), 1)


def description(source: str) -> Description:
    """Return the contents of the footers of the ORC file at the path ``source``. A fault in the types or
    stripes is stated in the result. Raises NoFooter if no reader finds a footer, MalformedData if Spark's
    reader may read more of the footer than this module does, TooLarge if a footer has too many bytes, and the
    OSErrors of :func:`open`."""
    with open(source, "rb") as file, decoding():
        end = _end(file)
        footers = tuple(part(file, *place) for place in _places(end))
        size = len(end.footer) + sum(map(len, footers))
        read = _usual if size <= _KEPT_BYTES else _large if size <= _LARGE_KEPT_BYTES else _description
        return read(end, footers)


def _end(file: BinaryIO) -> _End:
    size = file.seek(0, os.SEEK_END)
    last = part(file, size - min(size, 256), min(size, 256))
    length = last[-1] if last else 0
    said = last[-1 - length : -1]
    footer_length = _postscript(said).number(1)
    start = size - 1 - length - footer_length
    if start < 0 or not footer_length:
        raise NoFooter("its footer is not in the file")
    return _End(said, part(file, start, footer_length), start)


def _places(end: _End) -> list[tuple[int, int]]:
    """Return the offset and the length, in the file, of each stripe's footer; empty if the file's footer
    describes stripes that aren't in the file."""
    postscript = _postscript(end.postscript)
    footer = _message(end.footer, postscript.number(2), postscript.number(3))
    stripes = [ProtobufMessage(stripe) for stripe in footer.parts(3)]
    if _fault_of_stripes(stripes, footer.number(6), end.start) is not None:
        return []
    return [(sum(map(stripe.number, (1, 2, 3))), stripe.number(4)) for stripe in stripes]


def _description(end: _End, footers: tuple[bytes, ...]) -> Description:
    postscript = _postscript(end.postscript)
    compression, block = postscript.number(2), postscript.number(3)
    footer = _message(end.footer, compression, block)
    types = [ProtobufMessage(kind) for kind in footer.parts(4)]
    stripes = [ProtobufMessage(stripe) for stripe in footer.parts(3)]
    kinds = frozenset(kind.number(1) for kind in types)
    is_java = footer.number(9) == 0
    fault = _fault_of_types(types) or _fault_of_stripes(stripes, footer.number(6), end.start)
    if compression != NONE and not block:
        fault = "the chunks have no bytes"
    if postscript.numbers(4) not in _FORMATS:
        fault = f"the version is {postscript.numbers(4)}"
    if not is_java and postscript.number(6) < _FIRST_OF_OTHERS:
        fault = f"the library of the writer has no version {postscript.number(6)}"
    zones: set[str] = set()
    found: list[Stripe] = []
    if fault is None:
        zones, found, fault = _stripes(footers, stripes, types, compression, block)
    return Description(
        kinds,
        is_java,
        frozenset(zones) if TIMESTAMP in kinds else frozenset(),
        compression,
        block,
        (*types[0].numbers(2), len(types)),
        tuple(found),
        fault,
        {} if fault else _sizes(types, footer),
    )


_usual = lru_cache(_KEPT)(_description)
_large = lru_cache(_LARGE_KEPT)(_description)


def _postscript(said: bytes) -> ProtobufMessage:
    try:
        found = ProtobufMessage(said)
    except (MalformedData, IndexError) as error:
        # Spark's reader accepts the valid fields of a message.
        raise (
            MalformedData(str(error)) if said.endswith(MAGIC) else NoFooter("the postscript is not ORC's")
        ) from error
    if found.number(3) > _WIDEST:
        raise MalformedData(f"its parts have {found.number(3)} bytes")
    return found


def _sizes(types: list[ProtobufMessage], footer: ProtobufMessage) -> dict[str, int]:
    """Return the approximate bytes, in memory, of each column's values, by the column's name: the length of
    texts comes from the footer's statistics, each other value counts a constant size. A nested column
    includes its parts."""
    statistics = [ProtobufMessage(each) for each in footer.parts(7)]
    sizes = [each.number(1) * _VALUE + _length_of_texts(each) for each in statistics]
    sizes += [0] * (len(types) - len(sizes))
    for place in range(len(types) - 1, 0, -1):
        sizes[place] += sum(sizes[child] for child in types[place].numbers(2))
    names = [name.decode() for name in types[0].parts(3)]
    return {name: sizes[child] for name, child in zip(names, types[0].numbers(2), strict=True)}


def _length_of_texts(statistics: ProtobufMessage) -> int:
    """Return the sum of the lengths of a column's texts or binaries, from the column's statistics; 0 for
    columns of other types."""
    sums = [*(ProtobufMessage(each).number(3) for each in statistics.parts(4))]
    sums += [ProtobufMessage(each).number(1) for each in statistics.parts(8)]
    return sum(each >> 1 for each in sums if not each & 1)


def _stripes(
    footers: tuple[bytes, ...],
    stripes: list[ProtobufMessage],
    types: list[ProtobufMessage],
    compression: int,
    block: int,
) -> tuple[set[str], list[Stripe], str | None]:
    """Return the time zones in the stripes' footers, the stripes up to the first damaged one, and the fault
    of the damaged stripe (None = no stripe is damaged). ``footers``: the stored bytes of each stripe's
    footer. ``stripes``: the stripes' descriptions in the file's footer."""
    zones, found, fault = set(), [], None
    for stripe, stored in zip(stripes, footers, strict=True):
        size, rows = stripe.number(2) + stripe.number(3), stripe.number(5)  # the size of index and data
        try:
            with decoding():
                footer = _message(stored, compression, block)
                zones.add(b"".join(footer.parts(3)).decode())
                fault = _fault_of_stripe(footer, types, size, rows)
                if fault is None:
                    found.append(Stripe(rows, tuple(_streams(footer, types, stripe.number(1)))))
        except MalformedData as error:
            fault = f"a stripe's: {error}"
        if fault is not None:
            break
    return zones, found, fault


def _streams(footer: ProtobufMessage, types: list[ProtobufMessage], start: int) -> Iterator[OrcStream]:
    """Yield the streams of a stripe, from the stripe's footer. ``start``: the offset of the first stream in
    the file."""
    encodings = [ProtobufMessage(encoding).number(1) for encoding in footer.parts(2)]
    for stream in map(ProtobufMessage, footer.parts(1)):
        column, size = stream.number(2), stream.number(3)
        kind, scale = types[column].number(1), types[column].number(6)
        yield OrcStream(column, stream.number(1), start, size, kind, scale, encodings[column])
        start += size


def _fault_of_types(types: list[ProtobufMessage]) -> str | None:
    """Return the first fault in the tree of types; None if there is none. In the list ``types`` each type
    must come before its parts."""
    if types[0].number(1) != _STRUCT:
        return "the root type is not a struct"
    depths = {0: 0}
    for place, kind in enumerate(types):
        fault = _fault_of_type(kind)
        if fault is not None:
            return fault
        for child in kind.numbers(2):
            if not place < child < len(types) or child in depths or depths[place] >= _DEEPEST:
                return "the types are not a tree"
            depths[child] = depths[place] + 1
        if place + 1 not in depths and place + 1 < len(types):
            return "the types are not a tree"
    return None


def _fault_of_type(kind: ProtobufMessage) -> str | None:
    number, children = kind.number(1), kind.numbers(2)
    wanted = len(kind.parts(3)) if number == _STRUCT else _PARTS.get(number, 0)
    if number not in _KINDS or not kind.has(1):
        return f"a type is of the kind {number}"
    for name in kind.parts(3):
        if not name.decode() or b"`" in name:
            return "a column's name is empty, or has backticks, which ORC's Java library reads as quotes"
    if number != UNION and len(children) != wanted:
        return f"a type has {len(children)} parts, not {wanted}"
    digits, scale = kind.number(5), kind.number(6)
    if number == DECIMAL and not (kind.has(5, 6) and scale <= digits <= _DIGITS):
        return f"a decimal has {digits} digits, {scale} of them behind the point"
    return None


def _fault_of_stripes(stripes: list[ProtobufMessage], rows: int, end: int) -> str | None:
    if sum(stripe.number(5) for stripe in stripes) != rows:
        return "the rows of its stripes are not those of the file"
    if any(sum(map(stripe.number, (1, 2, 3, 4))) > end for stripe in stripes):
        return "a stripe is not in the file"
    return None


def _fault_of_stripe(
    footer: ProtobufMessage, types: list[ProtobufMessage], size: int, rows: int
) -> str | None:
    streams = [ProtobufMessage(stream) for stream in footer.parts(1)]
    if not all(stream.has(1, 2, 3) for stream in streams):
        return "of a stream the kind, the column or the length is gone"
    described = [ProtobufMessage(encoding) for encoding in footer.parts(2)]
    if any(encoding.number(2) > max(rows, _FEW_WORDS) for encoding in described):
        return "a column has more different values than rows"
    encodings = [encoding.number(1) for encoding in described]
    if len(encodings) != len(types):
        return f"a stripe has {len(encodings)} columns, not {len(types)}"
    for kind, encoding in zip(types, encodings, strict=True):
        if encoding not in range(_ENCODINGS.get(kind.number(1), _VERSIONS)):
            return f"a column's encoding is {encoding}"
        if encoding % 2 and kind.number(1) not in _TEXTS:
            return f"a column's encoding is {encoding}"
    if sum(stream.number(3) for stream in streams) != size:
        return "a stripe's streams are not as long as the stripe"
    places = [(stream.number(2), stream.number(1)) for stream in streams]
    if len(set(places)) < len(places):
        return "a stream stands twice"
    for column, stream in places:
        if column >= len(types):
            return "a stream is of no column"
        number = types[column].number(1)
        words = {WORDS} if encodings[column] % 2 else set()
        if stream not in _ANY | _STREAMS[number] | words:
            return f"a column of the kind {number} has a stream of the kind {stream}"
    return None


def _message(stored: bytes, compression: int, block: int) -> ProtobufMessage:
    """Decompress and decode a message. ``stored``: chunks of at most ``block`` uncompressed bytes. Raises
    TooLarge for a message of more than :data:`_LARGEST` bytes, MalformedData for bytes that are not a
    message."""
    found = plain(stored, compression, block, _LARGEST)
    if len(found) > _LARGEST:
        raise TooLarge("the footer is larger than the limit")
    return ProtobufMessage(found)
