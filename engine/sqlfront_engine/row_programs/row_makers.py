"""Rows made of rows."""

from collections.abc import Callable, Sequence
from typing import cast

from sqlfront_engine.columns.tuples import tuple_function
from sqlfront_engine.expressions import Column, Expr
from sqlfront_engine.row_programs.program import Evaluate, Row

#: A row made of another one and of the constants of the run.
MakeRow = Callable[[Row, Sequence[object]], Row]


def row_maker(expressions: Sequence[Expr], evaluates: Sequence[Evaluate]) -> MakeRow:
    """The function that makes a tuple of expressions over a row; ``evaluates`` are these as functions.

    >>> import pyarrow as pa
    >>> second = Column(pa.int64(), 1)
    >>> row_maker([second, second], [lambda row, constants: row[1]] * 2)((5, 6), ())
    (6, 6)
    """
    parts: list[str] = []
    values: dict[str, object] = {}
    for place, (expression, evaluate) in enumerate(zip(expressions, evaluates, strict=True)):
        if isinstance(expression, Column):
            parts.append(f"row[{expression.ordinal}]")
        else:
            values[f"f{place}"] = evaluate
            parts.append(f"f{place}(row, constants)")
    return cast(MakeRow, tuple_function("row, constants", parts, values))
