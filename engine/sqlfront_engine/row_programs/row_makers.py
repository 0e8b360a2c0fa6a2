"""Functions that make rows from rows."""

from collections.abc import Callable, Sequence
from typing import cast

from sqlfront_engine.row_programs.program import Evaluate, Row
from sqlfront_values.columns.tuples import tuples_function
from sqlfront_values.expressions import Column, Expr

#: A function from rows and the run's constants to one new row per row.
MakeRows = Callable[[Sequence[Row], Sequence[object]], Sequence[Row]]


def rows_maker(expressions: Sequence[Expr], evaluates: Sequence[Evaluate]) -> MakeRows:
    """The function that makes tuples of expressions over rows; ``evaluates`` are the expressions as
    functions.

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
