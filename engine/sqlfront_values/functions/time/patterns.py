"""Spark's datetime patterns, such as ``yyyy-MM-dd HH:mm:ss.SSS``, parsed and checked.

A pattern is a sequence of :class:`Field` (a letter and its number of repetitions), literal texts, and ``[ ]``
around optional parts. The letters and their lengths are those of Spark 4's "Datetime Patterns for Formatting
and Parsing". Letters of Spark 2 only and letters that were never allowed raise different errors, as in Spark.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

from sqlfront_values.errors import DatabaseError, spark_error


class Field(msgspec.Struct, frozen=True):
    """A letter of a datetime pattern, such as ``y``, repeated ``count`` times."""

    letter: str
    count: int


class Optional(msgspec.Struct, frozen=True):
    """An optional part ``[...]`` of a pattern, which holds parts itself."""

    parts: tuple["Part", ...]


Part = Field | Optional | str

#: The allowed numbers of repetitions of each letter.
_COUNTS: Final[dict[str, range | tuple[int, ...]]] = {
    "G": range(1, 5),
    "y": range(1, 7),
    "D": range(1, 4),
    "M": range(1, 5),
    "L": range(1, 5),
    "d": range(1, 3),
    "Q": range(1, 5),
    "q": range(1, 5),
    "E": range(1, 5),
    "F": range(1, 2),
    "a": range(1, 2),
    "h": range(1, 3),
    "K": range(1, 3),
    "k": range(1, 3),
    "H": range(1, 3),
    "m": range(1, 3),
    "s": range(1, 3),
    "S": range(1, 10),
    "V": (2,),
    "v": (1, 4),
    "z": range(1, 5),
    "O": (1, 4),
    "X": range(1, 6),
    "x": range(1, 6),
    "Z": range(1, 6),
}
_ONLY_FORMATTED: Final = frozenset("EFqQ")
_WEEK_BASED: Final = frozenset("YWwuec")
_REFUSED: Final = frozenset("ABnNp")
_RESERVED: Final = frozenset("{}#")
#: The letters of Spark 2 (java.text.SimpleDateFormat).
_LEGACY: Final = frozenset("GyMLdEuaHkKhmsSzZXYwWDF")
_LEGACY_ZONE_COUNT: Final = 3
_TOKEN: Final = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|\[|\]|[^'a-zA-Z\[\]]+|'", re.DOTALL)


@lru_cache(maxsize=256)
def parse_pattern(pattern: str, *, for_parsing: bool) -> tuple[Part, ...]:
    """Parse a datetime pattern into its parts. With ``for_parsing``, letters that are only for formatting are
    refused.

    >>> parse_pattern("yyyy-MM", for_parsing=True)
    (Field(letter='y', count=4), '-', Field(letter='M', count=2))

    Raises INVALID_DATETIME_PATTERN or, for week-based letters and for a pattern that only Spark 2 accepts,
    INCONSISTENT_BEHAVIOR_CROSS_VERSION.
    """
    _check_letters(pattern, for_parsing=for_parsing)
    stack: list[list[Part]] = [[]]
    for match in _TOKEN.finditer(pattern):
        token = match[0]
        if token == "[":
            stack.append([])
        elif token == "]":
            if len(stack) == 1:
                raise _invalid(pattern, "WITH_SUGGESTION")
            _close(stack)
        elif match[2]:
            _check_count(pattern, token[0], len(token))
            stack[-1].append(Field(token[0], len(token)))
        elif token == "'" or (_RESERVED & set(token) and match[1] is None):
            raise _invalid(pattern, "WITH_SUGGESTION")
        else:
            stack[-1].append(token if match[1] is None else match[1].replace("''", "'") or "'")
    while len(stack) > 1:
        _close(stack)
    return tuple(stack[0])


def _close(stack: list[list[Part]]) -> None:
    parts = stack.pop()
    stack[-1].append(Optional(tuple(parts)))


def _check_letters(pattern: str, *, for_parsing: bool) -> None:
    """Raise the error of the first letter that may not be in a pattern. Of the letters between two quoted
    texts, week-based ones come first."""
    refused = _REFUSED | _ONLY_FORMATTED if for_parsing else _REFUSED
    for part in pattern.split("'")[::2]:
        week_based = next((letter for letter in part if letter in _WEEK_BASED), None)
        if week_based is not None:
            raise _week_based(pattern, week_based)
        if not refused.isdisjoint(part):
            raise _invalid(pattern, "ILLEGAL_CHARACTER")


def _check_count(pattern: str, letter: str, count: int) -> None:
    counts = _COUNTS.get(letter)
    if counts is None or count not in counts:
        raise _invalid(pattern, "LENGTH" if letter in "qQ" else "WITH_SUGGESTION")


def _is_legacy(pattern: str) -> bool:
    """Return whether Spark 2 accepted the pattern."""
    for match in _TOKEN.finditer(pattern):
        letter = match[2]
        if match[0] == "'" or (letter and letter not in _LEGACY):
            return False
        if letter == "X" and len(match[0]) > _LEGACY_ZONE_COUNT:
            return False
    return True


def _week_based(pattern: str, letter: str) -> DatabaseError:
    if _is_legacy(pattern):
        return _was_recognized(pattern)
    return spark_error(
        "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN",
        "You may get a different result due to the upgrading to Spark >= 3.0: All week-based patterns are"
        f" unsupported since Spark 3.0, detected week-based character: {letter}. Please use the SQL function"
        " EXTRACT instead.",
    )


def _was_recognized(pattern: str) -> DatabaseError:
    return spark_error(
        "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
        f"Fail to recognize '{pattern}' pattern; it is one of Spark 2 that Spark 3.0 and later refuse.",
    )


def _invalid(pattern: str, kind: str) -> DatabaseError:
    if _is_legacy(pattern):
        return _was_recognized(pattern)
    return spark_error(f"INVALID_DATETIME_PATTERN.{kind}", f"Unrecognized datetime pattern: '{pattern}'.")
