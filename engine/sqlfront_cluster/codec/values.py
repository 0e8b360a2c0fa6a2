"""Structs, and all other types known to msgspec, to msgpack and back.

>>> from sqlfront_values.settings import Settings
>>> decode(encode(Settings("Europe/Berlin")), Settings)
Settings(time_zone='Europe/Berlin', catalog='spark_catalog', database='default')
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import msgspec

from sqlfront_cluster.codec.hooks import decode_hook, encode_hook, trusting_decode_hook
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import Error, InterfaceError, NotSupportedError, OperationalError

T = TypeVar("T")

#: PostgreSQL's SQLSTATE for violations of the protocol.
MALFORMED: Final = "08P01"

_encoder: Final = msgspec.msgpack.Encoder(enc_hook=encode_hook)
_decoders: Final[dict[tuple[object, bool], Callable[[Any], Any]]] = {}


def encode(value: object) -> bytes:
    """Encode the value in msgpack. Raises InterfaceError for a value without an encoding: an object of
    another kind (for instance a job's resources), or an expression nested thousands of levels deep."""
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InterfaceError(f"a {type(value).__name__} can't be sent to other members: {error}") from error


def decode(data: bytes | bytearray | memoryview, kind: type[T], *, user_code: bool = False) -> T:
    """Decode a value of type ``kind`` encoded by :func:`encode`. Raises OperationalError for any other bytes.

    ``user_code``: user functions in the bytes may run here (the sender is a proven member); otherwise a user
    function raises NotSupportedError.
    """
    try:
        return _decoder(kind, user_code)(data)
    except Exception as error:
        raise malformed(getattr(kind, "__name__", "message"), error) from error


def _decoder(kind: object, user_code: bool) -> Callable[[Any], Any]:
    decoder = _decoders.get((kind, user_code))
    if decoder is None:
        hook = trusting_decode_hook if user_code else decode_hook
        decoder = _decoders[kind, user_code] = make_decoder(kind, hook)
    return decoder


def malformed(what: str, error: BaseException | str) -> Error:
    """Return the OperationalError (SQLSTATE 08P01) for bytes from a peer that are no ``what``; ``error`` is
    the failure of decoding, or its text. An OperationalError or NotSupportedError (the refusal of a user
    function) is returned unchanged."""
    if isinstance(error, OperationalError | NotSupportedError):
        return error
    return OperationalError(f"malformed {what} from a peer: {error}", sqlstate=MALFORMED)
