"""Tables as text: Spark's ``DataFrame.show`` to the letter."""

import re
from collections.abc import Sequence
from html import escape
from typing import Final

import pyarrow as pa

from sqlfront_engine.arrays import to_python
from sqlfront_engine.evaluate import evaluate
from sqlfront_engine.expressions import Cast, Column
from sqlfront_engine.functions.registry import Settings
from sqlfront_engine.types import BINARY, STRING, is_string, logical

#: Characters that take two cells on a terminal (the ranges of Spark's ``Utils.fullWidthRegex``).
_FULL_WIDTH: Final = re.compile(
    "[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3"
    "\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]"
)
_ESCAPES: Final = str.maketrans(
    {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\v": "\\v", "\a": "\\a"}
)
_MINIMUM_WIDTH: Final = 3


def cells(batch: pa.RecordBatch, settings: Settings) -> list[tuple[str, ...]]:
    """Every value as Spark shows it: ``CAST(value AS STRING)``, with ``NULL`` for null and hex for binary."""
    columns = [_column_cells(batch, index, settings) for index in range(batch.num_columns)]
    if not columns:
        return [()] * batch.num_rows
    return list(zip(*columns, strict=True))


def _column_cells(batch: pa.RecordBatch, index: int, settings: Settings) -> list[str]:
    column = batch.column(index)
    data_type = logical(column.type)
    if data_type == BINARY:
        values = to_python(column)
        return ["NULL" if value is None else f"[{value.hex(' ').upper()}]" for value in values]  # type: ignore[attr-defined]
    if not is_string(column.type):
        column = evaluate(Cast(STRING, Column(data_type, index)), batch, settings)
    return ["NULL" if value is None else str(value) for value in column.to_pylist()]


def box(names: Sequence[str], rows: Sequence[Sequence[str]], truncate: int = 0) -> str:
    """Spark's box. Cells longer than ``truncate`` (0 = no limit) characters are cut and, with a limit,
    right-aligned.

    >>> print(box(["a", "b"], [("1", "x"), ("NULL", "yz")], 20), end="")
    +----+---+
    |   a|  b|
    +----+---+
    |   1|  x|
    |NULL| yz|
    +----+---+
    """
    texts = [[_cut(cell, truncate) for cell in row] for row in [list(names), *rows]]
    widths = [max(_MINIMUM_WIDTH, *map(width, column)) for column in zip(*texts, strict=True)]
    rule = "+" + "+".join("-" * size for size in widths) + "+\n"
    lines = [_line(row, widths, right=truncate > 0) for row in texts]
    return "".join([rule, lines[0], rule, *lines[1:], rule])


def vertical(names: Sequence[str], rows: Sequence[Sequence[str]], truncate: int = 0) -> str:
    """Spark's vertical form: one line per value, a header per row."""
    cut = [[_cut(cell, truncate) for cell in row] for row in rows]
    keys = [_cut(name, truncate) for name in names]
    key_width = max([_MINIMUM_WIDTH, *map(width, keys)])
    value_width = max([_MINIMUM_WIDTH, *(width(cell) for row in cut for cell in row)])
    lines = []
    for number, row in enumerate(cut):
        lines.append(f"-RECORD {number}".ljust(key_width + value_width + 5, "-") + "\n")
        for key, cell in zip(keys, row, strict=True):
            left = " " + key + " " * (key_width - width(key))
            lines.append(f"{left} | {cell}{' ' * (value_width - width(cell))} \n")
    return "".join(lines)


def width(text: str) -> int:
    """Cells that the text takes on a terminal."""
    return len(text) if text.isascii() else len(text) + len(_FULL_WIDTH.findall(text))


def _cut(text: str, truncate: int) -> str:
    text = text.translate(_ESCAPES)
    if truncate <= 0 or len(text) <= truncate:
        return text
    return text[:truncate] if truncate < 4 else text[: truncate - 3] + "..."


def _line(row: Sequence[str], widths: Sequence[int], *, right: bool) -> str:
    padded = [
        " " * (size - width(cell)) + cell if right else cell + " " * (size - width(cell))
        for cell, size in zip(row, widths, strict=True)
    ]
    return "|" + "|".join(padded) + "|\n"


def html(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain HTML table, values escaped."""
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
