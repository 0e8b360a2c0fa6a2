"""Statements other than queries: CREATE, DROP, INSERT, CACHE, SHOW, DESCRIBE, SET, EXPLAIN, ...

The grammar is Spark's (``statements.lark``), extended by KILL QUERY and the statements of durable jobs.
:mod:`sqlfront_planner.statements.command_builder` turns the grammar's trees into statements.
:func:`sqlfront_planner.statements.query_parser.parse_query` parses the queries inside; positions in them
count from the start of the complete text.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from typing import Final

import lark
import pyarrow as pa

from sqlfront_planner.routines import RoutineParameter
from sqlfront_planner.statements import merge_parser, modification_parser, routine_parser, variable_parser
from sqlfront_planner.statements.command_builder import StatementBuilder
from sqlfront_planner.statements.grammar_parser import grammar_text, load_parser
from sqlfront_planner.statements.immediate_parser import parse_immediate
from sqlfront_planner.statements.query_parser import lead
from sqlfront_planner.statements.structs import (
    CreateJob,
    CreateTable,
    Explain,
    ExplainFormat,
    ExplainJob,
    ExplainMode,
    Insert,
    InsertDirectory,
    JobStatement,
    Query,
    RefreshPath,
    Statement,
)
from sqlfront_planner.syntax.check import unclosed_comment, wrong_at
from sqlfront_planner.syntax.grammar import spark_grammar
from sqlfront_planner.syntax.lexer import Tokens, tokens_of, without_comments
from sqlfront_planner.syntax.recognizer import first_wrong_token
from sqlfront_planner.tokens.tokenizing import unescape
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError, spark_error

ParseFrom = Callable[[str, int], Statement]

_GRAMMAR_WORDS: Final = frozenset(
    (
        "ALTER",
        "CREATE",
        "COMMENT",
        "CACHE",
        "UNCACHE",
        "DROP",
        "INSERT",
        "TRUNCATE",
        "SHOW",
        "DESCRIBE",
        "DESC",
        "SET",
        "RESET",
        "REFRESH",
        "MSCK",
        "REPAIR",
        "USE",
        "KILL",
        "CANCEL",
        "RESUME",
    )
)
#: The first words of statements about SQL variables.
_VARIABLE_WORDS: Final = frozenset({"DECLARE", "SET", "DROP"})
#: Tokens that end a statement's name, besides a name and a sign.
_NAME_ENDS: Final = frozenset({"FROM", "SELECT", "VALUES", "WITH", "(", "<string>", "<integer>"})
#: Words that name a statement at most, as in ``SHOW CREATE TABLE``.
_NAME_WORDS: Final = 3
#: A new table's name and a bracket, behind which a query may begin, or a column with the name of a keyword.
_PERHAPS_COLUMNS: Final = (
    r"(?i)\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:`[^`]*`|[\w.])+\s*\(\s*"
    r"(?:SELECT|WITH|VALUES|FROM|TABLE)\s+\w"
)
#: The alternative of the grammar's QUERY that begins with a bracket.
_BRACKETED_QUERY: Final = r"|\((?=[\s(]*(?:SELECT|WITH|VALUES|FROM|TABLE)\b)[\s\S]*"
#: The first words of statements that a job may run.
_JOB_WORDS: Final = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "(", "CREATE", "INSERT"})
#: The statements that a job may run, for messages.
_JOB_STATEMENTS: Final = (
    "a query, CREATE [OR REPLACE] TABLE ... AS, INSERT INTO, INSERT OVERWRITE or INSERT OVERWRITE DIRECTORY"
)
_EXPLAIN_DETAILS: Final = ("EXTENDED", "ANALYZE")
_OTHER_DETAILS: Final = ("CODEGEN", "COST", "FORMATTED", "LOGICAL")
#: The mode of EXPLAIN, by the presence of EXTENDED and of ANALYZE.
_EXPLAIN_MODES: Final = {
    (False, False): ExplainMode.SIMPLE,
    (True, False): ExplainMode.EXTENDED,
    (False, True): ExplainMode.ANALYZE,
    (True, True): ExplainMode.EXTENDED_ANALYZE,
}
#: The characters that Java's ``trim`` removes.
_CONTROLS: Final = "".join(map(chr, range(33)))
#: Keywords before the keyword JOB; elsewhere the word is a name.
_BEFORE_JOB: Final = frozenset({"CREATE", "REPLACE", "CANCEL", "RESUME", "DROP"})
#: Words that don't help to tell statements apart, left out of a statement's name.
_BESIDE: Final = frozenset({"OR", "REPLACE", "IF", "EXISTS", "GLOBAL", "EXTERNAL"})


def parse_command(sql: str, word: str, start: int, parse_from: ParseFrom) -> Statement:
    """Parse a statement other than a query. ``start`` is the statement's offset in ``sql``, ``word`` the
    statement's first word in upper case. ``parse_from(sql, offset)`` parses the statement inside EXPLAIN or
    CREATE JOB, which may be a query.

    Raises NotSupportedError for a statement that isn't implemented, ProgrammingError for one that is wrong
    beyond its syntax, such as a duplicate clause.
    """
    if word == "EXPLAIN":
        return _explain(sql, start, parse_from)
    if word == "DELETE":
        return modification_parser.parse_delete(sql, start)
    if word == "UPDATE":
        return modification_parser.parse_update(sql, start)
    if word in ("CREATE", "DROP") and routine_parser.is_about_function(sql, start):
        return routine_parser.parse_function(sql, start, partial(_routine_column, parse_from=parse_from))
    if word in ("MERGE", "WITH"):
        return merge_parser.parse_merge(sql, start)
    if word == "EXECUTE":
        return parse_immediate(sql, start)
    if word in _VARIABLE_WORDS and variable_parser.is_about_variable(sql, start):
        return variable_parser.parse_variable(sql, start, partial(_variable_type, parse_from=parse_from))
    if word == "REFRESH" and (path := _refreshed_path(sql, start)) is not None:
        return path
    if word not in _GRAMMAR_WORDS:
        raise _not_built(sql, start)
    try:
        # A setting's value is the rest of the text, comments included.
        tree = _tree((sql if word == "SET" else without_comments(sql))[start:])
    except lark.UnexpectedInput as error:
        raise _not_built(sql, start, _place(error, sql, start)) from None
    try:
        parse_inner = partial(_job_statement, sql, parse_from=parse_from)
        statement = StatementBuilder(sql, start, parse_inner).transform(tree)
    except lark.exceptions.VisitError as error:
        if isinstance(error.orig_exc, Error):
            error.orig_exc.locate(sql)
            raise error.orig_exc from None
        raise
    assert isinstance(statement, Statement)
    return statement


def _variable_type(text: str, parse_from: ParseFrom) -> pa.DataType:
    """Parse the type of a SQL variable."""
    return _routine_column(f"`variable` {text}", parse_from).type


def _routine_column(text: str, parse_from: ParseFrom) -> RoutineParameter:
    """Parse a parameter or a returned column of a SQL function, without a default, as a column of CREATE
    TABLE. Raises Spark's errors for types, and for NOT NULL."""
    try:
        parsed = parse_from(f"CREATE TABLE t ({text})", 0)
    except NotSupportedError as error:
        if (error.condition is None and "VARCHAR" in error.message) or "CHAR" in error.message:
            raise spark_error(
                "UNSUPPORTED_CHAR_OR_VARCHAR_AS_STRING",
                "The char/varchar type can't be used in the table schema.",
            ) from None
        raise
    assert isinstance(parsed, CreateTable)
    assert parsed.schema is not None
    (field,) = parsed.schema
    if parsed.details.required:
        raise spark_error(
            "USER_DEFINED_FUNCTIONS.NOT_NULL_ON_FUNCTION_PARAMETERS",
            f"User defined function is invalid: Cannot specify NOT NULL on function parameters: {text}",
        )
    return RoutineParameter(field.name, field.type, None, parsed.details.comment_of(field.name))


