"""Generator functions: explode, posexplode, inline, stack, json_tuple."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_engine.generators import Generator
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps, Take
from sqlfront_values import evaluate
from sqlfront_values import expression_text as display
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, to_python
from sqlfront_values.arrow.forms import plain
from sqlfront_values.columns import batches, lists
from sqlfront_values.columns.batches import Integers
from sqlfront_values.expressions import Column, EngineExpr
from sqlfront_values.functions.json import tuples
from sqlfront_values.types import INT, STRING, is_string_like

#: Bytes of copied input columns in one output batch: a row with a long text and many elements would
#: otherwise fill the memory with copies of the text.
_COPIED_BYTES: Final = 8 << 20


class Generate(Processor, frozen=True, tag_field="processor", tag=True):
    """A generation of rows: for each input row, the rows that ``generator`` makes of the ``arguments``, each
    after the columns of the input row. ``outer``: an input row without generated rows gives one row of nulls.

    The whole row has ``width`` input columns, then the generated columns; the output has its columns
    ``output``, and ``schema`` is the output's. ``columns``: the number of generated columns.
    """

    generator: Generator
    arguments: tuple[EngineExpr, ...]
    outer: bool
    width: int
    columns: int
    output: tuple[int, ...]
    schema: pa.Schema

    def run(self, context: ProcessorContext) -> Steps:
        places = [place for place in self.output if place < self.width]
        types = dict(zip(self.output, self.schema.types, strict=True))
        kept = tuple([Column(types[place], place) for place in places])
        project = evaluate.compile_projection((*kept, *self.arguments), context.settings)
        wanted = [place - self.width for place in self.output if place >= self.width]
        where = {place: position for position, place in enumerate(places)}
        names = self.schema.names
        while (batch := (yield Take(0))) is not None:
            for part in batches.slices(batch, self._rows_at_once()):
                for values, length in evaluate.in_pieces(project, evaluate.Rows(part)):
                    copied, arguments = values[: len(kept)], values[len(kept) :]
                    made = self._made(arguments, length)
                    for piece in _pieces(made.counts, copied):
                        generated = iter(made.columns(piece, wanted))
                        parents = batches.row_indices(piece.parents) if kept else None
                        columns = [
                            batches.gather(copied[where[place]], parents)
                            if place < self.width
                            else next(generated)
                            for place in self.output
                        ]
                        yield batches.make_batch(columns, names, piece.length)

    def _rows_at_once(self) -> int:
        if self.generator is not Generator.STACK:
            return BATCH_ROWS
        return max(1, BATCH_ROWS // self._stacked())

    def _stacked(self) -> int:
        return len(self.arguments) // self.columns

    def _made(self, arguments: Sequence[pa.Array], length: int) -> "_Made":
        if self.generator is Generator.STACK:
            return _stack(arguments, self.columns, self._stacked(), length)
        if self.generator is Generator.JSON_TUPLE:
            return _json_tuples(arguments, length)
        return _exploded(self.generator, arguments[0], outer=self.outer)

    def is_divisible(self, ordinal: int) -> bool:
        return True

    def describe(self) -> str:
        arguments = ", ".join(map(display.describe, self.arguments))
        return f"Generate: {self.generator.value}{'_outer' if self.outer else ''}({arguments})"


class _Piece:
    """Some consecutive rows of the output: those from ``start`` to ``end``. ``ends`` has for each input row
    the end of the rows made of it."""

    def __init__(self, start: int, end: int, counts: Integers, ends: Integers) -> None:
        self.start = start
        self.length = end - start
        self._counts = counts
        self._ends = ends

    @cached_property
    def parents(self) -> Integers:
        """For each row the number of its input row."""
        end, ends = self.start + self.length, self._ends
        first = int(np.searchsorted(ends, self.start, "right"))
        last = int(np.searchsorted(ends, end - 1, "right")) + 1
        begun = np.maximum(ends[first:last] - self._counts[first:last], self.start)
        return np.repeat(np.arange(first, last), np.minimum(ends[first:last], end) - begun)

    @cached_property
    def positions(self) -> Integers:
        """For each row its position among the rows made of its input row."""
        numbers = np.arange(self.start, self.start + self.length)
        return numbers - (self._ends - self._counts)[self.parents]


class _Made(msgspec.Struct, frozen=True):
    """The rows made of some input rows: ``counts`` of each input row, and a function that returns the columns
    with the given ordinals (of the generated columns) for a piece of the rows."""

    counts: Integers
    columns: Callable[[_Piece, Sequence[int]], list[pa.Array]]


def _pieces(counts: Integers, copied: Sequence[pa.Array]) -> Iterator[_Piece]:
    """Cut the rows into pieces of at most ``BATCH_ROWS`` rows, for which at most about ``_COPIED_BYTES`` of
    the columns ``copied`` are copied. ``counts``: the number of rows for each row of these columns."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    sizes = _row_bytes(copied)
    bytes_before = None if sizes is None else np.cumsum(counts * sizes) - counts * sizes
    start = 0
    while start < total:
        end = min(start + BATCH_ROWS, total)
        if sizes is not None and bytes_before is not None:
            first = int(np.searchsorted(ends, start, "right"))
            begun = start - int(ends[first] - counts[first])
            limit = bytes_before[first] + begun * sizes[first] + _COPIED_BYTES
            row = int(np.searchsorted(bytes_before, limit, "right")) - 1
            reached = int(ends[row] - counts[row]) + int((limit - bytes_before[row]) / max(sizes[row], 1.0))
            end = min(end, max(start + 1, min(reached, int(ends[row]))))
        yield _Piece(start, end, counts, ends)
        start = end


