"""The common part of the joins: from pairs of rows to output batches, by the kind of join."""

from collections.abc import Iterator, Sequence
from typing import assert_never

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_engine.processor import BATCH_ROWS, END_OF_STEP
from sqlfront_engine.processors.aggregation.aggregate_calls import is_true
from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.columns.batches import Mask, Rows, gather, make_batch, row_indices
from sqlfront_values.evaluate import compile_expression
from sqlfront_values.expressions import Column, Expr, columns_used, transform
from sqlfront_values.settings import Settings
from sqlfront_values.types import physical

#: Matching rows of the probe side (ascending) and of the build side.
Pairs = tuple[Rows, Rows]


class EmittedRows(msgspec.Struct, frozen=True):
    """The rows that a join emits: ``pairs`` of rows, or single rows of one side, namely those that have a
    partner on the other side (matched) or none (unmatched). The build side is held in memory, the probe side
    streams."""

    pairs: bool = False
    matched_probe: bool = False
    unmatched_probe: bool = False
    matched_build: bool = False
    unmatched_build: bool = False


def wanted_rows(kind: JoinKind, *, build_left: bool) -> EmittedRows:
    """Return which rows a join of this kind emits, in terms of the build side and the probe side.

    ``build_left``: the left input is the build side, else the right input is. SEMI and both ANTI kinds emit
    rows of the left input.
    """
    match kind:
        case JoinKind.INNER:
            return EmittedRows(pairs=True)
        case JoinKind.FULL:
            return EmittedRows(pairs=True, unmatched_probe=True, unmatched_build=True)
        case JoinKind.LEFT | JoinKind.RIGHT:
            if (kind is JoinKind.LEFT) == build_left:
                return EmittedRows(pairs=True, unmatched_build=True)
            return EmittedRows(pairs=True, unmatched_probe=True)
        case JoinKind.SEMI:
            return EmittedRows(matched_build=True) if build_left else EmittedRows(matched_probe=True)
        case JoinKind.ANTI | JoinKind.NULL_AWARE_ANTI:
            return EmittedRows(unmatched_build=True) if build_left else EmittedRows(unmatched_probe=True)
        case _:
            assert_never(kind)


class Layout(msgspec.Struct, frozen=True):
    """The columns that a join reads and emits. ``output``: the ordinals of the emitted columns among the
    columns of the left row followed by the right row. ``build_left``: whether the left input is held in
    memory, else the right input is."""

    left_schema: pa.Schema
    right_schema: pa.Schema
    output: tuple[int, ...]
    build_left: bool

    @property
    def names(self) -> list[str]:
        """The names of the columns that the join emits."""
        names = [*self.left_schema.names, *self.right_schema.names]
        return [names[ordinal] for ordinal in self.output]

    def locate(self, ordinal: int) -> tuple[bool, int]:
        """Return whether the concatenated row's column ``ordinal`` belongs to the build side, and the
        column's position in its side."""
        width = len(self.left_schema)
        in_left = ordinal < width
        return in_left == self.build_left, ordinal if in_left else ordinal - width

    def type(self, ordinal: int) -> pa.DataType:
        """Return the physical type of the concatenated row's column ``ordinal``."""
        width = len(self.left_schema)
        schema, position = (
            (self.left_schema, ordinal) if ordinal < width else (self.right_schema, ordinal - width)
        )
        return physical(schema.field(position).type)


def make_layout(
    kind: JoinKind,
    left_schema: pa.Schema,
    right_schema: pa.Schema,
    output: tuple[int, ...] | None,
    build_left: bool,
) -> Layout:
    """Return the columns that a join reads and emits. ``output``: the ordinals of the emitted columns among
    the columns of the left row followed by the right row; None = all columns (for semi and anti joins the
    left columns). ``build_left``: whether the left input is held in memory, else the right input is."""
    if output is None:
        width = len(left_schema) + (0 if kind in FILTERING_JOINS else len(right_schema))
        output = tuple(range(width))
    return Layout(left_schema, right_schema, output, build_left)


