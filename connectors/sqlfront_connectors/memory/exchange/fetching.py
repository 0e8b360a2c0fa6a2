"""Reads of rows directly from the owning members, in a process that is not a member.

The client side of a held version (:mod:`~sqlfront_connectors.memory.exchange.service`). Needs nothing but the
engine."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec import BatchDecoder
from sqlfront_cluster.codec.values import malformed
from sqlfront_cluster.members.outsider import Outsider
from sqlfront_connectors.memory.exchange.pushing import Connect
from sqlfront_connectors.memory.exchange.service import EXCHANGE, EncodedPieces, ReadShare

#: Rows and bytes that are fetched at a time, at most: a batch of the engine; the asker holds _AHEAD more of
#: them.
MOST_ROWS: Final = 65_536
MOST_BYTES: Final = 8 * 1024 * 1024
#: Questions sent ahead before the rows of the first answer are used, so that the member works while the rows
#: travel.
_AHEAD: Final = 2


class Origin(msgspec.Struct, frozen=True):
    """A version of a spread table, from which other processes read rows. ``version``: the key of the version.
    ``table``: the table's name for errors. ``columns``: the ordinals of the columns to read. ``members``:
    names and addresses of the members that hold the rows. ``step``: the number of rows to fetch at a time."""

    version: str
    table: str
    columns: tuple[int, ...]
    members: tuple[tuple[str, str], ...]
    step: int


class Piece(msgspec.Struct, frozen=True):
    """A range of the version's rows: the rows from ``start`` to ``stop`` (exclusive) of the share of the
    member at index ``member`` of :attr:`Origin.members`."""

    member: int
    start: int
    stop: int


def fetch(origin: Origin, connect: Connect, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pieces in physical form; ``connect`` connects with a member by name and address.
    Raises OperationalError if a member can't be reached, or the version is no longer held."""
    for piece in pieces:
        name, address = origin.members[piece.member]
        with connect(name, address) as line:
            yield from _fetch(origin, line, piece)


def _fetch(origin: Origin, line: Outsider, piece: Piece) -> Iterator[pa.RecordBatch]:
    for start in range(piece.start, piece.stop, origin.step):
        stop = min(start + origin.step, piece.stop)
        line.send(
            EXCHANGE, codec.encode(ReadShare(origin.version, origin.table, origin.columns, start, stop))
        )
        if line.unanswered > _AHEAD:
            yield from _batches(*line.hear())
    while line.unanswered:
        yield from _batches(*line.hear())


def _batches(content: bytes, body: pa.Buffer | None) -> Iterator[pa.RecordBatch]:
    decoder, start = BatchDecoder(), 0
    for schema, size in codec.decode(content, EncodedPieces).batches:
        if body is None or not 0 <= size <= body.size - start:
            raise malformed("answer", "there are more batches than bytes")
        yield decoder.decode(schema, body.slice(start, size))
        start += size
