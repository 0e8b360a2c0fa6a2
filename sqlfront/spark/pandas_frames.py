"""Rows as pandas DataFrames, as PySpark makes them of Arrow."""

from typing import TYPE_CHECKING

import pyarrow as pa

from sqlfront_engine.arrow_intervals import converted
from sqlfront_engine.zones import to_wall_clock

if TYPE_CHECKING:
    import pandas


def to_pandas(table: pa.Table, time_zone: str) -> "pandas.DataFrame":
    """The rows of a table that a result gives: times in nanoseconds, timestamps without a zone in
    ``time_zone``, maps as dicts. Errors: pyarrow's for a time that nanoseconds don't reach, as in PySpark."""
    places = [str(place) for place in range(table.num_columns)]  # two columns may have one name
    columns = [_without_zone(column.combine_chunks(), time_zone) for column in table.columns]
    numbered = pa.Table.from_arrays(columns, places) if columns else table
    frame = numbered.to_pandas(coerce_temporal_nanoseconds=True, maps_as_pydicts="lossy")
    frame.columns = table.column_names
    return frame


def _without_zone(array: pa.Array, time_zone: str) -> pa.Array:
    """The array with its timestamps, at any depth, as clocks in ``time_zone`` show them."""
    kind = array.type
    if pa.types.is_nested(kind):
        return converted(array, kind, lambda child, _: _without_zone(child, time_zone))
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return to_wall_clock(array, time_zone)
    return array
