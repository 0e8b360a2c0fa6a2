"""The parser of the statements about SQL functions: CREATE FUNCTION and DROP FUNCTION.

The text's syntax has been checked against Spark's grammar, so that the tokens between two keywords can be
taken as they are. Columns and types are parsed as those of CREATE TABLE.
"""

from collections.abc import Callable, Iterator
from typing import Final

from sqlfront_planner.routines import RoutineParameter
from sqlfront_planner.statements.create_mode import CreateMode
from sqlfront_planner.statements.dotted_names import dotted, name_parts
from sqlfront_planner.statements.query_parser import statement_text
from sqlfront_planner.statements.routine_structs import CreateFunction, DropFunction
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_planner.tokens.tokenizing import unescape
from sqlfront_values.errors import Error, ProgrammingError, spark_error

#: A function that parses the type and comment of a column as CREATE TABLE has it.
ParseColumn = Callable[[str], RoutineParameter]

_OPENING: Final = frozenset("([")
_CLOSING: Final = frozenset(")]")
_INVALID: Final = "User defined function is invalid: "
#: Qualifiers of a temporary function's name.
_SESSION: Final[tuple[list[str], ...]] = ([], ["session"], ["system", "session"])


def is_about_function(sql: str, start: int) -> bool:
    """Return whether the statement at offset ``start`` is DROP FUNCTION, or CREATE FUNCTION of a function in
    SQL, with parameters."""
    kinds = [kind for kind in tokens_of(sql, start).kinds if kind not in ("OR", "REPLACE", "TEMPORARY")]
    if kinds[1:2] != ["FUNCTION"]:
        return False
    return kinds[0] == "DROP" or (kinds[0] == "CREATE" and "(" in kinds[: (*kinds, "AS").index("AS")])


def parse_function(sql: str, start: int, parse_column: ParseColumn) -> CreateFunction | DropFunction:
    """Parse CREATE FUNCTION or DROP FUNCTION from offset ``start`` to the end of the text. ``parse_column``
    parses the text of a column as in CREATE TABLE.

    Raises ProgrammingError with Spark's conditions for clauses that exclude each other."""
    parser = _Parser(sql, start, parse_column)
    return parser.drop() if parser.kinds[0] == "DROP" else parser.create()


