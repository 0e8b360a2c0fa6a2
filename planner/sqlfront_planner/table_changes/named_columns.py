"""The columns of a table that a statement names: in the list of INSERT or CREATE INDEX, in UPDATE's SET, or
in the definition of a new table or view."""

from collections.abc import Iterable

import pyarrow as pa

from sqlfront_planner.binder.names.shown_names import quoted, unknown_column
from sqlfront_values.errors import ProgrammingError, spark_error


def named_column(schema: pa.Schema, name: str) -> int:
    """The ordinal of the column of that name, case-insensitive. Raises UNRESOLVED_COLUMN if no column has the
    name.

    >>> named_column(pa.schema([("a", pa.int32()), ("b", pa.int32())]), "B")
    1
    """
    for ordinal, known in enumerate(schema.names):
        if known.lower() == name.lower():
            return ordinal
    raise spark_error(*unknown_column((name,), [(known,) for known in schema.names]))


def named_columns(schema: pa.Schema, names: Iterable[str]) -> tuple[int, ...]:
    """The ordinals of the columns with these names, in the names' order. Raises UNRESOLVED_COLUMN as
    :func:`named_column`, COLUMN_ALREADY_EXISTS if a column is named twice."""
    found: list[int] = []
    for name in names:
        ordinal = named_column(schema, name)
        if ordinal in found:
            raise _column_exists(name)
        found.append(ordinal)
    return tuple(found)


def check_unique(names: Iterable[str]) -> None:
    """Raise COLUMN_ALREADY_EXISTS if two names are equal, case-insensitive.

    >>> check_unique(["a", "b"])
    """
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise _column_exists(name)
        seen.add(name.lower())


def _column_exists(name: str) -> ProgrammingError:
    """The error COLUMN_ALREADY_EXISTS for a name that stands in a list twice."""
    return ProgrammingError(
        f"The column {quoted((name,))} already exists. Choose another name or rename the existing column.",
        condition="COLUMN_ALREADY_EXISTS",
    )
