"""The syntax errors that Spark's parser raises for a text."""

import re
from collections.abc import Sequence
from typing import Final

from sqlfront_planner.syntax.lexer import MOST_TOKENS, Tokens, tokens_of, usual_tokens
from sqlfront_planner.syntax.recognizer import first_wrong_token, is_right
from sqlfront_values.errors import DatabaseError, spark_error, too_complex

#: Tokens that may hold any character.
_ANY_CHARACTERS: Final = frozenset({"<code>", "<quoted>", "<string>", "<unknown>"})
#: Marks of texts with commas that are no tokens, besides strings.
_MARKS: Final = ('"', "`", "\\", "--", "/*")
#: Characters up to which a text has neither too many tokens nor too many levels, so that neither is counted.
_SHORT: Final = 1_500
#: Levels of CASE within CASE at most: as many as :data:`~sqlfront_planner.tokens.nesting.MOST_LEVELS`, since
#: the recognizer's stack grows with each level.
_MOST_CASES: Final = 400
#: The first words of Hive's statements.
_HIVE_WORDS: Final = frozenset(
    (
        "ALTER", "COMMIT", "CREATE", "DFS", "DROP", "EXPORT", "GRANT", "IMPORT", "LOCK", "REVOKE",
        "ROLLBACK", "SHOW", "START", "UNLOCK",
    )
)  # fmt: skip


def check_syntax(sql: str) -> None:
    """Raise an error if the text isn't exactly one statement by Spark's grammar (with sqlfront's additions).

    Raises ProgrammingError: PARSE_EMPTY_STATEMENT, UNCLOSED_BRACKETED_COMMENT, INVALID_IDENTIFIER,
    SYNTAX_DISCONTINUED, INVALID_STATEMENT_OR_CLAUSE, PARSE_SYNTAX_ERROR at the first token that doesn't fit;
    FAILED_TO_PARSE_TOO_COMPLEX.
    """
    if len(sql) <= _SHORT:
        usual = usual_tokens(sql)
        if usual and usual[0] not in _HIVE_WORDS and not _may_dash_window(usual) and is_right(usual):
            return
    if not sql.strip():
        raise spark_error("PARSE_EMPTY_STATEMENT", "Syntax error, unexpected empty statement.")
    if _has_too_many_commas(sql):
        raise too_complex()
    tokens = tokens_of(sql)
    if tokens.kinds.count("CASE") > _MOST_CASES:
        _refuse_deep(tokens)
    wrong = first_wrong_token(tokens)
    if wrong is not None:
        raise _wrong_at(tokens, wrong, sql)
    if _may_dash_window(tokens.kinds):
        _check_windows(tokens, sql)
    if not sql.isascii():
        _check_names(tokens, sql)
    if tokens.kinds[0] in _HIVE_WORDS and _is_hives(tokens):
        message = f"The statement or clause: {tokens.kinds[0]} is not valid."
        raise _error("INVALID_STATEMENT_OR_CLAUSE", message, (tokens.starts[0], tokens.ends[0]), sql)


def _has_too_many_commas(sql: str) -> bool:
    """Return whether the text has so many commas that it must have more than
    :data:`~sqlfront_planner.syntax.lexer.MOST_TOKENS` tokens, since each comma follows another token. The
    check spares the lexer a text of a million tokens, which takes seconds. False for texts with comments,
    escapes or quoted names, in which commas may be no tokens."""
    if 2 * sql.count(",") <= MOST_TOKENS or any(mark in sql for mark in _MARKS):
        return False
    return 2 * re.sub("'[^']*'", "", sql).count(",") > MOST_TOKENS


def _refuse_deep(tokens: Tokens) -> None:
    """Raise FAILED_TO_PARSE_TOO_COMPLEX for more than 400 levels of CASE within CASE: the possible readings
    multiply with each level."""
    level = 0
    for kind in tokens.kinds:
        level += (kind == "CASE") - (kind == "END" and level > 0)
        if level > _MOST_CASES:
            raise too_complex()


def _is_hives(tokens: Tokens) -> bool:
    """Return whether the text is a statement of Hive that Spark's grammar lists as unsupported."""
    is_hives = first_wrong_token(tokens, "hive_statement") is None
    return is_hives and first_wrong_token(tokens, "built_text") is not None


