"""The path behind a colon, which reads a part of a variant: ``v:a.b[0]['c d']``."""

import re
from collections.abc import Sequence
from typing import Final

from sqlglot.tokenizer_core import Token, TokenType

from sqlfront_planner.tokens.marks import ExtractionPath
from sqlfront_planner.tokens.tokenizing import error_at, unescape

_T = TokenType
_STRINGS: Final = frozenset({_T.STRING, _T.RAW_STRING})
_WORD: Final = re.compile(r"[^\W\d]\w*")
#: A step of a path as Spark reads it, which differs from the tokens for a quoted name with points or
#: brackets.
_STEP: Final = re.compile(r"""\[(?:\d+|'(?P<single>[^']+)'|"(?P<double>[^"]+)")\]|\.(?P<name>[^.\[]+)""")


def end_of_path(tokens: Sequence[Token], position: int) -> int:
    """Return the position behind the path that begins at ``position``, at the token behind the colon."""
    end = position if _opens(tokens, position) else position + 1
    while end < len(tokens):
        if _opens(tokens, end):
            end += 3
        elif tokens[end].token_type == _T.DOT and end + 1 < len(tokens):
            end += 2
        else:
            break
    return end


def _opens(tokens: Sequence[Token], position: int) -> bool:
    return position < len(tokens) and tokens[position].token_type == _T.L_BRACKET


def path_of(tokens: Sequence[Token], sql: str) -> ExtractionPath:
    """Return the path that the tokens write; ``sql`` is the text of which they were made. Raises
    PARSE_SYNTAX_ERROR for tokens that aren't a path."""
    steps = []
    for place, token in enumerate(tokens):
        if token.token_type in _STRINGS:
            text = sql[token.start : token.end + 1]
            steps.append(f"{text[0]}{unescape(text)}{text[-1]}")
        elif token.token_type in _PUNCTUATION:
            steps.append(_PUNCTUATION[token.token_type])
        elif place == 0 or tokens[place - 1].token_type == _T.DOT:
            if token.token_type != _T.IDENTIFIER and not _WORD.fullmatch(token.text):
                raise _wrong(token, sql)
            steps.append(token.text)
        elif token.token_type == _T.NUMBER:
            steps.append(token.text)
        else:
            raise _wrong(token, sql)
    written = "".join(steps)
    path = f"${written}" if written.startswith("[") else f"$.{written}"
    return ExtractionPath(path, _last_name(path, tokens[0], sql))


def _last_name(path: str, token: Token, sql: str) -> str | None:
    name, place = None, 1
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None:
            raise _wrong(token, sql)
        names = [found for found in step.groups() if found is not None]
        name, place = names[0] if names else name, step.end()
    return name


def _wrong(token: Token, sql: str) -> Exception:
    return error_at(token, "PARSE_SYNTAX_ERROR", f"Syntax error at or near '{token.text}'.", sql)


_PUNCTUATION: Final = {_T.L_BRACKET: "[", _T.R_BRACKET: "]", _T.DOT: "."}
