"""The names of the available SQL functions, as SHOW FUNCTIONS lists them."""

from typing import Final

from sqlfront_planner.binder.expressions.arguments import NOT_CALLABLE
from sqlfront_planner.binder.functions.calls import SPECIAL
from sqlfront_planner.binder.functions.switched_off import SWITCHED_OFF
from sqlfront_planner.binder.generator_calls import GENERATORS, TABLE_GENERATORS
from sqlfront_planner.binder.names.spark_functions import CALLABLE
from sqlfront_values.functions.aggregates.registry import aggregate_names
from sqlfront_values.functions.registry import names
from sqlfront_values.functions.windows.registry import window_names

#: Operators written as words; Spark lists them as functions.
_WORDS: Final = frozenset({"and", "between", "case", "in", "not", "or", "when"})
#: Operators that Spark lists and that no call can name.
_SHOWN_ONLY: Final = frozenset({"!=", "<>", "||"})


def function_names() -> tuple[str, ...]:
    """Return the names of Spark's functions and operators that are implemented here, sorted.

    >>> [name for name in function_names() if name.startswith("ab") or name[0] in "<|"]
    ['<', '<<', '<=', '<=>', '<>', 'abs', '|', '||']
    """
    bound = SPECIAL.keys() - SWITCHED_OFF.keys()
    calls = {*names(), *bound, *aggregate_names(), *window_names(), *GENERATORS, "regexp"} - NOT_CALLABLE
    signs = {name for name in CALLABLE if not name[0].isalpha()}
    return tuple(sorted((calls & CALLABLE) | signs | _WORDS | _SHOWN_ONLY | TABLE_GENERATORS | {"range"}))
