"""Conversion of a few rows, as Python values, into msgpack and back.

A row of eight values takes 1 us each way. As an Arrow IPC message the row takes 18 us to write and 18 us to
read, and another 150 us to become Python values. So this module is for rows that are read value by value.

The encoded values don't state their types: the receiver decodes each value by the type of its column, which
it must know.

>>> encoded = encode_rows([(1, None)])
>>> rows_decoder([pa.int32(), pa.date32()])(encoded)
[(1, None)]
"""

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_cluster.codec.values import malformed
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import InterfaceError
from sqlfront_values.literal_values import decode_value

#: The input of a decoder.
Encoded: TypeAlias = bytes | memoryview | msgspec.Raw
#: One value for each column, represented as in a Literal of the column's type.
Row: TypeAlias = tuple[object, ...]


def _integer(bits: int) -> object:
    bound = 2 ** (bits - 1)
    return Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)] | None


#: The Python types that msgspec reads and checks by itself, by the id of the Arrow type.
_KINDS: Final[dict[int, Any]] = {
    pa.null().id: None,
    pa.bool_().id: bool | None,
    pa.int8().id: _integer(8),
    pa.int16().id: _integer(16),
    pa.int32().id: _integer(32),
    pa.int64().id: _integer(64),
    pa.float32().id: float | None,
    pa.float64().id: float | None,
    pa.string().id: str | None,
    pa.binary().id: bytes | None,
    pa.date32().id: datetime.date | None,
    pa.duration("us").id: datetime.timedelta | None,
    pa.decimal64(1, 0).id: Decimal | None,
    pa.decimal128(1, 0).id: Decimal | None,
}
#: Cached decoders, one for each type: a query has a handful of types.
_KEPT: Final = 256
_encode: Final = msgspec.msgpack.Encoder().encode


def encode_rows(rows: Sequence[Row] | Sequence[Sequence[Row]]) -> bytes:
    """Encode rows for :func:`rows_decoder`, or several sequences of rows for :func:`groups_decoder`. Raises
    InterfaceError for values without an encoding."""
    try:
        return _encode(rows)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        raise InterfaceError(f"these values can't be sent to other members: {error}") from error


def rows_decoder(types: Sequence[pa.DataType]) -> Callable[[Encoded], list[Row]]:
    """Return a function that decodes rows encoded by :func:`encode_rows`. ``types``: the logical types of the
    columns. The function raises OperationalError for any other bytes."""
    return _rows_decoder(tuple(types))


@lru_cache(_KEPT)
def _rows_decoder(types: tuple[pa.DataType, ...]) -> Callable[[Encoded], list[Row]]:
    kind, nested = _row_kind(types)
    decode = make_decoder(list[kind])  # type: ignore[valid-type]

    def decode_rows(data: Encoded) -> list[Row]:
        try:
            rows: list[Row] = decode(data)  # type: ignore[assignment]
            return [_read(row, nested) for row in rows] if nested else rows
        except Exception as error:
            raise malformed("row", error) from error

    return decode_rows


def groups_decoder(types: Sequence[pa.DataType]) -> Callable[[Encoded], list[list[Row]]]:
    """Return a function that decodes several sequences of rows, encoded together by :func:`encode_rows`.
    ``types``: the logical types of the columns. The function raises OperationalError for any other bytes."""
    return _groups_decoder(tuple(types))


@lru_cache(_KEPT)
def _groups_decoder(types: tuple[pa.DataType, ...]) -> Callable[[Encoded], list[list[Row]]]:
    kind, nested = _row_kind(types)
    decode = make_decoder(list[list[kind]])  # type: ignore[valid-type]

    def decode_groups(data: Encoded) -> list[list[Row]]:
        try:
            groups: list[list[Row]] = decode(data)  # type: ignore[assignment]
            return [[_read(row, nested) for row in rows] for rows in groups] if nested else groups
        except Exception as error:
            raise malformed("row", error) from error

    return decode_groups


#: The positions of values that msgspec can't read by itself, and the values' types.
_Nested: TypeAlias = tuple[tuple[int, pa.DataType], ...]


def _row_kind(types: Sequence[pa.DataType]) -> tuple[object, _Nested]:
    kinds = [_kind(data_type) for data_type in types]
    nested = tuple((place, types[place]) for place, kind in enumerate(kinds) if kind is msgspec.Raw)
    return tuple[tuple(kinds)], nested  # type: ignore[misc]


def _kind(data_type: pa.DataType) -> Any:
    if pa.types.is_timestamp(data_type):
        return Annotated[datetime.datetime, msgspec.Meta(tz=data_type.tz is not None)] | None
    return _KINDS.get(data_type.id, msgspec.Raw)


def _read(row: Row, nested: _Nested) -> Row:
    values = list(row)
    for place, data_type in nested:
        values[place] = decode_value(data_type, values[place])  # type: ignore[arg-type]
    return tuple(values)
