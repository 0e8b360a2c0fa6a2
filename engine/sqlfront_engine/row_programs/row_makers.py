"""Functions from rows to rows: projection, selection of columns, grouping."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import cast

from sqlfront_engine.row_programs.program import Evaluate, Row
from sqlfront_values.columns.tuples import tuples_function
from sqlfront_values.expressions import Column, Expr

#: A function from rows and the run's constants to one new row per row.
MakeRows = Callable[[Sequence[Row], Sequence[object]], Sequence[Row]]


def rows_maker(expressions: Sequence[Expr], evaluates: Sequence[Evaluate]) -> MakeRows:
    """Return a function of rows and constants that returns, for each row, the tuple of the values of
    ``expressions``. ``evaluates`` are the expressions as functions of a row, in the same order.

    >>> import pyarrow as pa
    >>> second = Column(pa.int64(), 1)
    >>> rows_maker([second, second], [lambda row, constants: row[1]] * 2)([(5, 6), (7, 8)], ())
    [(6, 6), (8, 8)]
    """
    parts: list[str] = []
    values: dict[str, object] = {}
    for place, (expression, evaluate) in enumerate(zip(expressions, evaluates, strict=True)):
        if isinstance(expression, Column):
            parts.append(f"row[{expression.ordinal}]")
        else:
            values[f"f{place}"] = evaluate
            parts.append(f"f{place}(row, constants)")
    return cast(MakeRows, tuples_function("row", "constants", parts, values))


def picker(ordinals: Sequence[int]) -> Callable[[Row], Row]:
    """Return a function that returns the tuple of a row's columns at ``ordinals``.

    >>> picker([1])((5, 6)), picker([1, 0])((5, 6)), picker([])((5, 6))
    ((6,), (6, 5), ())
    """
    match ordinals:
        case []:
            return lambda row: ()
        case [ordinal]:
            return lambda row: (row[ordinal],)
        case _:
            return itemgetter(*ordinals)


def grouped(rows: Sequence[Row], key: Callable[[Row], Row]) -> dict[Row, list[Row]]:
    """Group the rows by ``key(row)``. The keys are in the order of their first rows; the rows of a key keep
    their order."""
    groups: dict[Row, list[Row]] = {}
    for row in rows:
        value = key(row)
        if value in groups:
            groups[value].append(row)
        else:
            groups[value] = [row]
    return groups
