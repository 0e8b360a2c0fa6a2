"""Checks of the streams of ORC's stripes before Arrow's reader decodes them."""

from collections.abc import Callable
from functools import partial
from typing import Final

from sqlfront_connectors.files.orc.chunks import NONE, decoding, part, plain, unpacked_size
from sqlfront_connectors.files.orc.footer import (
    DATA,
    DECIMAL,
    LENGTH,
    NULLS,
    SECOND,
    TIMESTAMP,
    WORDS,
    Description,
    OrcStream,
)
from sqlfront_connectors.files.orc.runs import check_byte_runs, check_first_runs, check_range, total_length
from sqlfront_connectors.files.varints import MalformedData

#: The kinds of types whose values are bytes or bits, and integers.
_BYTES: Final = frozenset({0, 1})
_INTEGERS: Final = frozenset({2, 3, 4, TIMESTAMP, 15, 18})
#: The first encoding in which runs are of the second version.
_SECOND_VERSION: Final = 2
#: Bytes of a stream that are checked at most: bounds the memory of a check; ORC's writers make stripes of 64
#: MiB.
_MOST: Final = 1 << 31
#: Bytes of texts for which there is always memory; lengths with a larger sum must not exceed the texts' own
#: bytes.
_ROOM: Final = 1 << 28


def check_streams(source: str, described: Description, stripe: int, columns: frozenset[int]) -> None:
    """Raise MalformedData if streams of some columns in a stripe are damaged in a way that Arrow
    doesn't notice, or for which Arrow ends the process. ``source``: the file's path. ``described``: the
    contents of the file's footers. ``stripe``: the stripe's index. ``columns``: the indices of the
    columns in the file."""
    first, compression = described.columns, described.compression
    parts = {number for place in columns for number in range(first[place], first[place + 1])}
    streams = [stream for stream in described.stripes[stripe].streams if stream.column in parts]
    with open(source, "rb") as file, decoding():
        sizes = {
            (stream.column, stream.kind): stream.size
            if compression == NONE
            else unpacked_size(file, stream.start, stream.size, described.block)
            for stream in streams
        }
        for stream in streams:
            check = _check_of(stream)
            if stream.kind == LENGTH:
                texts = WORDS if stream.encoding % 2 else DATA
                check = partial(_check_lengths, stream, sizes.get((stream.column, texts), 0))
            if check is not None:
                check(plain(part(file, stream.start, stream.size), compression, described.block, _MOST))


def _check_of(stream: OrcStream) -> Callable[[bytes], None] | None:
    """Return a function that raises MalformedData for damaged bytes of the stream; None for a stream that
    needs no check here. Streams of lengths need another check, see :func:`_check_lengths`. In streams of
    integers in version 2 of the encoding, Arrow itself notices a run that is too long."""
    if stream.kind == NULLS or (stream.kind == DATA and stream.type in _BYTES):
        return check_byte_runs
    if stream.kind == SECOND and stream.type == DECIMAL:
        # Spark rounds numbers with another scale, Arrow cuts them.
        is_second = stream.encoding >= _SECOND_VERSION
        return partial(check_range, most=stream.scale, is_second=is_second)
    has_runs = stream.kind == SECOND or (stream.kind == DATA and stream.type in _INTEGERS)
    is_of_words = stream.kind == DATA and stream.encoding % 2
    return check_first_runs if (has_runs or is_of_words) and stream.encoding < _SECOND_VERSION else None


def _check_lengths(stream: OrcStream, size: int, data: bytes) -> None:
    """Raise MalformedData if the sum of the lengths in ``data`` exceeds both ``size`` and :data:`_ROOM`.
    ``data``: the content of the LENGTH stream ``stream``. ``size``: the bytes of the column's texts. Arrow's
    reader allocates as many bytes as the sum says, and ends the process if the allocation fails. A column of
    lists or maps has no texts: ``size`` is 0, and :data:`_ROOM` alone bounds the sum."""
    is_second, most = stream.encoding >= _SECOND_VERSION, max(size, _ROOM)
    found = total_length(data, is_second=is_second)
    if found > most and total_length(data, is_second=is_second, exact=True) > most:
        raise MalformedData("its lengths are more than its values")
