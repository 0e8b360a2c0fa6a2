"""The room that a member has for further rows of memory tables."""

from typing import Final

import msgspec

from sqlfront_cluster.codec.values import malformed
from sqlfront_values.decoders import make_decoder


class Room(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """A question to a member: how many bytes of memory tables could it hold in addition?"""


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = make_decoder(int)
#: The question, encoded.
ROOM: Final = _encode(Room())


def encode_room(size: int) -> bytes:
    """Encode the answer to :class:`Room`: ``size`` bytes."""
    return _encode(size)


def decode_room(answer: bytes | memoryview) -> int:
    """Decode an answer to :class:`Room`, bytes. Raises OperationalError for malformed bytes."""
    try:
        size: int = _decode(answer)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("room", error) from error
    return size
