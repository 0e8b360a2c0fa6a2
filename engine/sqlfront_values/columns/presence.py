"""Whether a key is among others at all: a byte per possible key, so that most rows without a partner are
recognised before anything else of them is read."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import valid_mask
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.encoding import as_integers, value_range
from sqlfront_values.columns.hashing import MULTIPLIERS

#: Places for each key that is hashed: about one in so many keys that aren't there seems to be.
HASHED_PLACES: Final = 16
#: Keys get a place for each possible one if that takes no more places than hashing, or at most these.
SMALL_TABLE: Final = 2**23


class KeyPresence:
    """The values of a column, nulls aside, as far as a test tells that never misses one of them but may take
    another value for one: null, or one of the same hash."""

    def __init__(self, keys: Integers) -> None:
        low, high = value_range(keys, None)
        count = high - low + 1
        self._hash_shift: np.uint64 | None = None
        if low > -(2**63) and count <= max(HASHED_PLACES * len(keys), SMALL_TABLE):
            # The first and the last place are for what is below and above the range.
            self._origin = np.int64(low - 1)
            self._places = np.zeros(count + 2, np.bool_)
        else:
            bits = (HASHED_PLACES * len(keys)).bit_length()
            self._hash_shift = np.uint64(64 - bits)
            self._places = np.zeros(1 << bits, np.bool_)
        self._places[self._place(keys)] = True

    @classmethod
    def of(cls, column: pa.Array) -> "KeyPresence | None":
        """The presence of the column's values; None for types that aren't compared as integers."""
        keys = as_integers(column)
        valid = valid_mask(column)
        if keys is None or valid is None:
            return None if keys is None else cls(keys)
        return cls(keys[valid])

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._places.nbytes

    def test(self, column: pa.Array) -> Mask | None:
        """False where the value isn't one of the keys; None if that can't be told."""
        values = as_integers(column)
        return None if values is None else self._places.take(self._place(values), mode="clip")

    def _place(self, values: Integers) -> Integers:
        if self._hash_shift is None:
            return values - self._origin
        products = values.view(np.uint64) * MULTIPLIERS[0]
        return (products >> self._hash_shift).view(np.int64)
