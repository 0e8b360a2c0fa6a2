"""The first step of a query: SQL text becomes a statement.

:func:`parse` checks the text against Spark's grammar (:mod:`sqlfront_planner.syntax`), which alone decides
about syntax errors. Then the first word selects the parser. Queries go through sqlglot's Spark parser
(:mod:`sqlfront_planner.statements.query_parser`), after :mod:`sqlfront_planner.tokens.rewriting` has prepared
the tokens. All other statements (SHOW, CREATE, INSERT, EXPLAIN, ...) have a separate grammar
(:mod:`sqlfront_planner.statements.commands`), because sqlglot refuses, warns about or mangles these
statements. Positions in a query inside of a statement count from the start of the complete text.
"""

import re
from collections.abc import Iterator
from typing import Final

from sqlfront_planner.statements import commands
from sqlfront_planner.statements.query_parser import lead, parse_query
from sqlfront_planner.statements.structs import Statement
from sqlfront_planner.syntax.check import check_syntax
from sqlfront_planner.tokens.tokenizing import refuse_unread

_QUERY_WORDS: Final = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "("})
#: The first words of statements about durable jobs, and the number of words that tell these statements.
_ABOUT_JOBS: Final = (
    r"(?:EXPLAIN (?:(?:EXTENDED|ANALYZE|FORMAT \w+|[(),]) )*)?CREATE (?:OR REPLACE )?JOB\b"
    r"|(?:CANCEL|RESUME|DROP) JOB\b|SHOW JOBS\b(?! FUNCTIONS)"
    r"|DESC(?:RIBE)? JOB (?:EXTENDED )?(?:\w+|`[^`]*`)(?: ;)*$"
)
_WORDS_ABOUT_JOBS: Final = 12


def parse(sql: str) -> Statement:
    """Parse a text that holds one statement (a trailing semicolon is allowed).

    Raises ProgrammingError for text that Spark's parser refuses; NotSupportedError, with the statement's
    name, for a statement that Spark accepts and that isn't implemented.

    >>> parse("select 1 + 1").text
    'select 1 + 1'
    """
    refuse_unread(sql)
    check_syntax(sql)
    return parse_from(sql)


def is_query(sql: str) -> bool:
    """Return whether the first word of the text begins a query; the rest of the text isn't checked."""
    return _first_word(sql) in _QUERY_WORDS


def only_reads(sql: str) -> bool:
    """Return whether the first word of the text begins a query or EXPLAIN of a query; the rest of the text
    isn't checked."""
    word = _first_word(sql)
    return word == "EXPLAIN" or word in _QUERY_WORDS


def is_about_jobs(sql: str) -> bool:
    """Return whether the first words of the text begin a statement about durable jobs, which Spark doesn't
    know; the rest of the text isn't checked.

    >>> is_about_jobs("EXPLAIN CREATE JOB j AS SELECT 1"), is_about_jobs("DESCRIBE job AS JSON")
    (True, False)
    """
    return re.match(_ABOUT_JOBS, " ".join(_first_words(sql, _WORDS_ABOUT_JOBS))) is not None


def _first_words(sql: str, count: int) -> Iterator[str]:
    """Yield the first words in upper case, ``count`` at most. A sign counts as a word."""
    place = lead(sql)
    while place is not None and count:
        yield sql[place[0] : place[1]].upper()
        place, count = lead(sql, place[1]), count - 1


def _first_word(sql: str, start: int = 0) -> str:
    """Return the first word from offset ``start`` on, in upper case; empty if no word follows."""
    place = lead(sql, start)
    return "" if place is None else sql[place[0] : place[1]].upper()


def parse_from(sql: str, start: int = 0) -> Statement:
    """Parse the statement from offset ``start`` to the end of the text. The syntax of the text must have been
    checked."""
    word = _first_word(sql, start)
    if word in _QUERY_WORDS and not _is_merge(word, sql, start):
        return parse_query(sql, start)
    return commands.parse_command(sql, word, start, parse_from)


def _is_merge(word: str, sql: str, start: int) -> bool:
    """Return whether the statement at offset ``start``, with the first word ``word``, is a MERGE behind
    common table expressions."""
    return word == "WITH" and "MERGE" in sql.upper() and commands.begins_merge(sql, start)
