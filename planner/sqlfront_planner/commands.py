"""Statements other than queries: CREATE, DROP, INSERT, CACHE, SHOW, DESCRIBE, SET, EXPLAIN, ...

The grammar is Spark's (``statements.lark``), with KILL QUERY besides; the queries in such statements are
handed to :func:`sqlfront_planner.query_parser.parse_query` with their place in the whole text.
"""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Final

import lark
import pyarrow as pa

from sqlfront_engine import types
from sqlfront_engine.errors import Error, NotSupportedError, spark_error
from sqlfront_planner import modification_parser
from sqlfront_planner.query_parser import lead, parse_query
from sqlfront_planner.statements import (
    CacheTable,
    CreateTable,
    CreateView,
    DescribeQuery,
    DescribeTable,
    Drop,
    Explain,
    ExplainMode,
    Insert,
    KillQuery,
    Query,
    RefreshTable,
    RelationKind,
    SetOption,
    ShowTables,
    Statement,
    UncacheTable,
    UseDatabase,
)
from sqlfront_planner.tokens import unescape

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
_EXPLAIN_MODES: Final = {
    "EXTENDED": ExplainMode.EXTENDED,
    "ANALYZE": ExplainMode.ANALYZE,
}
#: Statements of Spark SQL that aren't built, by their first words.
_NOT_BUILT: Final = (
    "ADD", "ALTER", "ANALYZE", "BEGIN", "CALL", "CLEAR", "COMMENT", "COMMIT", "CREATE DATABASE",
    "CREATE FUNCTION", "CREATE JOB", "CREATE NAMESPACE", "CREATE SCHEMA", "CREATE TEMPORARY FUNCTION",
    "DECLARE", "DESCRIBE CATALOG", "DESCRIBE DATABASE", "DESCRIBE FUNCTION",
    "DESCRIBE NAMESPACE", "DESCRIBE SCHEMA", "DROP DATABASE", "DROP FUNCTION", "DROP NAMESPACE",
    "DROP SCHEMA", "EXECUTE", "EXPLAIN CODEGEN", "EXPLAIN COST", "EXPLAIN FORMATTED", "GRANT", "LIST",
    "LOAD", "MAP", "MERGE", "MSCK", "REDUCE", "REFRESH FUNCTION", "REPAIR", "RESET", "REVOKE",
    "ROLLBACK", "SHOW", "START", "TRUNCATE",
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
        statement = _Builder(sql, start).transform(tree)
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
    begin, end = _word(sql, start)
    begin, end = _word(sql, end)
    mode = _EXPLAIN_MODES.get(sql[begin:end].upper())
    refused = _not_built(sql, start)
    if refused is not None:
        raise refused
    if mode is None:
        return Explain(ExplainMode.SIMPLE, parse_from(sql, begin))
    return Explain(mode, parse_from(sql, end))


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


# ---- from the grammar's tree to statements

_TYPES: Final = {
    "BOOLEAN": types.BOOLEAN,
    "TINYINT": types.TINYINT,
    "BYTE": types.TINYINT,
    "SMALLINT": types.SMALLINT,
    "SHORT": types.SMALLINT,
    "INT": types.INT,
    "INTEGER": types.INT,
    "BIGINT": types.BIGINT,
    "LONG": types.BIGINT,
    "FLOAT": types.FLOAT,
    "REAL": types.FLOAT,
    "DOUBLE": types.DOUBLE,
    "STRING": types.STRING,
    "BINARY": types.BINARY,
    "DATE": types.DATE,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_LTZ": types.TIMESTAMP,
    "TIMESTAMP_NTZ": types.TIMESTAMP_NTZ,
    "VOID": types.VOID,
}

Part = tuple[str, object]
Parts = list[object]


def _named(parts: Parts) -> dict[str, object]:
    """The labelled parts of a statement."""
    return dict(part for part in parts if isinstance(part, tuple))


class _Builder(lark.Transformer[lark.Token, object]):
    """Turns the tree into a statement, bottom-up: a labelled part is a pair of its name and value."""

    def __init__(self, sql: str, start: int) -> None:
        super().__init__()
        self._sql = sql
        self._start = start

    def start(self, parts: Parts) -> object:
        return parts[0]

    # ---- tokens

    def STRING(self, token: lark.Token) -> str:  # noqa: N802 - named as the terminal
        return unescape(str(token))

    def QUOTED_NAME(self, token: lark.Token) -> str:  # noqa: N802
        return str(token)[1:-1].replace("``", "`")

    def WORD(self, token: lark.Token) -> str:  # noqa: N802
        return str(token)

    def INTEGER(self, token: lark.Token) -> int:  # noqa: N802
        return int(token)

    def QUERY(self, token: lark.Token) -> Query:  # noqa: N802
        assert token.start_pos is not None
        return parse_query(self._sql, self._start + token.start_pos)

    DESCRIBED_QUERY = QUERY

    def identifier(self, parts: Parts) -> object:
        return parts[0]

    def name(self, parts: Parts) -> Part:
        """A dotted name as one text, with backticks where a part needs them."""
        return "name", ".".join(_quoted(str(part)) for part in parts)

    def name_list(self, parts: Parts) -> Part:
        return "columns", tuple(parts)

    # ---- types

    def plain_type(self, parts: Parts) -> pa.DataType:
        return _TYPES[str(parts[0]).upper()]

    def sized_type(self, parts: Parts) -> pa.DataType:
        return types.STRING

    def unknown_type(self, parts: Parts) -> pa.DataType:
        raise spark_error("UNSUPPORTED_DATATYPE", f'Unsupported data type "{str(parts[0]).upper()}".')

    def decimal_type(self, parts: Parts) -> pa.DataType:
        precision, scale, *_ = (
            *(part for part in parts if isinstance(part, int)),
            *_DECIMAL_DEFAULTS[len(parts) - 1 :],
        )
        if not 0 <= scale <= precision <= types.MAX_PRECISION or precision < 1:
            raise spark_error(
                "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", f"There is no DECIMAL({precision},{scale})."
            )
        return types.decimal(precision, scale)

    def array_type(self, parts: Parts) -> pa.DataType:
        return pa.list_(parts[0])

    def map_type(self, parts: Parts) -> pa.DataType:
        return pa.map_(parts[0], parts[1])

    def struct_type(self, parts: Parts) -> pa.DataType:
        return pa.struct(parts)

    def field(self, parts: Parts) -> pa.Field:
        return pa.field(parts[0], parts[1])

    def interval_type(self, parts: Parts) -> pa.DataType:
        first, last = str(parts[0]).upper(), str(parts[-1]).upper()
        kind = types.INTERVALS.get((first, last))
        if kind is None:
            raise spark_error("PARSE_SYNTAX_ERROR", f"There is no interval type {first} TO {last}.")
        return kind

    # ---- clauses

    def column(self, parts: Parts) -> pa.Field:
        return pa.field(parts[0], parts[1])

    def column_clause(self, parts: Parts) -> Part:
        return "column_clause", None

    def columns(self, parts: Parts) -> Part:
        return "schema", pa.schema(parts)

    def view_column(self, parts: Parts) -> object:
        return parts[0]

    def view_columns(self, parts: Parts) -> Part:
        return "columns", tuple(parts)

    def or_replace(self, parts: Parts) -> Part:
        return "replace", True

    def temporary(self, parts: Parts) -> Part:
        return "temporary", True

    def if_not_exists(self, parts: Parts) -> Part:
        return "if_not_exists", True

    def if_exists(self, parts: Parts) -> Part:
        return "if_exists", True

    def lazy(self, parts: Parts) -> Part:
        return "lazy", True

    def overwrite(self, parts: Parts) -> Part:
        return "overwrite", True

    def extended(self, parts: Parts) -> Part:
        return "extended", True

    def table_kind(self, parts: Parts) -> Part:
        return "kind", RelationKind.TABLE

    def view_kind(self, parts: Parts) -> Part:
        return "kind", RelationKind.VIEW

    def as_query(self, parts: Parts) -> Part:
        return "query", parts[0]

    def using(self, parts: Parts) -> Part:
        return "format", str(parts[0]).lower()

    def option(self, parts: Parts) -> Part:
        key, value = parts
        return str(key), value

    def option_key(self, parts: Parts) -> str:
        return ".".join(str(part) for part in parts)

    def option_value(self, parts: Parts) -> str:
        return str(parts[0])

    def options(self, parts: Parts) -> Part:
        return "options", _named(parts)

    def properties(self, parts: Parts) -> Part:
        return "properties", _named(parts)

    def comment(self, parts: Parts) -> Part:
        return "comment", parts[0]

    def location(self, parts: Parts) -> Part:
        return "location", parts[0]

    def partitioned_by(self, parts: Parts) -> Part:
        return "partitioned_by", _named(parts)["columns"]

    def clustered_by(self, parts: Parts) -> Part:
        buckets = next((part for part in parts if isinstance(part, int)), None)
        return "clustered_by", (_named(parts)["columns"], buckets)

    def in_database(self, parts: Parts) -> Part:
        return "database", _named(parts)["name"]

    # ---- statements

    def create_table(self, parts: Parts) -> CreateTable:
        given = self._once(parts)
        given.pop("comment", None)
        given.pop("properties", None)
        return CreateTable(**_clustering(given))  # type: ignore[arg-type]

    def create_view(self, parts: Parts) -> CreateView:
        given = self._once([part for part in parts if not isinstance(part, Query)])
        given.pop("comment", None)
        query = next(part for part in parts if isinstance(part, Query))
        return CreateView(query=query, **given)  # type: ignore[arg-type]

    def cache_table(self, parts: Parts) -> CacheTable:
        given = self._once(parts)
        given.pop("options", None)
        return CacheTable(**_clustering(given))  # type: ignore[arg-type]

    def uncache_table(self, parts: Parts) -> UncacheTable:
        return UncacheTable(**_named(parts))  # type: ignore[arg-type]

    def drop(self, parts: Parts) -> Drop:
        given = _named(parts)
        given.pop("temporary", None)
        return Drop(**given)  # type: ignore[arg-type]

    def insert(self, parts: Parts) -> Insert:
        query = next(part for part in parts if isinstance(part, Query))
        return Insert(query=query, **_named(parts))  # type: ignore[arg-type]

    def show_tables(self, parts: Parts) -> ShowTables:
        pattern = next((part for part in parts if isinstance(part, str)), None)
        return ShowTables(pattern=pattern, **_named(parts))  # type: ignore[arg-type]

    def describe_query(self, parts: Parts) -> DescribeQuery:
        (query,) = parts
        assert isinstance(query, Query)
        return DescribeQuery(query)

    def describe_table(self, parts: Parts) -> DescribeTable:
        return DescribeTable(**_named(parts))  # type: ignore[arg-type]

    def set_option(self, parts: Parts) -> SetOption:
        if len(parts) == 1 and not isinstance(parts[0], lark.Token):
            return SetOption("spark.sql.session.timeZone", str(parts[0]))
        key, value, *_ = (*(str(part).strip() for part in parts), None, None)
        return SetOption(key, value)

    def refresh_table(self, parts: Parts) -> RefreshTable:
        return RefreshTable(**_named(parts))  # type: ignore[arg-type]

    def kill_query(self, parts: Parts) -> KillQuery:
        (given,) = parts
        if isinstance(given, int):
            return KillQuery(given)
        name = str(given)
        return KillQuery("?0" if name == "?" else name[1:])

    def use_database(self, parts: Parts) -> UseDatabase:
        return UseDatabase(str(_named(parts)["name"]))

    def _once(self, parts: Parts) -> dict[str, object]:
        """The labelled parts; a clause that stands twice is an error."""
        names = [part[0] for part in parts if isinstance(part, tuple)]
        for name in names:
            if names.count(name) > 1:
                raise spark_error(
                    "DUPLICATE_CLAUSES",
                    f"Found duplicate clauses: {str(name).upper().replace('_', ' ')}. Please, remove one of "
                    "them.",
                )
        return _named(parts)


_DECIMAL_DEFAULTS: Final = (10, 0)


def _clustering(given: dict[str, object]) -> dict[str, object]:
    """CLUSTERED BY's columns and number of buckets as two fields."""
    clustered = given.pop("clustered_by", None)
    if isinstance(clustered, tuple):
        given["clustered_by"], given["buckets"] = clustered
    return given


def _quoted(part: str) -> str:
    return part if part.isidentifier() else f"`{part.replace('`', '``')}`"
