"""rlike and the regexp functions, split. Patterns are Java's, see :mod:`.java_regex`.

A column with a constant pattern goes to RE2 wherever RE2 finds the same matches as Java: in time that grows
with the texts only, and without the interpreter's lock. Counting, extracting and splitting use RE2 only for
patterns that can't match an empty text, and for texts of ASCII.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.expressions import Call, Literal
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kernel, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, bytes_view, columnar, constants, row_kernel
from sqlfront_values.functions.text.patterns import re2
from sqlfront_values.functions.text.patterns.java_regex import InvalidPatternError, JavaPattern, java_pattern
from sqlfront_values.functions.text.patterns.regex_matching import find_all, search
from sqlfront_values.room import MOST_AT_ONCE, claim, room_left
from sqlfront_values.types import BOOLEAN, INT, STRING

_STRINGS: Final = pa.list_(STRING)
_CARRIAGE_RETURN: Final = 13
_LINE_FEED: Final = 10
#: The first byte that is not ASCII.
_NO_ASCII: Final = 128
#: Rows: shorter columns are not worth a look at their texts.
_FEW_ROWS: Final = 8


def pattern_of(function: str, pattern: str) -> JavaPattern:
    """Parse a Java pattern. Raises INVALID_PARAMETER_VALUE.PATTERN, with the name of the SQL function
    ``function``, if the text is not a pattern."""
    try:
        return java_pattern(pattern)
    except InvalidPatternError:
        raise spark_error(
            "INVALID_PARAMETER_VALUE.PATTERN",
            f"The value of parameter(s) `regexp` in `{function}` is invalid: '{pattern}'.",
        ) from None


def _re2(pattern: JavaPattern, column: pa.Array) -> str | None:
    """Return the pattern in RE2's spelling if RE2 finds matches in the same texts of the column as Java; else
    None."""
    if pattern.linear is None or not pattern.line_ends:
        return pattern.linear
    offsets, data = bytes_view(column)
    return None if (data[offsets[0] : offsets[-1]] == _CARRIAGE_RETURN).any() else pattern.linear


def _re2_of_matches(
    function: str,
    arguments: tuple[Datum, ...],
    invocation: Invocation,
    *,
    first_only: bool = False,
    groups: bool = False,
) -> tuple[pa.Array, JavaPattern, tuple[object, ...]] | None:
    """Return a call's column, its parsed pattern and the values of its arguments after the pattern, if RE2
    certainly finds the same matches as Java; else None.

    The matches are all matches in order or, if ``first_only``, the first match; if ``groups``, their groups
    have to be the same, too. ``function`` is the SQL function's name in errors."""
    column, given = arguments[0], constants(arguments[1:])
    if not isinstance(column, pa.Array) or given is None or invocation.length < _FEW_ROWS:
        return None
    java = pattern_of(function, str(given[0]))
    if java.linear is None or java.matches_empty or (java.anchored and not first_only):
        return None
    if groups and java.nested:  # RE2 keeps earlier captures after an empty repetition
        return None
    return (column, java, given[1:]) if _is_plain(column, lines=java.line_ends) else None


def _re2_matches(
    function: str,
    kernel: str,
    arguments: tuple[Datum, ...],
    invocation: Invocation,
    *,
    first_only: bool = False,
) -> pa.Array | None:
    """Return the result of Arrow's kernel ``kernel``, which counts or finds matches, over a call's column and
    pattern; None if RE2 may find other matches than Java, or a single text is too long for RE2. ``function``
    and ``first_only`` are those of :func:`_re2_of_matches`."""
    found = _re2_of_matches(function, arguments, invocation, first_only=first_only)
    if found is None:
        return None
    column, java, _ = found
    options = pc.MatchSubstringOptions(java.linear)
    return re2.by_slices(column, java.size, lambda texts: pc.call_function(kernel, [texts], options))


def _is_plain(column: pa.Array, *, lines: bool) -> bool:
    """Return whether all texts of a column are ASCII and, if ``lines``, have no line ends."""
    offsets, data = bytes_view(column)
    texts = data[offsets[0] : offsets[-1]]
    if not len(texts):
        return True
    if int(texts.max()) >= _NO_ASCII:
        return False
    return not lines or not ((texts == _CARRIAGE_RETURN) | (texts == _LINE_FEED)).any()


# ---- tests


