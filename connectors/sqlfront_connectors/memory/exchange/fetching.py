"""Reads of a memory table's rows directly from the members that have them, by a process that is not a member.

A coordinator holds the version that is read, see :mod:`~sqlfront_connectors.memory.exchange.service`. The
process needs only the packages of ``engine/`` and this connector, no session and no planner."""

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
    """The source of an exchange: a version of a table whose rows are spread over members, which the members
    keep while processes that are not members read its rows. ``version``: the key under which members keep the
    version. ``table``: the table's name, for errors. ``columns``: the ordinals of the columns to read.
    ``members``: names and addresses of the members that have the rows. ``step``: the number of rows to fetch
    with one question."""

    version: str
    table: str
    columns: tuple[int, ...]
    members: tuple[tuple[str, str], ...]
    step: int


class Piece(msgspec.Struct, frozen=True):
    """A range of a version's rows to fetch: the rows ``start`` to ``stop`` (exclusive) of one member's share.
    ``member``: the index of the member in :attr:`Origin.members`."""

    member: int
    start: int
    stop: int


def fetch(origin: Origin, connect: Connect, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pieces, in batches in physical form. ``connect``: a function that connects with a
    member, given its name and address. Raises OperationalError if a member can't be reached, or if members no
    longer keep the version, because the coordinator has released it."""
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
