"""The one error hierarchy: PEP 249's, carrying Spark's error condition and SQLSTATE.

Which class means what::

    Error
    +-- InterfaceError          the driver was used wrongly (a closed cursor)
    +-- DatabaseError
        +-- ProgrammingError    their SQL: syntax, unknown names, wrong types, wrong parameter count
        +-- DataError           their data: division by zero, overflow, an invalid cast
        +-- IntegrityError      a constraint would be broken
        +-- NotSupportedError   not built; names the construct
        +-- OperationalError    the world: files, memory, time-outs, cancellation, lost members
        +-- InternalError       us: a bug in sqlfront

Code raises Spark's conditions through :func:`spark_error`, which knows each condition's class and SQLSTATE.
"""

from typing import Final

#: Characters of SQL that an error quotes from one line, at most, and of each end of a long message.
LONGEST_QUOTATION: Final = 1000
_LEFT_OUT: Final = " … "


class Warning(Exception):
    """PEP 249's warning; an exception class that is never raised, only exported."""


class Error(Exception):
    """The base of all errors of sqlfront.

    ``condition`` is Spark's error condition (``"DIVIDE_BY_ZERO"``) or None, ``sqlstate`` its five characters
    or None. ``position`` is the half-open range of character offsets in the statement that the error points
    at, or None. :meth:`locate` adds the statement's text, after which ``str(error)`` ends with ``LINE n:``
    and a caret. ``hint`` is a sentence that says what the user can do, or None. ``vertex`` and ``member``
    name where a job raised it, None if it wasn't a job.

    An error quotes at most :data:`LONGEST_QUOTATION` characters of a line of SQL; of a message that is much
    longer its middle is left out, since that is a quotation, too.
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
        self.sqlstate = sqlstate
        self.position = position
        self.sql: str | None = None
        self.hint: str | None = None
        self.vertex: str | None = None
        self.member: str | None = None

    def locate(self, sql: str) -> None:
        """Remember the statement's text, unless an inner caller already did."""
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
    """The driver was used wrongly, for example a closed cursor."""


class DatabaseError(Error):
    """The base of all errors that a statement can end with."""


class DataError(DatabaseError):
    """The data refuses: division by zero, overflow, an invalid cast."""


class OperationalError(DatabaseError):
    """The world refuses: missing files, memory, time-outs, cancellation, lost members."""


class IntegrityError(DatabaseError):
    """A constraint would be broken."""


class InternalError(DatabaseError):
    """A bug in sqlfront itself."""


class ProgrammingError(DatabaseError):
    """The statement is wrong: syntax, unknown names, mismatched types, wrong parameters."""


class NotSupportedError(DatabaseError):
    """The statement is right but uses a construct that is not built; the message names it."""


_P, _D, _O, _N = ProgrammingError, DataError, OperationalError, NotSupportedError

