"""The headers of a column's pages in a Parquet file (Parquet's format, ``PageHeader``), checked before the
pages are read: Arrow's reader accepts headers that Spark's refuses."""

import os
from typing import Final

from sqlfront_connectors.files.parquet.footer import ENCODINGS, Chunk
from sqlfront_connectors.files.parquet.thrift import I32, STRUCT, Struct, field, read_part
from sqlfront_connectors.files.varints import MalformedData

#: Bytes to read for a usual header, and for a header with long bounds of values, at most.
_USUAL: Final = 256
_LONGEST: Final = 1 << 24
#: The kinds of pages by their numbers.
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3
_KINDS: Final = range(4)
#: The encodings of levels: RLE, and BIT_PACKED.
_LEVELS: Final = frozenset({3, 4})
#: The required fields of a header, by the kind of the page: the struct's field, and the fields in the struct.
_HEADERS: Final = {
    _DATA: (field(5, STRUCT), tuple(field(number, I32) for number in (1, 2, 3, 4))),
    _DICTIONARY: (field(7, STRUCT), tuple(field(number, I32) for number in (1, 2))),
    _DATA_2: (field(8, STRUCT), tuple(field(number, I32) for number in (1, 2, 3, 4, 5, 6))),
}
_KIND, _PLAIN_SIZE, _SIZE = field(1, I32), field(2, I32), field(3, I32)
_VALUES, _ENCODING, _DEFINITION, _REPETITION = (field(number, I32) for number in (1, 2, 3, 4))
_ENCODING_2: Final = field(4, I32)


def check_pages(source: str, chunk: Chunk) -> None:
    """Check the headers of all pages of a column chunk. Raises MalformedData if a header is incomplete or
    unknown, or if the pages don't hold as many values as the chunk states; also the OSErrors of :func:`open`.
    ``source``: the file's path."""
    descriptor = os.open(source, os.O_RDONLY | os.O_CLOEXEC)
    try:
        at, end, left = chunk.start, chunk.start + chunk.stored, chunk.values
        while left > 0 and at < end:
            header, length = _header(descriptor, at, end)
            size = _number(header, _SIZE)
            if size < 0 or _number(header, _PLAIN_SIZE) < 0:
                raise MalformedData("a page has a size below 0")
            at += length + size
            left -= _values(header)
    finally:
        os.close(descriptor)
    if left or at > end:
        raise MalformedData(f"a column's pages hold {chunk.values - left} values, not {chunk.values}")


def _header(descriptor: int, at: int, end: int) -> tuple[Struct, int]:
    """Return the page header that begins at the offset ``at`` of the file, and the header's length in bytes.
    ``end``: the offset after the chunk's last page. Raises MalformedData for bytes that are no header."""
    try:
        return read_part(os.pread(descriptor, min(_USUAL, end - at), at))
    except MalformedData:
        return read_part(os.pread(descriptor, min(_LONGEST, end - at), at))


def _values(header: Struct) -> int:
    """Return the number of values in the page with this header; 0 for a dictionary page or an index page.
    Raises MalformedData if the header lacks a required field or has an unknown kind or encoding."""
    kind = _number(header, _KIND)
    if kind not in _KINDS:
        raise MalformedData(f"a page is of the kind {kind}")
    if kind not in _HEADERS:
        return 0
    own, needed = _HEADERS[kind]
    said = header.get(own)
    if not isinstance(said, dict) or any(number not in said for number in needed):
        raise MalformedData("a page's header is incomplete")
    encoding = said[_ENCODING_2 if kind == _DATA_2 else _ENCODING]
    if encoding not in ENCODINGS:
        raise MalformedData(f"a page's encoding is {encoding}")
    if kind == _DATA and not _LEVELS.issuperset((said[_DEFINITION], said[_REPETITION])):
        raise MalformedData("the encoding of a page's levels is unknown")
    count = _number(said, _VALUES)
    if count < 0:
        raise MalformedData(f"a page has {count} values")
    return 0 if kind == _DICTIONARY else count


def _number(struct: Struct, key: int) -> int:
    value = struct.get(key)
    if not isinstance(value, int):
        raise MalformedData("a page's header is incomplete")
    return value
