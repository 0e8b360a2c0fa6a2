"""The kinds of joins."""

from enum import Enum
from typing import Final


class JoinKind(Enum):
    """The kinds of joins, by which a join emits or drops matched and unmatched rows."""

    __hash__ = (
        object.__hash__
    )  # by identity: there is one member of each name, and sets of kinds are used everywhere

    INNER = "inner"
    """Matching pairs only."""
    LEFT = "left"
    """Unmatched left rows with nulls."""
    RIGHT = "right"
    """Unmatched right rows with nulls."""
    FULL = "full"
    """Unmatched rows of both sides."""
    SEMI = "semi"
    """Left rows with at least one match; each left row once."""
    ANTI = "anti"
    """Left rows without a match."""
    NULL_AWARE_ANTI = "null-aware anti"
    """NOT IN: left rows for which the condition is false (not null) for every right row."""


#: Joins that only filter their left side: the output row is the left row.
FILTERING_JOINS: Final = frozenset({JoinKind.SEMI, JoinKind.ANTI, JoinKind.NULL_AWARE_ANTI})
