"""The row groups of a Parquet file, read from its footer with the checks of Spark's reader
(``parquet.thrift`` of the Parquet format; ``ParquetMetadataConverter`` and ``ParquetFileReader`` of
parquet-java).

The row groups are not read by Arrow: for a damaged description of a column Arrow throws an exception that
pyarrow doesn't catch, so that the process ends. Arrow also accepts damaged footers on which Spark fails.
"""

import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

import msgspec

from sqlfront_connectors.files.parquet.thrift import (
    BINARY,
    BOOL,
    BYTE,
    I16,
    I32,
    I64,
    LIST,
    STRUCT,
    Struct,
    ThriftValues,
    field,
    fields,
    read_struct,
)
from sqlfront_connectors.files.varints import MalformedData

#: The first and the last bytes of a Parquet file, and the bytes of the footer's length before the last.
MAGIC: Final = b"PAR1"
_END: Final = 8
#: The compressions by their numbers.
CODECS: Final = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW")
#: The numbers of encodings, of repetitions, of converted types, of pages.
ENCODINGS: Final = frozenset({0, 2, 3, 4, 5, 6, 7, 8, 9})
_REQUIRED, _REPEATED = 0, 2
_REPETITIONS: Final = range(3)
_CONVERTED: Final = range(22)
_PAGES: Final = range(4)
_PHYSICAL: Final = range(8)
_BYTE_ARRAY, _FIXED = 6, 7
#: The required fields of each kind of logical type.
_LOGICAL: Final[dict[int, tuple[int, ...]]] = dict.fromkeys((*range(1, 5), 6, *range(11, 19)), ()) | {
    5: (field(1, I32), field(2, I32)),
    7: (field(1, BOOL), field(2, STRUCT)),
    8: (field(1, BOOL), field(2, STRUCT)),
    10: (field(1, BYTE), field(2, BOOL)),
}
_TIMES: Final = (7, 8)
_DECIMAL: Final = 5
_INTEGER: Final = 10
#: The converted types that are equivalent to a logical type, by the numbers of both: of a kind, of a kind and
#: its unit of time (1 = ms, 2 = us), of integers by sign and bits. Other logical types have no equivalent.
_SAME: Final = {1: (0,), 2: (1, 2), 3: (3,), 4: (4,), 5: (5,), 6: (6,), 11: (2,), 12: (19,), 13: (20,)}
_SAME_TIME: Final = {(7, 1): (7,), (7, 2): (8,), (8, 1): (9,), (8, 2): (10,)}
_SAME_INTEGER: Final = {
    (signed, bits): (first + place,)
    for signed, first in ((False, 11), (True, 15))
    for place, bits in enumerate((8, 16, 32, 64))
}
#: The scale and the precision of a column and of its logical type.
_DIGITS: Final = ((field(7, I32), field(1, I32)), (field(8, I32), field(2, I32)))
_UNITS: Final = frozenset({field(1, STRUCT), field(2, STRUCT), field(3, STRUCT)})
#: The fields of a column that is in another file or encrypted: the file, the encryption, the encrypted
#: metadata.
_ELSEWHERE: Final = frozenset({field(1, BINARY), field(8, STRUCT), field(9, BINARY)})
#: The deepest nesting of groups in a schema: each level is a recursion.
_DEEPEST: Final = 256
#: The fields of structs in the present version of Parquet's format.
_FILE: Final = fields(I32, LIST, I64, LIST, LIST, BINARY, LIST, STRUCT, BINARY)
_ELEMENT: Final = fields(I32, I32, I32, BINARY, I32, I32, I32, I32, I32, STRUCT)
_GROUP: Final = fields(LIST, I64, I64, LIST, I64, I64, I16)
_COLUMN: Final = fields(BINARY, I64, STRUCT, I64, I32, I64, I32, STRUCT, BINARY)
_CHUNK: Final = fields(
    *(I32, LIST, LIST, I32, I64, I64, I64, LIST, I64, I64, I64, STRUCT, LIST, I64, I32, STRUCT, STRUCT)
)
_STATISTICS: Final = fields(BINARY, BINARY, I64, I64, BINARY, BINARY, BOOL, BOOL)
_SIZES: Final = fields(I64, LIST, LIST)
#: Entries of the two caches of footers, and the most bytes of a footer in each: usual footers and large
#: footers. The four bound the caches' memory (32 MiB each).
_KEPT: Final = 256
_KEPT_BYTES: Final = 1 << 17
_LARGE_KEPT: Final = 8
_LARGE_KEPT_BYTES: Final = 1 << 22


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """A column chunk: the values of one leaf column in one row group. ``codec``: the name of the compression.
    ``has_dictionary``: whether the chunk has a dictionary page. ``size``: uncompressed bytes. ``values``: the
    number of values, including nulls. ``nulls``: the number of nulls, None = not stated. ``minimum`` and
    ``maximum``: bounds of the values in Parquet's encoding PLAIN, None = not stated. ``has_index``: whether
    the file also has bounds of each page. ``start`` and ``stored``: the offset of the chunk's pages in the
    file, and their compressed bytes."""

    codec: str
    has_dictionary: bool
    size: int
    values: int
    nulls: int | None
    minimum: bytes | None
    maximum: bytes | None
    has_index: bool
    start: int
    stored: int


