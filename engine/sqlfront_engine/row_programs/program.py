"""What a row program is made of."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from sqlfront_values.expressions import Expr

#: A row as Python values, each as a Literal of the column's type holds it.
Row = tuple[object, ...]
#: Finds for each key, in their order, its rows.
Find = Callable[[Sequence[Row]], Sequence[Sequence[Row]]]
#: An expression's value for a row, given the constants of the run.
Evaluate = Callable[[Row, Sequence[object]], object]

#: No operator of a program handles more rows than that.
MOST_ROWS: Final = 10_000


class NotByRows(Exception):
    """The query has to run as a job: too many rows, or values for which the kernels know the answer or the
    error."""


class Run(msgspec.Struct, frozen=True):
    """What differs from run to run: the values of the program's constants, for each of its sources the way to
    rows by key, and all rows of its small tables; ``literal`` gives the literals of parameters and of values
    of the run."""

    constants: Sequence[object]
    finds: Sequence[Find]
    tables: Sequence[Sequence[Row]]
    literal: Callable[[Expr], Expr]


class RowOperator(Protocol):
    """One step of a program."""

    def rows(self, run: Run) -> Sequence[Row]:
        """All its rows, which nobody changes. Raises NotByRows."""

    def describe(self) -> str:
        """Its line in EXPLAIN."""

    def inputs(self) -> tuple["RowOperator", ...]:
        """The steps that it takes rows from."""


def checked(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows, if they aren't too many."""
    if len(rows) > MOST_ROWS:
        raise NotByRows
    return rows
