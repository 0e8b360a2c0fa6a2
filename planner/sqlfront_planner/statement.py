"""Step one of a query's way: SQL text becomes a statement.

:func:`parse` looks at the first word. Queries go through sqlglot's Spark parser, after
:mod:`sqlfront_planner.tokens` has prepared the tokens; everything else (SHOW, CREATE, INSERT, EXPLAIN, ...)
has a grammar of its own (:mod:`sqlfront_planner.commands`), because sqlglot refuses, warns about or mangles
it. A query inside another statement keeps its positions in the whole text.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType

from sqlfront_engine.errors import DatabaseError, ProgrammingError, spark_error
from sqlfront_planner.tokens import SPARK, rewrite, tokenize

_QUERY_WORDS: Final = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "("})


@dataclass(frozen=True, slots=True)
class Query:
    """A query: ``tree`` is sqlglot's, ``sql`` the whole text of the statement that holds it, ``text`` the
    query's own part."""

    sql: str
    text: str
    tree: exp.Expr = field(repr=False, compare=False)


class ExplainMode(Enum):
    """How much EXPLAIN tells."""

    SIMPLE = "simple"
    """The lane, its reason and the plan that runs."""
    EXTENDED = "extended"
    """The logical plans too."""
    ANALYZE = "analyze"
    """The query is run, and the plan shows rows and times."""


@dataclass(frozen=True, slots=True)
class Explain:
    """``EXPLAIN [EXTENDED | ANALYZE] statement``."""

    mode: ExplainMode
    statement: "Statement"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """``CREATE [OR REPLACE] TABLE ... USING format``; ``query`` is that of ``AS SELECT``.

    ``schema`` holds the columns as declared, None if there are none (from the data, or the query). ``format``
    is None where the statement has no USING.
    """

    name: str
    format: str | None = None
    schema: pa.Schema | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    location: str | None = None
    partitioned_by: tuple[str, ...] = ()
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    query: Query | None = None
    replace: bool = False
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    """``CREATE [OR REPLACE] [TEMPORARY] VIEW name [(columns)] AS query``."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    replace: bool = False
    temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CacheTable:
    """``CACHE [LAZY] TABLE name [CLUSTERED BY (columns) [INTO n BUCKETS]] [AS query]``."""

    name: str
    clustered_by: tuple[str, ...] = ()
    buckets: int | None = None
    query: Query | None = None
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class UncacheTable:
    """``UNCACHE TABLE [IF EXISTS] name``."""

    name: str
    if_exists: bool = False


class RelationKind(Enum):
    """What DROP names."""

    TABLE = "table"
    """A table."""
    VIEW = "view"
    """A view, temporary or not."""


@dataclass(frozen=True, slots=True)
class Drop:
    """``DROP TABLE | VIEW [IF EXISTS] name``."""

    kind: RelationKind
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Insert:
    """``INSERT INTO | OVERWRITE [TABLE] name [(columns)] query``."""

    name: str
    query: Query
    columns: tuple[str, ...] = ()
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class ShowTables:
    """``SHOW TABLES [IN | FROM database] [[LIKE] 'pattern']``."""

    database: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """``DESCRIBE [TABLE] [EXTENDED] name``."""

    name: str
    extended: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """``DESCRIBE [QUERY] query``: its columns."""

    query: Query


@dataclass(frozen=True, slots=True)
class SetOption:
    """``SET key = value``; without a value the setting is shown, without a key all are."""

    key: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class RefreshTable:
    """``REFRESH [TABLE] name``: forget what is known of its files."""

    name: str


@dataclass(frozen=True, slots=True)
class UseDatabase:
    """``USE database``."""

    database: str


Statement = (
    Query
    | Explain
    | CreateTable
    | CreateView
    | CacheTable
    | UncacheTable
    | Drop
    | Insert
    | ShowTables
    | DescribeTable
    | DescribeQuery
    | SetOption
    | RefreshTable
    | UseDatabase
)


def parse(sql: str) -> Statement:
    """The only statement of a text (a trailing semicolon is fine).

    Raises ProgrammingError: PARSE_SYNTAX_ERROR with position, also for an empty text and for more than one
    statement; NotSupportedError for a statement that isn't built, by name.

    >>> parse("select 1 + 1").text
    'select 1 + 1'
    """
    return parse_from(sql)


def parse_from(sql: str, start: int = 0) -> Statement:
    """The statement that the text holds from offset ``start`` to its end.

    Raises as :func:`parse` does.
    """
    place = lead(sql, start)
    word = "" if place is None else sql[place[0] : place[1]].upper()
    if word in _QUERY_WORDS:
        return parse_query(sql, start)
    if word in ("", ";"):
        raise spark_error("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.")
    from sqlfront_planner import commands  # noqa: PLC0415 - its grammar costs a query nothing

    return commands.parse_command(sql, word, start)


def lead(sql: str, start: int = 0) -> tuple[int, int] | None:
    """The range of the first word from ``start``, or of the first character if that isn't a letter; comments are skipped.
    None if there is nothing.

    >>> lead("/* a */ select 1")
    (8, 14)
    """
    match = _LEAD.match(sql, start)
    return match.span(1) if match else None


_LEAD: Final = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*+([^\W\d]\w*|\S)", re.DOTALL)


def parse_query(sql: str, start: int = 0) -> Query:
    """The query that the text holds from offset ``start`` to its end.

    Raises as :func:`parse` does.
    """
    blank = re.sub(r"[^\n]", " ", sql[:start]) + sql[start:] if start else sql
    tokens = _single_statement(tokenize(blank), sql)
    rewritten = rewrite(tokens, sql)
    try:
        trees = SPARK.parser().parse(rewritten, sql)
    except ParseError as error:
        raise _syntax_error(error, rewritten, sql) from None
    tree = trees[0] if trees else None
    if not isinstance(tree, exp.Query | exp.Values):
        raise _error_at(tokens[0], sql)
    return Query(sql, sql[tokens[0].start : tokens[-1].end + 1], tree)


def split_statements(text: str) -> tuple[str, ...]:
    """The statements of a script, without their semicolons; quotes and comments are honoured, empty ones left
    out.

    >>> split_statements("select ';' ; -- a;b\\n select 2;;")
    ("select ';'", '-- a;b\\n select 2')
    """
    statements = []
    start = 0
    for match in _SCRIPT.finditer(text):
        if match[0] == ";":
            statements.append(text[start : match.start()])
            start = match.end()
    statements.append(text[start:])
    return tuple(statement.strip() for statement in statements if lead(statement) is not None)


_SCRIPT: Final = re.compile(
    r"""--[^\n]*|/\*.*?\*/|\b[rR]'[^']*'|\b[rR]"[^"]*"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|;""",
    re.DOTALL,
)


