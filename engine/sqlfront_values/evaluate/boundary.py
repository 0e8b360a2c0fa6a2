"""The boundary of evaluation: exceptions of Arrow, numpy and Python become errors of sqlfront, claimed room
is given back, and rows whose values are too large together are evaluated in pieces."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa

from sqlfront_values import room
from sqlfront_values.columns.batches import concat_columns
from sqlfront_values.errors import Error
from sqlfront_values.evaluate.rows import Rows
from sqlfront_values.evaluation_errors import foreign_error

_T = TypeVar("_T")


def bounded(run: Callable[[Rows], _T]) -> Callable[[Rows], _T]:
    """Wrap ``run`` in a function that raises only errors of sqlfront
    (:func:`~sqlfront_values.evaluation_errors.foreign_error` translates others) and, whether ``run`` returns
    or raises, gives back all memory that ``run`` claimed (:mod:`sqlfront_values.room`)."""

    def evaluator(rows: Rows) -> _T:
        before = room.held()
        try:
            return run(rows)
        except Error:
            raise
        except Exception as error:
            raise foreign_error(error) from error
        finally:
            room.give_back(before)

    return evaluator


def in_pieces(run: Callable[[Rows], _T], rows: Rows) -> Iterator[_T]:
    """Yield ``run(rows)``. If that call raises BatchTooLargeError, cut the rows into pieces, and yield the
    result of ``run`` for each piece, in order; if a single row is too large, raise the error."""
    try:
        result = run(rows)
    except room.BatchTooLargeError as error:
        if rows.length < 2:
            raise
        size = error.size
    else:
        yield result
        return
    for piece in _pieces(rows, size):
        room.check()
        yield from in_pieces(run, piece)


def _pieces(rows: Rows, size: int) -> Iterator[Rows]:
    """Cut rows for which ``run`` would make ``size`` bytes into pieces for which it makes about half of
    :data:`~sqlfront_values.room.MOST_AT_ONCE` each."""
    count = max(2, 2 * size // room.MOST_AT_ONCE)
    step = max(1, rows.length // count)
    for start in range(0, rows.length, step):
        yield rows.part(start, min(step, rows.length - start))


def joined(run: Callable[[Rows], pa.Array]) -> Callable[[Rows], pa.Array]:
    """Wrap ``run``, a function from rows to a column, in a function that raises only errors of sqlfront, and
    gives back the memory that ``run`` has claimed. If ``run`` raises BatchTooLargeError, the wrapper calls it
    for pieces of the rows, and concatenates the columns; it raises BatchTooLargeError if a single row is too
    large, or the columns are too large together."""
    inner = bounded(run)

    def evaluator(rows: Rows) -> pa.Array:
        try:
            return inner(rows)
        except room.BatchTooLargeError as error:
            return _together(in_pieces(inner, rows), error)

    return evaluator


def _together(arrays: Iterator[pa.Array], error: room.BatchTooLargeError) -> pa.Array:
    """Concatenate the arrays; raise ``error`` if the arrays together have more than
    :data:`~sqlfront_values.room.MOST_AT_ONCE` bytes."""
    found: list[pa.Array] = []
    size = 0
    for array in arrays:
        found.append(array)
        size += array.nbytes
        if size > room.MOST_AT_ONCE:
            raise error
    return concat_columns(found)
