"""Statements other than queries: CREATE, DROP, INSERT, CACHE, SHOW, DESCRIBE, SET, EXPLAIN, ...

The grammar is Spark's (``statements.lark``), with KILL QUERY besides; of its trees
:mod:`sqlfront_planner.statement_builder` makes statements. The queries in them are handed to
:func:`sqlfront_planner.query_parser.parse_query` with their place in the whole text.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final

import lark

from sqlfront_engine.errors import Error, NotSupportedError, spark_error
from sqlfront_planner import modification_parser
from sqlfront_planner.query_parser import lead
from sqlfront_planner.statement_builder import StatementBuilder
from sqlfront_planner.statements import (
    Explain,
    ExplainFormat,
    ExplainMode,
    Statement,
)

ParseFrom = Callable[[str, int], Statement]

_GRAMMAR_WORDS: Final = frozenset(
    (
        "CREATE",
        "CACHE",
        "UNCACHE",
        "DROP",
        "INSERT",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "SET",
        "REFRESH",
        "USE",
        "KILL",
    )
)
_EXPLAIN_DETAILS: Final = ("EXTENDED", "ANALYZE")
#: By whether EXTENDED and ANALYZE stand there.
_EXPLAIN_MODES: Final = {
    (False, False): ExplainMode.SIMPLE,
    (True, False): ExplainMode.EXTENDED,
    (False, True): ExplainMode.ANALYZE,
    (True, True): ExplainMode.EXTENDED_ANALYZE,
}
#: Statements of Spark SQL that aren't built, by their first words.
_NOT_BUILT: Final = (
    "ADD", "ALTER", "ANALYZE", "BEGIN", "CALL", "CLEAR", "COMMENT", "COMMIT", "CREATE DATABASE",
    "CREATE FUNCTION", "CREATE JOB", "CREATE NAMESPACE", "CREATE SCHEMA", "CREATE TEMPORARY FUNCTION",
    "DECLARE", "DESCRIBE CATALOG", "DESCRIBE DATABASE", "DESCRIBE FUNCTION",
    "DESCRIBE NAMESPACE", "DESCRIBE SCHEMA", "DROP DATABASE", "DROP FUNCTION", "DROP NAMESPACE",
    "DROP SCHEMA", "EXECUTE", "EXPLAIN CODEGEN", "EXPLAIN COST", "EXPLAIN FORMATTED", "GRANT", "LIST",
    "LOAD", "MAP", "MERGE", "MSCK", "REDUCE", "REFRESH FUNCTION", "REPAIR", "RESET", "REVOKE",
    "ROLLBACK", "SET VAR", "SET VARIABLE", "SHOW", "START", "TRUNCATE",
)  # fmt: skip


def parse_command(sql: str, word: str, start: int, parse_from: ParseFrom) -> Statement:
    """The statement that the text holds from offset ``start``, whose first word (in upper case) is ``word``;
    ``parse_from(sql, start)`` parses the one that EXPLAIN holds.

    Raises ProgrammingError (PARSE_SYNTAX_ERROR), NotSupportedError for a statement that isn't built.
    """
    if word == "EXPLAIN":
        return _explain(sql, start, parse_from)
    if word == "DELETE":
        return modification_parser.parse_delete(sql, start)
    if word == "UPDATE":
        return modification_parser.parse_update(sql, start)
    refused = _not_built(sql, start)
    if word not in _GRAMMAR_WORDS:
        raise refused or _syntax_error(sql, lead(sql, start))
    try:
        tree = _parser().parse(sql[start:])
    except lark.UnexpectedInput as error:
        place = _place(error, sql, start)
        raise refused or _syntax_error(sql, place) from None
    try:
        statement = StatementBuilder(sql, start).transform(tree)
    except lark.exceptions.VisitError as error:
        if isinstance(error.orig_exc, Error):
            error.orig_exc.locate(sql)
            raise error.orig_exc from None
        raise
    assert isinstance(statement, Statement)
    return statement


@cache
def _parser() -> lark.Lark:
    grammar = files("sqlfront_planner").joinpath("statements.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", lexer="contextual", maybe_placeholders=False)


def _explain(sql: str, start: int, parse_from: ParseFrom) -> Statement:
    """EXPLAIN, what it is to show, and the statement."""
    refused = _not_built(sql, start)
    if refused is not None:
        raise refused
    _, end = _word(sql, start)
    options: dict[str, str] = {}
    word, begin, after = _next(sql, end)
    while word in _EXPLAIN_DETAILS and word not in options:
        options[word] = ""
        end = after
        word, begin, after = _next(sql, end)
    if word == "(" and _next(sql, after)[0] in (*_EXPLAIN_DETAILS, "FORMAT"):
        end = _explain_options(sql, after, options)
        word, begin, after = _next(sql, end)
    mode = _EXPLAIN_MODES["EXTENDED" in options, "ANALYZE" in options]
    form = ExplainFormat(options.get("FORMAT", "TEXT").lower())
    if mode.is_extended and form not in (ExplainFormat.TEXT, ExplainFormat.JSON):
        raise NotSupportedError(
            f"EXPLAIN EXTENDED in the format {form.value} is not supported: a graph shows the physical plan."
        )
    return Explain(mode, parse_from(sql, begin), form)


def _explain_options(sql: str, start: int, options: dict[str, str]) -> int:
    """Add what stands in the parentheses behind EXPLAIN; returns where they end."""
    separator, end = ",", start
    while separator == ",":
        word, begin, end = _next(sql, end)
        if word in options or word not in (*_EXPLAIN_DETAILS, "FORMAT"):
            raise _syntax_error(sql, (begin, end) if word else None)
        options[word] = ""
        if word == "FORMAT":
            options[word], begin, end = _next(sql, end)
            if options[word] not in ExplainFormat.__members__:
                raise _syntax_error(sql, (begin, end) if options[word] else None)
        separator, begin, end = _next(sql, end)
    if separator != ")":
        raise _syntax_error(sql, (begin, end) if separator else None)
    return end


def _next(sql: str, start: int) -> tuple[str, int, int]:
    """The first word (or character) from ``start`` in upper case, and its range."""
    begin, end = _word(sql, start)
    return sql[begin:end].upper(), begin, end


def _word(sql: str, start: int) -> tuple[int, int]:
    """The range of the first word (or character) from ``start``; comments are skipped."""
    place = lead(sql, start)
    return place if place is not None else (len(sql), len(sql))


def _not_built(sql: str, start: int) -> NotSupportedError | None:
    """The refusal of a statement of Spark SQL that isn't built."""
    words, end = [], start
    for _ in range(3):
        begin, end = _word(sql, end)
        words.append(sql[begin:end].upper())
    text = " ".join(words)
    text = "DESCRIBE" + text[4:] if text.startswith("DESC ") else text
    for name in _NOT_BUILT:
        if f"{text} ".startswith(f"{name} "):
            shown = " ".join(words[:2]) if name == "SHOW" else name
            error = NotSupportedError(
                f"{shown} is not supported.", sqlstate="0A000", position=_word(sql, start)
            )
            error.locate(sql)
            return error
    return None


def _place(error: lark.UnexpectedInput, sql: str, start: int) -> tuple[int, int] | None:
    """Where the grammar gave up; None at the end of the text."""
    if isinstance(error, lark.UnexpectedToken):
        return None if error.token.type == "$END" else lead(sql, start + int(error.token.start_pos or 0))
    if isinstance(error, lark.UnexpectedCharacters):
        return lead(sql, start + int(error.pos_in_stream or 0))
    return None


def _syntax_error(sql: str, place: tuple[int, int] | None) -> Error:
    end = len(sql.rstrip())
    text = "end of input" if place is None else f"'{sql[place[0] : place[1]]}'"
    error = spark_error(
        "PARSE_SYNTAX_ERROR", f"Syntax error at or near {text}.", position=place or (end, end + 1)
    )
    error.locate(sql)
    return error
