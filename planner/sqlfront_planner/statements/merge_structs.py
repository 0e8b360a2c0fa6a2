"""MERGE INTO as frozen structs."""

from enum import Enum

import msgspec

from sqlfront_planner.statements.query import Query


class MergeRows(Enum):
    """The rows of the joined target and source that a clause of MERGE is about."""

    MATCHED = "MATCHED"
    """Pairs of a target row and a source row for which the ON condition is true."""
    NOT_MATCHED = "NOT MATCHED"
    """Source rows without a matching target row (NOT MATCHED BY TARGET)."""
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"
    """Target rows without a matching source row."""


class MergeAction(Enum):
    """The effect of a clause of MERGE on the target."""

    UPDATE = "UPDATE"
    """Give the target row new values."""
    DELETE = "DELETE"
    """Remove the target row."""
    INSERT = "INSERT"
    """Add a row made of the source row."""


class MergeClause(msgspec.Struct, frozen=True):
    """The clause ``WHEN rows [AND condition] THEN action``. ``conditional``: the clause has a condition.
    ``assigned``: the number of columns that the clause lists with a value for each; None for ``UPDATE SET *``
    and ``INSERT *``, which take all columns from the source columns of the same names, and for DELETE."""

    rows: MergeRows
    action: MergeAction
    conditional: bool
    assigned: int | None = None


class Merge(msgspec.Struct, frozen=True):
    """``MERGE INTO name [alias] USING source [alias] ON condition WHEN ...``.

    The expressions are columns of three queries, in the order of the clauses, for each clause its condition,
    if it has one, and then its values. ``pairs`` is a query over all pairs of a target row and a source row:
    the target's columns, the source's columns, the ON condition, and the expressions of the MATCHED clauses.
    ``source`` is a query over the source: the source's columns, and the expressions of the NOT MATCHED
    clauses. ``target`` is a query over the target: the target's columns, the expressions of the NOT MATCHED
    BY SOURCE clauses, and last the assigned columns (or fields) of all clauses.
    """

    name: str
    clauses: tuple[MergeClause, ...]
    pairs: Query
    source: Query
    target: Query
