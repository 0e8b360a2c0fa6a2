"""The format ``csv``: comma-separated values as RFC 4180 has them."""

from functools import reduce
from typing import BinaryIO, Final

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.delimited import Escape, write_lines
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.output.texts import characters, has_empty, joined
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.types import STRING

#: Characters of a field that has to stand in quotes.
_SPECIAL: Final = (b'"', b",", b"\n", b"\r")
_PATTERN: Final = '[",\n\r]'


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    """Write a header and a line per row; return the number of rows. A null is the text ``options.null``, by
    default an empty field. A text is quoted if it holds a comma, a quote or a line break, or could be taken
    for a null: the empty text is ``""``."""
    return write_lines(result, out, ",", _quoted(options.null or ""), options.null or "")


def _quoted(null: str) -> Escape:
    """Return the function that turns texts into CSV fields, with quotes where they are needed. ``null``: the
    field that stands for a null; a text that equals it is quoted."""

    def fields(texts: pa.Array) -> pa.Array:
        data = characters(texts)
        needs: list[pa.Array] = []
        if any(character in data for character in _SPECIAL):
            needs.append(pc.match_substring_regex(texts, _PATTERN))
        if has_empty(texts):
            needs.append(pc.equal(texts, scalar("", STRING)))
        if null:
            needs.append(pc.equal(texts, scalar(null, STRING)))
        if not needs:
            return texts
        inner = pc.replace_substring(texts, '"', '""') if b'"' in data else texts
        return pc.if_else(reduce(pc.or_, needs), joined(['"', inner, '"']), texts)

    return fields
