"""Reasons why Spark runs a statement: sqlfront doesn't cover it, or its input is too large."""

from typing import Final

from sqlfront_values.errors import NO_MEMORY, Error, NotSupportedError, OperationalError
from sqlfront_values.room import in_units

#: The condition for a text that sqlfront can't parse.
SYNTAX: Final = "PARSE_SYNTAX_ERROR"
#: Conditions of errors that Spark may not raise: Spark knows more names, functions and syntax.
_SPARK_MAY_KNOW: Final = frozenset(
    {
        SYNTAX,
        "REQUIRES_SINGLE_PART_NAMESPACE",
        "SCHEMA_NOT_FOUND",
        "TABLE_OR_VIEW_NOT_FOUND",
        "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        "UNRESOLVED_ROUTINE",
    }
)
#: The SQLSTATE of a statement that needs more memory than the members have.

#: Prefixes of the conditions for files that sqlfront can't read, but Spark may.
_UNREADABLE: Final = ("FAILED_READ_FILE.", "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY")


def reason_after(error: Error) -> str | None:
    """Return the reason why Spark should run a statement that fails in sqlfront with ``error``: sqlfront
    doesn't support it, lacks the memory for it, or doesn't know a name. None if Spark should not run it.

    >>> reason_after(NotSupportedError("PIVOT is not supported."))
    'PIVOT is not supported.'
    """
    if isinstance(error, NotSupportedError):
        return error.message
    if isinstance(error, OperationalError):
        if (error.condition or "").startswith(_UNREADABLE):
            return error.message
        return (
            "the statement needs more memory than the members have" if error.sqlstate == NO_MEMORY else None
        )
    return error.message if error.condition in _SPARK_MAY_KNOW else None


def is_unknown_column(error: Error) -> bool:
    """Return whether the error is about an unknown column, since the unknown name may belong to a variable of
    the Spark session."""
    return (error.condition or "").startswith("UNRESOLVED_COLUMN.")


def too_large(size: float, memory: int) -> str | None:
    """Return the reason why Spark should run a query that reads about ``size`` bytes if the members'
    ``memory`` in bytes is smaller; None if the memory is large enough."""
    return (
        f"the query reads about {in_units(int(size))}; the members have {in_units(memory)}"
        if size > memory
        else None
    )