class _Parser:
    """A walk over the tokens of one statement."""

    def __init__(self, sql: str, start: int, parse_column: ParseColumn) -> None:
        tokens = tokens_of(sql, start)
        self.kinds = [*tokens.kinds, ""]
        self._starts, self._ends = [*tokens.starts, len(sql)], [*tokens.ends, len(sql)]
        self._sql = sql
        self._parse_column = parse_column
        self._place = 1

    def drop(self) -> DropFunction:
        """Parse ``DROP [TEMPORARY] FUNCTION [IF EXISTS] name``."""
        temporary = self._takes("TEMPORARY")
        self._place += 1
        if_exists = self._takes("IF", "EXISTS")
        return DropFunction(self._name(temporary=temporary), temporary, if_exists)

    def create(self) -> CreateFunction:
        """Parse CREATE FUNCTION."""
        replaces = self._takes("OR", "REPLACE")
        temporary = self._takes("TEMPORARY")
        self._place += 1
        skips = self._takes("IF", "NOT", "EXISTS")
        if replaces and skips:
            raise _wrong(
                "CREATE_ROUTINE_WITH_IF_NOT_EXISTS_AND_REPLACE",
                "Cannot create a routine with both IF NOT EXISTS and REPLACE specified.",
            )
        if temporary and skips:
            raise _wrong(
                "CREATE_TEMP_FUNC_WITH_IF_NOT_EXISTS",
                "CREATE TEMPORARY FUNCTION with IF NOT EXISTS is not allowed.",
            )
        name = self._name(temporary=temporary)
        parameters = tuple(map(self._parameter, self._items()))
        returns, is_table = self._returns()
        comment, deterministic, data_access = self._characteristics()
        body = statement_text(self._sql, self._starts[self._place])
        if is_table and not self._is_query(self._place):
            raise spark_error(
                "USER_DEFINED_FUNCTIONS.SQL_TABLE_UDF_BODY_MUST_BE_A_QUERY",
                f"{_INVALID}SQL table function {name_parts(name)[-1]} body must be a query.",
            )
        mode = CreateMode.REPLACE if replaces else CreateMode.SKIP if skips else CreateMode.ERROR
        return CreateFunction(
            name, parameters, body, returns, is_table, temporary, mode, comment, deterministic, data_access
        )

    def _takes(self, *kinds: str) -> bool:
        """Go behind the tokens of these kinds, if they come next; return whether they do."""
        found = tuple(self.kinds[self._place : self._place + len(kinds)]) == kinds
        self._place += len(kinds) * found
        return found

    def _name(self, *, temporary: bool) -> str:
        """Parse a dotted name. Raises INVALID_TEMP_OBJ_QUALIFIER for a temporary function in a schema."""
        begin = self._place
        self._place += 1
        while self.kinds[self._place] == ".":
            self._place += 2
        parts = name_parts(self._text(begin, self._place))
        qualifier = [part.lower() for part in parts[:-1]]
        if temporary and qualifier not in _SESSION:
            raise spark_error(
                "INVALID_TEMP_OBJ_QUALIFIER",
                f"Temporary FUNCTION `{parts[-1]}` cannot be qualified with `{'.'.join(parts[:-1])}`. "
                "Temporary objects can only be qualified with SESSION or SYSTEM.SESSION.",
            )
        return dotted(parts[-1:] if temporary else parts)

    def _text(self, begin: int, end: int) -> str:
        """Return the text from the token ``begin`` up to the token ``end``, which isn't included."""
        return self._sql[self._starts[begin] : self._ends[end - 1]] if end > begin else ""

    def _items(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of tokens between the commas of the parentheses that come next."""
        self._place += 1
        begin, depth, angles = self._place, 0, 0
        while depth >= 0:
            kind = self.kinds[self._place]
            depth += (kind in _OPENING) - (kind in _CLOSING)
            angles = 0 if kind == "DEFAULT" else angles + (kind == "<") - (kind == ">")
            if (kind == "," and depth == 0 and angles <= 0) or depth < 0:
                if self._place > begin:
                    yield begin, self._place
                begin = self._place + 1
            if kind == "DEFAULT":
                self._place = self._end_of_default(self._place + 1) - 1
            self._place += 1

    def _end_of_default(self, place: int) -> int:
        """Return the end of the expression behind DEFAULT that begins at the token ``place``."""
        depth = 0
        while True:
            kind = self.kinds[place]
            if depth == 0 and kind in (",", ")", "COMMENT", "DEFAULT", "NOT"):
                return place
            depth += (kind in _OPENING) - (kind in _CLOSING)
            place += 1

    def _parameter(self, span: tuple[int, int]) -> RoutineParameter:
        """Parse a column definition in the tokens of ``span``."""
        begin, end = span
        defaults = [
            place for place in range(begin, end) if self.kinds[place] == "DEFAULT" and place > begin + 1
        ]
        if not defaults:
            return self._column(self._text(begin, end))
        if len(defaults) > 1:
            raise spark_error(
                "CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE",
                f'CREATE TABLE column {self._text(begin, begin + 1)} specifies descriptor "DEFAULT" more '
                "than once, which is invalid.",
            )
        stop = self._end_of_default(defaults[0] + 1)
        rest = f" {self._text(stop, end)}" if stop < end else ""
        column = self._column(self._text(begin, defaults[0]) + rest)
        default = self._text(defaults[0] + 1, stop)
        return RoutineParameter(column.name, column.type, default, column.comment)

    def _column(self, text: str) -> RoutineParameter:
        try:
            return self._parse_column(text)
        except Error as error:
            error.position = None
            raise

    def _returns(self) -> tuple[tuple[RoutineParameter, ...], bool]:
        """Parse the clause RETURNS; return the type or the columns, and whether it has TABLE."""
        if self.kinds[self._place : self._place + 2] == ["RETURNS", "NULL"] or not self._takes("RETURNS"):
            return (), False
        if self._takes("TABLE"):
            return (
                tuple(map(self._parameter, self._items())) if self.kinds[self._place] == "(" else ()
            ), True
        begin, depth = self._place, 0
        self._place += 1
        while depth or self.kinds[self._place] in ("(", "<", "TO"):
            kind = self.kinds[self._place]
            depth += (kind in ("(", "<")) - (kind in (")", ">"))
            self._place += 2 if kind == "TO" else 1
        while self.kinds[self._place] in ("TO", "YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"):
            self._place += 1
        return (self._column(f"`returned` {self._text(begin, self._place)}"),), False

    def _characteristics(self) -> tuple[str | None, bool, str]:
        """Parse the clauses before RETURN, and go behind RETURN; return the comment, whether the function is
        deterministic, and its access of data."""
        found: dict[str, str] = {}
        while not self._takes("RETURN"):
            clause, value = self._characteristic()
            if clause in found:
                raise spark_error(
                    "DUPLICATE_CLAUSES",
                    f"Found duplicate clauses: {clause}. Please, remove one of them.",
                )
            found[clause] = value
        return (
            found.get("COMMENT"),
            found.get("DETERMINISTIC") != "NOT",
            found.get("SQL DATA ACCESS", "CONTAINS SQL"),
        )

    def _characteristic(self) -> tuple[str, str]:
        """Parse one clause before RETURN; return its name and its value."""
        if self._takes("COMMENT"):
            self._place += 1
            return "COMMENT", unescape(self._text(self._place - 1, self._place))
        if self._takes("NOT", "DETERMINISTIC"):
            return "DETERMINISTIC", "NOT"
        if self._takes("DETERMINISTIC"):
            return "DETERMINISTIC", ""
        if self._takes("LANGUAGE"):
            self._place += 1
            language = self._text(self._place - 1, self._place).upper()
            if language != "SQL":
                raise ProgrammingError(
                    f"Operation not allowed: Unsupported language for user defined functions: {language}.",
                    condition="_LEGACY_ERROR_TEMP_0035",
                )
            return "LANGUAGE", language
        if self._takes("CONTAINS", "SQL"):
            return "SQL DATA ACCESS", "CONTAINS SQL"
        if self._takes("READS", "SQL", "DATA"):
            return "SQL DATA ACCESS", "READS SQL DATA"
        if self._takes("SQL", "SECURITY", "DEFINER"):
            return "SQL SECURITY", "DEFINER"
        begin = self._place
        while self.kinds[self._place] not in ("RETURN", "COMMENT", "LANGUAGE", ""):
            self._place += 1
        words = self._text(begin, self._place).upper()
        raise ProgrammingError(
            f"Operation not allowed: SQL function with {words} is not supported.",
            condition="_LEGACY_ERROR_TEMP_0035",
        )

    def _is_query(self, place: int) -> bool:
        while self.kinds[place] == "(":
            place += 1
        return self.kinds[place] in ("SELECT", "WITH", "VALUES", "FROM", "TABLE")


def _wrong(condition: str, message: str) -> Error:
    return spark_error(f"INVALID_SQL_SYNTAX.{condition}", f"Invalid SQL syntax: {message}")
