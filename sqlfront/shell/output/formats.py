"""The output formats by their names."""

from types import ModuleType
from typing import BinaryIO, Final

import msgspec
import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output import (
    arrow,
    csv,
    html,
    json,
    jsonl,
    markdown,
    nothing,
    parquet,
    table,
    tsv,
    vertical,
)
from sqlfront.shell.output.options import OutputOptions
from sqlfront_values.errors import OperationalError


class Format(msgspec.Struct, frozen=True):
    """An output format. ``module``: the module, loaded at the first use, whose function ``write`` writes the
    rows of a result that has columns, and returns their number. ``binary``: the format is not fit for a
    terminal. ``has_footer``: the format is for people, and a line with the number of rows and the time goes
    to stderr after each result. ``one_result``: a file can hold the rows of one statement only."""

    module: ModuleType
    binary: bool = False
    has_footer: bool = False
    one_result: bool = False


_FORMATS: Final = {
    "table": Format(table, has_footer=True),
    "vertical": Format(vertical, has_footer=True),
    "csv": Format(csv),
    "tsv": Format(tsv),
    "json": Format(json),
    "jsonl": Format(jsonl),
    "markdown": Format(markdown),
    "html": Format(html),
    "arrow": Format(arrow, binary=True),
    "parquet": Format(parquet, binary=True, one_result=True),
    "none": Format(nothing, has_footer=True),
}
_USUAL: Final = OutputOptions()
#: The names of the formats.
FORMATS: Final = tuple(_FORMATS)


def format_named(name: str) -> Format:
    """Return the output format called ``name``. Raises KeyError for a name that is not in :data:`FORMATS`."""
    return _FORMATS[name]


def write_result(result: Result, format_name: str, out: BinaryIO, options: OutputOptions = _USUAL) -> int:
    """Write all rows of the result to ``out`` in the format named ``format_name`` (one of :data:`FORMATS`),
    batch by batch; return the number of rows. A result without columns, such as CREATE TABLE's, writes
    nothing. Rows that are written can't be read from the result again.

    Raises the statement's errors, OperationalError for a row of two GiB, NotSupportedError if the format has
    no form of a column's type, and OSError of the stream."""
    if not len(result.schema):
        return 0
    try:
        count: int = _FORMATS[format_name].module.write(result, out, options)
    except pa.ArrowCapacityError as error:
        raise OperationalError(f"a row's text as {format_name} takes more than two GiB") from error
    return count
