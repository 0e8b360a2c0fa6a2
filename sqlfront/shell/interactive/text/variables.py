"""Variables of the shell: ``:name`` as a typed parameter, ``${name}`` as text."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from itertools import pairwise
from typing import Final

import msgspec

from sqlfront.shell.interactive.text.tokens import name_of, text_tokens
from sqlfront_values.errors import ProgrammingError

#: Values that are SQL literals, and so have a type; every other value is a string.
LITERAL: Final = re.compile(
    r"""(?isx)
    [+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:bd|[lsydf])?
    | '(?:[^'\\]|\\.|'')*'
    | true | false | null
    | (?:date|timestamp|timestamp_ntz|timestamp_ltz|x|interval)\s*'(?:[^'\\]|\\.|'')*'(?:\s+\w+)*
    """
)
_USE: Final = re.compile(r"\$\{(\w+)\}")


class Variable(msgspec.Struct, frozen=True):
    """A variable: the ``text`` as it was set, and the ``value`` of the parameter."""

    text: str
    value: object


def is_literal(text: str) -> bool:
    """Whether a variable's text is a SQL literal.

    >>> is_literal("1.50"), is_literal("DATE'2024-01-01'"), is_literal("Paris")
    (True, True, False)
    """
    return LITERAL.fullmatch(text) is not None


def substituted(text: str, variables: Mapping[str, Variable]) -> str:
    """The text in which each ``${name}`` is replaced with the variable's text. Raises ProgrammingError for an
    unknown variable.

    >>> substituted("select ${a}", {"a": Variable("1 + 1", "1 + 1")})
    'select 1 + 1'
    """

    def replaced(match: re.Match[str]) -> str:
        if match[1] not in variables:
            raise _unknown(match[1], variables)
        return variables[match[1]].text

    return _USE.sub(replaced, text) if "${" in text else text


def parameters_of(text: str, variables: Mapping[str, Variable]) -> dict[str, object] | None:
    """The values of the parameters ``:name`` of a text, as far as they are variables; None if the text has no
    such parameter."""
    if not variables or ":" not in text:
        return None
    tokens = text_tokens(text)
    used = {
        name_of(text, token) for before, token in pairwise(tokens) if before.kind == ":" and token.is_word
    }
    found = {name: variables[name].value for name in used & variables.keys()}
    return found or None


def _unknown(name: str, variables: Mapping[str, Variable]) -> ProgrammingError:
    near = get_close_matches(name, variables, 1)
    hint = f"; the nearest known is {near[0]}" if near else r"; \set gives a variable its value"
    return ProgrammingError(f"no variable is called {name}{hint}")
