"""Conversion of JSON values into columns."""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.columns.lists import entries, put_together
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    INT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
    is_interval,
    is_time,
    is_variant,
    is_year_month,
    physical,
)

#: Types whose values are numbers in this package.
_STORAGE: Final = {DATE: INT, TIMESTAMP: BIGINT, TIMESTAMP_NTZ: BIGINT}


def column_of(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return an array in the physical form of the type ``kind``. ``values``: values as
    :mod:`sqlfront_values.functions.json.typed.converters` makes them; None is null."""
    column = _inner(values, kind)
    return column.cast(physical(kind)) if is_decimal(kind) else column


def _inner(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Return an array of values that are parts of arrays, structs or maps: decimals are in their logical type
    there, other types in physical form."""
    if pa.types.is_list(kind):
        lists: list[list[object] | None] = list(values)  # type: ignore[arg-type]
        items = [item for one in lists for item in one or ()]
        return _nested(physical(kind), lists, _inner(items, kind.value_type))
    if pa.types.is_map(kind):
        maps: list[list[tuple[str, object]] | None] = list(values)  # type: ignore[arg-type]
        pairs = [pair for one in maps for pair in one or ()]
        keys = _inner([key for key, _ in pairs], kind.key_type)
        items = _inner([item for _, item in pairs], kind.item_type)
        return _nested(physical(kind), maps, entries(physical(kind), keys, items))
    if pa.types.is_struct(kind):
        rows: list[Sequence[object] | None] = list(values)  # type: ignore[arg-type]
        parts = [
            _inner([None if row is None else row[index] for row in rows], kind.field(index).type)
            for index in range(kind.num_fields)
        ]
        nulls = from_values([row is None for row in rows], BOOLEAN)
        return pa.StructArray.from_arrays(parts, fields=list(physical(kind)), mask=nulls)
    if is_variant(kind):
        return from_values(values, BINARY)
    if is_time(kind):
        return from_values(values, BIGINT)
    if is_interval(kind):
        return from_values(values, INT if is_year_month(kind) else BIGINT).view(physical(kind))
    if (stored := _STORAGE.get(kind)) is not None:
        return from_values(values, stored).view(kind)
    return from_values(values, kind)


def _nested(kind: pa.DataType, values: Sequence[Collection[object] | None], elements: pa.Array) -> pa.Array:
    lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
    return put_together(kind, elements, lengths, np.array([value is not None for value in values], np.bool_))
