"""The parameters of a text: ``?`` by position, ``:name`` by name."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import msgspec

from sqlfront_planner.syntax.lexer import tokens_of
from sqlfront_planner.tokens.marks import PositionalParameter
from sqlfront_values.errors import NotSupportedError, ProgrammingError


class _Parameters(msgspec.Struct, frozen=True):
    """The number of a text's positional parameters, and the names of its named parameters. The names may
    include words that follow a colon for another reason, as in ``struct<a:int>``."""

    count: int
    names: frozenset[str]


def refuse_surplus(text: str, given: "Sequence[object] | Mapping[str, object]") -> None:
    """Raise ProgrammingError if ``given`` has more values than the text has parameters ``?``, or has a name
    that no parameter ``:name`` has.

    >>> refuse_surplus("SELECT ?, '?'", [1])
    >>> refuse_surplus("SELECT :a", {"a": 1, "b": 2})
    Traceback (most recent call last):
        ...
    sqlfront_values.errors.ProgrammingError: the statement has no parameter :b
    """
    wanted = _parameters(text)
    # Lists and tuples are asked for first: an abstract class answers ten times later.
    if not isinstance(given, (list, tuple)) and isinstance(given, Mapping):
        unknown = ", ".join(f":{name}" for name in given if name not in wanted.names)
        if unknown:
            raise ProgrammingError(f"the statement has no parameter {unknown}")
    elif len(given) > wanted.count:
        raise ProgrammingError(
            f"the statement has {wanted.count} parameters by position, but {len(given)} values were given"
        )


def parameter_names(text: str) -> frozenset[str]:
    """Return the names of the text's named parameters. The set may also have words that follow a colon for
    another reason, as in ``struct<a:int>``.

    >>> sorted(parameter_names("SELECT :a, ':b', :c"))
    ['a', 'c']
    """
    return _parameters(text).names


def with_values(text: str, markers: Sequence[str], write: Callable[[str], str]) -> str:
    """Return the text with its parameters replaced by values. ``markers``: the name of each parameter, as
    often as it occurs in the parsed text, a :class:`~sqlfront_planner.tokens.marks.PositionalParameter` for
    ``?``. ``write(name)`` returns the SQL text of a value.

    >>> with_values("SELECT :a, ':a'", ["a"], {"a": "1"}.__getitem__)
    "SELECT 1, ':a'"

    Raises NotSupportedError if the text has more words that look like these parameters, such as fields in
    ``struct<a:int>``.
    """
    tokens, wanted = tokens_of(text), set(markers)
    by_position = [name for name in markers if isinstance(name, PositionalParameter)]
    positional = iter(sorted(by_position, key=lambda name: name.position))
    pieces, copied, found = list[str](), 0, 0
    for place, kind in enumerate(tokens.kinds):
        if kind == "?":
            name, end = next(positional, ""), tokens.ends[place]
        elif kind == ":" and place + 1 < len(tokens.kinds):
            end = tokens.ends[place + 1]
            name = text[tokens.starts[place + 1] : end].strip("`")
        else:
            continue
        if name in wanted:
            pieces += [text[copied : tokens.starts[place]], write(name)]
            copied, found = end, found + 1
    if found != len(markers):
        raise NotSupportedError("a parameter marker in this text can't be told from a field's name")
    return "".join([*pieces, text[copied:]])


@lru_cache(maxsize=1024)
def _parameters(text: str) -> _Parameters:
    tokens = tokens_of(text)
    names = set()
    for kind, start, end in zip(tokens.kinds[:-1], tokens.starts[1:], tokens.ends[1:], strict=True):
        if kind == ":":
            names.add(text[start:end].strip("`"))
    return _Parameters(tokens.kinds.count("?"), frozenset(names))
