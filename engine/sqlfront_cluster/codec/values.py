"""Conversion of Structs, and of all other types known to msgspec, into msgpack and back.

>>> from sqlfront_values.settings import Settings
>>> decode(encode(Settings("Europe/Berlin")), Settings)
Settings(time_zone='Europe/Berlin', catalog='spark_catalog', database='default', instance=0)
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from sqlfront_cluster.codec.hooks import decode_hook, encode_hook, trusting_decode_hook
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import Error, InterfaceError, NotSupportedError, OperationalError
from sqlfront_values.memo import Memo

T = TypeVar("T")

#: PostgreSQL's SQLSTATE for violations of the protocol.
MALFORMED: Final = "08P01"

#: Decoders that are kept: the house needs some hundred. Users' classes have decoders of their own, and a
#: notebook may define a class again and again.
_KEPT: Final = 1024

_encoder: Final = msgspec.msgpack.Encoder(enc_hook=encode_hook)
_decoders: Final = Memo[tuple[object, bool], Callable[[Any], Any]](_KEPT)


def encode(value: object) -> bytes:
    """Encode the value in msgpack. Raises InterfaceError for a value without an encoding: an object that
    msgspec and :mod:`sqlfront_cluster.codec.hooks` don't know (for instance a job's resources), or an
    expression nested thousands of levels deep."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InterfaceError(f"a {type(value).__name__} can't be sent to other members: {error}") from error


def decode(data: bytes | bytearray | memoryview, kind: type[T], *, user_code: bool = False) -> T:
    """Return the value of type ``kind`` that :func:`encode` has encoded. Raises OperationalError for any
    other bytes.

    ``user_code``: user functions in the bytes may run in this process (the sender is an authenticated
    member); otherwise a user function raises NotSupportedError.
    """
    try:
        return _decoder(kind, user_code)(data)
    except Exception as error:
        raise malformed(getattr(kind, "__name__", "message"), error) from error


def _decoder(kind: object, user_code: bool) -> Callable[[Any], Any]:
    decoder = _decoders.get((kind, user_code))
    if decoder is None:
        hook = trusting_decode_hook if user_code else decode_hook
        decoder = _decoders.keep((kind, user_code), make_decoder(kind, hook))
    return decoder


def malformed(what: str, error: BaseException | str) -> Error:
    """Return the error for bytes from another process that can't be decoded: an OperationalError with the
    SQLSTATE 08P01. ``what``: the expected kind of value, such as ``"batch"``. ``error``: the failure of
    decoding, or its text. If it is an OperationalError or NotSupportedError (the refusal of a user function),
    it is returned unchanged."""
    if isinstance(error, OperationalError | NotSupportedError):
        return error
    return OperationalError(f"malformed {what} from a peer: {error}", sqlstate=MALFORMED)
