"""Expressions evaluated by the kernels over a few rows."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from sqlfront_engine.row_programs.program import NotByRows, ProgramRun, Row, RowFunction, RowStep
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.evaluate import Rows, compile_projection
from sqlfront_values.expressions import Column, Expr, Parameter, RunValue, columns_used, transform, walk
from sqlfront_values.room import TooLargeError, limited
from sqlfront_values.settings import Settings
from sqlfront_values.types import physical

_Project = Callable[[Rows], tuple[list[pa.Array], int]]


def computed_rows(
    source: RowStep, expressions: Sequence[Expr], condition: Expr | None, settings: Settings
) -> RowFunction:
    """Return a function that computes a projection with an optional filter by the kernels: one row of
    ``expressions`` for each row of ``source`` with a true ``condition`` (None: for all rows). The source's
    rows become a batch, and the computed columns become rows again.

    The returned function raises Spark's errors for these rows, and NotByRows if the result is too large.
    """
    parts = (*expressions, *(() if condition is None else (condition,)))
    read = sorted({ordinal for part in parts for ordinal in columns_used(part)})
    types = [physical(source.types[ordinal]) for ordinal in read]
    where = {ordinal: place for place, ordinal in enumerate(read)}
    moved = [transform(part, lambda item: _moved(item, where)) for part in parts]
    is_open = any(isinstance(item, Parameter | RunValue) for part in parts for item in walk(part))

    def compiled(parts: Sequence[Expr]) -> _Project:
        return compile_projection(tuple(parts[: len(expressions)]), settings, *parts[len(expressions) :])

    fixed: list[_Project] = []

    def rows(run: ProgramRun) -> Sequence[Row]:
        found = source.rows(run)
        if not found:
            return []
        columns = [
            from_values([row[ordinal] for row in found], kind)
            for ordinal, kind in zip(read, types, strict=True)
        ]
        batch = make_batch(columns, [""] * len(columns), len(found))
        if is_open:
            project = compiled([transform(part, run.literal) for part in moved])
        else:
            if not fixed:
                fixed.append(compiled(moved))
            project = fixed[0]
        try:
            with limited():
                made, length = project(Rows(batch))
        except TooLargeError:
            raise NotByRows from None
        return list(zip(*map(to_python, made), strict=True)) if made else [()] * length

    return rows


def _moved(item: Expr, where: dict[int, int]) -> Expr:
    return Column(item.type, where[item.ordinal], item.name) if isinstance(item, Column) else item
