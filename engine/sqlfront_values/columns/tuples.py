"""Generated functions that make tuples: a row of ten values takes one call instead of eleven."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import CodeType


def tuple_function(arguments: str, parts: Sequence[str], values: Mapping[str, object]) -> object:
    """Compile a function that returns a tuple. ``arguments`` is its parameter list, ``parts`` has the Python
    expressions of the tuple's items, ``values`` has the objects, by name, that the expressions use besides
    the parameters.

    The function is compiled from text, as the standard library's ``namedtuple`` is. A part may hold only
    numbers, operators, and names of parameters and of ``values``.

    >>> tuple_function("row", ["row + 1", "n"], {"n": 7})(1)
    (2, 7)
    """
    return eval(_code(f"lambda {arguments}: {_tuple(parts)}"), {"__builtins__": {}, **values})


def tuples_function(row: str, arguments: str, parts: Sequence[str], values: Mapping[str, object]) -> object:
    """Compile a :func:`tuple_function` for many rows. The function takes a list of rows and the
    ``arguments``, and returns a list with a tuple for each row; in the parts, the row has the name ``row``.

    >>> tuples_function("row", "n", ["row + 1", "n"], {})([1, 2], 7)
    [(2, 7), (3, 7)]
    """
    text = f"lambda rows, {arguments}: [{_tuple(parts)} for {row} in rows]"
    return eval(_code(text), {"__builtins__": {}, **values})


def pairs_function(parts: Sequence[str]) -> object:
    """Compile a function that takes a list of rows, each named ``row`` in the parts, and for each row a list
    of further rows, each named ``other``. The function returns a list with a tuple of the parts for each
    pair.

    >>> pairs_function(["row[0]", "other[1]"])([(1,), (2,)], [[(3, 4), (5, 6)], []])
    [(1, 4), (1, 6)]
    """
    pairs = "for row, found in zip(rows, others, strict=True) for other in found"
    return eval(_code(f"lambda rows, others: [{_tuple(parts)} {pairs}]"), {"__builtins__": {"zip": zip}})


def _tuple(parts: Sequence[str]) -> str:
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


@lru_cache(maxsize=4096)
def _code(text: str) -> CodeType:
    return compile(text, "<tuple>", "eval")
