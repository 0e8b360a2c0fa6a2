"""Joins on equal keys."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from sqlfront_engine.join_kinds import FILTERING_JOINS, JoinKind
from sqlfront_engine.processor import BATCH_ROWS, Processor, ProcessorContext, Steps
from sqlfront_engine.processors.inputs import GROUPING_BYTES, Blocks, may_charge, take_all
from sqlfront_engine.processors.joins.join_rows import (
    EmittedRows,
    JoinRows,
    Layout,
    make_layout,
    wanted_rows,
)
from sqlfront_engine.processors.joins.join_table import JoinTable, ProbeMatches
from sqlfront_engine.processors.joins.row_join import KINDS_BY_ROWS, joined_rows
from sqlfront_engine.processors.reduction import Reduction
from sqlfront_engine.row_programs.compiler import RowCompiler
from sqlfront_engine.row_programs.expressions import is_comparable
from sqlfront_engine.row_programs.program import RowStep
from sqlfront_values.arrow.arrays import valid_mask
from sqlfront_values.errors import InternalError
from sqlfront_values.expression_text import describe
from sqlfront_values.expressions import EngineExpr

#: Rows of a probe batch below which batches are concatenated, since each look-up pays the kernels' fixed
#: cost; a scan's batches are taken as they are.
PROBE_ROWS = BATCH_ROWS // 2


class HashJoin(Processor, frozen=True, tag_field="processor", tag=True):
    """An equi-join: pairs of rows of input 0 (left) and input 1 (right) with equal keys and a true
    ``condition``.

    The right input, or with ``build_left`` the left input, is the build side, which is held in memory; the
    other input is the probe side, which streams. Keys are pairs of columns of one type; null equals nothing
    unless ``null_safe`` is true at the key's position. ``condition`` (None = true) is over the left row
    followed by the right row; ``output`` are the ordinals of this row to emit (None = all; for semi and anti
    joins the left row).

    Both inputs are partitioned by the keys, or the build side is broadcast. A join that emits unmatched build
    rows (or, for semi joins, matched ones) can't have its build side broadcast. A null-aware anti join is NOT
    IN: one key, no condition, the right input is the build side and broadcast; if a right key is null, no row
    qualifies.
    """

    cooperative = False

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: EngineExpr | None
    left_schema: pa.Schema
    right_schema: pa.Schema
    build_left: bool = False
    null_safe: tuple[bool, ...] = ()
    output: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not self.left_keys or len(self.left_keys) != len(self.right_keys):
            raise InternalError(
                f"a {self.kind.value} join needs equally many keys of both sides:"
                f" {self.left_keys} = {self.right_keys}"
            )
        if self.kind is JoinKind.NULL_AWARE_ANTI and (
            len(self.left_keys) > 1 or self.condition is not None or self.build_left
        ):
            raise InternalError(
                "a null-aware anti join takes one key, no condition, and holds the right side"
            )

    def run(self, context: ProcessorContext) -> Steps:
        build_input, probe_input = (0, 1) if self.build_left else (1, 0)
        build = yield from take_all(build_input, context)
        wanted = wanted_rows(self.kind, build_left=self.build_left)
        if build is None and not wanted.unmatched_probe:
            return
        rows = JoinRows(self._layout(), wanted, build, self.condition, context.settings)
        probing = None
        if build is not None:
            working = GROUPING_BYTES * build.num_rows
            context.memory.charge(working)
            probing = _Probing(self, build, rows, wanted, partial(may_charge, context.memory))
            context.memory.charge(probing.table.nbytes)
            context.memory.release(working)
            if self.kind is JoinKind.NULL_AWARE_ANTI and probing.table.has_incomplete_rows():
                return
        block_rows = PROBE_ROWS if probing is None else max(PROBE_ROWS, probing.table.wanted_rows)
        reductions = () if build is None else self._reductions(build, wanted, context)
        blocks = Blocks(probe_input, context, reductions)
        while (probe := (yield from blocks.take(block_rows))) is not None:
            if probing is None:
                yield from rows.probe_rows(probe, np.zeros(probe.num_rows, np.bool_))
            else:
                yield from probing.block(probe)
        if probing is not None:
            probing.finish()
        yield from rows.rest()

    def is_divisible(self, ordinal: int) -> bool:
        wanted = wanted_rows(self.kind, build_left=self.build_left)
        is_probe = ordinal == (1 if self.build_left else 0)
        return is_probe and not (wanted.matched_build or wanted.unmatched_build)

    def rows(self, inputs: Sequence[RowStep], compiler: RowCompiler) -> RowStep | None:
        left, right = inputs
        keys = tuple(zip(self.left_keys, self.right_keys, strict=True))
        condition = None if self.condition is None else compiler.expression(self.condition)
        if self.kind not in KINDS_BY_ROWS or (self.condition is not None and condition is None):
            return None
        types = [(left.types[mine], right.types[other]) for mine, other in keys]
        if not all(mine == other and is_comparable(mine) for mine, other in types):
            return None
        output = self.output
        if output is None:
            width = len(left.types) + (0 if self.kind in FILTERING_JOINS else len(right.types))
            output = tuple(range(width))
        return joined_rows(self.kind, left, right, keys, self.null_safe, condition, output)

    def keys(self, *, left: bool) -> tuple[int, ...]:
        """Return the ordinals of the key columns of the left side (``left``) or of the right side."""
        return self.left_keys if left else self.right_keys

    def _reductions(
        self, build: pa.RecordBatch, wanted: EmittedRows, context: ProcessorContext
    ) -> tuple[Reduction, ...]:
        """Return the reductions that drop probe rows early whose key occurs nowhere on the build side, one
        per key that isn't null-safe; none if the join emits such probe rows."""
        if wanted.unmatched_probe:
            return ()
        pairs = zip(self.keys(left=self.build_left), self.keys(left=not self.build_left), strict=True)
        null_safe = self.null_safe or (False,) * len(self.left_keys)
        return tuple(
            Reduction(build.column(held), streamed, context.memory)
            for (held, streamed), safe in zip(pairs, null_safe, strict=True)
            if not safe
        )

    def _layout(self) -> Layout:
        return make_layout(self.kind, self.left_schema, self.right_schema, self.output, self.build_left)

    def describe(self) -> str:
        keys = ", ".join(
            f"#{left} = #{right}" for left, right in zip(self.left_keys, self.right_keys, strict=True)
        )
        condition = "" if self.condition is None else f" and {describe(self.condition)}"
        side = " (holds left)" if self.build_left else ""
        return f"HashJoin {self.kind.value.replace(' ', '-')}: {keys}{condition}{side}"


