"""The compiler of expressions for the vertices of one row program."""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from sqlfront_engine.row_programs import computed
from sqlfront_engine.row_programs.expressions import Constants, compiled
from sqlfront_engine.row_programs.program import Evaluate, ProgramRun, Row, RowFunction, RowStep
from sqlfront_engine.row_programs.row_makers import MakeRows, rows_maker
from sqlfront_values.expressions import Column, Expr
from sqlfront_values.settings import Settings
from sqlfront_values.types import INT, INTERVALS, VOID

_COLLECTIONS: Final = (pa.list_(VOID), pa.struct([]), pa.map_(INT, INT))
#: The ids of types whose values aren't complete single Python objects.
_ODD: Final = frozenset(kind.id for kind in (*_COLLECTIONS, VOID, pa.duration("us"), *INTERVALS.values()))


def has_python_values(kind: pa.DataType) -> bool:
    """Return whether each value of a column of this type is a single Python object that represents it
    completely."""
    return kind.id not in _ODD


class RowCompiler:
    """The compiler of a DAG's expressions to functions over Python rows. Its methods return None if only the
    kernels can compute an expression. ``deterministic`` returns whether an expression has the same value in
    each call, so that it may be computed once for all rows."""

    def __init__(self, settings: Settings, deterministic: Callable[[Expr], bool]) -> None:
        self.constants = Constants()
        self._settings = settings
        self._deterministic = deterministic

    def expression(self, expression: Expr) -> Evaluate | None:
        """Compile the expression to a function of the row; returns None if only the kernels compute it."""
        return compiled(expression, self.constants, self._deterministic)

    def rows(
        self, source: RowStep, condition: Expr | None, expressions: Sequence[Expr] | None
    ) -> RowStep | None:
        """Return a step that filters and projects the rows of ``source``: it computes ``expressions`` (None:
        all columns) for the rows for which ``condition`` (None: true) is true. If Python can't compute an
        expression, the step calls the kernels; returns None if not even this is possible."""
        types = source.types if expressions is None else tuple([part.type for part in expressions])
        test = None if condition is None else self.expression(condition)
        if condition is None or test is not None:
            if expressions is None or _is_whole(expressions, source):
                return RowStep(_kept(source.rows, test), types)
            make = self._maker(expressions)
            if make is not None:
                return RowStep(_made(source.rows, test, make), types)
        if expressions is None:
            expressions = [Column(kind, place) for place, kind in enumerate(types)]
        parts = (*expressions, *(() if condition is None else (condition,)))
        if not all(self._deterministic(part) and has_python_values(part.type) for part in parts):
            return None
        return RowStep(computed.computed_rows(source, expressions, condition, self._settings), types)

    def _maker(self, expressions: Sequence[Expr]) -> MakeRows | None:
        evaluates: list[Evaluate] = []
        for expression in expressions:
            evaluate = self.expression(expression)
            if evaluate is None:
                return None
            evaluates.append(evaluate)
        return rows_maker(expressions, evaluates)


def _is_whole(expressions: Sequence[Expr], source: RowStep) -> bool:
    """Return whether the expressions are all columns of the source, in order."""
    return len(expressions) == len(source.types) and all(
        isinstance(item, Column) and item.ordinal == place for place, item in enumerate(expressions)
    )


def _kept(source: RowFunction, test: Evaluate | None) -> RowFunction:
    if test is None:
        return source

    def rows(run: ProgramRun) -> Sequence[Row]:
        constants = run.constants
        return [row for row in source(run) if test(row, constants)]

    return rows


def _made(source: RowFunction, test: Evaluate | None, make: MakeRows) -> RowFunction:
    if test is None:
        return lambda run: make(source(run), run.constants)

    def rows(run: ProgramRun) -> Sequence[Row]:
        constants = run.constants
        return make([row for row in source(run) if test(row, constants)], constants)

    return rows
