"""Conditions on floating columns over which Spark's reader of Parquet leaves out row groups that have
matching rows: NaN isn't within the bounds that other writers than Spark state, and a dictionary keeps 0.0
and -0.0 apart, which are equal in SQL (``StatisticsFilter`` and ``DictionaryFilter`` of parquet-java)."""

import msgspec
import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors.files.parquet_footer import Chunk
from sqlfront_engine.evaluate import filter_batch
from sqlfront_engine.expressions import Column, EngineExpr, Literal, columns_used, map_columns, walk
from sqlfront_engine.settings import Settings
from sqlfront_engine.types import is_fractional


class FloatCondition(msgspec.Struct, frozen=True):
    """A condition over the columns of a file's batches. ``places``: of its floating columns; ``zeros``:
    whether those that it compares with are negative."""

    condition: EngineExpr
    places: tuple[int, ...]
    zeros: frozenset[bool]

    def may_be_left_out(self, batch: pa.RecordBatch, chunks: dict[int, Chunk], settings: Settings) -> bool:
        """Whether none but odd rows of the batch match, or with an index of pages any. ``chunks``: of the
        floating columns, by their places."""
        odd = np.zeros(batch.num_rows, dtype=bool)
        for place in self.places:
            odd |= self._odd(batch.column(place), chunks[place])
        if not odd.any() or not self._matches(batch, odd, settings):
            return False
        has_index = any(chunks[place].has_index for place in self.places)
        return has_index or not self._matches(batch, ~odd, settings)

    def _odd(self, column: pa.Array, chunk: Chunk) -> np.ndarray:
        values = column.fill_null(1).to_numpy(zero_copy_only=False)
        odd = np.zeros(len(values), dtype=bool)
        if _bounds_are_numbers(chunk, values.dtype):
            odd |= np.isnan(values)
        if chunk.has_dictionary or chunk.has_index:
            for negative in self.zeros:
                odd |= (values == 0) & (np.signbit(values) != negative)
        return odd

    def _matches(self, batch: pa.RecordBatch, mask: np.ndarray, settings: Settings) -> bool:
        return filter_batch(batch.filter(pa.array(mask)), self.condition, settings).num_rows > 0


def _bounds_are_numbers(chunk: Chunk, kind: np.dtype) -> bool:
    """Whether it states bounds that Spark believes: those with NaN it doesn't."""
    bounds = (chunk.minimum, chunk.maximum)
    return all(
        bound is not None and len(bound) == kind.itemsize and not np.isnan(np.frombuffer(bound, kind)[0])
        for bound in bounds
    )


def float_conditions(filters: tuple[EngineExpr, ...], places: dict[int, int]) -> tuple[FloatCondition, ...]:
    """Those of the filters that compare floating columns with numbers. ``places``: where the columns of the
    table that the file has stand in its batches."""
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
