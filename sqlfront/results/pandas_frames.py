"""Conversion of rows to pandas DataFrames, with the same values and types as PySpark's conversion from
Arrow."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from sqlfront.results import variant_value
from sqlfront_values.arrow.exchange import converted, is_variant_struct
from sqlfront_values.zones.wall_clock import to_wall_clock

if TYPE_CHECKING:
    import pandas

#: Converts a value inside a column to PySpark's value.
_Convert: TypeAlias = Callable[[Any], object]


def to_pandas(table: pa.Table, time_zone: str) -> "pandas.DataFrame":
    """Convert the rows of a result's table to a DataFrame. At any depth, times become nanoseconds, timestamps
    become naive clock times in ``time_zone``, and maps become dicts. Raises pyarrow's error for a time beyond
    the range of nanoseconds, as in PySpark."""
    places = [str(place) for place in range(table.num_columns)]  # two columns may have one name
    columns = [_without_zone(column.combine_chunks(), time_zone) for column in table.columns]
    numbered = pa.Table.from_arrays(columns, places) if columns else table
    frame = numbered.to_pandas(coerce_temporal_nanoseconds=True, maps_as_pydicts="lossy")
    for place, column in zip(places, columns, strict=True):
        convert = _converter(column.type) if pa.types.is_nested(column.type) else None
        if convert is not None:
            frame[place] = frame[place].map(convert, na_action="ignore")
    frame.columns = table.column_names
    return frame


def _without_zone(array: pa.Array, time_zone: str) -> pa.Array:
    """Return the array with its timestamps, at any depth, converted to naive clock times in ``time_zone``."""
    kind = array.type
    if pa.types.is_nested(kind) and not is_variant_struct(kind):
        return converted(array, kind, lambda child, _: _without_zone(child, time_zone))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return to_wall_clock(array, time_zone)
    return array


def _converter(kind: pa.DataType) -> _Convert | None:
    """Return the function that converts the timestamps inside a value of the type to pandas' timestamps, and
    the variants to their class; None if the type has neither."""
    if pa.types.is_timestamp(kind):
        import pandas as pd  # noqa: PLC0415 - pandas is already loaded, since a frame exists

        return pd.Timestamp
    if pa.types.is_list(kind):
        return _list_converter(_converter(kind.value_type))
    if pa.types.is_map(kind):
        return _map_converter(_converter(kind.key_type), _converter(kind.item_type))
    if is_variant_struct(kind):
        return lambda parts: variant_value.VariantVal(parts["value"], parts["metadata"])
    if pa.types.is_struct(kind):
        return _struct_converter({field.name: _converter(field.type) for field in kind})
    return None


def _list_converter(each: _Convert | None) -> _Convert | None:
    if each is None:
        return None

    def convert(values: Iterable[object]) -> object:
        items = [_converted(each, value) for value in values]
        try:
            return np.array(items)
        except ValueError:  # lists of several lengths, where PySpark fails
            array = np.empty(len(items), object)
            array[:] = items
            return array

    return convert


def _map_converter(key: _Convert | None, value: _Convert | None) -> _Convert | None:
    if key is None and value is None:
        return None
    return lambda entries: {_converted(key, k): _converted(value, v) for k, v in entries.items()}


def _struct_converter(fields: dict[str, _Convert | None]) -> _Convert | None:
    if not any(fields.values()):
        return None
    return lambda values: {name: _converted(fields[name], value) for name, value in values.items()}


def _converted(convert: _Convert | None, value: object) -> object:
    return value if value is None or convert is None else convert(value)
