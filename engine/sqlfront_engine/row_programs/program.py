"""The parts of a row program."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from sqlfront_values.expressions import Expr

#: A row of Python values, each represented as in a Literal of the column's type.
Row = tuple[object, ...]
#: A lookup: the rows of each key, in the order of the keys.
Find = Callable[[Sequence[Row]], Sequence[Sequence[Row]]]
#: A function from a row and the run's constants to an expression's value.
Evaluate = Callable[[Row, Sequence[object]], object]

#: The most rows that an operator of a program handles.
MOST_ROWS: Final = 10_000


class NotByRows(Exception):
    """The signal that the query has to run as a job: too many rows, or values whose result or error only the
    kernels know."""


class ProgramRun(msgspec.Struct, frozen=True):
    """The data of one run: the values of the program's constants, the lookup function of each source, and all
    rows of the small tables; ``literal`` gives the literals of parameters and of values of the run."""

    constants: Sequence[object]
    finds: Sequence[Find]
    tables: Sequence[Sequence[Row]]
    literal: Callable[[Expr], Expr]


class RowOperator(Protocol):
    """One step of a program."""

    def rows(self, run: ProgramRun) -> Sequence[Row]:
        """All rows of the step; callers must not change them. Raises NotByRows."""

    def describe(self) -> str:
        """The step's line in EXPLAIN."""

    def inputs(self) -> tuple["RowOperator", ...]:
        """The steps that provide this step's rows."""


def checked(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows, if they aren't too many; else raises NotByRows."""
    if len(rows) > MOST_ROWS:
        raise NotByRows
    return rows
