"""Filters on floating-point columns for which Spark's reader of Parquet leaves out row groups that have
matching rows (``StatisticsFilter`` and ``DictionaryFilter`` of parquet-java).

Spark loses two kinds of values, called odd here. One is NaN, which is outside of the bounds that other
writers than Spark state. The other is a zero whose sign differs from the sign of the filter's zero: 0.0 and
-0.0 are equal in SQL, but different entries of a dictionary.
"""

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.files.parquet.footer import Chunk
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.evaluate import filter_batch
from sqlfront_values.expressions import Column, EngineExpr, Literal, columns_used, map_columns, walk
from sqlfront_values.settings import Settings
from sqlfront_values.types import BOOLEAN, is_fractional


class FloatCondition(msgspec.Struct, frozen=True):
    """A filter that compares floating-point columns with numbers. ``condition``: the filter, over the columns
    of a file's batches. ``places``: the ordinals of the floating-point columns in the filter. ``zeros``: the
    signs of the zero literals in the filter, True for -0.0, False for 0.0."""

    condition: EngineExpr
    places: tuple[int, ...]
    zeros: frozenset[bool]

    def may_be_left_out(self, batch: pa.RecordBatch, chunks: dict[int, Chunk], settings: Settings) -> bool:
        """Return whether Spark may leave out rows of the batch that match the filter. A value is odd if
        Spark's reader may overlook it: NaN, or a zero with another sign than the filter's zero. The result is
        True if all matching rows have an odd value, or if at least one has and a column has bounds of its
        pages, by which Spark leaves out parts of a row group.

        ``chunks``: by ordinal, the column chunks of the floating-point columns. ``settings``: the session's
        settings, for the filter's evaluation."""
        odd = np.zeros(batch.num_rows, dtype=bool)
        for place in self.places:
            odd |= self._odd(batch.column(place), chunks[place])
        if not odd.any() or not self._matches(batch, odd, settings):
            return False
        has_index = any(chunks[place].has_index for place in self.places)
        return has_index or not self._matches(batch, ~odd, settings)

    def _odd(self, column: pa.Array, chunk: Chunk) -> np.ndarray:
        """Return a mask of the rows in which ``column`` has an odd value: NaN if ``chunk`` has usable
        bounds; a zero of the other sign than a zero of the filter if ``chunk`` has a dictionary or
        bounds of pages."""
        values, valid = numpy_view(column), valid_mask(column)
        odd = np.zeros(len(values), dtype=bool)
        if _bounds_are_numbers(chunk, values.dtype):
            odd |= np.isnan(values)
        if chunk.has_dictionary or chunk.has_index:
            for negative in self.zeros:
                odd |= (values == 0) & (np.signbit(values) != negative)
        return odd if valid is None else odd & valid

    def _matches(self, batch: pa.RecordBatch, mask: np.ndarray, settings: Settings) -> bool:
        return filter_batch(batch.filter(from_numpy(mask, BOOLEAN)), self.condition, settings).num_rows > 0


def _bounds_are_numbers(chunk: Chunk, kind: np.dtype) -> bool:
    """Return whether the chunk has a minimum and a maximum of the type ``kind`` that are not NaN; Spark
    ignores other bounds."""
    bounds = (chunk.minimum, chunk.maximum)
    return all(
        bound is not None and len(bound) == kind.itemsize and not np.isnan(np.frombuffer(bound, kind)[0])
        for bound in bounds
    )


def float_conditions(filters: tuple[EngineExpr, ...], places: dict[int, int]) -> tuple[FloatCondition, ...]:
    """Return those filters that compare floating-point columns with numbers, rewritten from the table's
    ordinals to the ordinals of a file's batches. ``places``: for each table ordinal of a column that the file
    has, the column's ordinal in the batches. A filter that uses a column without such an ordinal is left out.
    """
    found = []
    for condition in filters:
        literals = [
            part for part in walk(condition) if isinstance(part, Literal) and is_fractional(part.type)
        ]
        used = columns_used(condition)
        if not literals or not used <= places.keys():
            continue
        moved = map_columns(condition, lambda column: replace(column, ordinal=places[column.ordinal]))
        floats = {
            part.ordinal for part in walk(moved) if isinstance(part, Column) and is_fractional(part.type)
        }
        zeros = {bool(np.signbit(part.value)) for part in literals if part.value == 0}
        if floats:
            found.append(FloatCondition(moved, tuple(sorted(floats)), frozenset(zeros)))
    return tuple(found)
