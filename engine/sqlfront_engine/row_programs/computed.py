"""Expressions evaluated by the kernels over a few rows."""

from collections.abc import Callable, Sequence

import pyarrow as pa

from sqlfront_engine.row_programs.program import NotByRows, ProgramRun, Row, RowOperator
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.evaluate import Rows, compile_projection
from sqlfront_values.expressions import Column, Expr, Parameter, RunValue, columns_used, transform, walk
from sqlfront_values.room import TooLargeError, limited
from sqlfront_values.settings import Settings
from sqlfront_values.types import physical

_Project = Callable[[Rows], tuple[list[pa.Array], int]]


class Computed:
    """A projection with an optional filter: one row of expressions for each row with a true condition (None:
    for all rows). The rows become a batch, and its computed columns become rows again. ``types`` are the
    types of the source's columns.

    Raises Spark's errors for these rows.
    """

    def __init__(
        self,
        source: RowOperator,
        types: Sequence[pa.DataType],
        expressions: Sequence[Expr],
        condition: Expr | None,
        settings: Settings,
    ) -> None:
        self._source = source
        parts = (*expressions, *(() if condition is None else (condition,)))
        self._read = sorted({ordinal for part in parts for ordinal in columns_used(part)})
        self._types = [physical(types[ordinal]) for ordinal in self._read]
        where = {ordinal: place for place, ordinal in enumerate(self._read)}
        self._parts = tuple(transform(part, lambda item: _moved(item, where)) for part in parts)
        self._width = len(expressions)
        self._settings = settings
        self._is_open = any(isinstance(item, Parameter | RunValue) for part in parts for item in walk(part))
        self._compiled: _Project | None = None

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        rows = self._source.rows(run)
        if not rows:
            return []
        columns = [
            from_values([row[ordinal] for row in rows], kind)
            for ordinal, kind in zip(self._read, self._types, strict=True)
        ]
        batch = make_batch(columns, [""] * len(columns), len(rows))
        try:
            with limited():
                computed, length = self._project(run)(Rows(batch))
        except TooLargeError:
            raise NotByRows from None
        if not computed:
            return [()] * length
        return list(zip(*map(to_python, computed), strict=True))

    def _project(self, run: ProgramRun) -> _Project:
        """The projection of this run; compiled only once if there are no parameters or values of the run."""
        if not self._is_open:
            if self._compiled is None:
                self._compiled = self._compile(self._parts)
            return self._compiled
        return self._compile(tuple(transform(part, run.literal) for part in self._parts))

    def _compile(self, parts: tuple[Expr, ...]) -> _Project:
        condition = parts[self._width] if len(parts) > self._width else None
        return compile_projection(parts[: self._width], self._settings, condition)

    def describe(self) -> str:
        return "Compute"

    def inputs(self) -> tuple[RowOperator, ...]:
        return (self._source,)


def _moved(item: Expr, where: dict[int, int]) -> Expr:
    return Column(item.type, where[item.ordinal], item.name) if isinstance(item, Column) else item