#: Spark's conditions that sqlfront raises: class and SQLSTATE (Spark 4.3, ``error-conditions.json``).
CONDITIONS: Final[dict[str, tuple[type[DatabaseError], str]]] = {
    "AMBIGUOUS_LATERAL_COLUMN_ALIAS": (_P, "42702"),
    "AMBIGUOUS_REFERENCE": (_P, "42704"),
    "AMBIGUOUS_REFERENCE_TO_FIELDS": (_P, "42000"),
    "ARITHMETIC_OVERFLOW": (_D, "22003"),
    "ASSIGNMENT_ARITY_MISMATCH": (_P, "42802"),
    "BINARY_ARITHMETIC_OVERFLOW": (_D, "22003"),
    "CANNOT_RESOLVE_STAR_EXPAND": (_P, "42704"),
    "CANNOT_DECODE_URL": (_D, "22546"),
    "CANNOT_PARSE_TIMESTAMP": (_D, "22007"),
    "CAST_INVALID_INPUT": (_D, "22018"),
    "CAST_OVERFLOW": (_D, "22003"),
    "COLLECTION_SIZE_LIMIT_EXCEEDED": (_D, "54000"),
    "CONVERSION_INVALID_INPUT": (_D, "22018"),
    "DATATYPE_MISSING_SIZE": (_P, "42K01"),
    "DATATYPE_MISMATCH": (_P, "42K09"),
    "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION": (_P, "22003"),
    "DECIMAL_SCALE_EXCEEDS_PRECISION": (_P, "22003"),
    "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED": (_P, "0A000"),
    "DATETIME_FIELD_OUT_OF_BOUNDS": (_D, "22023"),
    "DATETIME_OVERFLOW": (_D, "22008"),
    "DIVIDE_BY_ZERO": (_D, "22012"),
    "DUPLICATED_MAP_KEY": (_D, "23505"),
    "DUPLICATED_CTE_NAMES": (_P, "42602"),
    "CREATE_VIEW_WITH_IF_NOT_EXISTS_AND_REPLACE": (_P, "42601"),
    "DUPLICATE_CLAUSES": (_P, "42614"),
    "EXCEPT_OVERLAPPING_COLUMNS": (_P, "42702"),
    "EXCEPT_RESOLVED_COLUMNS_WITHOUT_MATCH": (_P, "42702"),
    "EXPRESSION_TYPE_IS_NOT_ORDERABLE": (_P, "42822"),
    "FIELD_NOT_FOUND": (_P, "42704"),
    "GROUPING_COLUMN_MISMATCH": (_P, "42803"),
    "GROUPING_ID_COLUMN_MISMATCH": (_P, "42803"),
    "FAILED_FUNCTION_CALL": (_P, "38000"),
    "FAILED_TO_PARSE_TOO_COMPLEX": (_N, "54001"),
    "GROUP_BY_AGGREGATE": (_P, "42903"),
    "GROUP_BY_POS_AGGREGATE": (_P, "42903"),
    "QUALIFY_REQUIRES_WINDOW_FUNCTION": (_P, "42903"),
    "STAR_GROUP_BY_POS": (_P, "0A000"),
    "GROUP_BY_POS_OUT_OF_RANGE": (_P, "42805"),
    "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE": (_P, "42822"),
    "INCOMPATIBLE_COLUMN_TYPE": (_P, "42825"),
    "ILLEGAL_DAY_OF_WEEK": (_D, "22009"),
    "INCONSISTENT_BEHAVIOR_CROSS_VERSION": (_P, "42K0B"),
    "INDEX_ALREADY_EXISTS": (_P, "42710"),
    "INDEX_NOT_FOUND": (_P, "42704"),
    "INTERVAL_ARITHMETIC_OVERFLOW": (_D, "22015"),
    "INTERVAL_DIVIDED_BY_ZERO": (_D, "22012"),
    "INVALID_AGGREGATE_FILTER": (_P, "42903"),
    "INVALID_ARRAY_INDEX": (_D, "22003"),
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": (_D, "22003"),
    "INCOMPLETE_TYPE_DEFINITION.ARRAY": (_P, "42K01"),
    "INCOMPLETE_TYPE_DEFINITION.MAP": (_P, "42K01"),
    "INCOMPLETE_TYPE_DEFINITION.STRUCT": (_P, "42K01"),
    "INVALID_ESCAPE_CHAR": (_P, "42604"),
    "INVALID_EXTRACT_BASE_FIELD_TYPE": (_P, "42000"),
    "INVALID_EXTRACT_FIELD": (_P, "42601"),
    "INVALID_ATTRIBUTE_NAME_SYNTAX": (_P, "42601"),
    "INVALID_DATETIME_PATTERN": (_P, "22007"),
    "INVALID_FORMAT": (_P, "42601"),
    "INVALID_CONF_VALUE": (_P, "22022"),
    "INVALID_INLINE_TABLE": (_P, "42000"),
    "INVALID_FRACTION_OF_SECOND": (_D, "22023"),
    "INVALID_IDENTIFIER": (_P, "42602"),
    "INVALID_INDEX_OF_ZERO": (_D, "22003"),
    "INVALID_INTERVAL_FORMAT": (_D, "22006"),
    "INVALID_LIMIT_LIKE_EXPRESSION": (_P, "42K0E"),
    "INVALID_NUMERIC_LITERAL_RANGE": (_P, "22003"),
    "INVALID_SET_SYNTAX": (_P, "42000"),
    "INVALID_SQL_ARG": (_P, "42K08"),
    "INVALID_SQL_SYNTAX": (_P, "42000"),
    "INVALID_SCHEMA_OR_RELATION_NAME": (_P, "42602"),
    "INVALID_STATEMENT_OR_CLAUSE": (_P, "42601"),
    "INVALID_SUBQUERY_EXPRESSION": (_P, "42823"),
    "INVALID_PARAMETER_VALUE": (_D, "22023"),
    "INVALID_REGEXP_REPLACE": (_D, "22023"),
    "INVALID_TIMEZONE": (_D, "22009"),
    "INVALID_TYPED_LITERAL": (_P, "42604"),
    "INVALID_URL": (_D, "22P02"),
    "INVALID_USAGE_OF_STAR_OR_REGEX": (_P, "42000"),
    "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT": (_P, "42000"),
    "INVALID_WHERE_CONDITION": (_P, "42903"),
    "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC": (_P, "42601"),
    "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE": (_P, "42K0E"),
    "MALFORMED_CHARACTER_CODING": (_D, "22000"),
    "INVALID_ESC": (_P, "42604"),
    "REQUIRES_SINGLE_PART_NAMESPACE": (_P, "42K05"),
    "MISSING_AGGREGATION": (_P, "42803"),
    "MISSING_ATTRIBUTES": (_P, "XX000"),
    "MISSING_GROUP_BY": (_P, "42803"),
    "MISSING_WINDOW_SPECIFICATION": (_P, "42P20"),
    "NESTED_AGGREGATE_FUNCTION": (_P, "42607"),
    "NON_FOLDABLE_ARGUMENT": (_P, "42K08"),
    "NOT_A_SCALAR_FUNCTION": (_P, "42887"),
    "NOT_A_TABLE_FUNCTION": (_P, "42887"),
    "NULL_MAP_KEY": (_D, "2200E"),
    "NUMERIC_OUT_OF_SUPPORTED_RANGE": (_D, "22003"),
    "NUMERIC_VALUE_OUT_OF_RANGE": (_D, "22003"),
    "NUM_COLUMNS_MISMATCH": (_P, "42826"),
    "ORDER_BY_POS_OUT_OF_RANGE": (_P, "42805"),
    "PARSE_EMPTY_STATEMENT": (_P, "42617"),
    "PARSE_SYNTAX_ERROR": (_P, "42601"),
    "RECURSIVE_VIEW": (_P, "42K0H"),
    "REMAINDER_BY_ZERO": (_D, "22012"),
    "SCALAR_SUBQUERY_TOO_MANY_ROWS": (_D, "21000"),
    "SYNTAX_DISCONTINUED": (_P, "42601"),
    "TABLE_OR_VIEW_ALREADY_EXISTS": (_P, "42P07"),
    "TABLE_OR_VIEW_NOT_FOUND": (_P, "42P01"),
    "TRAILING_COMMA_IN_SELECT": (_P, "42601"),
    "INVALID_TEMP_OBJ_QUALIFIER": (_P, "42602"),
    "INVALID_TEMP_OBJ_REFERENCE": (_P, "42K0F"),
    "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS": (_P, "42P07"),
    "UNCLOSED_BRACKETED_COMMENT": (_P, "42601"),
    "UNBOUND_SQL_PARAMETER": (_P, "42P02"),
    "UNEXPECTED_INPUT_TYPE": (_P, "42K09"),
    "UNRESOLVABLE_TABLE_VALUED_FUNCTION": (_P, "42883"),
    "UNRESOLVED_ALL_IN_GROUP_BY": (_P, "42803"),
    "UNRESOLVED_COLUMN": (_P, "42703"),
    "UNRESOLVED_ROUTINE": (_P, "42883"),
    "UNRESOLVED_USING_COLUMN_FOR_JOIN": (_P, "42703"),
    "UNSUPPORTED_DATATYPE": (_N, "0A000"),
    "UNSUPPORTED_EXPR_FOR_OPERATOR": (_P, "42K0E"),
    "UNSUPPORTED_EXPR_FOR_WINDOW": (_P, "42P20"),
    "UNSUPPORTED_FEATURE": (_N, "0A000"),
    "UNSUPPORTED_GROUPING_EXPRESSION": (_P, "42K0E"),
    "UNSUPPORTED_TYPED_LITERAL": (_P, "0A000"),
    "USER_RAISED_EXCEPTION": (_D, "P0001"),
    "WINDOW_FUNCTION_FRAME_NOT_ORDERED": (_P, "42601"),
    "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE": (_P, "42601"),
    "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE": (_P, "42601"),
    "WRONG_NUM_ARGS": (_P, "42605"),
}