def _wrong_at(tokens: Tokens, place: int, sql: str) -> DatabaseError:
    """Make the error for the token at position ``place``, the first that the grammar rejects; if ``place`` is
    the number of tokens, the text ends too early."""
    if place == len(tokens.kinds):
        end = len(sql.rstrip())
        return _error("PARSE_SYNTAX_ERROR", "Syntax error at or near end of input.", (end, end + 1), sql)
    start, end = tokens.starts[place], tokens.ends[place]
    if sql.startswith("/*", start) and tokens.kinds[place] == "<unknown>":
        return unclosed_comment(start, sql)
    if tokens.kinds[place] == "!" and _is_bang(tokens, place):
        message = "'!' stands for NOT before a condition only: write NOT here."
        return _error("SYNTAX_DISCONTINUED.BANG_EQUALS_NOT", message, (start, end), sql)
    dashed = _dashed_name(tokens, place, sql)
    if dashed is not None:
        return _invalid_name(dashed, sql)
    return wrong_at((start, end), sql)


def unclosed_comment(start: int, sql: str) -> DatabaseError:
    """Make Spark's error UNCLOSED_BRACKETED_COMMENT for a comment that begins at the offset ``start`` of the
    text."""
    message = "Found an unclosed bracketed comment. Please, append */ at the end of the comment."
    return _error("UNCLOSED_BRACKETED_COMMENT", message, (start, start + 1), sql)


def wrong_at(place: tuple[int, int], sql: str) -> DatabaseError:
    """Make Spark's error PARSE_SYNTAX_ERROR for the range ``place`` (start, end) of the text."""
    return _error("PARSE_SYNTAX_ERROR", f"Syntax error at or near '{sql[slice(*place)]}'.", place, sql)


def _is_bang(tokens: Tokens, place: int) -> bool:
    """Whether the text would be valid with NOT instead of ``!`` as the token at position ``place``."""
    kinds = [*tokens.kinds[:place], "<bang>", *tokens.kinds[place + 1 :]]
    return first_wrong_token(Tokens(kinds, tokens.starts, tokens.ends)) is None


def _dashed_name(tokens: Tokens, place: int, sql: str) -> tuple[int, int] | None:
    """Return the range (start, end) in the text of a name like ``a-b``, not in backticks as a whole, whose
    dash is the token at position ``place``; None if the text would still be invalid with this name in
    backticks."""
    kinds, starts, ends = list(tokens.kinds), list(tokens.starts), list(tokens.ends)
    found: tuple[int, int] | None = None
    wrong: int | None = place
    while wrong is not None and 0 < wrong < len(kinds) - 1 and kinds[wrong] == "-":
        if not all(_begins_name(sql[starts[beside]]) for beside in (wrong - 1, wrong + 1)):
            return None
        found = found or (starts[wrong - 1], ends[wrong + 1])
        kinds[wrong - 1], ends[wrong - 1] = "<quoted>", ends[wrong + 1]
        for parts in (kinds, starts, ends):
            del parts[wrong : wrong + 2]
        wrong = first_wrong_token(Tokens(kinds, starts, ends))
    return found if wrong is None else None


def _begins_name(character: str) -> bool:
    return character.isalpha() or character in "_`"


def _may_dash_window(kinds: Sequence[str]) -> bool:
    """Whether a dash may follow the name of a window in the text."""
    return "OVER" in kinds and "-" in kinds


def _check_windows(tokens: Tokens, sql: str) -> None:
    """Raise INVALID_IDENTIFIER for ``OVER w - x``, in which Spark's parser reads ``w - x`` as the window's
    name rather than as a difference; even for ``OVER w - CASE ...``."""
    kinds = tokens.kinds
    for place in range(2, len(kinds)):
        if kinds[place] == "-" and kinds[place - 2] == "OVER":
            dashed = _dashed_name(tokens, place, sql)
            if dashed is None and kinds[place + 1] == "CASE":
                dashed = (tokens.starts[place - 1], tokens.ends[place + 1])
            if dashed is not None:
                raise _invalid_name(dashed, sql)


def _check_names(tokens: Tokens, sql: str) -> None:
    """Raise INVALID_IDENTIFIER for a name with letters outside of ASCII, unless it stands in backticks."""
    for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        if kind not in _ANY_CHARACTERS and not sql[start:end].isascii():
            raise _invalid_name((start, end), sql)


def _invalid_name(place: tuple[int, int], sql: str) -> DatabaseError:
    name = "".join(sql[slice(*place)].replace("`", "").split())
    message = f"The unquoted identifier {name} is invalid and must be back quoted as: `{name}`."
    return _error("INVALID_IDENTIFIER", message, place, sql)


def _error(condition: str, message: str, position: tuple[int, int], sql: str) -> DatabaseError:
    error = spark_error(condition, message, position=position)
    error.locate(sql)
    return error
