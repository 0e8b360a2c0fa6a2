"""Decoding of literals' values from msgpack by the literals' types.

msgpack alone doesn't tell the type: msgspec writes a date, a decimal or an interval as a string, and a
timestamp as seconds and nanoseconds. Read by its type, each value comes back exactly, or the bytes are
refused.

>>> import msgspec
>>> decode_value(pa.date32(), msgspec.msgpack.encode(datetime.date(2024, 2, 29)))
datetime.date(2024, 2, 29)
"""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Any, Final

import msgspec
import pyarrow as pa


def _reader(kind: object) -> Callable[[Any], object]:
    return msgspec.msgpack.Decoder(kind).decode


def _integer(bits: int) -> Callable[[Any], object]:
    bound = 2 ** (bits - 1)
    return _reader(Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)] | None)


_DECIMAL: Final = _reader(Decimal | None)
_NAIVE: Final = _reader(Annotated[datetime.datetime, msgspec.Meta(tz=False)] | None)
_AWARE: Final = _reader(Annotated[datetime.datetime, msgspec.Meta(tz=True)] | None)
_LIST: Final = msgspec.msgpack.Decoder(list[msgspec.Raw] | None)
_PAIRS: Final = msgspec.msgpack.Decoder(list[tuple[msgspec.Raw, msgspec.Raw]] | None)
_FIELDS: Final = msgspec.msgpack.Decoder(dict[str, msgspec.Raw] | None)
_MONTH_DAY_NANO: Final = msgspec.msgpack.Decoder(tuple[int, int, int] | None)

#: Decoders by the id of the Arrow type, which is cheaper to compute than the type's hash.
_READERS: Final[dict[int, Callable[[Any], object]]] = {
    pa.null().id: _reader(None),
    pa.bool_().id: _reader(bool | None),
    pa.int8().id: _integer(8),
    pa.int16().id: _integer(16),
    pa.int32().id: _integer(32),
    pa.int64().id: _integer(64),
    pa.float32().id: _reader(float | None),
    pa.float64().id: _reader(float | None),
    pa.string().id: _reader(str | None),
    pa.binary().id: _reader(bytes | None),
    pa.date32().id: _reader(datetime.date | None),
    pa.duration("us").id: _reader(datetime.timedelta | None),
    pa.decimal64(1, 0).id: _DECIMAL,
    pa.decimal128(1, 0).id: _DECIMAL,
}


def decode_value(data_type: pa.DataType, encoded: msgspec.Raw | bytes) -> object:
    """Decode a literal's value from msgpack by the literal's type. Return the Python object that
    ``pa.scalar(value, data_type).as_py()`` gives (timestamps with a zone in UTC), or None for null. Raises
    ``msgspec.DecodeError`` or ValueError if the bytes are not a value of the type."""
    reader = _READERS.get(data_type.id)
    if reader is not None:
        return reader(encoded)
    if pa.types.is_timestamp(data_type):
        return (_AWARE if data_type.tz else _NAIVE)(encoded)
    if isinstance(data_type, pa.BaseExtensionType):
        return decode_value(data_type.storage_type, encoded)
    if pa.types.is_dictionary(data_type):
        return decode_value(data_type.value_type, encoded)
    if pa.types.is_interval(data_type):
        parts = _MONTH_DAY_NANO.decode(encoded)
        return None if parts is None else pa.MonthDayNano(parts)
    return _nested(data_type, encoded)


def _nested(data_type: pa.DataType, encoded: msgspec.Raw | bytes) -> object:
    if pa.types.is_list(data_type):
        items = _LIST.decode(encoded)
        return None if items is None else [decode_value(data_type.value_type, item) for item in items]
    if pa.types.is_map(data_type):
        pairs = _PAIRS.decode(encoded)
        if pairs is None:
            return None
        key_type, item_type = data_type.key_type, data_type.item_type
        return [(decode_value(key_type, key), decode_value(item_type, item)) for key, item in pairs]
    if pa.types.is_struct(data_type):
        fields = _FIELDS.decode(encoded)
        if fields is None:
            return None
        types = {field.name: field.type for field in data_type}
        if fields.keys() != types.keys():
            raise ValueError(f"the value of a {data_type} has the fields {', '.join(fields)}")
        return {name: decode_value(types[name], value) for name, value in fields.items()}
    raise ValueError(f"there are no literals of type {data_type}")
