"""Matching of Java's patterns against one text, in a time that the query can limit.

Python's ``re`` is the quickest matcher for short texts, but backtracks with the interpreter's lock held, so
that neither a timeout nor a cancellation reaches it and all other threads stand still. Texts longer than
:attr:`~sqlfront_values.functions.text.patterns.java_regex.JavaPattern.safe_length` are matched by the library
``regex``, which reads the same patterns. Its first try has little time, each further try twice as much,
without the interpreter's lock; between two tries, a check may stop the query.
"""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from re import Match
from typing import TYPE_CHECKING, Final, TypeVar

from sqlfront_values.errors import NotSupportedError, OperationalError
from sqlfront_values.functions.text.patterns.java_regex import JavaPattern
from sqlfront_values.lazy_modules import lazy_module
from sqlfront_values.room import check

if TYPE_CHECKING:
    import regex
else:
    regex = lazy_module("regex")

#: Seconds that a match may take with the interpreter's lock held: taking the lock back costs less than that,
#: and other threads wait meanwhile.
_WITH_LOCK: Final = 0.02
#: Tries at most; each try gets twice the time of the try before: five seconds in all, and the time of the
#: last failed try is half of them.
_TRIES: Final = 8
#: The most seconds per character of a match without backtracking.
_PER_CHARACTER: Final = 1e-6

_T = TypeVar("_T")


def search(pattern: JavaPattern, text: str) -> Match[str] | None:
    """Return the first match of the pattern in the text; None if there is none.

    Raises OperationalError if matching takes seconds, StoppedError if the query is stopped meanwhile,
    NotSupportedError if the library ``regex`` is needed but not installed.
    """
    if len(text) <= pattern.safe_length:
        return pattern.compiled.search(text)
    return _given_time(
        pattern,
        text,
        lambda compiled, seconds, alone: compiled.search(text, timeout=seconds, concurrent=not alone),
    )


def find_all(pattern: JavaPattern, text: str, start: int = 0) -> Iterable[Match[str]]:
    """Return all matches of the pattern in the text from index ``start`` on, in order and without overlap.

    Raises OperationalError if matching takes seconds, StoppedError if the query is stopped meanwhile,
    NotSupportedError if the library ``regex`` is needed but not installed.
    """
    if len(text) <= pattern.safe_length:
        return pattern.compiled.finditer(text, start)
    return _given_time(
        pattern,
        text,
        lambda compiled, seconds, alone: list(
            compiled.finditer(text, start, timeout=seconds, concurrent=not alone)
        ),
    )


def _given_time(
    pattern: JavaPattern, text: str, match: "Callable[[regex.Pattern[str], float, bool], _T]"
) -> _T:
    """Return the result of ``match(compiled pattern, seconds, alone)``, a match by the library ``regex`` with
    a time limit; ``alone`` says whether it holds the interpreter's lock. If ``match`` raises TimeoutError, it
    is called again with twice the time. Raises the errors that :func:`find_all` raises."""
    if find_spec("regex") is None:
        raise NotSupportedError(
            f"a regular expression that may backtrack, over a text of {len(text)} characters, needs the"
            " library regex: pip install regex"
        )
    compiled = _compiled(pattern.python)
    seconds = _WITH_LOCK
    for attempt in range(_TRIES):
        try:
            return match(compiled, seconds, attempt == 0)
        except TimeoutError:
            check()
            seconds = 2 * seconds + _PER_CHARACTER * len(text)
    raise OperationalError(
        f"the regular expression {pattern.java!r} takes more than {seconds:.0f} seconds over a text of"
        f" {len(text)} characters: it tries too many ways to match"
    )


def _compiled(python: str) -> "regex.Pattern[str]":
    # The library caches compiled patterns. Its version 0 has the semantics of Python's own module.
    return regex.compile(python, regex.ASCII | regex.VERSION0)
