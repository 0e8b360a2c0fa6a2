"""The values of a column as an Arrow array of texts, and functions on such arrays of texts."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from sqlfront.results.boxes import column_texts, strings
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.settings import Settings
from sqlfront_values.types import BINARY, STRING

if TYPE_CHECKING:
    import numpy.typing as npt

#: The text of a null in formats for people.
NULL: Final = "NULL"
#: Rows, and bytes of values, whose texts are made at once: both stay in the processor's cache, and the texts
#: below the two GiB of an array.
_ROWS: Final = 16_384
_BYTES: Final = 64 * 1024 * 1024
_JOIN: Final = pc.function("binary_join_element_wise")


def texts(column: pa.Array, kind: pa.DataType, settings: Settings) -> pa.Array:
    """Return the values of a result's column, of the logical type ``kind``, as an array of strings:
    ``CAST(value AS STRING)``, but hex for binary, and ``NULL`` for nulls within arrays, maps and structs.
    Nulls of the column stay null."""
    if not pa.types.is_nested(kind) and kind != BINARY:
        return strings(column, kind, settings)
    return with_nulls(column_texts(column, kind, settings), column)


def with_nulls(shown: list[str], column: pa.Array) -> pa.Array:
    """Return the texts ``shown`` as an array of strings, with null in the rows in which ``column`` is
    null."""
    nulls = column.is_null().to_pylist()
    return from_values([None if null else text for text, null in zip(shown, nulls, strict=True)], STRING)


def characters(texts: pa.Array) -> bytes:
    """Return the bytes of all texts of an array, joined without a separator."""
    return bytes(_bytes(texts))


def has_empty(texts: pa.Array) -> bool:
    """Return whether any text of an array is empty; an array with nulls may give True without an empty text,
    since a null has no characters either."""
    return bool(np.any(np.diff(_offsets(texts)) == 0))


def _bytes(texts: pa.Array) -> memoryview:
    data = texts.buffers()[2]
    if data is None:
        return memoryview(b"")
    offsets = _offsets(texts)
    return memoryview(data)[offsets[0] : offsets[-1]]


def _offsets(texts: pa.Array) -> "npt.NDArray[np.int32]":
    return np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, 4 * texts.offset)


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the batch in slices that are small enough to make the texts of one slice at once: at most 16,384
    rows and about 64 MiB. A batch without rows yields nothing."""
    most = min(_ROWS, max(1, batch.num_rows * _BYTES // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, most):
        yield batch.slice(start, most)


def rows_joined(parts: Sequence[pa.Array | str], separator: str, null: str) -> Iterator[memoryview]:
    """Join the parts of each row with the separator between them, and yield the bytes of all rows, without a
    separator between the rows. A part is an array with a text per row, or a text that all rows share;
    ``null`` is the text that stands for a null. Raises ArrowCapacityError for a row of two GiB."""
    try:
        lines = joined(parts, separator, null)
    except pa.ArrowCapacityError:
        rows = max(len(part) for part in parts if not isinstance(part, str))
        if rows == 1:
            raise
        half = rows // 2
        for start, size in ((0, half), (half, rows - half)):
            part_of = [part if isinstance(part, str) else part.slice(start, size) for part in parts]
            yield from rows_joined(part_of, separator, null)
    else:
        yield _bytes(lines)


def joined(parts: Sequence[pa.Array | str], separator: str = "", null: str | None = None) -> pa.Array:
    """Return an array with the joined parts of each row. A part is an array with a text per row, or a text
    that all rows share; ``null`` is the text that stands for a null; None = a row with a null in a part is
    null. Raises ArrowCapacityError if the texts together are too large for an array."""
    how = "emit_null" if null is None else "replace"
    options = pc.JoinOptions(null_handling=how, null_replacement=null or "")
    operands = [scalar(part, STRING) if isinstance(part, str) else part for part in parts]
    return _JOIN.call([*operands, scalar(separator, STRING)], options)
