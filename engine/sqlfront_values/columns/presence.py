"""Presence of keys: a byte per possible key, so that most rows without a partner are recognised before any
other column is read."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import valid_mask
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.encoding import as_integers, value_range
from sqlfront_values.columns.hashing import MULTIPLIERS

#: Places for each hashed key: about one in this many absent keys seems to be present.
HASHED_PLACES: Final = 16
#: Each possible key gets a place (one byte) if that takes no more places than hashing, or at most this many
#: (8 MiB).
SMALL_TABLE: Final = 2**23


class KeyPresence:
    """A set of the values of a column, nulls aside, for an inexact test (:meth:`test`) that accepts every
    value of the set, but may also accept null or a value of the same hash."""

    def __init__(self, keys: Integers) -> None:
        low, high = value_range(keys, None)
        count = high - low + 1
        self._hash_shift: np.uint64 | None = None
        if low > -(2**63) and count <= max(HASHED_PLACES * len(keys), SMALL_TABLE):
            # The first and the last place are for values below and above the range.
            self._origin = np.int64(low - 1)
            self._places = np.zeros(count + 2, np.bool_)
        else:
            bits = (HASHED_PLACES * len(keys)).bit_length()
            self._hash_shift = np.uint64(64 - bits)
            self._places = np.zeros(1 << bits, np.bool_)
        self._places[self._place(keys)] = True

    @classmethod
    def of(cls, column: pa.Array) -> "KeyPresence | None":
        """Build the set of the column's values, nulls aside; None for types whose values :func:`as_integers`
        does not represent."""
        keys = as_integers(column)
        valid = valid_mask(column)
        if keys is None or valid is None:
            return None if keys is None else cls(keys)
        return cls(keys[valid])

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of memory that the set holds."""
        return self._places.nbytes

    def test(self, column: pa.Array) -> Mask | None:
        """Return a mask: False where the value is surely not in the set, True where the value is or may be in
        the set. Return None if :func:`as_integers` does not represent the values of ``column``."""
        values = as_integers(column)
        return None if values is None else self._places.take(self._place(values), mode="clip")

    def _place(self, values: Integers) -> Integers:
        if self._hash_shift is None:
            return values - self._origin
        products = values.view(np.uint64) * MULTIPLIERS[0]
        return (products >> self._hash_shift).view(np.int64)
