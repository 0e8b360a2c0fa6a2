"""Similarity of words: levenshtein, soundex, jaro_winkler_similarity."""

from collections import deque
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, valid_mask
from sqlfront_values.arrow.forms import Datum, constant, full_array, plain
from sqlfront_values.columns.lists import both_valid
from sqlfront_values.functions.registry import Invocation, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, integers, row_kernel
from sqlfront_values.functions.text.edit_distance import distances
from sqlfront_values.room import check
from sqlfront_values.types import DOUBLE, INT, STRING

#: Characters of long texts between two checks whether the query should stop; the work for one grows with the
#: length of the other text.
_STEPS_BETWEEN_CHECKS: Final = 64
_COALESCE: Final = pc.get_function("coalesce")
_ZERO: Final = constant(0, INT)
#: Rows from which on the distances of all rows at once take less time than those of single rows.
_MANY_ROWS: Final = 64


def levenshtein(left: str, right: str, threshold: int | None = None) -> int:
    """Return the least number of characters to insert, remove or change to turn ``left`` into ``right``; -1
    if the number exceeds the threshold (None = no threshold).

    >>> levenshtein("kitten", "sitting"), levenshtein("kitten", "sitting", 2)
    (3, -1)
    """
    if threshold is not None and abs(len(left) - len(right)) > threshold:
        return -1
    distance = _distance(left, right) if left else len(right)
    return distance if threshold is None or distance <= threshold else -1


def _distance(left: str, right: str) -> int:
    """Return the Levenshtein distance of two texts, of which ``left`` is not empty.

    The table of distances is computed column by column. Two integers hold a column: their bits mark the rows
    after which the distance is greater by one, and those after which it is smaller. Source: Myers, A fast
    bit-vector algorithm for approximate string matching (1999), in Hyyro's form."""
    places: dict[str, int] = {}
    for index, character in enumerate(left):
        places[character] = places.get(character, 0) | 1 << index
    last = 1 << (len(left) - 1)
    more, less, distance = (last << 1) - 1, 0, len(left)
    for step, character in enumerate(right):
        if not step % _STEPS_BETWEEN_CHECKS:
            check()
        equal = places.get(character, 0)
        across = ((equal & more) + more ^ more) | equal
        rises, falls = less | ~(across | more), more & across
        distance += bool(rises & last) - bool(falls & last)
        rises, down = rises << 1 | 1, equal | less
        more, less = falls << 1 | ~(down | rises), rises & down
        more, less = more & (last << 1) - 1, less & (last << 1) - 1
    return distance


#: The codes of A to Z; 0: a vowel, which separates equal codes; 7: H and W, which don't.
_CODES: Final = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def soundex(text: str) -> str:
    """Return the code of an English word's sound, a letter and three digits; the text itself if its first
    character is not a letter A to Z.

    >>> soundex("Miller"), soundex("Tymczak")
    ('M460', 'T522')
    """
    first = text[:1].upper() if text[:1].isascii() else ""
    if first not in _CODES:
        return text
    result, last = first, _CODES[first]
    for character in text[1:]:
        code = _CODES.get(character.upper() if character.isascii() else "", "0")
        if code == "7":
            continue
        if code not in ("0", last):
            result += code
        last = code
    return result[:4].ljust(4, "0")


#: Winkler's bound of the common prefix (characters), and the weight of each of its characters.
_LONGEST_PREFIX: Final = 4
_PREFIX_WEIGHT: Final = 0.1


def jaro_winkler(left: str, right: str) -> float:
    """Return the Jaro-Winkler similarity of two texts, 0 to 1: Jaro's similarity, raised for a common prefix
    of up to four characters.

    >>> round(jaro_winkler("MARTHA", "MARHTA"), 4)
    0.9611
    """
    if left == right:
        return 1.0
    reach = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = [False] * len(right)
    matched = []
    # The places of each character in the right text that are neither taken nor permanently out of reach.
    places: dict[str, deque[int]] = {}
    nowhere: deque[int] = deque()
    for place, character in enumerate(right):
        places.setdefault(character, deque()).append(place)
    for place, character in enumerate(left):
        others = places.get(character, nowhere)
        while others and others[0] < place - reach:
            others.popleft()
        if others and others[0] <= place + reach:
            taken[others.popleft()] = True
            matched.append(character)
    count = len(matched)
    if not count:
        return 0.0
    counterparts = [character for character, is_taken in zip(right, taken, strict=True) if is_taken]
    transposed = sum(one != other for one, other in zip(matched, counterparts, strict=True)) // 2
    similarity = (count / len(left) + count / len(right) + (count - transposed) / count) / 3.0
    prefix = 0
    while prefix < min(_LONGEST_PREFIX, len(left), len(right)) and left[prefix] == right[prefix]:
        prefix += 1
    return similarity + prefix * _PREFIX_WEIGHT * (1.0 - similarity)


def _levenshtein(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """As in Spark, a null threshold is 0, but gives null where all arguments are constants."""
    if len(arguments) > 2 and any(isinstance(argument, pa.Array) for argument in arguments):
        arguments = (*arguments[:2], _COALESCE.call([arguments[2], _ZERO]))
    return _distances(arguments, invocation)


@columnar
def _distances(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    texts = [plain(full_array(argument, invocation.length)) for argument in arguments[:2]]
    found = distances(*texts) if invocation.length >= _MANY_ROWS else None
    if found is None:
        return by_row(levenshtein, arguments, invocation)
    valid = both_valid(*map(valid_mask, texts))
    if len(arguments) > 2:
        thresholds = full_array(arguments[2], invocation.length)
        valid = both_valid(valid, valid_mask(thresholds))
        found = np.where(found <= integers(thresholds), found, -1)
    return from_numpy(found.astype(np.int32), INT, valid)


register(
    ScalarFunction(
        "levenshtein",
        (STRING, STRING, INT),
        INT,
        _levenshtein,
        optional=1,
        null_propagating=False,
        example=("levenshtein('kitten', 'sitting')", "3"),
    ),
    ScalarFunction(
        "jaro_winkler_similarity",
        (STRING, STRING),
        DOUBLE,
        row_kernel(jaro_winkler),
        example=("jaro_winkler_similarity('spark', 'spark')", "1.0"),
    ),
    ScalarFunction(
        "soundex", (STRING,), STRING, row_kernel(soundex), exact=(0,), example=("soundex('Miller')", "'M460'")
    ),
)
