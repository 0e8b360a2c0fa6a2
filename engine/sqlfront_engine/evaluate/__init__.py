"""Evaluation of bound expressions over batches.

In: an :class:`~sqlfront_engine.expressions.Expr` and a batch in physical form. Out: an array in physical
form, or the batch's rows that satisfy a condition. An expression is compiled to closures once
(:func:`compile_expression`, :func:`compile_filter`, :func:`compile_projection`); a processor does that
before its first batch. :func:`evaluate` and :func:`filter_batch` keep what they compiled.

Read :mod:`.compiler` first (node by node), then :mod:`.lazy` (operands for the rows that need them) and
:mod:`.selection` (filters).
"""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_engine.arrays import to_python
from sqlfront_engine.evaluate.compiler import compile_node
from sqlfront_engine.evaluate.fallible import can_fail, is_deterministic
from sqlfront_engine.evaluate.rows import Rows
from sqlfront_engine.evaluate.selection import compile_selection
from sqlfront_engine.expressions import Expr
from sqlfront_engine.forms import full_array, plain, to_array
from sqlfront_engine.functions.registry import Settings

__all__ = [
    "can_fail",
    "compile_expression",
    "compile_filter",
    "compile_projection",
    "evaluate",
    "evaluate_scalar",
    "filter_batch",
    "is_deterministic",
]

Evaluate = Callable[[pa.RecordBatch], pa.Array]
Filter = Callable[[pa.RecordBatch], pa.RecordBatch]

_KEPT = 512
#: By the expression's identity; the expression is held, so that its identity is not used again.
_expressions: dict[tuple[int, Settings], tuple[Expr, Evaluate]] = {}
_filters: dict[tuple[int, Settings], tuple[Expr, Filter]] = {}


def compile_expression(expression: Expr, settings: Settings) -> Evaluate:
    """A function that gives the expression's values for a batch: a physical array of ``batch.num_rows`` rows.

    It raises what Spark would raise for these rows (:class:`~sqlfront_engine.errors.DataError`).
    """
    run = compile_node(expression, settings)

    def evaluator(batch: pa.RecordBatch) -> pa.Array:
        return to_array(run(Rows(batch)), batch.num_rows)

    return evaluator


def compile_filter(condition: Expr, settings: Settings) -> Filter:
    """A function that gives the rows of a batch for which the condition is true (the batch itself if all
    are)."""
    select = compile_selection(condition, settings)
    return lambda batch: select(Rows(batch)).of_batch(batch)


def compile_projection(
    expressions: tuple[Expr, ...], settings: Settings, condition: Expr | None = None
) -> Callable[[pa.RecordBatch], tuple[list[pa.Array], int]]:
    """A function that gives the expressions' values, and their number of rows, for those rows of a batch
    for which the condition is true. Columns that no expression reads are never gathered."""
    runs = [compile_node(expression, settings) for expression in expressions]
    select = None if condition is None else compile_selection(condition, settings)

    def project(batch: pa.RecordBatch) -> tuple[list[pa.Array], int]:
        rows = Rows(batch)
        if select is not None:
            rows = select(rows).of_rows(rows)
        length = rows.length
        return [to_array(run(rows), length) for run in runs], length

    return project


def evaluate(expression: Expr, batch: pa.RecordBatch, settings: Settings) -> pa.Array:
    """The expression's values for the batch, see :func:`compile_expression`."""
    key = (id(expression), settings)
    kept = _expressions.get(key)
    if kept is None:
        _make_room(_expressions)
        kept = _expressions[key] = (expression, compile_expression(expression, settings))
    return kept[1](batch)


def filter_batch(batch: pa.RecordBatch, condition: Expr, settings: Settings) -> pa.RecordBatch:
    """The batch's rows for which the condition is true, see :func:`compile_filter`."""
    key = (id(condition), settings)
    kept = _filters.get(key)
    if kept is None:
        _make_room(_filters)
        kept = _filters[key] = (condition, compile_filter(condition, settings))
    return kept[1](batch)


def evaluate_scalar(expression: Expr, settings: Settings) -> object:
    """The Python value of an expression without columns; raises as at run time."""
    value = compile_node(expression, settings)(_ONE_ROW)
    return to_python(plain(full_array(value, 1)))[0]


def _make_room(kept: dict[tuple[int, Settings], tuple[Expr, Evaluate]]) -> None:
    if len(kept) >= _KEPT:
        kept.clear()


_ONE_ROW = Rows(pa.RecordBatch.from_arrays([pa.nulls(1)], names=[""]))
