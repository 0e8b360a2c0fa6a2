"""LIKE and ILIKE, by the quickest way that a pattern allows.

A pattern is parsed once (:func:`parse_like`). Most patterns are a prefix, a suffix, a substring or two
substrings in order, for which the column's bytes are searched directly. Other patterns become an RE2
expression, which equals LIKE because it has only literal text, ``.`` and ``.*``. A pattern that differs by
row is matched by Python.
"""

import re
from functools import cached_property, lru_cache
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import spark_error
from sqlfront_values.expressions import Call, Literal
from sqlfront_values.functions.registry import Invocation, ScalarFunction, register
from sqlfront_values.functions.rowwise import Bytes, Integers, by_row, bytes_view, columnar, map_values, nulls
from sqlfront_values.functions.text.case import lower_array, lower_text
from sqlfront_values.functions.text.patterns import re2
from sqlfront_values.types import BOOLEAN, STRING

#: Bytes: shorter needles are left to Arrow's kernel, because their first word is not selective enough.
_WORD: Final = 4
#: Bytes: longer needles are left to Arrow's kernel, too, which reads each byte once, for any needle.
_LONG: Final = 256
#: Characters with a special meaning in a regular expression.
_META: Final = re.compile(r"[\\.^$|?*+()\[\]{}]")
_BACKSLASH: Final = scalar("\\", STRING)
_EQUAL: Final = pc.get_function("equal")
_AND: Final = pc.get_function("and")
_MATCH_SUBSTRING: Final = pc.get_function("match_substring")
_STARTS_WITH: Final = pc.get_function("starts_with")
_ENDS_WITH: Final = pc.get_function("ends_with")


class LikePattern(msgspec.Struct, frozen=True, dict=True):
    """A LIKE pattern split at each run of ``%``.

    ``texts`` are the literal texts between the runs, ``single`` says whether the pattern has a ``_``. If it
    has none, a value matches that begins with the first text, ends with the last text, and has the other
    texts in between, in order and without overlap. ``parts`` are the texts with ``_`` as regular expressions
    of a fixed length, for RE2 and Python alike; ``widths`` are their lengths in characters.
    """

    texts: tuple[str, ...]
    single: bool
    parts: tuple[str, ...]
    widths: tuple[int, ...]

    @property
    def regex(self) -> str:
        """The entire pattern as a regular expression, in which ``.`` must match line ends, too."""
        return ".*".join(self.parts)

    @cached_property
    def compiled(self) -> tuple[re.Pattern[str], ...]:
        """The pattern's ``parts`` as compiled expressions of Python."""
        return tuple(re.compile(part, re.DOTALL) for part in self.parts)

    def matches(self, text: str) -> bool:
        """Return whether the entire text matches the pattern. Each part is matched at the first possible
        position, so there is no backtracking."""
        first, *others = self.compiled
        found = first.match(text)
        if found is None or not others:
            return found is not None and found.end() == len(text)
        for part in others[:-1]:
            found = part.search(text, found.end())
            if found is None:
                return False
        last = len(text) - self.widths[-1]
        return last >= found.end() and others[-1].match(text, last) is not None


@lru_cache(maxsize=1024)
def parse_like(pattern: str, escape: str) -> LikePattern:
    """Parse a LIKE pattern: ``%`` is any text, ``_`` any single character; after the character ``escape``, a
    ``%``, a ``_`` or the escape itself is literal. Raises INVALID_FORMAT if the escape stands at the end or
    before any other character.

    >>> parse_like("%special%requests%", chr(92)).texts
    ('', 'special', 'requests', '')
    """
    # For each part its literal characters, and an expression for each character.
    texts: list[list[str]] = [[]]
    parts: list[list[str]] = [[]]
    single = False
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            _check_escaped(pattern, escaped, escape)
            character = str(escaped)
        elif character == "%":
            if parts[-1] or len(parts) == 1:
                texts.append([])
                parts.append([])
            continue
        elif character == "_":
            single = True
            parts[-1].append(".")
            continue
        texts[-1].append(character)
        parts[-1].append(_META.sub(r"\\\g<0>", character))
    return LikePattern(tuple(map("".join, texts)), single, tuple(map("".join, parts)), tuple(map(len, parts)))


def _check_escaped(pattern: str, escaped: str | None, escape: str) -> None:
    shown = pattern.replace("\\", "\\\\")
    if escaped is None:
        reason = "The escape character is not allowed to end with."
        raise spark_error("INVALID_FORMAT.ESC_AT_THE_END", f"The format is invalid: '{shown}'. {reason}")
    if escaped not in ("%", "_", escape):
        reason = f"The escape character is not allowed to precede '{escaped}'."
        raise spark_error("INVALID_FORMAT.ESC_IN_THE_MIDDLE", f"The format is invalid: '{shown}'. {reason}")


def matches(column: pa.Array, pattern: LikePattern) -> pa.Array:
    """Return a boolean column: whether each entire value of a plain string column matches the pattern; null
    for null."""
    texts = pattern.texts
    if pattern.single:
        return _match_regex(column, pattern)
    if len(texts) == 1:
        return _EQUAL.call([column, scalar(texts[0], STRING)])
    if not any(texts[1:-1]):
        return _match_ends(column, texts[0], texts[-1])
    if texts[0] == texts[-1] == "":
        needles = tuple(text.encode() for text in texts[1:-1])
        if len(needles) == 1:
            return contains(column, needles[0])
        if len(needles) == 2 and all(_WORD <= len(needle) <= _LONG for needle in needles):
            return _contains_in_order(column, *needles)
    return _match_regex(column, pattern)


