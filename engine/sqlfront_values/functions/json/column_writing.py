"""The JSON texts of columns of any type, as ``to_json`` writes them, by Arrow's kernels.

The text of a value is joined from parts: constant texts and columns of texts. Types of rare use are written
value by value.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.casts import compile_cast
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.joining import join_present
from sqlfront_values.columns.json_escapes import escaped
from sqlfront_values.columns.lists import outer, put_together, take_apart
from sqlfront_values.functions.json.value_writing import writer
from sqlfront_values.functions.json.values import write_string
from sqlfront_values.functions.rowwise import map_values, micros_of
from sqlfront_values.functions.time.column_formatting import format_local
from sqlfront_values.java.civil import MICROS_PER_MINUTE
from sqlfront_values.settings import DEFAULT_SETTINGS
from sqlfront_values.types import (
    BOOLEAN,
    DATE,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    is_decimal,
    is_fractional,
    is_integral,
    is_string,
    is_time,
)
from sqlfront_values.zones.wall_clock import wall_clock

#: The parts of the texts of a column's values: a row's text is that of all parts in their order, and null if
#: a part is null in the row, which is so exactly for null values.
_Parts = list[pa.Array | str]
_JOIN: Final = pc.function("binary_join_element_wise", "JoinOptions", null_handling="emit_null")
_JOIN_LISTS: Final = pc.function("binary_join")
_COALESCE: Final = pc.function("coalesce")
_TEXTS: Final = pa.list_(STRING)
_NULL: Final = scalar("null", STRING)
_COMMA: Final = scalar(",", STRING)
_EMPTY: Final = scalar("", STRING)
_CLOCK: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS"
#: Digits behind the point up to which Java and Arrow write decimals alike, without exponents.
_PLAIN_SCALE: Final = 6
#: Days and microseconds of the years 1 to 9999, for which alone there are texts.
_FIRST_DAY, _BEYOND_DAY = -719_162, 2_932_897
_MICROS_PER_DAY: Final = 86_400_000_000


class ColumnWriter:
    """A writer of columns as JSON texts. ``zone``: the time zone whose wall clock timestamps show."""

    def __init__(self, zone: str) -> None:
        self._zone = zone

    def texts(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        """Return the JSON texts of the values of the type ``kind``; null for null. Raises NotSupportedError
        for types that can't be written, and for dates and timestamps beyond the years 1 to 9999."""
        return _joined(self._parts(column, kind))

    def _parts(self, column: pa.Array, kind: pa.DataType) -> _Parts:
        if pa.types.is_struct(kind) and kind.num_fields:
            return self._struct(column, kind)
        if pa.types.is_map(kind) and kind.key_type == STRING:
            return self._map(column, kind)
        if pa.types.is_list(kind):
            lists = take_apart(column)
            items = _COALESCE.call([self.texts(lists.flat(), kind.value_type), _NULL])
            return ["[", _comma_joined(items, lists.lengths, lists.valid), "]"]
        return self._atoms(column, kind)

    def _struct(self, column: pa.StructArray, kind: pa.StructType) -> _Parts:
        names = [f"{write_string(field.name)}:" for field in kind]
        fields = [
            [name, *self._parts(values, field.type)]
            for name, values, field in zip(names, column.flatten(), kind, strict=True)
        ]
        if not any(isinstance(part, pa.Array) and part.null_count for field in fields for part in field):
            commas: _Parts = [part for field in fields for part in (",", *field)]
            return ["{", *commas[1:], "}"]
        members = join_present([_joined(field) for field in fields], _COMMA)
        valid = valid_mask(column)
        return ["{", members if valid is None else _with_nulls(members, valid), "}"]

    def _map(self, column: pa.MapArray, kind: pa.MapType) -> _Parts:
        lists = take_apart(column)
        keys, items = lists.flat().flatten()
        values = _COALESCE.call([self.texts(items, kind.item_type), _NULL])
        pairs = _joined([*_quoted(keys), ":", values])
        return ["{", _comma_joined(pairs, lists.lengths, lists.valid), "}"]

    def _atoms(self, column: pa.Array, kind: pa.DataType) -> _Parts:
        if is_string(kind):
            return _quoted(column)
        if kind == VOID:
            return [pa.nulls(len(column), STRING)]
        if _has_plain_text(column, kind):
            return [compile_cast(kind, STRING, safe=False, settings=DEFAULT_SETTINGS)(outer(column))]
        if is_time(kind) or (kind == DATE and _in_range(numpy_view(column), 1)):
            return ['"', compile_cast(kind, STRING, safe=False, settings=DEFAULT_SETTINGS)(column), '"']
        if kind in (TIMESTAMP, TIMESTAMP_NTZ) and _in_range(numpy_view(column), _MICROS_PER_DAY):
            texts = self._moments(column, kind)
            if texts is not None:
                return ['"', texts, '"']
        return [map_values(writer(kind, self._zone), column, STRING)]

    def _moments(self, column: pa.Array, kind: pa.DataType) -> pa.Array | None:
        """Return the texts of timestamps; None if the wall clock is off UTC by seconds, which have another
        form."""
        micros, valid = micros_of(column), valid_mask(column)
        if valid is not None:
            micros = np.where(valid, micros, 0)
        if kind == TIMESTAMP_NTZ:
            return format_local(micros, np.zeros_like(micros), "UTC", _CLOCK, valid)
        local = wall_clock(micros, self._zone)
        offsets = local - micros
        if np.any(offsets % MICROS_PER_MINUTE):
            return None
        return format_local(local, offsets, self._zone, f"{_CLOCK}XXX", valid)


def _has_plain_text(column: pa.Array, kind: pa.DataType) -> bool:
    """Return whether the JSON texts of the values are those of their casts to strings."""
    if is_fractional(kind) and not is_decimal(kind):
        return bool(np.isfinite(numpy_view(column)).all())
    return kind == BOOLEAN or is_integral(kind) or (is_decimal(kind) and kind.scale <= _PLAIN_SCALE)


def _in_range(values: npt.NDArray[np.generic], per_day: int) -> bool:
    """Return whether the values, in units of which a day has ``per_day``, are in the years 1 to 9999."""
    if len(values) == 0:
        return True
    return int(values.min()) >= _FIRST_DAY * per_day and int(values.max()) < _BEYOND_DAY * per_day


def _quoted(texts: pa.Array) -> _Parts:
    return ['"', escaped(texts, write_string), '"']


def _joined(parts: _Parts) -> pa.Array:
    if len(parts) == 1 and isinstance(parts[0], pa.Array):
        return parts[0]
    return _JOIN.call([*(scalar(part, STRING) if isinstance(part, str) else part for part in parts), _EMPTY])


def _comma_joined(texts: pa.Array, lengths: Integers, valid: Mask | None) -> pa.Array:
    """Return a text a row: the next ``lengths[row]`` texts, with commas between; null where ``valid`` is
    False."""
    return _JOIN_LISTS.call([put_together(_TEXTS, texts, lengths, valid), _COMMA])


def _with_nulls(texts: pa.Array, valid: Mask) -> pa.Array:
    return pc.if_else(from_numpy(valid, BOOLEAN), texts, scalar(None, STRING))