class JoinRows:
    """A maker of a join's output: call :meth:`block` with each probe batch, then :meth:`rest`. ``wanted``:
    which rows the join emits. ``build``: all build rows, None = there are none. ``null_matches``: a pair
    whose condition is null counts as a match."""

    def __init__(
        self,
        layout: Layout,
        wanted: EmittedRows,
        build: pa.RecordBatch | None,
        condition: Expr | None,
        settings: Settings,
        *,
        null_matches: bool = False,
    ) -> None:
        self._layout = layout
        self._wanted = wanted
        self._build = build
        self._build_rows = 0 if build is None else build.num_rows
        self._condition = None if condition is None else _Condition(layout, condition, settings, null_matches)
        #: Mask of the build rows that met a probe row; empty if the join needs none.
        self.build_matched = np.zeros(
            self._build_rows if wanted.matched_build or wanted.unmatched_build else 0, np.bool_
        )

    def block(self, probe: pa.RecordBatch, pairs: Iterator[Pairs]) -> Iterator[pa.RecordBatch]:
        """Yield the output for one probe batch. ``pairs``: the candidate pairs of a probe row and a build
        row, which match if the join's condition is true."""
        wanted = self._wanted
        matched = np.zeros(probe.num_rows if wanted.matched_probe or wanted.unmatched_probe else 0, np.bool_)
        for probe_rows, build_rows in pairs:
            if self._condition is not None:
                passing = self._condition.passing(probe, self._build, probe_rows, build_rows)
                probe_rows, build_rows = probe_rows[passing], build_rows[passing]
            if len(matched):
                matched[probe_rows] = True
            if len(self.build_matched):
                self.build_matched[build_rows] = True
            if wanted.pairs and len(probe_rows):
                yield self.emit(probe, probe_rows, build_rows)
            else:
                yield END_OF_STEP
        if wanted.matched_probe or wanted.unmatched_probe:
            yield from self.probe_rows(probe, matched)

    def probe_rows(self, probe: pa.RecordBatch, matched: Mask) -> Iterator[pa.RecordBatch]:
        """Yield the rows of ``probe`` that the join emits without a build row. For a join of the kind SEMI
        these are the rows that have a partner (``matched``, a mask); for outer and ANTI joins the rows that
        have none."""
        rows = np.flatnonzero(matched if self._wanted.matched_probe else ~matched)
        for start in range(0, len(rows), BATCH_ROWS):
            yield self.emit(probe, rows[start : start + BATCH_ROWS], None)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yield the build rows that the join emits without a probe row, after all probe batches: the rows
        that have a partner, or the rows that have none, by the kind of join."""
        if not (self._wanted.matched_build or self._wanted.unmatched_build):
            return
        rows = np.flatnonzero(self.build_matched if self._wanted.matched_build else ~self.build_matched)
        for start in range(0, len(rows), BATCH_ROWS):
            yield self.emit(None, None, rows[start : start + BATCH_ROWS])

    def emit(
        self,
        probe: pa.RecordBatch | None,
        probe_rows: Rows | None,
        build_rows: Rows | None,
        build_valid: Mask | None = None,
    ) -> pa.RecordBatch:
        """Return a batch of the output columns, in which row i is row ``probe_rows[i]`` of ``probe`` joined
        with build row ``build_rows[i]``. The columns of a side whose row numbers are None are null; so are
        the build columns where ``build_valid`` is false."""
        length = (
            len(probe_rows) if probe_rows is not None else len(build_rows) if build_rows is not None else 0
        )
        whole = probe is not None and probe_rows is not None and _is_every_row(probe_rows, probe.num_rows)
        probe_indices = None if probe_rows is None or whole else row_indices(probe_rows)
        build_indices = None if build_rows is None else row_indices(build_rows, build_valid)
        columns: list[pa.Array] = []
        for ordinal in self._layout.output:
            of_build, position = self._layout.locate(ordinal)
            if of_build and build_indices is not None and self._build is not None:
                columns.append(gather(self._build.column(position), build_indices))
            elif not of_build and probe is not None:
                column = probe.column(position)
                columns.append(column if probe_indices is None else gather(column, probe_indices))
            else:
                columns.append(pa.nulls(length, self._layout.type(ordinal)))
        return make_batch(columns, self._layout.names, length)


class _Condition:
    """The part of a join's condition that is not an equality of keys; evaluating it reads only the columns
    that it uses."""

    def __init__(self, layout: Layout, condition: Expr, settings: Settings, null_matches: bool) -> None:
        self._ordinals = sorted(columns_used(condition))
        self._places = [layout.locate(ordinal) for ordinal in self._ordinals]
        self._evaluate = compile_expression(_renumbered(condition, self._ordinals), settings)
        self._null_matches = null_matches

    def passing(
        self, probe: pa.RecordBatch, build: pa.RecordBatch | None, probe_rows: Rows, build_rows: Rows
    ) -> Mask:
        """Return the mask of the pairs (``probe_rows[i]``, ``build_rows[i]``) for which the condition is
        true, or null with ``null_matches``."""
        probe_indices, build_indices = row_indices(probe_rows), row_indices(build_rows)
        columns = []
        for of_build, position in self._places:
            if of_build:
                assert build is not None
                columns.append(gather(build.column(position), build_indices))
            else:
                columns.append(gather(probe.column(position), probe_indices))
        names = [str(ordinal) for ordinal in self._ordinals]
        value = self._evaluate(make_batch(columns, names, len(probe_rows)))
        return not_false(value) if self._null_matches else is_true(value)


def not_false(condition: pa.Array) -> Mask:
    """Return a mask of the rows at which a boolean column is true or null."""
    values: Mask = numpy_view(condition).astype(np.bool_, copy=False)
    valid = valid_mask(condition)
    return values if valid is None else values | ~valid


def _renumbered(condition: Expr, ordinals: Sequence[int]) -> Expr:
    """Return the condition with its columns renumbered for a row of only the columns ``ordinals``."""
    positions = {ordinal: position for position, ordinal in enumerate(ordinals)}

    def renumber(expression: Expr) -> Expr:
        if isinstance(expression, Column):
            return Column(expression.type, positions[expression.ordinal], expression.name)
        return expression

    return transform(condition, renumber)


def _is_every_row(rows: Rows, length: int) -> bool:
    """Return whether ``rows`` are all rows of a batch of ``length`` rows, in order."""
    if len(rows) != length or length == 0 or rows[0] != 0 or rows[-1] != length - 1:
        return False
    return bool((rows[1:] > rows[:-1]).all())
