"""Columns of JSON texts, read at one path as ``get_json_object`` does, by Arrow's reader where it certainly
gives Spark's texts."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.casts import compile_cast
from sqlfront_values.columns.lists import take_apart
from sqlfront_values.functions.json.typed.many_texts import in_pieces
from sqlfront_values.functions.json.typed.quick import (
    as_lines,
    has_negative_zero,
    rows_of,
    types_of_first,
)
from sqlfront_values.functions.rowwise import map_values
from sqlfront_values.settings import DEFAULT_SETTINGS
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, STRING, VOID

#: The steps of a path: names of members and places of elements.
Steps = tuple[str | int, ...]


class PathReader:
    """A reader of the texts of the values at a path of names and indexes, of which the first is a name.
    ``read`` reads the value of a single text."""

    def __init__(self, steps: Steps, read: Callable[[str], str | None]) -> None:
        self._steps = steps
        self._read = read

    def column(self, texts: pa.Array) -> pa.Array:
        """Return the texts of the values of a column of JSON texts; null for none."""
        return in_pieces(texts, self._quickly, self._one_by_one)

    def _one_by_one(self, texts: pa.Array) -> pa.Array:
        return map_values(self._read, texts, STRING)

    def _quickly(self, texts: pa.Array) -> pa.Array | None:
        lines = as_lines(texts)
        kinds = None if lines is None else types_of_first(lines)
        if lines is None or kinds is None:
            return None
        kind = _type_at(pa.struct(list(kinds)), self._steps)
        if kind is None:  # values that must be written anew
            return self._one_by_one(texts)
        if kind != STRING and has_negative_zero(lines):
            return None
        batch = rows_of(lines, pa.schema(list(_type_around(self._steps, kind))), DEFAULT_SETTINGS)
        if batch is None:
            return None
        values, exist = _values_at(batch.to_struct_array(), self._steps)
        found = values if kind == STRING else self._as_texts(values, texts)
        # An element that is null has a text, a member that is null has none.
        return found if exist is None else pc.if_else(pc.and_(exist, found.is_null()), "null", found)

    def _as_texts(self, values: pa.Array, texts: pa.Array) -> pa.Array:
        """Return the values of a column as texts. A double that may have been an integer in its JSON text is
        read from there."""
        written: pa.Array = compile_cast(values.type, STRING, safe=False, settings=DEFAULT_SETTINGS)(values)
        if values.type != DOUBLE:
            return written
        numbers, valid = numpy_view(values), valid_mask(values)
        whole = numbers == np.floor(numbers)
        if valid is not None:
            whole &= valid
        if not whole.any():
            return written
        mask = from_numpy(whole, BOOLEAN)
        return pc.replace_with_mask(written, mask, self._one_by_one(texts.filter(mask)))


def _type_at(kind: pa.DataType, steps: Steps) -> pa.DataType | None:
    """Return the type by which the values at the path are read, if the first values have the type ``kind``;
    None for values of nested types."""
    for step in steps:
        if isinstance(step, str) and pa.types.is_struct(kind):
            if kind.get_field_index(step) < 0:
                return STRING
            kind = kind.field(step).type
        elif isinstance(step, int) and pa.types.is_list(kind):
            kind = kind.value_type
        else:
            return STRING if kind == VOID else None
    if pa.types.is_nested(kind):
        return None
    return kind if kind in (BIGINT, BOOLEAN, DOUBLE) else STRING


def _type_around(steps: Steps, kind: pa.DataType) -> pa.DataType:
    """Return the type of values that have only a value of the type ``kind`` at the path."""
    for step in reversed(steps):
        kind = pa.struct([(step, kind)]) if isinstance(step, str) else pa.list_(kind)
    return kind


def _values_at(values: pa.Array, steps: Steps) -> tuple[pa.Array, pa.Array | None]:
    """Return the values at the path, and for a path that ends with an index which rows have this element."""
    exist: pa.Array | None = None
    for step in steps:
        if isinstance(step, str):
            values, exist = values.flatten()[0], None
            continue
        lists = take_apart(values)
        known = lists.lengths > step
        places = from_numpy(np.where(known, lists.starts + step, 0), BIGINT, known)
        values, exist = lists.elements.take(places), from_numpy(known, BOOLEAN)
    return values, exist
