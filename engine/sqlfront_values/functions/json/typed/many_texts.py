"""Columns of JSON texts, read into structs by Arrow's reader where it certainly gives Spark's values."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, from_numpy, valid_mask
from sqlfront_values.functions.json.typed.columns import column_of
from sqlfront_values.functions.json.typed.quick import (
    as_lines,
    can_read,
    columns_as_text,
    has_negative_zero,
    rows_of,
)
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.room import check
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, logical, physical

#: Texts of a piece that Arrow refuses are read one by one; a longer piece is halved.
_FEW: Final = 512
_BETWEEN_CHECKS: Final = 256


#: A function that reads a column of texts into a column of values; null for null.
ReadColumn = Callable[[pa.Array], pa.Array]


def in_pieces(
    texts: pa.Array, quickly: Callable[[pa.Array], pa.Array | None], one_by_one: ReadColumn
) -> pa.Array:
    """Return the column of the values of a column of texts; null for null. ``quickly`` reads a column without
    nulls, or returns None; a column that it doesn't read is halved, and few texts are read by
    ``one_by_one``."""
    if len(texts) <= _FEW:
        return one_by_one(texts)
    valid = valid_mask(texts)
    pieces = list(_pieces(texts if valid is None else texts.drop_null(), quickly, one_by_one))
    found = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
    if valid is None:
        return found
    places = from_numpy(np.cumsum(valid) - 1, BIGINT)
    return found.take(pa.Array.from_buffers(BIGINT, len(texts), [bitmap(valid), places.buffers()[1]]))


def _pieces(
    texts: pa.Array, quickly: Callable[[pa.Array], pa.Array | None], one_by_one: ReadColumn
) -> Iterator[pa.Array]:
    check()
    if len(texts) <= _FEW:
        yield one_by_one(texts)
        return
    found = quickly(texts)
    if found is not None:
        yield found
        return
    middle = len(texts) // 2
    yield from _pieces(texts.slice(0, middle), quickly, one_by_one)
    yield from _pieces(texts.slice(middle), quickly, one_by_one)


class ManyTexts:
    """A reader of columns of texts into values of the type ``kind``; ``read`` reads a single text. ``zone``:
    the time zone of timestamps that state none."""

    def __init__(
        self, kind: pa.DataType, settings: JsonSettings, zone: str, read: Callable[[str], object]
    ) -> None:
        self._kind = kind
        self._read = read
        self._settings = Settings(time_zone=zone)
        self._schema: pa.Schema | None = None
        #: The schema by which Arrow reads: that of the result, but for texts that are numbers or booleans.
        self._read_schema: pa.Schema | None = None
        if pa.types.is_struct(kind) and kind.num_fields:
            schema = pa.schema(list(kind))
            names = [field.name for field in kind]
            is_readable = can_read(schema, settings) and len(set(names)) == len(names)
            if is_readable and settings.corrupt_column not in names:
                self._schema = self._read_schema = schema

    def column(self, texts: pa.Array) -> pa.Array:
        """Return the column of the values of a column of texts; null for null."""
        if self._schema is None:
            return self._one_by_one(texts)
        return in_pieces(texts, self._quickly, self._one_by_one)

    def _one_by_one(self, column: pa.Array) -> pa.Array:
        texts: list[str | None] = column.to_pylist()
        values: list[object] = []
        for start in range(0, len(texts), _BETWEEN_CHECKS):
            check()
            values += [
                None if text is None else self._read(text) for text in texts[start : start + _BETWEEN_CHECKS]
            ]
        return column_of(values, self._kind)

    def _quickly(self, texts: pa.Array) -> pa.Array | None:
        """Return the column of the texts' values as Arrow reads them; None unless each text is an object that
        Arrow reads as Spark does."""
        assert self._schema is not None
        lines = as_lines(texts)
        if lines is None:
            return None
        batch = self._rows(lines)
        if batch is None:
            return None
        columns = [
            column.cast(logical(field.type))
            if pa.types.is_decimal(column.type) or column.type != physical(field.type)
            else column
            for column, field in zip(batch.columns, self._schema, strict=True)
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self._schema))

    def _rows(self, lines: bytes) -> pa.RecordBatch | None:
        """Return the columns that Arrow reads from the lines: with whole numbers and booleans for fields that
        are texts, if all values of these are such. None: see :func:`rows_of`."""
        assert self._schema is not None
        assert self._read_schema is not None
        batch = self._rows_by(self._read_schema, lines)
        if batch is not None:
            return batch
        schema = columns_as_text(lines, self._schema)
        if schema == self._read_schema:
            return None
        batch = self._rows_by(schema, lines)
        if batch is not None:
            self._read_schema = schema
        return batch

    def _rows_by(self, schema: pa.Schema, lines: bytes) -> pa.RecordBatch | None:
        if schema != self._schema and has_negative_zero(lines):
            return None
        return rows_of(lines, schema, self._settings)
