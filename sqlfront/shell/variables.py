"""Variables of scripts: ``:name`` as a typed parameter, ``${name}`` as text."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from sqlfront.session import Session
from sqlfront_values.errors import ProgrammingError

#: Values that are SQL literals, and so have a type; every other value is a string.
_LITERAL: Final = r"""(?isx)
    [+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?(?:bd|[lsydf])?
    | '(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*"
    | true | false | null
    | (?:date|timestamp|timestamp_ntz|timestamp_ltz|x|interval)\s*'(?:[^'\\]|\\.|'')*'(?:\s+\w+)*
    """
_ASSIGNMENT: Final = r"(?s)([^\W\d]\w*)=(.*)"
_USE: Final = r"\$\{(\w+)\}"


class Variable(msgspec.Struct, frozen=True):
    """A variable of the shell: the ``text`` to which the user has set it, for ``${name}``, and the ``value``
    of the parameter ``:name``."""

    text: str
    value: object


def assignment(text: str) -> tuple[str, str]:
    """Return the name and the value of a text ``name=value``. Raises ValueError for other texts.

    >>> assignment("city=New York")
    ('city', 'New York')
    """
    match = re.fullmatch(_ASSIGNMENT, text)
    if match is None:
        raise ValueError(f"expected name=value, got {text!r}")
    return match[1], match[2]


def is_literal(text: str) -> bool:
    """Return whether a variable's text is a SQL literal.

    >>> is_literal("1.50"), is_literal("DATE'2024-01-01'"), is_literal("Paris")
    (True, True, False)
    """
    return re.fullmatch(_LITERAL, text) is not None


def variable(text: str, session: Session) -> Variable:
    """Return the variable for a text. If the text is a SQL literal, the variable's value is the literal's,
    which the session evaluates; else the value is the text, a string. Raises Error for a literal without a
    value, such as ``DATE'2024-02-30'``."""
    if not is_literal(text):
        return Variable(text, text)
    [(value,)] = session.execute(f"SELECT {text}").collect()
    return Variable(text, value)


def substituted(text: str, variables: Mapping[str, Variable]) -> str:
    """Return ``text`` with each ``${name}`` replaced by the text of the variable ``name``. Raises
    ProgrammingError for an unknown variable.

    >>> substituted("select ${a}", {"a": Variable("1 + 1", "1 + 1")})
    'select 1 + 1'
    """

    def replaced(match: re.Match[str]) -> str:
        known = variables.get(match[1])
        if known is None:
            raise unknown(match[1], variables)
        return known.text

    return re.sub(_USE, replaced, text) if "${" in text else text


def unknown(name: str, variables: Mapping[str, Variable]) -> ProgrammingError:
    """Return the error for a text that uses ``${name}`` although no variable has the name; the message
    suggests a similar name."""
    near = get_close_matches(name, variables, 1)
    hint = (
        f"did you mean {near[0]}?"
        if near
        else rf"-v {name}=value, or \set {name} value in the shell, gives the variable its value"
    )
    return ProgrammingError(f"${{{name}}}: no variable has the name {name}; {hint}")


def values(variables: Mapping[str, Variable]) -> dict[str, object] | None:
    """Return the values of the variables by name, as parameters ``:name`` of a statement; None if there are
    no variables."""
    return {name: known.value for name, known in variables.items()} or None
