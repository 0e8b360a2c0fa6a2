"""Evaluation of bound expressions over batches.

The input is an :class:`~sqlfront_values.expressions.Expr` and a batch in physical form; the output is an
array in physical form, or the batch's rows that satisfy a condition. An expression is compiled to closures
once (:func:`compile_expression`, :func:`compile_filter`, :func:`compile_projection`); a processor compiles
before its first batch. :func:`evaluate` and :func:`filter_batch` keep the compiled closures.

Read :mod:`.rows` (the input of evaluation) and :mod:`.compiler` first (node by node), then :mod:`.lazy`
(operands evaluated only for the rows that need them; :mod:`.fallible` gives the reason), :mod:`.selection`
(filters) and :mod:`.boundary` (errors, and values that are too large for a batch). :mod:`.sharing` computes
repeated subexpressions once, :mod:`.scaled` computes decimals as integers. :mod:`.higher_order` evaluates
functions that take lambdas, :mod:`.lambda_bodies` the lambdas, :mod:`.comparator_sort` sorts by one.
"""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_values.arrow.arrays import to_python
from sqlfront_values.arrow.forms import full_array, plain, to_array
from sqlfront_values.columns.batches import concat_batches
from sqlfront_values.evaluate import selection
from sqlfront_values.evaluate.boundary import bounded, in_pieces, joined
from sqlfront_values.evaluate.compiler import Compiler
from sqlfront_values.evaluate.fallible import can_fail, is_deterministic
from sqlfront_values.evaluate.rows import Evaluator, Rows
from sqlfront_values.expressions import Expr
from sqlfront_values.memo import Memo
from sqlfront_values.room import BatchTooLargeError, planning
from sqlfront_values.settings import Settings

__all__ = [
    "can_fail",
    "Rows",
    "compile_expression",
    "compile_expressions",
    "compile_filter",
    "compile_projection",
    "evaluate",
    "check_constant",
    "evaluate_scalar",
    "filter_batch",
    "in_pieces",
    "is_deterministic",
]

Evaluate = Callable[[pa.RecordBatch], pa.Array]
Filter = Callable[[pa.RecordBatch], pa.RecordBatch]

#: Compiled expressions and filters in each cache: those of some hundred plans.
_KEPT = 512
#: By the expression's identity; the expression is held, so that its identity is not used again.
_expressions = Memo[tuple[int, Settings], tuple[Expr, Evaluate]](_KEPT)
_filters = Memo[tuple[int, Settings], tuple[Expr, Filter]](_KEPT)


def compile_expression(expression: Expr, settings: Settings) -> Evaluate:
    """Compile an expression to a function from a batch to a physical array of ``batch.num_rows`` values.

    The function raises Spark's errors for the rows (:class:`~sqlfront_values.errors.DataError`), and
    BatchTooLargeError if the values are too large for one array.
    """
    run = _as_array(Compiler(settings).node(expression))
    return lambda batch: run(Rows(batch))


