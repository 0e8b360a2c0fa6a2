"""The error hierarchy of sqlfront: PEP 249's classes, with Spark's error condition and SQLSTATE.

The meaning of each class::

    Error
    +-- InterfaceError          the driver was used wrongly (a closed cursor)
    +-- DatabaseError
        +-- ProgrammingError    the user's SQL: syntax, unknown names, wrong types, wrong parameter count
        +-- DataError           the user's data: division by zero, overflow, an invalid cast
        +-- IntegrityError      a constraint would be broken
        +-- NotSupportedError   not built; names the construct
        +-- OperationalError    the environment: files, memory, time-outs, cancellation, lost members
        +-- InternalError       a bug in sqlfront

Code raises Spark's conditions through :func:`spark_error`, which knows each condition's class, or as one of
the classes. The SQLSTATE follows from the condition (:mod:`.spark_conditions`).
"""

from typing import Final

from sqlfront_values import spark_conditions

#: Characters of SQL that an error quotes from one line, and of each end of a long message, so that a message
#: stays readable in a terminal and in a log.
LONGEST_QUOTATION: Final = 1000
_LEFT_OUT: Final = " … "


#: The SQLSTATE of a lack of memory.
NO_MEMORY: Final = "53200"


class Warning(Exception):
    """PEP 249's warning class; exported, but never raised."""


class Error(Exception):
    """The base of all errors of sqlfront.

    ``condition`` is Spark's error condition (``"DIVIDE_BY_ZERO"``) or None. ``sqlstate`` is the five
    characters that SQL's standard has for such errors; if not given, the SQLSTATE of the condition, or None
    without a condition. ``position`` is the half-open range of character offsets in the statement that the
    error points at, or None. :meth:`locate` adds the statement's text, after which ``str(error)`` ends with
    ``LINE n:`` and a caret. ``hint`` is a sentence that says what the user can do, or None. ``vertex`` and
    ``member`` name the place in a job at which the error was raised; both are None outside of jobs.

    An error quotes at most :data:`LONGEST_QUOTATION` characters of a line of SQL. A much longer message loses
    its middle, since the message may be a quotation, too.
    """

    def __init__(
        self,
        message: str,
        *,
        condition: str | None = None,
        sqlstate: str | None = None,
        position: tuple[int, int] | None = None,
    ) -> None:
        message = _shortened(message)
        super().__init__(message)
        self.message = message
        self.condition = condition
        self.sqlstate = sqlstate_of(condition) if sqlstate is None and condition is not None else sqlstate
        self.position = position
        self.sql: str | None = None
        self.hint: str | None = None
        self.vertex: str | None = None
        self.member: str | None = None

    def locate(self, sql: str) -> None:
        """Store ``sql``, the statement's text to which :attr:`position` refers, for the error's message. A
        text that is stored already stays."""
        if self.sql is None:
            self.sql = sql

    def __str__(self) -> str:
        head = f"[{self.condition}] {self.message}" if self.condition else self.message
        if self.sqlstate:
            head = f"{head} SQLSTATE: {self.sqlstate}"
        if self.sql is not None and self.position is not None:
            head = f"{head}\n{point_at(self.sql, self.position)}"
        return head if self.hint is None else f"{head}\nHINT: {self.hint}"


class InterfaceError(Error):
    """An error for wrong use of the driver, for example of a closed cursor."""


class DatabaseError(Error):
    """The base of all errors that a statement can end with."""


class DataError(DatabaseError):
    """An error in the data: division by zero, overflow, an invalid cast."""


class OperationalError(DatabaseError):
    """An error of the environment: missing files, memory, time-outs, cancellation, lost members."""


class IntegrityError(DatabaseError):
    """An error for a change that would break a constraint."""


class InternalError(DatabaseError):
    """An error for a bug in sqlfront itself."""


class ProgrammingError(DatabaseError):
    """An error in the statement: syntax, unknown names, mismatched types, wrong parameters."""


class NotSupportedError(DatabaseError):
    """An error for a correct statement that uses a construct that is not built; the message names the
    construct."""


