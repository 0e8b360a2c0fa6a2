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
from sqlfront_cluster.members.protocol.member_list import CHANGED
from sqlfront_cluster.members.questions.outsider import Outsider
from sqlfront_connectors.memory.exchange.pushing import Connect
from sqlfront_connectors.memory.exchange.service import EXCHANGE, EncodedPieces, ReadShare
from sqlfront_values.errors import OperationalError

#: Rows and bytes that are fetched at a time, at most: a batch of the engine; the asker holds _AHEAD more of
#: them.
MOST_ROWS: Final = 65_536
MOST_BYTES: Final = 8 * 1024 * 1024
#: The SQLSTATEs of the errors for a member that can't be reached.
LOST_MEMBER: Final = frozenset({"08001", "08006"})
#: Questions sent ahead before the rows of the first answer are used, so that the member works while the rows
#: travel.
_AHEAD: Final = 2


class ShareCopy(msgspec.Struct, frozen=True):
    """The rows of one share on a member. ``member``, ``address``: the member's name and address. ``owner``:
    the member of whose share this is a backup, None = this is the member's own share."""

    member: str
    address: str
    owner: str | None = None


class Origin(msgspec.Struct, frozen=True):
    """The source of an exchange: a version of a table whose rows are spread over members, which the members
    keep while processes that are not members read its rows. ``version``: the key under which members keep the
    version. ``table``: the table's name, for errors. ``columns``: the ordinals of the columns to read.
    ``shares``: for each share of the version its copies, which have the same rows in the same order.
    ``step``: the number of rows to fetch with one question."""

    version: str
    table: str
    columns: tuple[int, ...]
    shares: tuple[tuple[ShareCopy, ...], ...]
    step: int


class Piece(msgspec.Struct, frozen=True):
    """A range of a version's rows to fetch: the rows ``start`` to ``stop`` (exclusive) of one share.
    ``share``: the index of the share in :attr:`Origin.shares`."""

    share: int
    start: int
    stop: int


def fetch(origin: Origin, connect: Connect, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the pieces, in batches in physical form. ``connect``: a function that connects with a
    member, given its name and address. If a member is lost, its backups are read from there on. Raises
    OperationalError, with SQLSTATE 40001, if no member with the rows can be reached, or if members no longer
    keep the version, because the coordinator has released it."""
    for piece in pieces:
        yield from _fetch(origin, connect, piece)


def _fetch(origin: Origin, connect: Connect, piece: Piece) -> Iterator[pa.RecordBatch]:
    """Yield the rows of one piece, from the first copy whose member doesn't get lost."""
    left = [*range(piece.start, piece.stop, origin.step)]
    lost: OperationalError | None = None
    for copy in origin.shares[piece.share]:
        try:
            with connect(copy.member, copy.address) as line:
                for answer in _answers(origin, line, copy, [*left], piece.stop):
                    yield from _batches(*answer)
                    del left[0]
            return
        except OperationalError as error:
            if error.sqlstate not in (CHANGED, *LOST_MEMBER):  # CHANGED: it has come back without the rows
                raise
            lost = error
    assert lost is not None
    if lost.sqlstate == CHANGED:
        raise lost
    raise member_gone(origin.table, lost) from lost


def _answers(
    origin: Origin, line: Outsider, copy: ShareCopy, starts: list[int], stop: int
) -> Iterator[tuple[bytes, pa.Buffer | None]]:
    """Yield a member's answers for the ranges that begin at ``starts``; the last one ends at ``stop``."""
    for start in starts:
        end = min(start + origin.step, stop)
        question = ReadShare(origin.version, origin.table, origin.columns, start, end, copy.owner)
        line.send(EXCHANGE, codec.encode(question))
        if line.unanswered > _AHEAD:
            yield line.hear()
    while line.unanswered:
        yield line.hear()


def member_gone(table: str, error: OperationalError) -> OperationalError:
    """Return the error (SQLSTATE 40001) of a reader of ``table`` that a member and its backups were lost to,
    which ``error`` tells."""
    return OperationalError(
        f"rows of `{table}` can't be read: {error.message}; run the query again", sqlstate=CHANGED
    )


def _batches(content: bytes, body: pa.Buffer | None) -> Iterator[pa.RecordBatch]:
    decoder, start = BatchDecoder(), 0
    for schema, size in codec.decode(content, EncodedPieces).batches:
        if body is None or not 0 <= size <= body.size - start:
            raise malformed("answer", "there are more batches than bytes")
        yield decoder.decode(schema, body.slice(start, size))
        start += size
