"""Functions that make tuples, written out: a row of ten values by one call instead of by eleven."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType


def tuple_function(arguments: str, parts: Sequence[str], values: Mapping[str, object]) -> object:
    """The function of these arguments whose result is a tuple of the ``parts``, expressions in which
    ``values`` stand for names.

    It is compiled from its text, as the standard library's ``namedtuple`` is. No part may hold anything but
    names given here, numbers and operators.

    >>> tuple_function("row", ["row + 1", "n"], {"n": 7})(1)
    (2, 7)
    """
    text = f"lambda {arguments}: ({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return eval(_code(text), {"__builtins__": {}, **values})


@lru_cache(maxsize=4096)
def _code(text: str) -> CodeType:
    return compile(text, "<tuple>", "eval")