def compile_filter(condition: Expr, settings: Settings) -> Filter:
    """Compile a condition to a function from a batch to the batch of the rows for which the condition is
    true, neither false nor null. The function returns the batch itself if the condition is true for all
    rows."""
    select = selection.compile_selection(condition, settings)

    def run(rows: Rows) -> pa.RecordBatch:
        return select(rows).of_batch(rows.batch)

    inner = bounded(run)

    def selected(batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            return inner(Rows(batch))
        except BatchTooLargeError:
            return concat_batches(list(in_pieces(inner, Rows(batch))))

    return selected


def compile_projection(
    expressions: tuple[Expr, ...], settings: Settings, condition: Expr | None = None
) -> Callable[[Rows], tuple[list[pa.Array], int]]:
    """Compile expressions to a function that returns their values, and the number of rows, for the input rows
    (for a batch: ``Rows(batch)``) that satisfy the ``condition`` (None = all input rows). Columns that no
    expression reads are never gathered.

    Values that are too large together raise :class:`~sqlfront_values.room.BatchTooLargeError`;
    :func:`in_pieces` then takes fewer rows at a time.
    """
    compiler = Compiler(settings, expressions)
    runs = [compiler.node(expression) for expression in expressions]
    select = None if condition is None else selection.compile_selection(condition, settings)

    def project(rows: Rows) -> tuple[list[pa.Array], int]:
        if select is not None:
            rows = select(rows).of_rows(rows)
        length = rows.length
        return [to_array(run(rows), length) for run in runs], length

    return bounded(project)


def compile_expressions(
    expressions: tuple[Expr, ...], settings: Settings, compact: frozenset[int] = frozenset()
) -> tuple[Callable[[Rows], pa.Array], ...]:
    """Compile each expression to a function from rows (``Rows(batch)``: all rows of a batch) to an array of
    the expression's values. The functions can be called separately; a subexpression that several expressions
    have in common is computed once per ``Rows``.

    For the expressions at the positions in ``compact``, a decimal of more than 18 digits may come as a
    decimal64 of 18 digits and the same scale, whose unscaled values fit 64 bits: good for sums, wrong for a
    column that is passed on.
    """
    compiler = Compiler(settings, expressions)
    runs = [
        compiler.compact(expression) if position in compact else compiler.node(expression)
        for position, expression in enumerate(expressions)
    ]
    return tuple(_as_array(run) for run in runs)


def _as_array(run: Evaluator) -> Callable[[Rows], pa.Array]:
    return joined(lambda rows: to_array(run(rows), rows.length))


def evaluate(expression: Expr, batch: pa.RecordBatch, settings: Settings) -> pa.Array:
    """Return the expression's values for the rows of the batch, as an array in physical form; the compiled
    expression is cached for further calls. Raises Spark's errors for the rows (DataError), and
    BatchTooLargeError if the values are too large for one array."""
    key = (id(expression), settings)
    kept = _expressions.get(key)
    if kept is None:
        kept = _expressions.keep(key, (expression, compile_expression(expression, settings)))
    return kept[1](batch)


def filter_batch(batch: pa.RecordBatch, condition: Expr, settings: Settings) -> pa.RecordBatch:
    """Return a batch of the rows for which the condition is true, neither false nor null; the compiled
    condition is cached for further calls. Raises Spark's errors for the rows."""
    key = (id(condition), settings)
    kept = _filters.get(key)
    if kept is None:
        kept = _filters.keep(key, (condition, compile_filter(condition, settings)))
    return kept[1](batch)


def evaluate_scalar(expression: Expr, settings: Settings) -> object:
    """Return the Python value of an expression without columns, None for null.

    Raises Spark's error if the evaluation fails; OverflowError for a date or timestamp outside of the years 1
    to 9999, which no Python value can represent; NotConstantError if the value differs from run to run, is
    too large to be stored in a plan (TooLargeError), or takes longer to compute than
    :data:`~sqlfront_values.room.FEW_SECONDS`."""
    return to_python(_one_value(expression, settings))[0]


def check_constant(expression: Expr, settings: Settings) -> None:
    """Evaluate an expression without columns only to raise the error with which its evaluation ends, if any:
    Spark's error, or NotConstantError as in :func:`evaluate_scalar`. A date or timestamp that Python can't
    represent is no error."""
    _one_value(expression, settings)


def _one_value(expression: Expr, settings: Settings) -> pa.Array:
    with planning():
        return _evaluated(expression, settings)(Rows(_ONE_ROW))


def _evaluated(expression: Expr, settings: Settings) -> Callable[[Rows], pa.Array]:
    """Return a function that compiles and evaluates an expression without columns, to an array of one row.
    Errors of both steps become errors of sqlfront (:func:`bounded`), as compiling may refuse a constant,
    too."""
    return bounded(lambda rows: plain(full_array(Compiler(settings).node(expression)(rows), 1)))


_ONE_ROW = pa.RecordBatch.from_arrays([pa.nulls(1)], names=[""])
