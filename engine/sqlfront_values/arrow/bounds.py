"""Checks of batches whose bytes came from outside the process, so that no kernel reads out of bounds."""

from typing import Final

import numpy as np
import pyarrow as pa

_OFFSET_TYPES: Final = frozenset({pa.string().id, pa.binary().id})


def check_bounds(batch: pa.RecordBatch) -> None:
    """Raise ValueError if a length, an offset or a dictionary code of the batch points outside the data. The
    bytes of strings are not checked: invalid UTF-8 passes, except in nested columns."""
    batch.validate()
    for column in batch.columns:
        if column.type.id in _OFFSET_TYPES:
            _check_offsets(column)
        elif column.type.num_fields or isinstance(column.type, pa.BaseExtensionType):
            column.validate(full=True)


def _check_offsets(column: pa.Array) -> None:
    """Raise ValueError if an offset of the column is less than the one before. Arrow has already checked
    that the first and the last offset are inside the data."""
    count = len(column) + 1 if len(column) else 0
    offsets = np.frombuffer(column.buffers()[1], np.int32, count, 4 * column.offset)
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError("the offsets decrease")