def begins_merge(sql: str, start: int) -> bool:
    """Return whether the statement at offset ``start`` is a MERGE behind common table expressions."""
    return merge_parser.begins_merge(sql, start)


def _tree(text: str) -> lark.ParseTree:
    """Return lark's tree of a statement. As in Spark, parentheses after a table's name hold columns if they
    can be read so: ``CREATE TABLE t (select INT)`` has a column ``select``."""
    if re.match(_PERHAPS_COLUMNS, text) is not None:
        with suppress(lark.UnexpectedInput):
            return _parser(bracketed_queries=False).parse(text)
    return _parser().parse(text)


@cache
def _parser(*, bracketed_queries: bool = True) -> lark.Lark:
    """Return lark's parser of the grammar. ``bracketed_queries``: whether a parenthesis may begin a query."""
    grammar = grammar_text()
    return load_parser(grammar if bracketed_queries else grammar.replace(_BRACKETED_QUERY, ""))


def _refreshed_path(sql: str, start: int) -> RefreshPath | None:
    """Return the path in REFRESH, a statement at offset ``start``: the joined string literals, or else the
    text as written, with comments and semicolons. Return None if REFRESH names a table or a function, or if
    the text has parameters.

    Raises INVALID_SQL_SYNTAX for an empty path, and for blanks in an unquoted path.
    """
    tokens = tokens_of(sql, start)
    kinds = tokens.kinds[1:]
    if kinds and kinds[-1] == "<unknown>" and sql.startswith("/*", tokens.starts[-1]):
        raise unclosed_comment(tokens.starts[-1], sql)
    while kinds and kinds[-1] == ";":
        kinds.pop()
    if kinds and kinds[0] in ("TABLE", "FUNCTION"):
        name = Tokens(kinds[1:], tokens.starts[2:], tokens.ends[2:])
        if first_wrong_token(name, "table") is None:
            return None
    if kinds and all(kind == "<string>" for kind in kinds):
        places = zip(tokens.starts[1:], tokens.ends[1 : len(kinds) + 1], strict=False)
        return RefreshPath("".join(unescape(sql[begin:end]) for begin, end in places), quoted=True)
    if "?" in kinds:  # a parameter
        return None
    path = sql[tokens.ends[0] :].strip(_CONTROLS)
    if not path:
        raise spark_error(
            "INVALID_SQL_SYNTAX.EMPTY_REFRESH_RESOURCE_PATH",
            "Invalid SQL syntax: Resource paths cannot be empty in REFRESH statements. Use / to match"
            " everything.",
        )
    if any(blank in path for blank in " \n\r\t"):
        raise spark_error(
            "INVALID_SQL_SYNTAX.INVALID_REFRESH_RESOURCE_PATH",
            "Invalid SQL syntax: REFRESH statements cannot contain ' ', '\\n', '\\r', '\\t' inside unquoted"
            " resource paths.",
        )
    return RefreshPath(path)