class RowGroup(msgspec.Struct, frozen=True, gc=False):
    """A row group of a Parquet file. ``rows``: the number of its rows. ``chunks``: its column chunks, in the
    order of the schema's leaves."""

    rows: int
    chunks: tuple[Chunk, ...]


class _Leaf(msgspec.Struct, frozen=True):
    physical: int
    path: list[object]
    definition: int
    repetition: int


def read_footer(source: str) -> tuple[RowGroup, ...]:
    """Return the row groups of the Parquet file at the path ``source``, which Arrow must be able to open.
    Raises MalformedData, which states the fault, for a footer that Spark doesn't read or reads differently
    from Arrow, and the OSErrors of :func:`open`."""
    footer, start = _footer(source)
    if len(footer) <= _KEPT_BYTES:
        return _usual(footer, start)
    return (_large if len(footer) <= _LARGE_KEPT_BYTES else _row_groups)(footer, start)


def may_have_schema(source: str) -> bool:
    """Return whether Spark may find a schema in the file's footer although Arrow can't read the footer: True
    if the footer is a struct of Thrift (to find the columns, Spark skips row groups and unknown fields).
    Raises the OSErrors of :func:`open`."""
    try:
        read_struct(_footer(source)[0])
    except MalformedData:
        return False
    return True


def _footer(source: str) -> tuple[bytes, int]:
    """Return the bytes of the footer, and the footer's offset in the file. Raises MalformedData if the file
    doesn't end with a Parquet footer."""
    with open(source, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _END, 0))
        end = file.read(_END)
        length = int.from_bytes(end[:4], "little")
        start = size - _END - length
        if not end.endswith(MAGIC):
            raise MalformedData("the footer is not Parquet's")
        if start < len(MAGIC):
            raise MalformedData("the footer is longer than the file")
        file.seek(start)
        return file.read(length), start


def _row_groups(footer: bytes, start: int) -> tuple[RowGroup, ...]:
    file = read_struct(footer)
    leaves = _schema(file)
    _number(file, 1, I32)
    for pair in _structs(file, 5) if field(5, LIST) in file else ():
        _text(pair, 2)
    groups = tuple(_row_group(group, leaves, start) for group in _structs(file, 4))
    if sum(group.rows for group in groups) != _number(file, 3, I64):
        raise MalformedData("the rows of its row groups are not those of the file")
    return groups


_usual = lru_cache(_KEPT)(_row_groups)
_large = lru_cache(_LARGE_KEPT)(_row_groups)


# ---- the schema


def _schema(file: Struct) -> list[_Leaf]:
    """Return the leaf columns of the schema. ``file``: the decoded footer. Raises MalformedData unless the
    schema is a tree of known types."""
    _check_fields(file, _FILE)
    leaves = _leaves(_structs(file, 2))
    for pair in _structs(file, 5) if field(5, LIST) in file else ():
        _text(pair, 1)
    said = file.get(field(7, LIST))
    if isinstance(said, ThriftValues) and len(said.items) < len(leaves):
        raise MalformedData("the column orders are missing")
    if isinstance(said, ThriftValues) and any(
        not isinstance(order, dict) or len(order) != 1 for order in said.items
    ):
        raise MalformedData("a column order is invalid")
    return leaves


def _leaves(elements: list[Struct]) -> list[_Leaf]:
    if not elements:
        raise MalformedData("the schema is missing")
    rest = iter(elements)
    root = next(rest)
    _text(root, 4)
    found = list(_below(root, rest, [], 0, 0))
    if next(rest, None) is not None:
        raise MalformedData("the schema has more columns than its root")
    return found


