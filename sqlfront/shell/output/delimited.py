"""Lines of fields with a separator between the fields: what ``csv`` and ``tsv`` share."""

from collections.abc import Callable, Iterator
from typing import BinaryIO

import pyarrow as pa

from sqlfront.results.result import Result
from sqlfront.shell.output.texts import joined, pieces, rows_joined, texts
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.types import STRING, is_string

#: Makes texts to fields that the format's readers read as these texts.
Escape = Callable[[pa.Array], pa.Array]


def write_lines(result: Result, out: BinaryIO, separator: str, escape: Escape, null: str) -> int:
    """Write a line of the column names, then a line per row; return the number of rows. ``escape`` turns
    texts into fields; ``null`` is the field that stands for a null."""
    names = escape(from_values(result.columns, STRING)).to_pylist()
    out.write(f"{separator.join(names)}\n".encode())
    count = 0
    for batch in result.batches():
        for piece in pieces(batch):
            fields = list(_fields(piece, result, escape, null))
            for data in rows_joined(fields, separator, null):
                out.write(data)
        count += batch.num_rows
    return count


def _fields(piece: pa.RecordBatch, result: Result, escape: Escape, null: str) -> Iterator[pa.Array]:
    """Yield the fields of each column of the batch ``piece``; a line break follows each field of the last
    column."""
    last = piece.num_columns - 1
    for position, (column, kind) in enumerate(zip(piece.columns, result.schema.types, strict=True)):
        fields = texts(column, kind, result.settings)
        if null or _may_be_special(kind):
            fields = escape(fields)
        yield fields if position < last else joined([fields, "\n"], null=null)


def _may_be_special(kind: pa.DataType) -> bool:
    """Return whether the text of a value of this type may be empty, or hold a character that needs an
    escape."""
    return is_string(kind) or pa.types.is_nested(kind)
