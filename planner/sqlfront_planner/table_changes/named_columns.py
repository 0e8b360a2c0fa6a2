"""The columns of a table that a statement names: in the list of INSERT or CREATE INDEX, in UPDATE's SET, or
in the definition of a new table or view."""

from collections.abc import Iterable, Sequence

import pyarrow as pa

from sqlfront_planner.binder.names.shown_names import quoted, unknown_column
from sqlfront_planner.statements.dotted_names import name_parts
from sqlfront_values.errors import ProgrammingError, spark_error


def named_column(schema: pa.Schema, name: str) -> int:
    """Return the ordinal of the column of that name, case-insensitive. Raises UNRESOLVED_COLUMN if no column
    has the name.

    >>> named_column(pa.schema([("a", pa.int32()), ("b", pa.int32())]), "B")
    1
    """
    for ordinal, known in enumerate(schema.names):
        if known.lower() == name.lower():
            return ordinal
    raise spark_error(*unknown_column((name,), [(known,) for known in schema.names]))


def named_columns(schema: pa.Schema, names: Iterable[str]) -> tuple[int, ...]:
    """Return the ordinals of the columns with these names, case-insensitive, in the names' order. Raises
    UNRESOLVED_COLUMN for a name that no column has, COLUMN_ALREADY_EXISTS if a column is named twice."""
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


def check_partition_columns(table: str, columns: Sequence[str], partitioned_by: Sequence[str]) -> None:
    """Check the columns in PARTITIONED BY of the new table ``table``. Raises COLUMN_NOT_DEFINED_IN_TABLE for
    a column that isn't among ``columns``, COLUMN_ALREADY_EXISTS for a column that is named twice,
    ALL_PARTITION_COLUMNS_NOT_ALLOWED if no column is left for the files.

    >>> check_partition_columns("t", ["a", "b"], ["B"])
    """
    known = {name.lower() for name in columns}
    for name in partitioned_by:
        if name.lower() not in known:
            raise spark_error(
                "COLUMN_NOT_DEFINED_IN_TABLE",
                f"partition column {quoted((name,))} is not defined in table {quoted(name_parts(table))}, "
                f"defined table columns are: {', '.join(quoted((each,)) for each in columns)}.",
            )
    check_unique(partitioned_by)
    if partitioned_by and len(partitioned_by) == len(columns):
        raise spark_error(
            "ALL_PARTITION_COLUMNS_NOT_ALLOWED", "Cannot use all columns for partition columns."
        )


def _column_exists(name: str) -> ProgrammingError:
    """Make the error COLUMN_ALREADY_EXISTS for a name that occurs twice in a list of columns."""
    return ProgrammingError(
        f"The column {quoted((name,))} already exists. Choose another name or rename the existing column.",
        condition="COLUMN_ALREADY_EXISTS",
    )
