"""Hooks for types unknown to msgspec: Arrow's types and schemas, and user functions.

A Spark type is encoded by its name (``bigint``, ``decimal(12,2)``), any other type and every schema as an
Arrow IPC schema. Both directions cache types and schemas: plans share them, and making a type or schema costs
5 to 20 us.

Encoders and decoders of messages with these types are made with :func:`encode_hook` and :func:`decode_hook`.
"""

import re
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.memo import Memo
from sqlfront_values.types import PRIMITIVES, ddl, decimal
from sqlfront_values.user_functions import UserFunction

#: Types and schemas in each cache, and the most bytes of a cached encoding. A full cache is emptied. Both
#: bound the memory that other members' messages can fill.
_KEPT: Final = 4096
_LONGEST: Final = 65_536

_DECIMAL: Final = re.compile(r"decimal\((\d{1,2}),(\d{1,2})\)", re.ASCII)
_NAMES: Final[dict[str, pa.DataType]] = {name: data_type for data_type, name in PRIMITIVES.items()}

#: Objects and their encoded forms by the objects' identity, which is unique as long as the object is
#: referenced here.
_encoded: Final = Memo[int, tuple[object, str | bytes]](_KEPT)
_types: Final = Memo[str | bytes, pa.DataType](_KEPT)
_schemas: Final = Memo[bytes, pa.Schema](_KEPT)


def encode_hook(value: object) -> object:
    """Return the encodable form of ``value``: an Arrow type, a schema, a user function or an empty mapping
    proxy. ``msgspec.msgpack.Encoder`` calls this function (``enc_hook``) for types that it doesn't know.
    Raises TypeError for any other value."""
    known = _encoded.get(id(value))
    if known is not None:
        return known[1]
    if isinstance(value, pa.DataType):
        return _remember_encoded(value, _encode_type(value))
    if isinstance(value, pa.Schema):
        return _remember_encoded(value, value.serialize().to_pybytes())
    if isinstance(value, UserFunction):
        return value.pickled()
    if isinstance(value, MappingProxyType) and not value:
        return {}
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} doesn't travel")


def decode_hook(kind: type, encoded: object) -> object:
    """Return the value of type ``kind`` (``pa.DataType`` or ``pa.Schema``) from ``encoded``, which may come
    from an untrusted sender. ``msgspec.msgpack.Decoder`` calls this function (``dec_hook``) for types that it
    doesn't know. Raises NotSupportedError for user functions, ValueError for malformed data, TypeError for
    another ``kind``."""
    if kind is pa.DataType:
        data_type = _types.get(encoded)  # type: ignore[call-overload]
        return _decode_type(encoded) if data_type is None else data_type
    if kind is pa.Schema:
        schema = _schemas.get(encoded)  # type: ignore[call-overload]
        return _remember(_schemas, encoded, read_schema(encoded)) if schema is None else schema
    if kind is UserFunction:
        raise NotSupportedError(
            "a session's Python functions, as those of a pipeline, don't run on these members; whoever starts"
            " a cluster can allow them (`sqlfront cluster start --allow-user-code`, `sqlfront member"
            " --allow-user-code`; for members of a session's own, Config(allow_user_code=True))"
        )
    raise TypeError(f"a {kind.__module__}.{kind.__qualname__} doesn't travel")


def trusting_decode_hook(kind: type, encoded: object) -> object:
    """Return the value of type ``kind`` (``pa.DataType``, ``pa.Schema``, or a user function, from its pickled
    bytes) from ``encoded``. Unpickling can run any code: only for bytes of an authenticated member whose code
    may run here. Raises ValueError for malformed data, TypeError for another ``kind``."""
    if kind is UserFunction and isinstance(encoded, bytes):
        return UserFunction.from_pickled(encoded)
    return decode_hook(kind, encoded)


def _encode_type(data_type: pa.DataType) -> str | bytes:
    name = PRIMITIVES.get(data_type)
    if name is not None:
        return name
    if pa.types.is_decimal128(data_type) and data_type.scale >= 0:
        return ddl(data_type)
    return pa.schema([("", data_type)]).serialize().to_pybytes()


def _decode_type(encoded: object) -> pa.DataType:
    if isinstance(encoded, str):
        data_type = _NAMES.get(encoded)
        if data_type is None:
            found = _DECIMAL.fullmatch(encoded)
            if found is None:
                raise ValueError(f"there is no type {encoded!r}")
            data_type = decimal(int(found[1]), int(found[2]))
    else:
        schema = read_schema(encoded)
        if len(schema) != 1:
            raise ValueError(f"a type travels as a schema of one field, not of {len(schema)}")
        data_type = schema.field(0).type
    return _remember(_types, encoded, data_type)


def read_schema(encoded: object) -> pa.Schema:
    """Return the schema in ``encoded``, the bytes of an Arrow IPC message. Raises ValueError for other
    data."""
    if not isinstance(encoded, bytes):
        raise ValueError(f"a schema travels as bytes, not as {type(encoded).__name__}")
    try:
        return pa.ipc.read_schema(pa.py_buffer(encoded))
    except (pa.ArrowException, OSError, EOFError, UnicodeError, KeyError) as error:
        raise ValueError(f"malformed schema: {error}") from error


def _remember_encoded(value: object, encoded: str | bytes) -> str | bytes:
    if len(encoded) <= _LONGEST:
        _encoded.keep(id(value), (value, encoded))
    return encoded


def _remember(memory: Memo[Any, Any], encoded: Any, decoded: Any) -> Any:
    if len(encoded) <= _LONGEST:
        memory.keep(encoded, decoded)
    return decoded
