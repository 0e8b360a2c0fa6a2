"""Columns of JSON texts, read into structs by Arrow's reader where it certainly gives Spark's values."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.functions.json.typed.columns import column_of
from sqlfront_values.functions.json.typed.quick import can_read, one_object_a_line, rows_of
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.room import check
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, logical

#: Texts of a piece that Arrow refuses are read one by one; a longer piece is halved.
_FEW: Final = 512
_BETWEEN_CHECKS: Final = 256


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
        if pa.types.is_struct(kind) and kind.num_fields:
            schema = pa.schema(list(kind))
            names = [field.name for field in kind]
            is_readable = can_read(schema, settings) and len(set(names)) == len(names)
            if is_readable and settings.corrupt_column not in names:
                self._schema = schema

    def column(self, texts: list[str | None]) -> pa.Array:
        """Return the column of the texts' values; null for null."""
        if self._schema is None or len(texts) <= _FEW:
            return self._one_by_one(texts)
        known = [text for text in texts if text is not None]
        pieces = self._pieces(known)
        found = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        if len(known) == len(texts):
            return found
        valid = np.array([text is not None for text in texts], np.bool_)
        places = from_numpy(np.cumsum(valid) - 1, BIGINT)
        return found.take(pa.Array.from_buffers(BIGINT, len(texts), [_bits(valid), places.buffers()[1]]))

    def _one_by_one(self, texts: list[str | None]) -> pa.Array:
        values: list[object] = []
        for start in range(0, len(texts), _BETWEEN_CHECKS):
            check()
            values += [
                None if text is None else self._read(text) for text in texts[start : start + _BETWEEN_CHECKS]
            ]
        return column_of(values, self._kind)

    def _pieces(self, texts: list[str]) -> list[pa.Array]:
        if len(texts) <= _FEW:
            return [self._one_by_one(list(texts))]
        check()
        found = self._quickly(texts)
        if found is not None:
            return [found]
        middle = len(texts) // 2
        return [*self._pieces(texts[:middle]), *self._pieces(texts[middle:])]

    def _quickly(self, texts: list[str]) -> pa.Array | None:
        """Return the column of the texts' values as Arrow reads them; None unless each text is an object that
        Arrow reads as Spark does."""
        assert self._schema is not None
        text = "\n".join(texts).encode()
        if text.count(b"\n") != len(texts) - 1 or b"\r" in text:
            return None
        lines = one_object_a_line(text)
        if lines is None or lines.count(b"\n") != len(texts) - 1:
            return None
        batch = rows_of(lines, self._schema, self._settings)
        if batch is None:
            return None
        columns = [
            column.cast(logical(column.type)) if pa.types.is_decimal(column.type) else column
            for column in batch.columns
        ]
        return pa.StructArray.from_arrays(columns, fields=list(self._schema))


def _bits(valid: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
