"""Variables of the notebook in a statement: ``:name`` is a value, ``{name}`` a frame or a literal."""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from sqlfront.results.result import Result
from sqlfront_planner.tokens.parameters import parameter_names

_BRACES: Final = re.compile(r"(?<!\{)\{(\w+)(?:\.\w+|\[\w+\])?\}(?!\})")


def parameters_of(text: str, variables: Mapping[str, object]) -> dict[str, object] | None:
    """Return the values of the notebook's ``variables`` that the text names as parameters (``:name``), by
    name; None if no parameter is a variable. A parameter that is no variable gets no value, and the statement
    itself raises an error that names it. Functions, classes and modules don't count as variables: in
    ``struct<day:date>`` the word ``date`` is no parameter, but may be the name of a class."""
    names = [name for name in parameter_names(text) if name in variables]
    return {name: variables[name] for name in names if _is_value(variables[name])} or None


def _is_value(value: object) -> bool:
    return not callable(value) and not isinstance(value, ModuleType)


def frames_of(text: str, variables: Mapping[str, object]) -> dict[str, object]:
    """Return the values of the notebook's ``variables`` that the text names as ``{name}``, by name; empty if
    there are none: the braces of the text are then left as they are. A
    :class:`~sqlfront.results.result.Result` is returned as an Arrow table of its rows."""
    names = (match[1] for match in _BRACES.finditer(text))
    return {name: _frame(variables[name]) for name in names if name in variables}


def _frame(value: object) -> object:
    return value.toArrow() if isinstance(value, Result) else value
