"""The types of a row program: its steps, the data of a run, and the signal that a job has to run instead."""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_values.expressions import Expr

#: A row of Python values, each represented as in a Literal of the column's type.
Row = tuple[object, ...]
#: A lookup: the rows of each key, in the order of the keys.
Find = Callable[[Sequence[Row]], Sequence[Sequence[Row]]]
#: A function from a row and the run's constants to an expression's value.
Evaluate = Callable[[Row, Sequence[object]], object]

#: Rows that a step of a program handles at most: some ten milliseconds of Python; kernels are faster for
#: more.
MOST_ROWS: Final = 10_000


class NotByRows(Exception):
    """The signal that the query has to run as a job: it has too many rows, or values for which only the
    kernels have the result or error."""


class ProgramRun(msgspec.Struct, frozen=True):
    """The data of one run of a row program. ``constants``: the values of the program's constants. ``finds``:
    for each source the function that looks up rows by their keys. ``tables``: all rows of the small tables.
    ``literal``: a function that replaces an expression such as a parameter or the current date by its literal
    in this run. ``kept``: by vertex name, the rows of vertices that several other vertices read."""

    constants: Sequence[object]
    finds: Sequence[Find]
    tables: Sequence[Sequence[Row]]
    literal: Callable[[Expr], Expr]
    kept: dict[str, Sequence[Row]] = msgspec.field(default_factory=dict)


#: A function from a run to all rows of a vertex; callers must not change the rows. Raises NotByRows.
RowFunction: TypeAlias = Callable[[ProgramRun], Sequence[Row]]


class RowStep(msgspec.Struct, frozen=True):
    """A vertex of a DAG in a row program: ``rows`` is a function from a run of the program to the vertex's
    output, as Python rows; ``types`` are the types of the rows' columns."""

    rows: RowFunction
    types: tuple[pa.DataType, ...]


def checked(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows unchanged. Raises NotByRows, so that the query runs as a job instead, if there are more
    than :data:`MOST_ROWS` rows."""
    if len(rows) > MOST_ROWS:
        raise NotByRows
    return rows
