"""Strings and binaries as words of eight bytes, for hashing and comparing in numpy."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.columns.batches import Integers, Mask, Rows
from sqlfront_values.columns.hashing import MULTIPLIERS, IntegerTable, Words

#: Values are padded to the length of the longest value unless that takes more than this many times their
#: size, and more than 64 bytes each.
_MAX_PADDING: Final = 4
_TURN: Final = np.uint64(29)


class Text:
    """The bytes of a plain string or binary column, every value padded with zeros to the same number of
    8-byte words.

    ``words[row, n]`` has the bytes 8 n to 8 n + 7 of the row's value, the first byte in the lowest bits.
    ``lengths`` has the values' lengths in bytes, which distinguish zeros of a value from padding. The words
    under nulls are undefined but harmless.
    """

    def __init__(self, column: pa.Array) -> None:
        length = len(column)
        _, offsets_buffer, data = column.buffers()
        if length == 0:
            self.lengths = np.zeros(0, np.int64)
            self.words: Words = np.zeros((0, 1), np.uint64)
            return
        offsets = np.frombuffer(offsets_buffer, np.int32, length + 1, 4 * column.offset)
        self.lengths = np.diff(offsets).astype(np.int64)
        width = max(1, (int(self.lengths.max()) + 7) // 8)
        values = pa.Array.from_buffers(
            pa.string(), length, [None, offsets_buffer, data], offset=column.offset
        )
        padded = pc.ascii_rpad(values, width=8 * width, padding="\0")
        words = np.frombuffer(padded.buffers()[2], np.uint64, width * length, padded.offset * 8 * width)
        self.words = words.reshape(length, width)

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of memory that the words and lengths hold."""
        return self.lengths.nbytes + self.words.nbytes

    def sortable(self, number: int, rows: Rows | None = None) -> Integers:
        """Return word number ``number`` of each value in ``rows`` (None = all rows) as an int64; the integers
        sort as the words' bytes do."""
        word = self.words[:, number] if rows is None else self.words[rows, number]
        return (word.byteswap() ^ np.uint64(1 << 63)).view(np.int64)

    def hashes(self) -> Integers:
        """Return a hash of each value; equal values have the same hash in every column."""
        result = self.lengths.view(np.uint64) * MULTIPLIERS[1]
        for number in range(self.words.shape[1]):
            # Padding zeros don't count, since another column may have fewer of them.
            rows = slice(None) if number == 0 else np.flatnonzero(self.lengths > 8 * number)
            mixed = result[rows]
            mixed ^= self.words[rows, number]
            mixed *= MULTIPLIERS[number % 2]
            mixed ^= mixed >> _TURN
            result[rows] = mixed
        return result.view(np.int64)

    def equal(self, rows: Rows, other: "Text", other_rows: Rows) -> Mask:
        """Return a mask that compares pairs of values: True where this text's value at ``rows[i]`` equals the
        other text's value at ``other_rows[i]``."""
        result = self.lengths[rows] == other.lengths[other_rows]
        # If the lengths are equal, there are only zeros beyond the narrower text's words.
        for number in range(min(self.words.shape[1], other.words.shape[1])):
            result &= self.words[rows, number] == other.words[other_rows, number]
        return result


def is_hashable_text(column: pa.Array) -> bool:
    """Return whether the column holds plain strings or binaries that :class:`Text` can pad without much
    waste: no value is longer than 64 bytes, or the longest has at most four times the average length."""
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return False
    length = len(column)
    if length == 0:
        return True
    offsets = np.frombuffer(column.buffers()[1], np.int32, length + 1, 4 * column.offset)
    longest = int((offsets[1:] - offsets[:-1]).max())
    return longest <= 64 or longest * length <= _MAX_PADDING * int(offsets[-1] - offsets[0])


class TextTable:
    """A table from the strings of ``column`` to numbers: equal strings have the same number, the index of one
    of their rows.

    ``numbers[row]`` is the number of each of the column's strings; :attr:`missing`, their count, is the
    number of every other string. Strings are looked up by their hashes, and every hit is compared. ``exact``
    is False in the unlikely case that two different strings of the column have the same hash; such a table
    must not be used."""

    def __init__(self, column: pa.Array) -> None:
        self._text = Text(column)
        self._table = IntegerTable(self._text.hashes())
        self.missing = self._table.missing
        self.numbers = self._table.numbers
        others = np.flatnonzero(self.numbers != np.arange(len(self.numbers)))
        self.exact = bool(self._text.equal(others, self._text, self.numbers[others]).all())

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of memory that the table holds."""
        return self._table.nbytes + self._text.nbytes

    def find(self, column: pa.Array) -> Rows:
        """Return the number of each value, :attr:`missing` for a value that is not in the table."""
        text = Text(column)
        numbers = self._table.find(text.hashes())
        hits = np.flatnonzero(numbers != self.missing)
        wrong = ~text.equal(hits, self._text, numbers[hits])
        if wrong.any():
            numbers[hits[wrong]] = self.missing
        return numbers
