"""The number of chunks that a scan of a spread table reads; each member counts the chunks of its share when
it is asked."""

from typing import Final

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.memory.segments.chunks import count_chunks, judged
from sqlfront_connectors.memory.segments.segment import Segment
from sqlfront_values.decoders import make_decoder
from sqlfront_values.expressions import EngineExpr, Expr


class ChunkCount(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """A question to a member: how many chunks (BATCH_ROWS consecutive rows) of its share would a scan read?
    ``version``: the key of the share's version. ``table``: the table's name, for errors. ``dealt``: the
    version of the member list that last changed the owners of partitions, as the asking member knows it.
    ``filters``: the scan's conjuncts, encoded. ``owner``: the lost member whose share's backup is meant, None
    = the share of the member that is asked. The answer is the number of chunks that the scan reads and the
    number of all chunks."""

    version: str
    table: str
    dealt: int
    filters: bytes
    owner: str | None = None


class _Filters(msgspec.Struct, frozen=True):
    parts: tuple[EngineExpr, ...]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = make_decoder(tuple[int, int])


def encode_count(
    version: str, table: str, dealt: int, filters: tuple[Expr, ...], owner: str | None = None
) -> bytes:
    """Encode a :class:`ChunkCount` with these fields, as a question that a member's
    :class:`~sqlfront_connectors.memory.spread.store.TableStore` can answer."""
    return _encode(ChunkCount(version, table, dealt, codec.encode(_Filters(filters)), owner))


def counted(segments: tuple[Segment, ...], question: ChunkCount) -> bytes:
    """Return the encoded answer to ``question``: the number of chunks that the scan reads, and of all chunks.
    ``segments``: the segments of the member's share. Raises OperationalError for filters that don't fit the
    columns."""
    filters = codec.decode(question.filters, _Filters).parts
    try:
        return _encode(count_chunks(segments, judged(filters)))
    except (IndexError, KeyError, TypeError, ValueError) as error:  # wrong columns or values
        raise malformed("filter", error) from error


def decode_count(answer: bytes | memoryview) -> tuple[int, int]:
    """Decode an answer to a :class:`ChunkCount`: return the number of chunks that the scan reads, and the
    number of all chunks. Raises OperationalError for malformed bytes."""
    try:
        counts: tuple[int, int] = _decode(answer)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("count", error) from error
    return counts