@columnar
def _rlike(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    given = constants(arguments[1:])
    if isinstance(column, pa.Array) and given is not None:
        java = pattern_of("rlike", str(given[0]))
        regex = _re2(java, column)
        found = None if regex is None else re2.find(column, regex, java.size)
        if found is not None:
            return found
    return by_row(
        lambda text, pattern: search(pattern_of("rlike", pattern), text) is not None, arguments, invocation
    )


@columnar
def _count_kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    counts = _re2_matches("regexp_count", "count_substring_regex", arguments, invocation)
    return by_row(_count, arguments, invocation) if counts is None else counts.cast(INT)


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in find_all(pattern_of("regexp_count", pattern), text))


@columnar
def _instr_kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    place = _re2_matches("regexp_instr", "find_substring_regex", arguments, invocation, first_only=True)
    if place is None:
        return by_row(_instr, arguments, invocation)
    return pc.add(place, scalar(1, place.type)).cast(INT)


def _instr(text: str, pattern: str, group: int = 0) -> int:
    """Return the position, from 1, of the first match of the pattern, 0 if there is none; ``group`` is
    ignored, as in Spark."""
    found = search(pattern_of("regexp_instr", pattern), text)
    return 0 if found is None else found.start() + 1


def _substr(text: str, pattern: str) -> str | None:
    """Return the text of the first match, None if there is none or it is empty."""
    found = search(pattern_of("regexp_substr", pattern), text)
    return (found[0] or None) if found is not None else None


# ---- groups


def _invalid_group(function: str, groups: int, group: int) -> DatabaseError:
    return spark_error(
        "INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX",
        f"The value of parameter(s) `idx` in `{function}` is invalid: Expects group index between 0 and"
        f" {groups}, but got {group}.",
    )


@columnar
def _extract_kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    found = _re2_of_matches("regexp_extract", arguments, invocation, first_only=True, groups=True)
    if found is not None:
        column, java, others = found
        group = others[0] if others else 1
        if isinstance(group, int) and 0 <= group <= java.groups:
            extracted = _re2_extract(column, java, group)
            if extracted is not None:
                return extracted
    return by_row(_extract, arguments, invocation)


def _re2_extract(column: pa.Array, java: JavaPattern, group: int) -> pa.Array | None:
    """Return the text of group ``group`` of the first match in each text, empty if there is no match; None if
    a single text is so long that RE2 may take too long."""
    options = pc.ExtractRegexOptions(f"(?P<g0>{java.linear})")
    groups = re2.by_slices(
        column, java.size, lambda texts: pc.call_function("extract_regex", [texts], options)
    )
    if groups is None:
        return None
    texts = pc.fill_null(pc.struct_field(groups, [group]), "")
    return pc.if_else(column.is_valid(), texts, scalar(None, STRING)) if column.null_count else texts


def _extract(text: str, pattern: str, group: int = 1) -> str:
    """Return the text of group ``group`` of the first match, empty if there is no match. Raises
    INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX if there is a match but no such group."""
    java = pattern_of("regexp_extract", pattern)
    found = search(java, text)
    if found is None:
        return ""
    if not 0 <= group <= java.groups:
        raise _invalid_group("regexp_extract", java.groups, group)
    return found[group] or ""


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str]:
    java = pattern_of("regexp_extract_all", pattern)
    results = []
    for found in find_all(java, text):
        if not 0 <= group <= java.groups:
            raise _invalid_group("regexp_extract_all", java.groups, group)
        results.append(found[group] or "")
    return results


# ---- replacement


#: Bytes that a replacement may make before it claims room: a claim for each text would cost more than the
#: replacement.
_UNCOUNTED: Final = 512 * 1024