class _Probing:
    """The probing of a hash join: looks up batches of probe rows, in the cheapest of several procedures that
    the kind of join allows."""

    def __init__(
        self,
        join: HashJoin,
        build: pa.RecordBatch,
        rows: JoinRows,
        wanted: EmittedRows,
        may_hold: Callable[[int], bool],
    ) -> None:
        self._keys = join.keys(left=not join.build_left)
        self._null_aware = join.kind is JoinKind.NULL_AWARE_ANTI
        self._rows = rows
        self._wanted = wanted
        self._by_pairs = join.condition is not None
        build_columns = [build.column(key) for key in join.keys(left=join.build_left)]
        self.table = JoinTable(build_columns, build.num_rows, join.null_safe, may_hold)
        #: Marks of the key numbers that met a probe row, for joins that need no more.
        self._met = np.zeros(self.table.size, np.bool_)

    def block(self, probe: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Look up one probe batch, and yield its output batches. For a join that emits only build rows,
        yield nothing, and mark the keys that a probe row has."""
        keys = [probe.column(key) for key in self._keys]
        matches = self.table.look_up(keys, probe.num_rows)
        wanted = self._wanted
        if self._by_pairs or (wanted.pairs and not (wanted.unmatched_probe and self.table.unique)):
            yield from self._rows.block(probe, matches.pairs())
        elif wanted.pairs:
            yield from self._every_probe_row_once(probe, matches)
        elif wanted.matched_probe or wanted.unmatched_probe:
            found = matches.found()
            valid = valid_mask(keys[0]) if self._null_aware else None
            yield from self._rows.probe_rows(probe, found if valid is None else found | ~valid)
        else:
            self._met[matches.numbers] = True

    def finish(self) -> None:
        """After the last probe batch, mark the build rows that have a partner, for joins that marked only
        keys so far."""
        if not (self._by_pairs or self._wanted.pairs) and len(self._rows.build_matched):
            self._rows.build_matched = self.table.rows_of(self._met)

    def _every_probe_row_once(self, probe: pa.RecordBatch, matches: ProbeMatches) -> Iterator[pa.RecordBatch]:
        """Yield the output of a join whose build keys are unique and that emits every probe row: each probe
        row with its only build row, or with nulls."""
        found = matches.found()
        if len(self._rows.build_matched):
            self._rows.build_matched[matches.only[found]] = True
        for start in range(0, probe.num_rows, BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            piece = probe.slice(start, BATCH_ROWS)
            yield self._rows.emit(piece, np.arange(piece.num_rows), matches.only[part], found[part])
