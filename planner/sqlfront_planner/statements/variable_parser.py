"""The parser of the statements about SQL variables: DECLARE, SET VARIABLE and DROP TEMPORARY VARIABLE.

The text's syntax has been checked against Spark's grammar, so that the tokens between two signs can be taken
as they are.
"""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_planner.statements.query_parser import statement_text
from sqlfront_planner.statements.variable_structs import DeclareVariable, DropVariable, SetVariables
from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_values.errors import Error, spark_error

#: A function that parses the text of a type.
ParseType = Callable[[str], pa.DataType]

_WORDS: Final = ("VAR", "VARIABLE")
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")
#: Tokens that follow a variable called ``var``, rather than the keyword.
_AFTER_NAME: Final = frozenset({"", ";", "=", ",", ".", "DEFAULT"})


def is_about_variable(sql: str, start: int) -> bool:
    """Return whether the statement at offset ``start`` is about variables: DECLARE (of no cursor), SET
    VARIABLE, or DROP TEMPORARY VARIABLE."""
    kinds = [*tokens_of(sql, start).kinds, "", "", ""]
    match kinds[0]:
        case "DECLARE":
            return kinds[2] != "CURSOR" and kinds[3] != "CURSOR"
        case "SET":
            return kinds[1] in _WORDS and kinds[2] not in ("=", "", ";", ".")
        case "DROP":
            return kinds[1] == "TEMPORARY" and kinds[2] in _WORDS
    return False


def parse_variable(
    sql: str, start: int, parse_type: ParseType
) -> DeclareVariable | SetVariables | DropVariable:
    """Parse a statement about variables from offset ``start`` to the end of the text. Raises
    INVALID_SQL_SYNTAX.VARIABLE_TYPE_OR_DEFAULT_REQUIRED for DECLARE without both."""
    parser = _Parser(sql, start, parse_type)
    match parser.kinds[0]:
        case "DECLARE":
            return parser.declare()
        case "SET":
            return parser.set()
    return parser.drop()


class _Parser:
    """A walk over the tokens of one statement."""

    def __init__(self, sql: str, start: int, parse_type: ParseType) -> None:
        text = statement_text(sql, start)
        tokens = tokens_of(text)
        self.kinds = [*tokens.kinds, "", ""]
        self._starts, self._ends = tokens.starts, tokens.ends
        self._sql, self._count = text, len(tokens.kinds)
        self._parse_type = parse_type
        self._place = 1

    def declare(self) -> DeclareVariable:
        """Parse DECLARE."""
        replaces = self._takes("OR", "REPLACE")
        if self.kinds[self._place] in _WORDS and self.kinds[self._place + 1] not in _AFTER_NAME:
            self._place += 1
        names = [self._name()]
        while self._takes(","):
            names.append(self._name())
        begin = self._place
        self._place = self._end(begin, ("DEFAULT", "="))
        kind = self._text(begin, self._place)
        default = self._text(self._place + 1, self._count) or None
        if not kind and default is None:
            raise spark_error(
                "INVALID_SQL_SYNTAX.VARIABLE_TYPE_OR_DEFAULT_REQUIRED",
                "Invalid SQL syntax: The definition of a SQL variable requires either a datatype or a "
                "DEFAULT clause.\nFor example, use `DECLARE name STRING` or `DECLARE name = 'SQL'` instead "
                "of `DECLARE name`.",
            )
        return DeclareVariable(tuple(names), self._parse_type(kind) if kind else None, default, replaces)

    def set(self) -> SetVariables:
        """Parse SET VARIABLE. Spark's grammar takes any text for SET, so that the signs are checked here."""
        self._place += 1
        if self._takes("("):
            names = [self._name()]
            while self._takes(","):
                names.append(self._name())
            if not self._takes(")", "=", "("):
                raise _invalid_set()
            return SetVariables(tuple(names), query=self._text(self._place, self._count - 1))
        assignments = [self._assignment()]
        while self._takes(","):
            assignments.append(self._assignment())
        if self.kinds[self._place] not in ("", ";"):
            raise _invalid_set()
        return SetVariables(tuple(name for name, _ in assignments), tuple(value for _, value in assignments))

    def drop(self) -> DropVariable:
        """Parse DROP TEMPORARY VARIABLE."""
        self._place = 3
        if_exists = self._takes("IF", "EXISTS")
        return DropVariable(self._name(), if_exists)

    def _assignment(self) -> tuple[str, str]:
        """Parse ``name = expression``; return the name, and the expression's text."""
        name = self._name()
        if not self._takes("="):
            raise _invalid_set()
        begin = self._place
        self._place = self._end(begin, (",", ";"))
        if self._place == begin:
            raise _invalid_set()
        return name, self._text(begin, self._place)

    def _takes(self, *kinds: str) -> bool:
        """Go behind the tokens of these kinds, if they come next; return whether they do."""
        found = tuple(self.kinds[self._place : self._place + len(kinds)]) == kinds
        self._place += len(kinds) * found
        return found

    def _name(self) -> str:
        """Return the text of the dotted name that comes next."""
        begin = self._place
        self._part()
        while self._takes("."):
            self._part()
        return self._text(begin, self._place)

    def _part(self) -> None:
        """Go behind a part of a name."""
        kind = self.kinds[self._place]
        if kind != "<quoted>" and not kind.isidentifier():
            raise _invalid_set()
        self._place += 1

    def _end(self, place: int, ends: tuple[str, ...]) -> int:
        """Return the first place, from ``place`` on, of a token of the kinds ``ends`` outside of brackets;
        the number of tokens if there is none."""
        depth = 0
        while place < self._count and (depth or self.kinds[place] not in ends):
            depth += (self.kinds[place] in _OPENING) - (self.kinds[place] in _CLOSING)
            place += 1
        return place

    def _text(self, begin: int, end: int) -> str:
        """Return the text from the token ``begin`` up to the token ``end``, which isn't included."""
        return self._sql[self._starts[begin] : self._ends[end - 1]] if end > begin else ""


def _invalid_set() -> Error:
    return spark_error(
        "INVALID_SET_SYNTAX",
        "Expected format is 'SET', 'SET key', or 'SET key=value'. If you want to include special characters"
        " in key, or include semicolon in value, please use backquotes, e.g., SET `key`=`value`.",
    )