def _row_bytes(columns: Sequence[pa.Array]) -> "np.ndarray[tuple[int], np.dtype[np.float64]] | None":
    """Return about the bytes of each row in the columns whose values differ in size; None if there is no such
    column."""
    total = None
    for column in columns:
        kind = column.type
        if is_string_like(kind):
            sizes = pc.call_function("binary_length", [column]).fill_null(0).to_numpy(zero_copy_only=False)
        elif pa.types.is_list(kind) or pa.types.is_map(kind):
            apart = lists.take_apart(column)
            sizes = apart.lengths * (column.nbytes / max(1, int(apart.lengths.sum())))
        elif pa.types.is_struct(kind):
            sizes = np.full(len(column), column.nbytes / max(1, len(column)))
        else:
            continue
        sizes = sizes.astype(np.float64)
        total = sizes if total is None else total + sizes
    return total


def _exploded(generator: Generator, column: pa.Array, *, outer: bool) -> _Made:
    """Make the rows of an array or map column: a row per element."""
    apart = lists.take_apart(column)
    has_fields = generator is Generator.INLINE or pa.types.is_map(column.type)
    is_padded = outer and bool((apart.lengths == 0).any())
    counts = np.maximum(apart.lengths, 1) if is_padded else apart.lengths

    flat = None if is_padded else apart.flat()

    def columns(piece: _Piece, wanted: Sequence[int]) -> list[pa.Array]:
        valid = piece.positions < apart.lengths[piece.parents] if is_padded else None
        found: list[pa.Array] = []
        values: list[pa.Array] | None = None
        for ordinal in wanted:
            if generator is Generator.POSEXPLODE and ordinal == 0:
                found.append(from_numpy(piece.positions.astype(np.int32), INT, valid))
                continue
            if values is None:
                if flat is not None:
                    elements = flat.slice(piece.start, piece.length)
                else:
                    places = apart.starts[piece.parents] + piece.positions
                    elements = batches.gather(apart.elements, batches.row_indices(places, valid))
                values = elements.flatten() if has_fields else [elements]
            found.append(lists.outer(values[ordinal - (generator is Generator.POSEXPLODE)]))
        return found

    return _Made(counts, columns)


def _json_tuples(arguments: Sequence[pa.Array], length: int) -> _Made:
    """Make one row of each input row: the members of the JSON object whose text is the first argument, with
    the names that the other arguments are."""
    texts, *names = [to_python(plain(argument)) for argument in arguments]
    rows = [
        tuples.members_of(text, wanted) for text, wanted in zip(texts, zip(*names, strict=True), strict=True)
    ]

    def columns(piece: _Piece, wanted: Sequence[int]) -> list[pa.Array]:
        part = rows[piece.start : piece.start + piece.length]
        return [from_values([row[ordinal] for row in part], STRING) for ordinal in wanted]

    return _Made(np.ones(length, np.int64), columns)


def _stack(arguments: Sequence[pa.Array], width: int, rows: int, length: int) -> _Made:
    """Make ``rows`` rows of ``width`` columns of each input row; the arguments have the values row after
    row."""

    def columns(piece: _Piece, wanted: Sequence[int]) -> list[pa.Array]:
        places = batches.row_indices(piece.positions * length + piece.parents)
        return [
            batches.gather(
                batches.concat_columns([arguments[row * width + ordinal] for row in range(rows)]), places
            )
            for ordinal in wanted
        ]

    return _Made(np.full(length, rows), columns)
