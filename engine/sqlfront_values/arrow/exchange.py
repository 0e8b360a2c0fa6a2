"""Intervals, times of day and variants in Arrow's own types, for results that leave the engine and for input.

:class:`~sqlfront_values.types.IntervalType`, :class:`~sqlfront_values.types.TimeType` and
:class:`~sqlfront_values.types.VariantType` are unknown outside the engine. Outside, a day-time interval is a
``duration("us")`` and a time of day a ``time64("ns")``, as in PySpark's ``toArrow``, and a year-month
interval, which PySpark gives up on, is a ``month_day_nano_interval`` of months alone. A variant is a struct
of two binaries whose field ``metadata`` is marked, as in PySpark's ``toArrow``. Inside of nested types they
get these types, too. All other types are the same inside and outside."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.variant_rows import from_struct, to_struct
from sqlfront_values.errors import DataError
from sqlfront_values.types import (
    DAY_TIME_INTERVAL,
    INT,
    TIME,
    VARIANT,
    YEAR_MONTH_INTERVAL,
    holds_own,
    is_interval,
    is_time,
    is_variant,
    is_year_month,
    physical,
    with_leaves,
)

_MONTHS: Final = pa.month_day_nano_interval()
#: A time of day.
CLOCK: Final = pa.time64("ns")
#: Months and days as int32, nanoseconds as int64.
#: The struct of a variant's parts; the mark tells it from other structs.
VARIANT_STRUCT: Final = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
_LAYOUT: Final = np.dtype([("months", "i4"), ("days", "i4"), ("nanoseconds", "i8")])


def exported_type(data_type: pa.DataType) -> pa.DataType:
    """Return Arrow's own type for a logical type: intervals, times of day and variants, also inside of nested
    types, become Arrow's; all other types stay.

    >>> exported_type(DAY_TIME_INTERVAL), exported_type(pa.list_(YEAR_MONTH_INTERVAL)).value_type
    (DurationType(duration[us]), DataType(month_day_nano_interval))
    """
    return with_leaves(data_type, _exported_leaf) if holds_own(data_type) else data_type


def _exported_leaf(data_type: pa.DataType) -> pa.DataType:
    if is_year_month(data_type):
        return _MONTHS
    if is_variant(data_type):
        return VARIANT_STRUCT
    if is_time(data_type):
        return CLOCK
    return physical(data_type) if is_interval(data_type) else data_type


def exported_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the :func:`exported_type` of each column's logical type."""
    if not any(holds_own(data_type) for data_type in schema.types):
        return schema
    return pa.schema([field.with_type(exported_type(field.type)) for field in schema])


def imported_type(data_type: pa.DataType) -> pa.DataType | None:
    """Return the logical type for one of Arrow's own interval types (a duration, or months, days and
    nanoseconds), for a time of day of 64 bits, and for a struct that is marked as a variant; None for other
    types, other nested types included."""
    if pa.types.is_time64(data_type):
        return TIME
    if pa.types.is_duration(data_type):
        return DAY_TIME_INTERVAL
    if is_variant_struct(data_type):
        return VARIANT
    return YEAR_MONTH_INTERVAL if data_type == _MONTHS else None


def is_variant_struct(data_type: pa.DataType) -> bool:
    """Return whether a type is the struct of a variant's parts, marked as by PySpark."""
    if not pa.types.is_struct(data_type) or data_type.num_fields != 2:
        return False
    place = data_type.get_field_index("metadata")
    if place < 0 or data_type.get_field_index("value") < 0:
        return False
    return (data_type.field(place).metadata or {}).get(b"variant") == b"true"


def exported(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert an array in physical form, of a logical ``data_type`` that holds intervals, times of day or
    variants, to the type's :func:`exported_type`."""
    if is_time(data_type):
        return array.view(CLOCK)
    if is_year_month(data_type):
        return _from_months(array)
    if is_variant(data_type):
        return to_struct(array, VARIANT_STRUCT)
    return converted(array, data_type, exported) if pa.types.is_nested(data_type) else array


def imported(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Convert an array of the :func:`exported_type` of ``data_type`` to the physical form of ``data_type``;
    a time of day may be a ``time64`` of any unit. Raises DataError for an interval with days or nanoseconds
    where only months are allowed."""
    if is_time(data_type):
        return array.cast(CLOCK).view(pa.int64())
    if is_year_month(data_type):
        return _to_months(array)
    if is_variant(data_type):
        return from_struct(array)
    return converted(array, data_type, imported) if pa.types.is_nested(data_type) else array


def converted(
    array: pa.Array, data_type: pa.DataType, convert: Callable[[pa.Array, pa.DataType], pa.Array]
) -> pa.Array:
    """Return a nested array (list, map or struct) whose children are replaced by ``convert(child, child
    type)``.

    The child types are those of ``data_type``, the logical type of ``array``; struct fields take their names
    from ``data_type``."""
    if pa.types.is_struct(data_type):
        children = [
            convert(child, data_type.field(index).type) for index, child in enumerate(array.flatten())
        ]
        fields = [data_type.field(index).with_type(child.type) for index, child in enumerate(children)]
        validity = [bitmap(valid_mask(array))]
        return pa.Array.from_buffers(pa.struct(fields), len(array), validity, children=children)
    buffers = [bitmap(valid_mask(array)), pa.py_buffer(numpy_view(array.offsets))]
    if pa.types.is_map(data_type):
        keys, items = convert(array.keys, data_type.key_type), convert(array.items, data_type.item_type)
        entry = [pa.field("key", keys.type, nullable=False), pa.field("value", items.type)]
        entries = pa.StructArray.from_arrays([keys, items], fields=entry)
        return pa.Array.from_buffers(pa.map_(keys.type, items.type), len(array), buffers, children=[entries])
    values = convert(array.values, data_type.value_type)
    kind = pa.list_(data_type.value_field.with_type(values.type))
    return pa.Array.from_buffers(kind, len(array), buffers, children=[values])


def _from_months(months: pa.Array) -> pa.Array:
    values = np.zeros(len(months), _LAYOUT)
    values["months"] = numpy_view(months)
    buffers = [bitmap(valid_mask(months)), pa.py_buffer(values)]
    return pa.Array.from_buffers(_MONTHS, len(months), buffers)


def _to_months(intervals: pa.Array) -> pa.Array:
    if not len(intervals):
        return pa.nulls(0, INT)
    values = np.frombuffer(intervals.buffers()[1], _LAYOUT, len(intervals), 16 * intervals.offset)
    valid = valid_mask(intervals)
    mixed = (values["days"] != 0) | (values["nanoseconds"] != 0)
    if (mixed if valid is None else mixed & valid).any():
        raise DataError("An interval of months has days or nanoseconds too.")
    return from_numpy(values["months"].copy(), INT, valid)