#: The classes of Spark's errors by the beginning of the SQLSTATE; the longest one decides. Other errors are
#: OperationalErrors.
_CLASSES: Final[dict[str, type[DatabaseError]]] = {
    "07": ProgrammingError,
    "0A": NotSupportedError,
    "21": DataError,
    "21S": ProgrammingError,
    "22": DataError,
    "23": IntegrityError,
    "24": ProgrammingError,
    "2B": ProgrammingError,
    "38": DataError,  # a user's function
    "39": DataError,
    "3F": ProgrammingError,
    "42": ProgrammingError,
    "46": ProgrammingError,
    "56038": NotSupportedError,
    "P0": DataError,  # raise_error
    "XX": InternalError,
    "XXKDA": OperationalError,  # a cancelled job
}
#: The conditions of other classes than their SQLSTATE says: most are about a statement, not about its data.
_OTHER_CLASSES: Final[dict[str, type[DatabaseError]]] = {
    "COLLECTION_SIZE_LIMIT_EXCEEDED": DataError,
    "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION": ProgrammingError,
    "DECIMAL_SCALE_EXCEEDS_PRECISION": ProgrammingError,
    "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED": ProgrammingError,
    "DUPLICATED_MAP_KEY": DataError,
    "DUPLICATE_KEY": ProgrammingError,  # a property that a statement names twice
    "FAILED_FUNCTION_CALL": ProgrammingError,
    "FAILED_TO_PARSE_TOO_COMPLEX": NotSupportedError,
    "INVALID_CONF_VALUE": ProgrammingError,
    "INVALID_DATETIME_PATTERN": ProgrammingError,
    "INVALID_NUMERIC_LITERAL_RANGE": ProgrammingError,
    "MISSING_ATTRIBUTES": ProgrammingError,
    "NOT_NULL_ASSERT_VIOLATION": IntegrityError,
    "STAR_GROUP_BY_POS": ProgrammingError,
    "UNSUPPORTED_TYPED_LITERAL": ProgrammingError,
}


def sqlstate_of(condition: str) -> str | None:
    """Return the SQLSTATE of one of Spark's conditions or sub-conditions; None if Spark has no such
    condition.

    >>> sqlstate_of("WRONG_NUM_ARGS.WITHOUT_SUGGESTION")
    '42605'
    """
    return spark_conditions.SQLSTATES.get(condition.partition(".")[0])


def class_of(condition: str, sqlstate: str) -> type[DatabaseError]:
    """Return the class of Spark's errors with that condition and SQLSTATE; OperationalError if no rule names
    either.

    >>> class_of("DIVIDE_BY_ZERO", "22012").__name__
    'DataError'
    """
    starts = (sqlstate[:length] for length in range(5, 1, -1))
    by_state = next((_CLASSES[start] for start in starts if start in _CLASSES), OperationalError)
    return _OTHER_CLASSES.get(condition.partition(".")[0], by_state)


def spark_error(condition: str, message: str, *, position: tuple[int, int] | None = None) -> DatabaseError:
    """Build an error with one of Spark's conditions or sub-conditions, of the class that belongs to the
    condition. ``position`` is the half-open range of character offsets in the statement that the error points
    at, or None.

    >>> error = spark_error("DIVIDE_BY_ZERO", "Division by zero.")
    >>> type(error).__name__, str(error)
    ('DataError', '[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012')
    """
    kind = class_of(condition, sqlstate_of(condition) or "")
    return kind(message, condition=condition, position=position)


def too_complex(*, position: tuple[int, int] | None = None) -> DatabaseError:
    """Build Spark's error for a statement that is nested more deeply, or grows larger, than the planner
    allows."""
    return spark_error(
        "FAILED_TO_PARSE_TOO_COMPLEX",
        "The statement, including potential SQL functions and referenced views, was too complex to parse. "
        "To mitigate this error divide the statement into multiple, less complex chunks.",
        position=position,
    )


def point_at(sql: str, position: tuple[int, int]) -> str:
    """Return two lines: the line of ``sql`` in which the range ``position`` (half-open, character offsets)
    begins, with its number, and carets below the range.

    >>> print(point_at("select a\\nfrom t", (14, 15)))
    LINE 2: from t
                 ^
    """
    start = min(position[0], len(sql))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = line_end if line_end >= 0 else len(sql)
    # Of a long line, quote the part around the position.
    first = max(line_start, min(start - LONGEST_QUOTATION // 2, line_end - LONGEST_QUOTATION))
    last = min(line_end, first + LONGEST_QUOTATION)
    line = sql[first:last] + ("…" if last < line_end else "")
    prefix = f"LINE {sql.count(chr(10), 0, start) + 1}: " + ("…" if first > line_start else "")
    width = max(1, min(position[1], last) - start)
    return f"{prefix}{line}\n{' ' * (len(prefix) + start - first)}{'^' * width}"


def _shortened(message: str) -> str:
    if len(message) <= 2 * LONGEST_QUOTATION + len(_LEFT_OUT):
        return message
    half = LONGEST_QUOTATION
    return f"{message[:half]}{_LEFT_OUT}{message[-half:]}"