def _job_statement(sql: str, start: int, parse_from: ParseFrom) -> JobStatement:
    """Parse the statement after AS in CREATE JOB, from offset ``start``. Raises ProgrammingError, which names
    the statement, for one that a job can't run."""
    if _may_run_in_job(sql, start):
        match parse_from(sql, start):
            case (Query() | Insert() | InsertDirectory() | CreateTable(query=Query())) as statement:
                return statement
    name, place = _named(sql, start)
    what = f"{name} without a query" if name == "CREATE TABLE" else name
    raise ProgrammingError(f"A job runs {_JOB_STATEMENTS}, not {what}.", sqlstate="42601", position=place)


def _may_run_in_job(sql: str, start: int) -> bool:
    """Whether the first words of the statement at offset ``start`` are those of a statement that a job may
    run."""
    word, _, end = _next(sql, start)
    if word != "CREATE":
        return word in _JOB_WORDS
    word, _, end = _next(sql, end)
    if word == "OR":  # OR REPLACE
        word, _, end = _next(sql, _next(sql, end)[2])
    return word == "TABLE"


def _explain(sql: str, start: int, parse_from: ParseFrom) -> Statement:
    """Parse EXPLAIN, its options, and the statement inside. Raises NotSupportedError unless the inner
    statement is a query or CREATE JOB."""
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
    if word in _OTHER_DETAILS:
        raise _not_built(sql, start)
    mode = _EXPLAIN_MODES["EXTENDED" in options, "ANALYZE" in options]
    form = ExplainFormat(options.get("FORMAT", "TEXT").lower())
    if mode.is_extended and form not in (ExplainFormat.TEXT, ExplainFormat.JSON):
        raise NotSupportedError(
            f"EXPLAIN EXTENDED in the format {form.value} is not supported: a graph shows the physical plan."
        )
    statement = parse_from(sql, begin)
    if isinstance(statement, Query):
        return Explain(mode, statement, form)
    if isinstance(statement, CreateJob) and form is ExplainFormat.TEXT and not mode.is_analyze:
        return ExplainJob(statement, mode.is_extended)
    name, place = _named(sql, begin)
    what = f"EXPLAIN {' and '.join(options)} of" if isinstance(statement, CreateJob) else "EXPLAIN of"
    raise NotSupportedError(f"{what} {name} is not supported.", sqlstate="0A000", position=place)