def _below(
    group: Struct, rest: Iterator[Struct], path: list[object], definition: int, repetition: int
) -> Iterator[_Leaf]:
    """Yield the leaf columns of a group of the schema. ``group``: the group's schema element. ``rest``: an
    iterator over the elements after it, from which the group's elements are taken. ``path``, ``definition``
    and ``repetition``: the path and the maximal levels of the group. Raises MalformedData for a malformed
    tree."""
    if len(path) > _DEEPEST:
        raise MalformedData("the schema is too deep")
    for _ in range(_number(group, 5, I32)):
        element = next(rest, None)
        if element is None:
            raise MalformedData("the schema lacks columns")
        _check_fields(element, _ELEMENT)
        how = _number(element, 3, I32)
        if how not in _REPETITIONS:
            raise MalformedData(f"a column's repetition is {how}")
        place = [*path, _text(element, 4)]
        _check_annotations(element)
        levels = definition + (how != _REQUIRED), repetition + (how == _REPEATED)
        physical = element.get(field(1, I32))
        if physical is None:
            yield from _below(element, rest, place, *levels)
        elif isinstance(physical, int) and physical in _PHYSICAL:
            if physical == _FIXED and _number(element, 2, I32) <= 0:
                raise MalformedData("a column's values have no bytes")
            yield _Leaf(physical, place, *levels)
        else:
            raise MalformedData(f"a column's type is {physical}")


def _check_annotations(element: Struct) -> None:
    """Raise MalformedData for a converted or logical type that Spark's reader doesn't know, or if the two
    contradict each other. ``element``: a schema element."""
    if element.get(field(6, I32), 0) not in _CONVERTED:
        raise MalformedData("a column's converted type is unknown")
    logical = element.get(field(10, STRUCT))
    if logical is None:
        return
    assert isinstance(logical, dict)
    number = next(iter(logical), 0) >> 4
    said = logical.get(field(number, STRUCT))
    if len(logical) != 1 or number not in _LOGICAL or not isinstance(said, dict):
        raise MalformedData("a column's logical type is unknown")
    if any(needed not in said for needed in _LOGICAL[number]):
        raise MalformedData("a column's logical type is incomplete")
    if number == _DECIMAL and any(element.get(own, said[other]) != said[other] for own, other in _DIGITS):
        raise MalformedData("a column's logical type has other digits than its converted type")
    if number in _TIMES and (len(said[field(2, STRUCT)]) != 1 or not said[field(2, STRUCT)].keys() <= _UNITS):
        raise MalformedData("a column's unit of time is unknown")
    converted = element.get(field(6, I32))
    if converted is not None and converted not in _converted_types(number, said):
        # Spark uses the logical or the converted type, Arrow the other.
        raise MalformedData("a column's converted type is not that of its logical type")


def _converted_types(number: int, said: Struct) -> tuple[int, ...]:
    """Return the numbers of the converted types that are equivalent to a logical type. ``number``: the number
    of the logical type; ``said``: its fields."""
    if number == _INTEGER:
        bits, signed = said[field(1, BYTE)], said[field(2, BOOL)]
        return _SAME_INTEGER.get((bool(signed), bits), ()) if isinstance(bits, int) else ()
    if number in _TIMES:
        unit = said[field(2, STRUCT)]
        assert isinstance(unit, dict)
        return _SAME_TIME.get((number, next(iter(unit)) >> 4), ())
    return _SAME.get(number, ())


# ---- the row groups


def _row_group(group: Struct, leaves: list[_Leaf], end: int) -> RowGroup:
    _check_fields(group, _GROUP)
    columns, rows = _structs(group, 1), _number(group, 3, I64)
    _number(group, 2, I64)
    if len(columns) != len(leaves):
        raise MalformedData(f"a row group has {len(columns)} columns, not {len(leaves)}")
    chunks, stored, first = [], 0, 0
    for column, leaf in zip(columns, leaves, strict=True):
        chunk = _struct(column, 3)
        # Arrow writes columns without rows with the start 0.
        start, size = _place(chunk, end) if rows else (0, 0)
        first, stored = first or start, stored + size
        chunks.append(_chunk(column, chunk, leaf, rows, start, size))
    total = group.get(field(6, I64), stored)
    assert isinstance(total, int)
    # Spark assigns a row group to the part of the file that contains the row group's middle.
    if rows and not 0 <= first + total // 2 < end + _END:
        raise MalformedData("a row group is not in the file")
    return RowGroup(rows, tuple(chunks))


