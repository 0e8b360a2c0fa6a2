"""Functions that find texts in texts: instr, locate, startswith, contains, split_part, substring_index,
replace, translate, overlay.

Positions count characters from 1; 0 means not found.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import (
    Invocation,
    Kernel,
    Kind,
    ScalarFunction,
    large_unless,
    register,
)
from sqlfront_values.functions.rowwise import by_row, columnar, constants, is_ascii, row_kernel
from sqlfront_values.functions.text.patterns.like import contains
from sqlfront_values.functions.text.substrings import bounds
from sqlfront_values.types import BOOLEAN, INT, STRING

_TO_END = 2**31 - 1

# ---- positions


def _position(needle: str, text: str, start: int = 1) -> int:
    """Return the position, from 1, of the first occurrence of ``needle`` in ``text`` at or after position
    ``start``; 0 if there is none or if ``start`` is less than 1, 1 for an empty needle."""
    if start < 1:
        return 0
    return 1 if not needle else text.find(needle, start - 1) + 1


@columnar
def _instr(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, needle = arguments
    given = constants((needle,))
    if isinstance(column, pa.Array) and given is not None and is_ascii(column):
        found = pc.call_function("find_substring", [column], pc.MatchSubstringOptions(given[0]))
        return from_numpy(numpy_view(found) + 1, INT, valid_mask(column))
    return by_row(lambda text, part: _position(part, text), arguments, invocation)


def _locate_one(needle: str | None, text: str | None, start: int | None = 1) -> int | None:
    """Compute ``locate``: return :func:`_position`, but 0 if the start is null, and null if the needle or the
    text is null."""
    if start is None:
        return 0
    return None if needle is None or text is None else _position(needle, text, start)


def _find_in_set(word: str, words: str) -> int:
    parts = words.split(",")
    return parts.index(word) + 1 if word in parts else 0


# ---- tests


def _testing(kernel: Callable[[pa.Array, str | bytes], pa.Array], test: Callable[..., bool]) -> Kernel:
    @columnar
    def run(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column, part = arguments
        given = constants((part,))
        if isinstance(column, pa.Array) and given is not None:
            return kernel(column, given[0])  # type: ignore[arg-type]
        return by_row(test, arguments, invocation)

    return run


def _kernel_test(name: str) -> Callable[[pa.Array, str | bytes], pa.Array]:
    return lambda column, part: pc.call_function(name, [column], pc.MatchSubstringOptions(part))


def _contains(column: pa.Array, part: str | bytes) -> pa.Array:
    return contains(column, part if isinstance(part, bytes) else part.encode())


# ---- parts


def _split_part(text: str, delimiter: str, number: int) -> str:
    """Compute ``split_part``: return part ``number`` of the text, from 1 or, counted from the end, from -1;
    an empty text if there is no such part. Raises INVALID_INDEX_OF_ZERO."""
    if number == 0:
        raise spark_error(
            "INVALID_INDEX_OF_ZERO",
            "The index 0 is invalid. An index shall be either < 0 or > 0 (the first element has index 1).",
        )
    parts = text.split(delimiter) if delimiter else [text]
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if 0 <= index < len(parts) else ""


def substring_index(text: str, delimiter: str, count: int) -> str:
    """Return the text before the ``count``-th occurrence of the delimiter; for a negative count, the text
    after the occurrence counted from the end. Occurrences may overlap. Return the entire text if there are
    fewer occurrences, an empty text for a count of 0 or an empty delimiter.

    >>> substring_index("www.apache.org", ".", 2), substring_index("aaaaa", "aa", -2)
    ('www.apache', 'a')
    """
    if count == 0 or not delimiter:
        return ""
    place = -1 if count > 0 else len(text)
    for _ in range(abs(count)):
        place = text.find(delimiter, place + 1) if count > 0 else _find_before(text, delimiter, place)
        if place < 0:
            return text
    return text[:place] if count > 0 else text[place + len(delimiter) :]


def _find_before(text: str, delimiter: str, place: int) -> int:
    """Return the index of the last occurrence of the delimiter that begins before index ``place``; -1 if
    there is none."""
    return text.rfind(delimiter, 0, place - 1 + len(delimiter)) if place > 0 else -1


# ---- replacements


@columnar
def _replace(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    given = constants(arguments[1:])
    if isinstance(column, pa.Array) and given is not None:
        search, replacement = (*given, "")[:2]
        if not search:
            return column
        return pc.call_function(
            "replace_substring", [column], pc.ReplaceSubstringOptions(search, replacement)
        )
    return by_row(
        lambda text, search, replacement="": text.replace(search, replacement) if search else text,
        arguments,
        invocation,
    )


def _translate(text: str, search: str, replacement: str) -> str:
    return text.translate(_translation(search, replacement))


@lru_cache(maxsize=256)
def _translation(search: str, replacement: str) -> dict[int, str | None]:
    """Return the table by which ``translate`` replaces characters: from each character of ``search`` to the
    character of ``replacement`` at the same index, or to None, which deletes the character, if
    ``replacement`` is shorter. Of equal characters in ``search``, the first counts."""
    table: dict[int, str | None] = {}
    for index, character in enumerate(search):
        table.setdefault(ord(character), replacement[index] if index < len(replacement) else None)
    return table


def _overlay(text: str | bytes, part: str | bytes, position: int, length: int = -1) -> str | bytes:
    """Compute ``overlay``: return the text with ``part`` in place of ``length`` characters from ``position``
    on (counted from 1). A negative length means the length of ``part``."""
    covered = len(part) if length < 0 else length
    before, after = bounds(len(text), 1, position - 1), bounds(len(text), position + covered, _TO_END)
    return text[slice(*before)] + part + text[slice(*after)]  # type: ignore[operator]


def instr_from(text: str, part: str, start: int, occurrence: int = 1) -> int:
    """Return the position, from 1, of an occurrence of ``part`` in the text; 0 if there is none. Occurrences
    may overlap; they are counted from ``start`` on, or backwards from ``start`` before the end if it is
    negative. Raises INVALID_PARAMETER_VALUE.OCCURRENCE if ``occurrence`` is not positive.

    >>> instr_from("abcabc", "b", 3), instr_from("abcabc", "b", -1, 2), instr_from("aaaa", "aa", 1, 3)
    (5, 2, 3)
    """
    if occurrence <= 0:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.OCCURRENCE",
            "The value of parameter(s) `occurrence` in `instr` is invalid: expects a positive integer, but "
            "got"
            f" {occurrence}.",
        )
    if not part:
        return 1
    if start == 0 or abs(start) > len(text):
        return 0
    place = start - 2 if start > 0 else len(text) + start + 1
    for _ in range(occurrence):
        place = (
            text.find(part, place + 1) if start > 0 else text.rfind(part, 0, max(place - 1 + len(part), 0))
        )
        if place < 0:
            return 0
    return place + 1


_positions_from = row_kernel(instr_from)


def _instr_from(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``instr``, with a start and an occurrence or without."""
    kernel = _instr if len(arguments) == _TWO else _positions_from
    return kernel(arguments, invocation)