@columnar
def _replace(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    given = constants(arguments[1:])
    if isinstance(column, pa.Array) and given is not None and _may_be_large(column, str(given[1])):
        return by_row(_replace_one, arguments, invocation)
    if isinstance(column, pa.Array) and given is not None and given[2:] in ((), (1,)):
        java = pattern_of("regexp_replace", str(given[0]))
        regex = None if java.matches_empty else _re2(java, column)
        template = _re2_template(str(given[1]), java)
        has_groups = java.nested and "$" in str(given[1])
        is_plain = not java.line_ends or _is_plain(column, lines=True)
        if regex is not None and template is not None and is_plain and not has_groups:
            options = pc.ReplaceSubstringOptions(regex, template)
            replaced = re2.by_slices(
                column, java.size, lambda texts: pc.call_function("replace_substring_regex", [texts], options)
            )
            if replaced is not None:
                return replaced
    return by_row(_replace_one, arguments, invocation)


def _may_be_large(column: pa.Array, replacement: str) -> bool:
    """Return whether the result of ``regexp_replace`` may be large, as if every character were replaced. If
    so and the column has several rows, also claim room for the result, so that the evaluation cuts the rows
    into pieces."""
    most = growth.size_of(column) * (1 + len(replacement.encode()))
    if most > MOST_AT_ONCE and len(column) > 1:
        claim("regexp_replace", most, len(column))
    return most > MOST_AT_ONCE


def _replace_one(text: str, pattern: str, replacement: str, position: int = 1) -> str:
    """Return the text with all matches from ``position`` (from 1) on replaced. In the replacement, ``$1`` and
    ``${name}`` refer to groups, and a backslash makes the next character literal. Raises
    INVALID_REGEXP_REPLACE if a reference names no group or the replacement is malformed."""
    java = pattern_of("regexp_replace", pattern)
    start = position - 1
    if start and start >= len(text):
        return text

    def refuse() -> DatabaseError:
        return spark_error(
            "INVALID_REGEXP_REPLACE",
            f'Could not perform regexp_replace for source = "{text}", pattern = "{pattern}", replacement ='
            f' "{replacement}" and position = {position}.',
        )

    result, end = [text[:start]], start
    made, counted, most = 0, 0, room_left()
    for found in find_all(java, text, start):
        try:
            pieces = parse_replacement(replacement, java)
        except ValueError:
            raise refuse() from None
        result.append(text[end : found.start()])
        filled = "".join([piece if isinstance(piece, str) else found[piece] or "" for piece in pieces])
        made += len(filled)
        if made > counted + _UNCOUNTED:
            claim("regexp_replace", made if made > most else made - counted, most=most)
            counted = made
        result.append(filled)
        end = found.end()
    return "".join([*result, text[end:]])


@lru_cache(maxsize=256)
def parse_replacement(replacement: str, pattern: JavaPattern) -> tuple[str | int, ...]:
    """Parse a replacement into literal texts (str) and group numbers (int). Raises ValueError for a group
    that the pattern doesn't have, or a ``$`` or backslash at the end.

    >>> parse_replacement("[$1]", java_pattern("(a)"))
    ('[', 1, ']')
    """
    pieces: list[str | int] = []
    place = 0
    while place < len(replacement):
        character = replacement[place]
        place += 1
        if character == "\\":
            pieces.append(replacement[place : place + 1] or _end_of_replacement())
            place += 1
        elif character == "$":
            number, place = _group_reference(replacement, place, pattern)
            pieces.append(number)
        else:
            pieces.append(character)
    merged: list[str | int] = []
    for literal, group in groupby(pieces, key=lambda piece: isinstance(piece, str)):
        same = list(group)
        merged += ["".join(map(str, same))] if literal else same
    return tuple(merged)


def _end_of_replacement() -> str:
    raise ValueError("the replacement ends too early")


def _group_reference(replacement: str, place: int, pattern: JavaPattern) -> tuple[int, int]:
    """Read the reference ``1``, ``12`` or ``{name}`` at index ``place``. Return the group's number and the
    index after the reference. As many digits are read as make the number of a group. Raises ValueError if
    there is no such group."""
    named = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}").match(replacement, place)
    if named is not None:
        number = pattern.compiled.groupindex.get(named[1])
        if number is None:
            raise ValueError("no such group")
        return number, named.end()
    digits = re.compile(r"[0-9]+").match(replacement, place)
    if digits is None or int(digits[0][0]) > pattern.groups:
        raise ValueError("no such group")
    length = 1
    while length < len(digits[0]) and int(digits[0][: length + 1]) <= pattern.groups:
        length += 1
    return int(digits[0][:length]), place + length


def _re2_template(replacement: str, pattern: JavaPattern) -> str | None:
    """Return the replacement in RE2's notation; None if the replacement is malformed or refers to a group
    above 9, which RE2 can't name."""
    try:
        pieces = parse_replacement(replacement, pattern)
    except ValueError:
        return None
    if any(isinstance(piece, int) and piece > 9 for piece in pieces):
        return None
    return "".join(
        f"\\{piece}" if isinstance(piece, int) else piece.replace("\\", "\\\\") for piece in pieces
    )