def _place(chunk: Struct, end: int) -> tuple[int, int]:
    """Return the offset in the file of a column chunk's pages, and their number of bytes. ``end``: the offset
    of the footer. Raises MalformedData unless all pages lie before the footer."""
    page, dictionary, size = _number(chunk, 9, I64), chunk.get(field(11, I64), 0), _number(chunk, 7, I64)
    assert isinstance(dictionary, int)
    start = min(page, dictionary) if dictionary > 0 else page
    if not (len(MAGIC) <= start <= start + size <= end and start <= page and dictionary >= 0 <= size):
        raise MalformedData("a column is not in the file")
    return start, size


def _chunk(column: Struct, chunk: Struct, leaf: _Leaf, rows: int, start: int, stored: int) -> Chunk:
    _check_fields(column, _COLUMN)
    _check_fields(chunk, _CHUNK)
    _number(column, 2, I64)
    if _ELSEWHERE & column.keys():
        raise MalformedData("a column is encrypted or in another file")
    codec, values = _number(chunk, 4, I32), _number(chunk, 5, I64)
    if _number(chunk, 1, I32) != leaf.physical or _list(chunk, 3, BINARY) != leaf.path:
        raise MalformedData("a row group's column is not the schema's")
    if not 0 <= codec < len(CODECS):
        raise MalformedData(f"a column's compression is {codec}")
    if values < rows or (values > rows and not leaf.repetition) or rows < 0:
        raise MalformedData(f"a column of {rows} rows has {values} values")
    if not ENCODINGS.issuperset(_list(chunk, 2, I32)):
        raise MalformedData("a column's encoding is unknown")
    _check_encodings(chunk)
    _check_sizes(chunk, leaf)
    said = chunk.get(field(12, STRUCT), {})
    assert isinstance(said, dict)
    _check_fields(said, _STATISTICS)
    return Chunk(
        CODECS[codec],
        field(11, I64) in chunk,
        _number(chunk, 6, I64),
        values,
        said.get(field(3, I64)),
        said.get(field(6, BINARY)),
        said.get(field(5, BINARY)),
        field(6, I64) in column,
        start,
        stored,
    )


def _check_encodings(chunk: Struct) -> None:
    if field(13, LIST) not in chunk:
        return
    for said in _structs(chunk, 13):
        _number(said, 3, I32)
        if _number(said, 1, I32) not in _PAGES or _number(said, 2, I32) not in ENCODINGS:
            raise MalformedData("a page's encoding is unknown")


def _check_sizes(chunk: Struct, leaf: _Leaf) -> None:
    """Raise MalformedData if the chunk's optional statistics of sizes don't fit the column, because Arrow
    then refuses to read the column."""
    sizes = chunk.get(field(16, STRUCT))
    if sizes is None:
        return
    assert isinstance(sizes, dict)
    _check_fields(sizes, _SIZES)
    for number, level in ((2, leaf.repetition), (3, leaf.definition)):
        counts = sizes.get(field(number, LIST))
        if isinstance(counts, ThriftValues) and len(counts.items) not in (0, level + 1):
            raise MalformedData("a column's sizes do not fit its levels")
    if field(1, I64) in sizes and leaf.physical != _BYTE_ARRAY:
        raise MalformedData("a column's sizes do not fit its type")


# ---- fields that have to be there


def _check_fields(struct: Struct, known: frozenset[int]) -> None:
    """Raise MalformedData if a field has another type than the format says. ``known``: the keys of the fields
    that this module knows. Fields with a higher number than all known ones, possibly of a later version of
    the format, are ignored."""
    strange = struct.keys() - known
    if strange and min(strange) >> 4 <= max(known) >> 4:
        raise MalformedData(f"its field {min(strange) >> 4} is of another type")


def _number(struct: Struct, number: int, kind: int) -> int:
    value = struct.get(number << 4 | kind)
    if not isinstance(value, int):
        raise MalformedData(f"it lacks the number {number}")
    return value


def _text(struct: Struct, number: int) -> bytes:
    value = struct.get(number << 4 | BINARY)
    if not isinstance(value, bytes):
        raise MalformedData(f"it lacks the text {number}")
    return value


def _struct(struct: Struct, number: int) -> Struct:
    value = struct.get(number << 4 | STRUCT)
    if not isinstance(value, dict):
        raise MalformedData(f"it lacks the part {number}")
    return value


def _list(struct: Struct, number: int, kind: int) -> list[object]:
    value = struct.get(number << 4 | LIST)
    if not isinstance(value, ThriftValues) or (value.kind != kind and value.items):
        raise MalformedData(f"it lacks the list {number}")
    return value.items


def _structs(struct: Struct, number: int) -> list[Struct]:
    return _list(struct, number, STRUCT)  # type: ignore[return-value] # by their kind