def _explain_options(sql: str, start: int, options: dict[str, str]) -> int:
    """Parse the options in the parentheses after EXPLAIN, and add them to ``options``: FORMAT with its value,
    others with an empty text. ``start`` is the offset after the opening parenthesis; return the offset after
    the closing one. Raises ProgrammingError for an option that occurs twice."""
    separator, end = ",", start
    while separator == ",":
        word, begin, end = _next(sql, end)
        if word in options:
            raise wrong_at((begin, end), sql)
        options[word] = ""
        if word == "FORMAT":
            options[word], begin, end = _next(sql, end)
        separator, begin, end = _next(sql, end)
    return end


def _next(sql: str, start: int) -> tuple[str, int, int]:
    """Return the next word (or other character) from offset ``start``, in upper case, and its offsets (start,
    end). At the end of ``sql`` the word is empty."""
    begin, end = _word(sql, start)
    return sql[begin:end].upper(), begin, end


def _word(sql: str, start: int) -> tuple[int, int]:
    """Return the offsets (start, end) of the next word (or other character) from ``start``, after blanks and
    comments. At the end of ``sql`` both are its length."""
    place = lead(sql, start)
    return place if place is not None else (len(sql), len(sql))


def _not_built(sql: str, start: int, place: tuple[int, int] | None = None) -> NotSupportedError:
    """Make the error for a statement at ``start`` that isn't implemented; ``place``, a range of offsets, is
    the clause that isn't, None = the entire statement."""
    what, words = _named(sql, start)
    clause = "" if place is None or place[0] < words[1] else _named(sql, place[0])[0]
    if clause[:1].isalpha():
        what = f"{what} with {clause}"
    error = NotSupportedError(f"{what} is not supported.", sqlstate="0A000", position=place or words)
    error.locate(sql)
    return error


def _named(sql: str, start: int) -> tuple[str, tuple[int, int]]:
    """Return the keywords that name the statement or clause at offset ``start``, as ``CREATE TABLE``, and
    their range of offsets: the keywords before the first name, three at most. Return an empty text if no
    keyword stands there."""
    tokens = tokens_of(sql, start)
    keywords = spark_grammar().kinds
    found: list[tuple[int, int]] = []
    before, following = "", (*tokens.kinds[1:], "")
    for kind, after, begin, end in zip(tokens.kinds, following, tokens.starts, tokens.ends, strict=True):
        if kind in _NAME_ENDS or kind not in keywords or len(found) == _NAME_WORDS:
            break
        if _is_name(before, kind, after):
            break
        before = kind
        if kind not in _BESIDE or (kind == "REPLACE" and not found):
            found.append((begin, end))
    if not found:
        return "", (start, start)
    return " ".join(sql[begin:end].upper() for begin, end in found), (found[0][0], found[-1][1])


def _is_name(before: str, kind: str, after: str) -> bool:
    """Return whether the keyword ``kind``, between the tokens ``before`` and ``after``, is used as a name:
    the name of a job, or, outside of statements about jobs, one of their words (JOB, JOBS, CANCEL,
    RESUME)."""
    match kind:
        case "JOB":
            return before not in _BEFORE_JOB
        case "JOBS":
            return before != "SHOW"
        case "CANCEL" | "RESUME":
            return after != "JOB"
    return before == "JOB"


def _place(error: lark.UnexpectedInput, sql: str, start: int) -> tuple[int, int] | None:
    """Return the offsets (start, end) of the word at which the grammar rejected the text; None for the end of
    the text."""
    if isinstance(error, lark.UnexpectedToken):
        return None if error.token.type == "$END" else lead(sql, start + int(error.token.start_pos or 0))
    if isinstance(error, lark.UnexpectedCharacters):
        return lead(sql, start + int(error.pos_in_stream or 0))
    return None
