"""How many chunks of a spread table a scan skips: asked from those who have them, when somebody wants to
know."""

from typing import Final

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.codec.values import malformed
from sqlfront_connectors.base import Pieces
from sqlfront_connectors.memory.chunks import count_chunks, judged
from sqlfront_connectors.memory.segment import Segment
from sqlfront_values.decoders import make_decoder
from sqlfront_values.expressions import EngineExpr, Expr


class ChunkCount(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """The question about a share. ``version``: the key of its version, ``table``: for errors, ``dealt``: the
    dealing of partitions that is asked for, ``filters``: conjuncts that the scan's rows satisfy, encoded. The
    answer has the numbers of chunks that are read and that there are."""

    version: str
    table: str
    dealt: int
    filters: bytes


class _Filters(msgspec.Struct, frozen=True):
    parts: tuple[EngineExpr, ...]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = make_decoder(tuple[int, int])


def encode_count(version: str, table: str, dealt: int, filters: tuple[Expr, ...]) -> bytes:
    """The question's bytes."""
    return _encode(ChunkCount(version, table, dealt, codec.encode(_Filters(judged(filters)))))


def counted(segments: tuple[Segment, ...], question: ChunkCount) -> bytes:
    """The answer about a share of these segments. OperationalError for filters that make no sense here."""
    filters = codec.decode(question.filters, _Filters).parts
    try:
        return _encode(count_chunks(segments, judged(filters)))
    except (IndexError, KeyError, TypeError, ValueError) as error:  # columns or values that the table hasn't
        raise malformed("filter", error) from error


def decode_count(answer: bytes | memoryview) -> Pieces:
    """What the answer says."""
    try:
        counts: tuple[int, int] = _decode(answer)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("count", error) from error
    return Pieces("chunks", *counts)
