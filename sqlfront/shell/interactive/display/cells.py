"""A result's rows as blocks of texts for the screen."""

from collections.abc import Iterator
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront.results import boxes
from sqlfront.results.result import Result
from sqlfront.shell.interactive.display.visible import visible
from sqlfront_values.types import is_numeric

#: Rows of the first block, so that a screen appears at once, and of the later blocks.
_FIRST: Final = 200
_LATER: Final = 2_000
#: Bytes of values that a block has at most, unless a single row has more.
_BYTES: Final = 1 << 20

#: A row of texts that are safe to print; None is a null.
ShownRow = tuple[str | None, ...]


class Heading(msgspec.Struct, frozen=True):
    """The heading of a column: its name, safe to print, and whether its values are aligned to the ``right``,
    as numbers are."""

    name: str
    right: bool


def headings_of(result: Result) -> tuple[Heading, ...]:
    """Return the headings of a result's columns, in order."""
    return tuple(Heading(visible(field.name), is_numeric(field.type)) for field in result.schema)


def blocks_of(result: Result) -> Iterator[list[ShownRow]]:
    """Yield the rows of a result in blocks of rows, as texts that are safe to print. Blocks that the caller
    doesn't take are not read from the result."""
    most = _FIRST
    for batch in result.batches():
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, _fitting(batch, most))
            yield _rows(piece, result)
            start, most = start + piece.num_rows, _LATER


def _fitting(batch: pa.RecordBatch, most: int) -> int:
    """Return the number of the batch's first rows that make a block: ``most``, or fewer if the rows are
    large, but at least 1."""
    return min(most, max(1, batch.num_rows * _BYTES // max(1, batch.nbytes)))


def _rows(batch: pa.RecordBatch, result: Result) -> list[ShownRow]:
    rows = boxes.cells(batch, result.schema, result.settings)
    nulls = [column.is_null().to_pylist() if column.null_count else None for column in batch.columns]
    if not any(nulls):
        return [tuple(map(visible, row)) for row in rows]
    return [
        tuple(
            None if null is not None and null[place] else visible(text)
            for null, text in zip(nulls, row, strict=True)
        )
        for place, row in enumerate(rows)
    ]
