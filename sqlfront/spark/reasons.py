"""Why a statement is Spark's: what sqlfront doesn't cover, and what is too large for it."""

from typing import Final

from sqlfront_values.errors import Error, NotSupportedError, OperationalError
from sqlfront_values.room import in_units

#: The condition of what is no SQL as far as sqlfront knows.
SYNTAX: Final = "PARSE_SYNTAX_ERROR"
#: Conditions of what may be right nevertheless: Spark knows more names, functions and syntax.
_SPARK_MAY_KNOW: Final = frozenset(
    {
        SYNTAX,
        "SCHEMA_NOT_FOUND",
        "TABLE_OR_VIEW_NOT_FOUND",
        "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
        "UNRESOLVED_ROUTINE",
    }
)
#: The SQLSTATE of a statement that would need more memory than there is.
_NO_MEMORY: Final = "53200"

#: What the conditions begin with of files that can't be read here, which Spark may read.
_UNREADABLE: Final = ("FAILED_READ_FILE.", "FAILED_TO_CREATE_PLAN_FOR_DIRECT_QUERY")


def reason_after(error: Error) -> str | None:
    """Why a statement is Spark's that ends with this error here; None if it isn't.

    >>> reason_after(NotSupportedError("PIVOT is not supported."))
    'PIVOT is not supported.'
    """
    if isinstance(error, NotSupportedError):
        return error.message
    if isinstance(error, OperationalError):
        if (error.condition or "").startswith(_UNREADABLE):
            return error.message
        return "it needs more memory than there is here" if error.sqlstate == _NO_MEMORY else None
    return error.message if error.condition in _SPARK_MAY_KNOW else None


def is_unknown_column(error: Error) -> bool:
    """Whether a name stands for no column here, which may be a variable of Spark's session."""
    return (error.condition or "").startswith("UNRESOLVED_COLUMN.")


def too_large(size: float, memory: int) -> str | None:
    """Why a query is Spark's that reads about so many bytes, where the members have so much memory; None if
    it isn't."""
    return (
        f"it reads about {in_units(int(size))}; the members have {in_units(memory)}"
        if size > memory
        else None
    )
