"""The sizes of the shares and backups that a member holds; each member tells them when it is asked."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sqlfront_cluster.codec.values import malformed
from sqlfront_values.decoders import make_decoder


class ShareSize(msgspec.Struct, frozen=True, array_like=True):
    """The sizes of what one member holds of a version: the rows and bytes of its own share, and the bytes of
    the backups of other members' shares; bytes without indexes."""

    rows: int
    bytes: int
    backup_bytes: int


class ShareSizes(msgspec.Struct, frozen=True, array_like=True, tag=5):
    """A question to a member: how large are its shares and backups of the versions with the keys
    ``versions``? The answer is a :class:`ShareSize` by the key, for those versions of which the member holds
    anything."""

    versions: tuple[str, ...]


_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = make_decoder(dict[str, ShareSize])


def encode_question(versions: Sequence[str]) -> bytes:
    """Encode a :class:`ShareSizes` for the keys ``versions``."""
    return _encode(ShareSizes(tuple(versions)))


def encode_sizes(sizes: Mapping[str, ShareSize]) -> bytes:
    """Encode the answer to a :class:`ShareSizes`."""
    return _encode(sizes)


def decode_sizes(answer: bytes | memoryview) -> Mapping[str, ShareSize]:
    """Decode an answer to a :class:`ShareSizes`. Raises OperationalError for malformed bytes."""
    try:
        sizes: Mapping[str, ShareSize] = _decode(answer)  # type: ignore[assignment]
    except (msgspec.MsgspecError, ValueError) as error:
        raise malformed("sizes", error) from error
    return sizes
