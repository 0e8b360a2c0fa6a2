"""Lists and maps taken apart into their elements, and put together again.

Inside a list, map or struct, values have their logical form (decimals of any precision as ``decimal128``,
strings plain): :func:`inner` converts a column to its form inside, :func:`outer` converts back.
"""

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import bitmap, valid_mask
from sqlfront_values.arrow.forms import narrowed, plain, widened
from sqlfront_values.columns.batches import Integers, Mask, gather, row_indices
from sqlfront_values.errors import OperationalError

#: Elements of all lists of an array: Arrow's offsets have 32 bits.
_MOST_ELEMENTS = 2**31 - 1


class Lists(msgspec.Struct, frozen=True):
    """A list or map column taken apart: row ``i`` has the elements ``elements[starts[i] : starts[i] +
    lengths[i]]``; a map's elements are its entries. ``valid`` is False in null rows, whose length is 0; None
    if no row is null."""

    elements: pa.Array
    starts: Integers
    lengths: Integers
    valid: Mask | None

    def rows(self) -> Integers:
        """Return for each element, in the order of :meth:`flat`, the number of its row."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def firsts(self) -> Integers:
        """Return the position of each row's first element in :meth:`flat`."""
        return np.cumsum(self.lengths) - self.lengths

    def places(self) -> Integers:
        """Return the positions in ``elements`` of the elements of :meth:`flat`."""
        return np.arange(int(self.lengths.sum())) + np.repeat(self.starts - self.firsts(), self.lengths)

    def flat(self) -> pa.Array:
        """Return the elements row after row, without gaps."""
        total = int(self.lengths.sum())
        if total == 0:
            return self.elements.slice(0, 0)
        used = self.lengths > 0
        starts, lengths = self.starts[used], self.lengths[used]
        if np.array_equal(starts[1:], starts[:-1] + lengths[:-1]):
            return self.elements.slice(int(starts[0]), total)
        return gather(self.elements, row_indices(self.places()))


def inner(column: pa.Array) -> pa.Array:
    """Convert a column to the form that values have inside a nested column: decimals become decimal128,
    dictionary strings plain. ``column``: a column in physical form."""
    return widened(plain(column))


def outer(column: pa.Array) -> pa.Array:
    """Convert values from inside a nested column to the physical form of a column of their own: decimals of
    at most 18 digits become decimal64, other values stay as they are."""
    return narrowed(column)


def take_apart(column: pa.Array) -> Lists:
    """Return the elements, offsets, lengths and validity of a list or map column; the elements are not
    copied."""
    valid, length = valid_mask(column), len(column)
    if length == 0:
        nothing = np.zeros(0, np.int64)
        return Lists(column.values.slice(0, 0), nothing, nothing, None)
    offsets = np.frombuffer(column.buffers()[1], np.int32, length + 1, 4 * column.offset).astype(np.int64)
    lengths = np.diff(offsets)
    return Lists(
        column.values, offsets[:-1], lengths if valid is None else np.where(valid, lengths, 0), valid
    )


def put_together(
    data_type: pa.DataType, elements: pa.Array, lengths: Integers, valid: Mask | None = None
) -> pa.Array:
    """Build a list or map column of ``data_type``, whose row ``i`` holds the next ``lengths[i]`` of the
    ``elements``. ``valid`` is False where a row (of length 0) is null; None = no nulls. Raises
    OperationalError if the rows have more elements than Arrow's 32-bit offsets can count."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] > _MOST_ELEMENTS:
        raise OperationalError(
            f"the arrays of one batch have {offsets[-1]} elements; at most 2147483647 can be held"
        )
    buffers = [bitmap(valid), pa.py_buffer(offsets.astype(np.int32))]
    return pa.Array.from_buffers(data_type, len(lengths), buffers, children=[elements])


def entries(data_type: pa.MapType, keys: pa.Array, items: pa.Array) -> pa.Array:
    """Build the elements of a map column of ``data_type``: a struct of key and value per entry."""
    return pa.StructArray.from_arrays([keys, items], fields=[data_type.key_field, data_type.item_field])


def both_valid(left: Mask | None, right: Mask | None) -> Mask | None:
    """Return a mask, True where both masks are True; in the arguments and the result, None means True
    everywhere."""
    if left is None or right is None:
        return right if left is None else left
    return left & right