# ---- split


def _split(text: str, pattern: str, limit: int = -1) -> list[str]:
    """Compute ``split``: return the texts between the matches of the pattern, at most ``limit`` texts if
    ``limit`` is positive. As in Java, an empty match at the start makes no empty first text."""
    if not pattern:
        return _characters(text, limit)
    parts: list[str] = []
    end = 0
    for found in find_all(pattern_of("split", pattern), text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if found.end() == 0:
            continue
        parts.append(text[end : found.start()])
        end = found.end()
    return [*parts, text[end:]]


def _characters(text: str, limit: int) -> list[str]:
    """Compute ``split`` with an empty pattern: return the characters; if ``limit`` is positive, at most
    ``limit`` texts, of which the last is the rest of the text."""
    if not text:
        return [""]
    if limit <= 0 or limit >= len(text):
        return list(text)
    return [*text[: limit - 1], text[limit - 1 :]]


_META: Final = re.compile(r"[\\.^$|?*+()\[\]{}]")


@columnar
def _split_kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    given = constants(arguments[1:])
    if isinstance(column, pa.Array) and given is not None:
        pattern, limit = (*given, -1)[:2]
        literal = re.sub(r"\\([^a-zA-Z0-9])", r"\1", str(pattern)) if _is_literal(str(pattern)) else None
        if literal and isinstance(limit, int) and limit <= 0:
            return pc.call_function("split_pattern", [column], pc.SplitPatternOptions(literal))
        found = _re2_of_matches("split", arguments, invocation) if pattern else None
        if found is not None and isinstance(limit, int) and limit <= 0:
            options = pc.SplitPatternOptions(found[1].linear)
            parts = re2.by_slices(
                column, found[1].size, lambda texts: pc.call_function("split_pattern_regex", [texts], options)
            )
            if parts is not None:
                return parts
    return by_row(_split, arguments, invocation)


def _is_literal(pattern: str) -> bool:
    """Return whether the pattern is literal, i.e. matches only its own text; a backslash before punctuation
    is allowed and does not count as text."""
    return not _META.search(re.sub(r"\\[^a-zA-Z0-9]", "", pattern))


def _pattern_varies(call: Call) -> bool:
    return not isinstance(call.arguments[1], Literal)


def _entry(
    name: str,
    kernel: Kernel,
    result: pa.DataType,
    example: tuple[str, str],
    *extra: pa.DataType,
    optional: int = 0,
    can_fail: bool | Callable[[Call], bool] = _pattern_varies,
) -> ScalarFunction:
    return ScalarFunction(
        name, (STRING, STRING, *extra), result, kernel, optional=optional, can_fail=can_fail, example=example
    )


register(
    _entry("rlike", _rlike, BOOLEAN, ("'Spark SQL' rlike 'S.*k'", "True")),
    *(
        _entry(name, _rlike, BOOLEAN, (f"{name}('Spark SQL', '^S.*L$')", "True"))
        for name in ("regexp", "regexp_like")
    ),
    _entry("regexp_count", _count_kernel, INT, ("regexp_count('a1b22', '[0-9]')", "3")),
    _entry("regexp_instr", _instr_kernel, INT, ("regexp_instr('abc12', '[0-9]+')", "4"), INT, optional=1),
    _entry("regexp_substr", row_kernel(_substr), STRING, ("regexp_substr('abc12', '[0-9]+')", "'12'")),
    _entry(
        "regexp_extract",
        _extract_kernel,
        STRING,
        ("regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 2)", "'200'"),
        INT,
        optional=1,
        can_fail=True,
    ),
    _entry(
        "regexp_extract_all",
        row_kernel(_extract_all),
        _STRINGS,
        ("regexp_extract_all('1a2b3', '([0-9])')", "['1', '2', '3']"),
        INT,
        optional=1,
        can_fail=True,
    ),
    _entry(
        "regexp_replace",
        _replace,
        STRING,
        ("regexp_replace('100-200', '([0-9]+)', '<$1>')", "'<100>-<200>'"),
        STRING,
        INT,
        optional=1,
        can_fail=True,
    ),
    _entry(
        "split", _split_kernel, _STRINGS, ("split('oneAtwoB', '[AB]')", "['one', 'two', '']"), INT, optional=1
    ),
)
