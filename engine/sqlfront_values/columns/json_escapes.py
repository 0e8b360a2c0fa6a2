"""JSON's escapes in columns of texts."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.types import STRING

#: Escapes of the characters that texts often hold; the backslash comes first, since the others bring one.
_ESCAPES: Final = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))
_FREQUENT: Final = frozenset(b"\n\r\t")


def escaped(texts: pa.Array, quoted: Callable[[str], str]) -> pa.Array:
    """Return the texts with JSON's escapes, without quotes; nulls stay null.

    Arrow's kernels do the work unless a control character needs an escape with its code; then ``quoted``,
    which returns a text with its escapes and between quotes, does it row by row.
    """
    _, offset_buffer, data = texts.buffers()
    if len(texts) == 0 or data is None:
        return texts
    offsets = np.frombuffer(offset_buffer, np.int32, len(texts) + 1, 4 * texts.offset)
    codes = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    found = set(np.flatnonzero(np.bincount(codes, minlength=256)).tolist())
    if not {code for code in found if code < ord(" ")} <= _FREQUENT:
        rows = texts.to_pylist()
        return from_values([None if text is None else quoted(text)[1:-1] for text in rows], STRING)
    for character, escape in _ESCAPES:
        if ord(character) in found:
            texts = pc.replace_substring(texts, character, escape)
    return texts
