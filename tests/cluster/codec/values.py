"""Types of the house, and hypothesis' strategies for the values of literals of each."""

import datetime
import struct
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from sqlfront_values.types import PRIMITIVES, decimal

DECIMALS = [decimal(1, 0), decimal(12, 2), decimal(18, 18), decimal(38, 0), decimal(38, 38)]
FLAT = [*PRIMITIVES, *DECIMALS]
NESTED = [
    pa.list_(pa.date32()),
    pa.map_(pa.date32(), pa.list_(decimal(12, 2))),
    pa.struct([("a", pa.timestamp("us", tz="UTC")), ("b", pa.struct([("c", pa.binary())]))]),
    pa.struct([]),
]
LOGICAL = [*FLAT, *NESTED]
PHYSICAL = [
    pa.decimal64(12, 2),
    pa.dictionary(pa.int32(), pa.string()),
    pa.list_(pa.field("element", pa.int32(), nullable=False)),
    pa.month_day_nano_interval(),
    pa.duration("us"),
    pa.timestamp("us", tz="Europe/Berlin"),
]


def single(value: float) -> float:
    """The nearest number of 32 bits."""
    return struct.unpack("f", struct.pack("f", value))[0]


def integers(bits: int) -> st.SearchStrategy[object]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def values(data_type: pa.DataType) -> st.SearchStrategy[object]:
    """Null, and what ``pa.scalar(value, data_type).as_py()`` may give."""
    if pa.types.is_null(data_type):
        return st.none()
    return st.none() | _present(data_type)


def _present(data_type: pa.DataType) -> st.SearchStrategy[object]:
    if isinstance(data_type, pa.BaseExtensionType):
        return _present(data_type.storage_type)
    if pa.types.is_dictionary(data_type):
        return _present(data_type.value_type)
    if pa.types.is_decimal(data_type):
        bound = 10**data_type.precision - 1
        return st.integers(-bound, bound).map(lambda number: _decimal(number, data_type.scale))
    if pa.types.is_integer(data_type):
        return integers(data_type.bit_width)
    if pa.types.is_timestamp(data_type):
        zones = st.just(datetime.UTC) if data_type.tz else st.none()
        return st.datetimes(timezones=zones).map(lambda value: value.replace(fold=0))
    if pa.types.is_list(data_type):
        return st.lists(values(data_type.value_type), max_size=3)
    if pa.types.is_map(data_type):
        return st.lists(st.tuples(_present(data_type.key_type), values(data_type.item_type)), max_size=3)
    if pa.types.is_struct(data_type):
        return st.fixed_dictionaries({field.name: values(field.type) for field in data_type})
    return _BY_TYPE[data_type]


def _decimal(number: int, scale: int) -> Decimal:
    sign, digits = int(number < 0), tuple(map(int, str(abs(number))))
    return Decimal((sign, digits, -scale))


_BY_TYPE: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.float32(): st.floats(width=32),
    pa.float64(): st.floats(),
    pa.string(): st.text(),
    pa.binary(): st.binary(),
    pa.date32(): st.dates(),
    pa.duration("us"): st.timedeltas(),
    pa.month_day_nano_interval(): st.tuples(integers(32), integers(32), integers(64)).map(pa.MonthDayNano),
}