_TWO: Final = 2
_TEXT = Kind.STRING_OR_BINARY

register(
    ScalarFunction(
        "instr",
        (STRING, STRING, INT, INT),
        INT,
        _instr_from,
        optional=2,
        can_fail=lambda call: len(call.arguments) > _TWO,
        example=("instr('SparkSQL', 'SQL')", "6"),
    ),
    *(
        ScalarFunction(
            name,
            (STRING, STRING, INT),
            INT,
            row_kernel(_locate_one, null_aware=True),
            optional=1,
            null_propagating=False,
            example=(f"{name}('bar', 'foobarbar', 5)", "7"),
        )
        for name in ("locate", "position")
    ),
    ScalarFunction(
        "find_in_set",
        (STRING, STRING),
        INT,
        row_kernel(_find_in_set),
        example=("find_in_set('b', 'a,b,c')", "2"),
    ),
    ScalarFunction(
        "startswith",
        (_TEXT, _TEXT),
        BOOLEAN,
        _testing(_kernel_test("starts_with"), lambda text, part: text.startswith(part)),
        example=("startswith('Spark SQL', 'Spark')", "True"),
    ),
    ScalarFunction(
        "endswith",
        (_TEXT, _TEXT),
        BOOLEAN,
        _testing(_kernel_test("ends_with"), lambda text, part: text.endswith(part)),
        example=("endswith('Spark SQL', 'SQL')", "True"),
    ),
    ScalarFunction(
        "contains",
        (_TEXT, _TEXT),
        BOOLEAN,
        _testing(_contains, lambda text, part: part in text),
        example=("contains('Spark SQL', 'k S')", "True"),
    ),
    ScalarFunction(
        "split_part",
        (STRING, STRING, INT),
        STRING,
        row_kernel(_split_part),
        can_fail=True,
        example=("split_part('11.12.13', '.', -1)", "'13'"),
    ),
    ScalarFunction(
        "substring_index",
        (STRING, STRING, INT),
        STRING,
        row_kernel(substring_index),
        example=("substring_index('www.apache.org', '.', 2)", "'www.apache'"),
    ),
    ScalarFunction(
        "replace",
        (STRING, STRING, STRING),
        STRING,
        _replace,
        optional=1,
        can_fail=large_unless(2),
        growth=growth.replaced,
        example=("replace('ABCabc', 'abc', 'DEF')", "'ABCDEF'"),
    ),
    ScalarFunction(
        "translate",
        (STRING, STRING, STRING),
        STRING,
        row_kernel(_translate),
        growth=growth.times(4),
        example=("translate('AaBbCc', 'abc', '123')", "'A1B2C3'"),
    ),
    ScalarFunction(
        "overlay",
        (_TEXT, _TEXT, INT, INT),
        lambda types: types[0],
        row_kernel(_overlay),
        optional=1,
        example=("overlay('Spark SQL', '_', 6)", "'Spark_SQL'"),
    ),
)
