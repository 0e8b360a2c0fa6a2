"""The format ``tsv``: tab-separated values, as PostgreSQL's COPY and MySQL's batch mode write them."""

from typing import BinaryIO, Final

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.delimited import write_lines
from sqlfront.shell.output.options import OutputOptions
from sqlfront.shell.output.texts import characters
from sqlfront_values.arrow import kernels as pc

_NULL: Final = "\\N"
#: The backslash comes first, since the others bring one.
_ESCAPES: Final = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def write(result: Result, out: BinaryIO, options: OutputOptions) -> int:
    r"""Write a header and a line per row; return the number of rows. A null is the text ``options.null``, by
    default ``\N``; a tab, a line break and a backslash in a text are ``\t``, ``\n``, ``\r`` and ``\\``."""
    return write_lines(result, out, "\t", _escaped, _NULL if options.null is None else options.null)


def _escaped(texts: pa.Array) -> pa.Array:
    data = characters(texts)
    for character, escape in _ESCAPES:
        if character.encode() in data:
            texts = pc.replace_substring(texts, character, escape)
    return texts