def _match_regex(column: pa.Array, pattern: LikePattern) -> pa.Array:
    found = re2.find(column, rf"(?s)\A(?:{pattern.regex})\z", len(pattern.regex))
    return map_values(pattern.matches, column, BOOLEAN) if found is None else found


def _match_ends(column: pa.Array, prefix: str, suffix: str) -> pa.Array:
    """Return a boolean column: whether each value matches ``prefix%suffix``, i.e. begins with ``prefix`` and
    ends with ``suffix`` without overlap; null for null."""
    if not suffix:
        return _STARTS_WITH.call([column], pc.MatchSubstringOptions(prefix))
    ends = _ENDS_WITH.call([column], pc.MatchSubstringOptions(suffix))
    if not prefix:
        return ends
    starts = _STARTS_WITH.call([column], pc.MatchSubstringOptions(prefix))
    offsets, _ = bytes_view(column)
    long_enough = from_numpy(np.diff(offsets) >= len((prefix + suffix).encode()), BOOLEAN)
    return _AND.call([_AND.call([starts, ends]), long_enough])


def contains(column: pa.Array, needle: bytes) -> pa.Array:
    """Return a boolean column: whether each value of a string or binary column holds the needle; null for
    null.

    Arrow's ``match_substring`` computes the same, but takes four times as long for needles of some words.
    """
    if not _WORD <= len(needle) <= _LONG:
        return _MATCH_SUBSTRING.call([column], pc.MatchSubstringOptions(needle))
    found = np.zeros(len(column), np.bool_)
    found[_occurrences(column, needle)[0]] = True
    return from_numpy(found, BOOLEAN, valid_mask(column))


def _contains_in_order(column: pa.Array, first: bytes, second: bytes) -> pa.Array:
    """Return a boolean column: whether each value contains the needle ``first`` and, somewhere after it, the
    needle ``second``; null for null.

    That is so if the last occurrence of the second needle does not begin before the end of the first
    occurrence of the first needle."""
    length = len(column)
    first_end = np.full(length, np.iinfo(np.int64).max)
    rows, places = _occurrences(column, first)
    first_end[rows[::-1]] = places[::-1] + len(first)  # of several assignments the last stays
    last_start = np.full(length, -1)
    rows, places = _occurrences(column, second)
    last_start[rows] = places
    return from_numpy(last_start >= first_end, BOOLEAN, valid_mask(column))


def _occurrences(column: pa.Array, needle: bytes) -> tuple[Integers, Integers]:
    """Find all occurrences of the needle in a string or binary column. Return for each occurrence, in order,
    its row and its byte position in the column's data. (In UTF-8, matches of bytes are matches of
    characters.)"""
    offsets, data = bytes_view(column)
    base = int(offsets[0])
    places = base + find_all(data[base : offsets[-1]], needle)
    rows = np.searchsorted(offsets, places, side="right") - 1
    inside = places + len(needle) <= offsets[rows + 1]
    return rows[inside], places[inside]


def find_all(data: Bytes, needle: bytes) -> Integers:
    """Return the positions in ``data``, ascending, of all occurrences of a needle of at least four bytes,
    including those that overlap.

    Compares the needle's first word with the data as 32-bit words at each of the four alignments, a vector at
    a time, and then the rest of the needle at the few remaining positions.
    """
    word = np.frombuffer(needle, np.uint32, 1)[0]
    aligned = []
    for shift in range(min(_WORD, max(len(data) - _WORD + 1, 0))):
        words = data[shift : shift + (len(data) - shift) // _WORD * _WORD].view(np.uint32)
        aligned.append(np.flatnonzero(words == word) * _WORD + shift)
    if not aligned:
        return np.zeros(0, np.int64)
    places = np.concatenate(aligned)
    places.sort(kind="stable")
    places = places[places <= len(data) - len(needle)]
    for index in range(_WORD, len(needle)):
        places = places[data[places + index] == needle[index]]
    return places


@columnar
def _like(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _match(arguments, invocation, ignore_case=False)


@columnar
def _ilike(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _match(arguments, invocation, ignore_case=True)


def _match(arguments: tuple[Datum, ...], invocation: Invocation, *, ignore_case: bool) -> pa.Array:
    column, pattern = arguments[:2]
    escape = arguments[2] if len(arguments) > 2 else _BACKSLASH
    if isinstance(column, pa.Array) and isinstance(pattern, pa.Scalar) and isinstance(escape, pa.Scalar):
        if not pattern.is_valid or not escape.is_valid:
            return nulls(invocation)
        text = pattern.as_py()
        if ignore_case:
            column, text = lower_array(column), lower_text(text)
        return matches(column, parse_like(text, escape.as_py()))

    def match_one(value: str, text: str, escape: str) -> bool:
        if ignore_case:
            value, text = lower_text(value), lower_text(text)
        return parse_like(text, escape).matches(value)

    return by_row(match_one, (column, pattern, escape), invocation)


def _pattern_varies(call: Call) -> bool:
    return not isinstance(call.arguments[1], Literal)


register(
    ScalarFunction(
        "like",
        (STRING, STRING, STRING),
        BOOLEAN,
        _like,
        optional=1,
        can_fail=_pattern_varies,
        example=("'Spark' like '_park'", "True"),
    ),
    ScalarFunction(
        "ilike",
        (STRING, STRING, STRING),
        BOOLEAN,
        _ilike,
        optional=1,
        can_fail=_pattern_varies,
        example=("'Spark' ilike '_PARK'", "True"),
    ),
)
