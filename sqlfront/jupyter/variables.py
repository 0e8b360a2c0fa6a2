"""Variables of the notebook in a statement: ``:name`` is a value, ``{name}`` a frame or a literal."""

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Final

from sqlfront.results.result import Result
from sqlfront_planner.tokens.parameters import parameter_names

_BRACES: Final = re.compile(r"(?<!\{)\{(\w+)(?:\.\w+|\[\w+\])?\}(?!\})")


def parameters_of(text: str, variables: Mapping[str, object]) -> dict[str, object] | None:
    """The values of the text's parameters ``:name`` among the variables; None if no parameter is one. A
    parameter without a variable is left to the statement, which names it in its error. Functions, classes and
    modules are no values: in ``struct<day:date>`` the word behind the colon may be the name of one."""
    names = [name for name in parameter_names(text) if name in variables]
    return {name: variables[name] for name in names if _is_value(variables[name])} or None


def _is_value(value: object) -> bool:
    return not callable(value) and not isinstance(value, ModuleType)


def frames_of(text: str, variables: Mapping[str, object]) -> dict[str, object]:
    """The values of the text's ``{name}`` among the variables; empty if the text has none, so that its braces
    stay as they are. A :class:`~sqlfront.results.result.Result` counts as a frame with its rows."""
    names = (match[1] for match in _BRACES.finditer(text))
    return {name: _frame(variables[name]) for name in names if name in variables}


def _frame(value: object) -> object:
    return value.toArrow() if isinstance(value, Result) else value
