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
    return eval(_code(f"lambda {arguments}: {_tuple(parts)}"), {"__builtins__": {}, **values})


def tuples_function(row: str, arguments: str, parts: Sequence[str], values: Mapping[str, object]) -> object:
    """The same for many rows: the function of these, in which each is called ``row``, and of the arguments,
    whose result is a list of tuples.

    >>> tuples_function("row", "n", ["row + 1", "n"], {})([1, 2], 7)
    [(2, 7), (3, 7)]
    """
    text = f"lambda rows, {arguments}: [{_tuple(parts)} for {row} in rows]"
    return eval(_code(text), {"__builtins__": {}, **values})


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


@lru_cache(maxsize=4096)
def _code(text: str) -> CodeType:
    return compile(text, "<tuple>", "eval")
