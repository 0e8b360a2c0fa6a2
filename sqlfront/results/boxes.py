"""Tables drawn as text, exactly as by Spark's ``DataFrame.show``."""

import itertools
import re
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sqlfront.results.python_values import variants
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.exchange import imported
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.settings import Settings
from sqlfront_values.types import BINARY, STRING, is_string, is_variant

#: Characters that take two cells on a terminal (the ranges of Spark's ``Utils.fullWidthRegex``).
_FULL_WIDTH: Final = re.compile(
    "[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3"
    "\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]"
)
_ESCAPES: Final = str.maketrans(
    {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\v": "\\v", "\a": "\\a"}
)
_TO_STRING: Final = pc.function("cast", "CastOptions", target_type=STRING)
#: Characters of the narrowest column, as in Spark's ``Dataset.showString``.
_MINIMUM_WIDTH: Final = 3


def cells(
    batch: pa.RecordBatch, schema: pa.Schema, settings: Settings, null: str = "NULL"
) -> list[tuple[str, ...]]:
    """Return the values of a result's batch as texts, one tuple per row, as Spark shows them: ``CAST(value AS
    STRING)``, but ``NULL`` for null at every depth, hex for binary, and JSON for a variant. ``schema`` has
    the logical types of the columns; ``null``: the text for a null that isn't inside of another value."""
    if not batch.num_columns:
        return [()] * batch.num_rows
    columns = zip(batch.columns, schema.types, strict=True)
    return list(zip(*(column_texts(column, kind, settings, null) for column, kind in columns), strict=True))


def column_texts(array: pa.Array, kind: pa.DataType, settings: Settings, null: str = "NULL") -> list[str]:
    """Return the values of one column as texts, as Spark shows them: ``CAST(value AS STRING)``, but ``NULL``
    for null at every depth, hex for binary, and JSON for a variant. ``kind``: the column's logical type;
    ``null``: the text for a null that isn't inside of another value."""
    if pa.types.is_list(kind):
        items = column_texts(elements(array, array.values), kind.value_type, settings)
        shown = [f"[{', '.join(items[start:end])}]" for start, end in spans(array)]
    elif pa.types.is_map(kind):
        keys = column_texts(elements(array, array.keys), kind.key_type, settings)
        values = column_texts(elements(array, array.items), kind.item_type, settings)
        pairs = [f"{key} -> {value}" for key, value in zip(keys, values, strict=True)]
        shown = [f"{{{', '.join(pairs[start:end])}}}" for start, end in spans(array)]
    elif pa.types.is_struct(kind):
        fields = [
            column_texts(child, field.type, settings)
            for child, field in zip(array.flatten(), kind, strict=True)
        ]
        rows = zip(*fields, strict=True) if fields else [()] * len(array)
        shown = [f"{{{', '.join(row)}}}" for row in rows]
    else:
        return _leaf_texts(array, kind, settings, null)
    nulls = array.is_null().to_pylist()
    return [null if is_null else text for is_null, text in zip(nulls, shown, strict=True)]


def elements(array: pa.Array, children: pa.Array) -> pa.Array:
    """Return the elements of all lists (or maps) in an array, one after the other. ``children``: the array's
    values, keys or items, as Arrow gives them. If the array is a slice of another array, Arrow gives the
    children of the whole other array, and this function cuts out the slice's children."""
    offsets = array.offsets
    first, end = offsets[0].as_py(), offsets[-1].as_py()
    return children.slice(first, end - first)


def spans(array: pa.Array) -> list[tuple[int, int]]:
    """Return the start and the end of each list (or map) in the array, as positions in the array's
    :func:`elements`."""
    offsets = array.offsets.to_pylist()
    return list(itertools.pairwise([offset - offsets[0] for offset in offsets]))


def _leaf_texts(array: pa.Array, kind: pa.DataType, settings: Settings, null: str) -> list[str]:
    if kind == BINARY:
        values = array.to_pylist()
        return [null if value is None else f"[{value.hex(' ').upper()}]" for value in values]
    if is_variant(kind):
        return [null if value is None else str(value) for value in variants(array)]
    values = strings(array, kind, settings).to_pylist()
    return [null if value is None else str(value) for value in values]


def strings(array: pa.Array, kind: pa.DataType, settings: Settings) -> pa.Array:
    """Cast the values of a result's column to strings; null stays null. ``kind``: the logical type of the
    column, neither nested nor binary."""
    if is_string(kind):
        return array
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        # As the cast below does, without loading what the casts of all types need.
        return _TO_STRING.call([array])
    batch = pa.RecordBatch.from_arrays([imported(array, kind)], names=["value"])
    return evaluate(Cast(STRING, Column(kind, 0)), batch, settings)


def box(names: Sequence[str], rows: Sequence[Sequence[str]], truncate: int = 0) -> str:
    """Draw rows of texts as Spark's ``show`` does. ``truncate``: the number of characters to which cells (but
    not column names) are cut, 0 = no limit. With a limit all cells are right-aligned, else left-aligned.

    >>> print(box(["a", "b"], [("1", "x"), ("NULL", "yz")], 20), end="")
    +----+---+
    |   a|  b|
    +----+---+
    |   1|  x|
    |NULL| yz|
    +----+---+
    """
    texts = [[_cut(name) for name in names], *([_cut(cell, truncate) for cell in row] for row in rows)]
    widths = [max(_MINIMUM_WIDTH, *map(width, column)) for column in zip(*texts, strict=True)]
    rule = "+" + "+".join("-" * size for size in widths) + "+\n"
    lines = [_line(row, widths, right=truncate > 0) for row in texts]
    return "".join([rule, lines[0], rule, *lines[1:], rule])


def vertical(names: Sequence[str], rows: Sequence[Sequence[str]], truncate: int = 0) -> str:
    """Draw rows of texts as Spark's ``show(vertical=True)`` does: a header per row, then one line per value.
    Values longer than ``truncate`` characters (0 = no limit) are cut."""
    cut = [[_cut(cell, truncate) for cell in row] for row in rows]
    keys = [_cut(name) for name in names]
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
    """Return the number of columns that the text takes on a terminal; a full-width character takes two."""
    return len(text) if text.isascii() else len(text) + len(_FULL_WIDTH.findall(text))


def _cut(text: str, truncate: int = 0) -> str:
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
