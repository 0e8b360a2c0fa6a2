"""The names of the functions that SQL has here, as SHOW FUNCTIONS shows them."""

from typing import Final

from sqlfront_planner.binder.arguments import NOT_CALLABLE
from sqlfront_planner.binder.calls import SPECIAL
from sqlfront_planner.binder.spark_functions import CALLABLE
from sqlfront_values.functions.aggregates.registry import aggregate_names
from sqlfront_values.functions.registry import names
from sqlfront_values.functions.windows.registry import window_names

#: Operators in words; Spark counts them among the functions.
_WORDS: Final = frozenset({"and", "between", "case", "in", "not", "or", "when"})
#: Operators that Spark shows and nobody can call.
_SHOWN_ONLY: Final = frozenset({"!=", "<>", "||"})


def function_names() -> tuple[str, ...]:
    """Functions and operators of Spark that are built here, sorted.

    >>> [name for name in function_names() if name.startswith("ab") or name[0] in "<|"]
    ['<', '<<', '<=', '<=>', '<>', 'abs', '|', '||']
    """
    calls = {*names(), *SPECIAL, *aggregate_names(), *window_names(), "regexp"} - NOT_CALLABLE
    signs = {name for name in CALLABLE if not name[0].isalpha()}
    return tuple(sorted((calls & CALLABLE) | signs | _WORDS | _SHOWN_ONLY | {"range"}))