def spark_error(condition: str, message: str, *, position: tuple[int, int] | None = None) -> DatabaseError:
    """An error with one of Spark's conditions; a sub-condition (``"WRONG_NUM_ARGS.WITHOUT_SUGGESTION"``)
    takes the class and SQLSTATE of its parent unless it has an entry of its own.

    >>> error = spark_error("DIVIDE_BY_ZERO", "Division by zero.")
    >>> type(error).__name__, str(error)
    ('DataError', '[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012')
    """
    entry = CONDITIONS.get(condition) or CONDITIONS[condition.partition(".")[0]]
    kind, sqlstate = entry
    return kind(message, condition=condition, sqlstate=sqlstate, position=position)


def too_complex(*, position: tuple[int, int] | None = None) -> DatabaseError:
    """The error for a statement that is nested deeper, or grows larger, than what is planned at all; Spark's
    condition and words."""
    return spark_error(
        "FAILED_TO_PARSE_TOO_COMPLEX",
        "The statement, including potential SQL functions and referenced views, was too complex to parse. "
        "To mitigate this error divide the statement into multiple, less complex chunks.",
        position=position,
    )


def point_at(sql: str, position: tuple[int, int]) -> str:
    """The line of ``sql`` that holds ``position``, numbered, with carets below the range.

    >>> print(point_at("select a\\nfrom t", (14, 15)))
    LINE 2: from t
                 ^
    """
    start = min(position[0], len(sql))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = line_end if line_end >= 0 else len(sql)
    # Of a long line the part around the position.
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
