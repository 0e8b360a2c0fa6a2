"""Levenshtein distances of columns of short ASCII texts, all rows at once.

The algorithm is that of :func:`~sqlfront_values.functions.text.similarity.levenshtein`, with a machine word
of each row in place of its integers.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.columns.text import Text
from sqlfront_values.functions.rowwise import Integers, is_ascii
from sqlfront_values.room import check

_Words = npt.NDArray[np.uint64]
_Bytes = npt.NDArray[np.uint8]
#: Characters of a text whose places fit the bits of a word.
_MOST: Final = 64
_ONE: Final = np.uint64(1)


def distances(left: pa.Array, right: pa.Array) -> Integers | None:
    """Return the distance of the texts of each row; undefined under nulls. None unless all texts are ASCII
    and have at most 64 characters."""
    texts = [_Texts(column) for column in (left, right) if is_ascii(column)]
    if len(texts) < 2 or any(each.longest > _MOST for each in texts):
        return None
    rows, columns = texts
    last = _ONE << np.maximum(rows.lengths - 1, 0).astype(np.uint64)
    more, less = np.full(len(last), ~np.uint64(0)), np.zeros(len(last), np.uint64)
    found = rows.lengths.copy()
    for step in range(columns.longest):
        check()
        equal = _places(rows.characters, columns.characters[:, step])
        across = ((equal & more) + more ^ more) | equal
        rises, falls = less | ~(across | more), more & across
        change = (rises & last > 0).astype(np.int64) - (falls & last > 0)
        found += np.where(step < columns.lengths, change, 0)
        rises, down = rises << _ONE | _ONE, equal | less
        more, less = falls << _ONE | ~(down | rises), rises & down
    return np.where(rows.lengths == 0, columns.lengths, found)


class _Texts:
    """The characters of the texts, a line of bytes each, of which the row's number of ``lengths`` count."""

    def __init__(self, column: pa.Array) -> None:
        text = Text(column)
        self.lengths = text.lengths
        self.longest = int(text.lengths.max(initial=0))
        self.characters: _Bytes = text.words.view(np.uint8)


def _places(characters: _Bytes, wanted: _Bytes) -> _Words:
    """Return for each row a word with a bit for each character that equals the row's wanted one."""
    bits = np.packbits(characters == wanted[:, None], axis=1, bitorder="little")
    words = np.zeros((len(bits), 8), np.uint8)
    words[:, : bits.shape[1]] = bits
    return words.view(np.uint64)[:, 0]
