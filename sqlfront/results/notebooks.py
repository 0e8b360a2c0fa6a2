"""Results in notebooks: the first rows as an HTML table or as text, and a line about the run."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, Protocol

import msgspec
import pyarrow as pa

from sqlfront.results import boxes
from sqlfront_values.settings import Settings
from sqlfront_values.types import is_numeric

#: The most rows that are shown.
ROWS: Final = 20
#: The most columns that are shown: a browser is slow with more.
COLUMNS: Final = 200
#: The most characters of a value that are shown.
CHARACTERS: Final = 2000

#: Characters that a page can't hold, as pictures of these characters.
_PICTURES: Final = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}
_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_SAFE: Final = str.maketrans({**_PICTURES, **_SURROGATES})
_NULL: Final = '<td style="text-align:{align}"><span style="opacity:0.5;font-style:italic">NULL</span></td>'


class Printer(Protocol):
    """The method of IPython's pretty printer that results call."""

    def text(self, text: str) -> None:
        """Print the text."""


class RunSummary(Protocol):
    """The facts about a run that the line below a notebook's table shows."""

    @property
    def lane(self) -> str:
        """The lane that answered the statement."""

    @property
    def seconds(self) -> float:
        """The seconds until the answer began."""


class Beginning(msgspec.Struct, frozen=True):
    """The first rows of a result, for a notebook. ``batches`` have at least the rows to show, in logical
    types. ``more``: whether the result has further rows, which aren't shown. ``statistics``: the facts for
    the line below the table."""

    schema: pa.Schema
    batches: tuple[pa.RecordBatch, ...]
    settings: Settings
    more: bool
    statistics: RunSummary

    @property
    def shown(self) -> pa.Schema:
        """The columns that are shown: the first ones, if the result has many."""
        return pa.schema(list(self.schema)[:COLUMNS])

    @property
    def rows(self) -> list[list[str | None]]:
        """The rows to show, at most :data:`ROWS`: each value as Spark's text, null as None."""
        rows: list[list[str | None]] = []
        for batch in self.batches:
            rows += self._texts(batch.slice(0, ROWS - len(rows)))
        return rows

    def _texts(self, batch: pa.RecordBatch) -> Iterator[list[str | None]]:
        width = len(self.shown)
        part = batch.select(list(range(width))) if batch.num_columns > width else batch
        nulls = [column.is_null().to_pylist() for column in part.columns]
        for number, row in enumerate(boxes.cells(part, self.shown, self.settings)):
            yield [None if nulls[place][number] else cell for place, cell in enumerate(row)]

    @property
    def footer(self) -> str:
        """The line below the table: the number of rows, the number of columns if some are left out, the time,
        and the lane."""
        count = sum(batch.num_rows for batch in self.batches)
        rows = f"the first {ROWS} rows" if self.more else f"{count} row{'' if count == 1 else 's'}"
        hidden = len(self.schema) - len(self.shown)
        columns = [f"{len(self.shown)} of {len(self.schema):,} columns"] if hidden else []
        return " · ".join([rows, *columns, _duration(self.statistics.seconds), str(self.statistics.lane)])


def _duration(seconds: float) -> str:
    """Return the time as a text, in ms or s.

    >>> _duration(0.00031), _duration(0.042), _duration(3.14159)
    ('0.31 ms', '42 ms', '3.14 s')
    """
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2f} ms" if seconds < 0.01 else f"{seconds * 1e3:.0f} ms"


def html(beginning: Beginning) -> str:
    """Return the rows as an HTML table, with the footer below. Numbers are right-aligned; null looks
    different from an empty text. For a result without columns, return the footer alone."""
    footer = f'<div style="opacity:0.7;font-size:85%">{escape(beginning.footer)}</div>'
    if not len(beginning.schema):
        return footer
    aligns = ["right" if is_numeric(kind) else "left" for kind in beginning.shown.types]
    names = zip(beginning.shown.names, aligns, strict=True)
    head = "".join(f'<th style="text-align:{align}">{_page_text(name)}</th>' for name, align in names)
    body = "".join(f"<tr>{_cells(row, aligns)}</tr>" for row in beginning.rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{table}{footer}</div>"


def _cells(row: Sequence[str | None], aligns: Sequence[str]) -> str:
    return "".join(
        _NULL.format(align=align)
        if cell is None
        else f'<td style="text-align:{align};white-space:pre-wrap">{_page_text(cell)}</td>'
        for cell, align in zip(row, aligns, strict=True)
    )


def _page_text(value: str) -> str:
    """The text for a page: without characters that mean something to HTML, or that HTML can't hold.

    >>> _page_text("<b>&\\0")
    '&lt;b&gt;&amp;␀'
    """
    cut = value if len(value) <= CHARACTERS else f"{value[:CHARACTERS]}…"
    return escape(cut.translate(_SAFE))


def text(beginning: Beginning) -> str:
    """Return the rows as Spark's ``show`` draws them, with the footer below; for a result without columns,
    the footer alone."""
    if not len(beginning.schema):
        return beginning.footer
    rows = [["NULL" if cell is None else cell.translate(_SAFE) for cell in row] for row in beginning.rows]
    return boxes.box(beginning.shown.names, rows, 0) + beginning.footer