def _single_statement(tokens: list[Token], sql: str) -> list[Token]:
    """The tokens without trailing semicolons."""
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    for place, token in enumerate(tokens):
        if token.token_type == TokenType.SEMICOLON:
            raise _error_at(tokens[place + 1], sql)
    if not tokens:
        raise spark_error("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.")
    return tokens


def _syntax_error(error: ParseError, tokens: list[Token], sql: str) -> DatabaseError:
    """Spark's PARSE_SYNTAX_ERROR for sqlglot's error, at the token that it names."""
    detail = error.errors[0]
    if str(detail.get("description")).startswith("Expected TYPE"):
        return _unknown_type(detail, tokens, sql)
    place = (detail.get("line"), detail.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == place), None)
    if token is None or "Required keyword" in str(detail.get("description")):
        following = [other for other in tokens if token is not None and other.start > token.start]
        token = following[0] if following else None
    return _error_at(token, sql)


def _unknown_type(detail: Mapping[str, object], tokens: list[Token], sql: str) -> DatabaseError:
    """Spark's UNSUPPORTED_DATATYPE for the word that sqlglot doesn't know as a type."""
    place = (detail.get("line"), detail.get("col"))
    token = next((token for token in tokens if (token.line, token.col) == place), None)
    if token is None or token.token_type == TokenType.R_PAREN:
        return _error_at(token, sql)
    failure = spark_error(
        "UNSUPPORTED_DATATYPE",
        f'Unsupported data type "{token.text.upper()}".',
        position=(token.start, token.end + 1),
    )
    failure.locate(sql)
    return failure


def _error_at(token: Token | None, sql: str) -> ProgrammingError:
    if token is None:
        message, position = (
            "Syntax error at or near end of input.",
            (len(sql.rstrip()), len(sql.rstrip()) + 1),
        )
    else:
        text = sql[token.start : token.end + 1]
        message, position = f"Syntax error at or near '{text}'.", (token.start, token.end + 1)
    error = spark_error("PARSE_SYNTAX_ERROR", message, position=position)
    error.locate(sql)
    assert isinstance(error, ProgrammingError)
    return error
