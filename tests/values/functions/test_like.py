"""LIKE and ILIKE."""

import random
import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from sqlfront_values.functions.text.patterns.like import find_all, matches, parse_like
from tests.values.functions.kernel_cases import Case, Fails, Table, cases, check

TABLE: Table = {
    "like": [
        ("abc", "a%c", True),
        ("a\nc", "a_c", True),
        ("abc", "abc", True),
        ("abc", "abd", False),
        ("", "", True),
        ("", "%", True),
        ("", "_", False),
        ("a", "", False),
        ("abc", "%%c", True),
        ("a.c", "a.c", True),
        ("axc", "a.c", False),
        ("a\r\nb", "a%b", True),
        ("a\r\nb", "a__b", True),
        ("éx", "_x", True),
        ("😀x", "_x", True),
        ("e\u0301", "_", False),
        ("a%c", "a\\%c", True),
        ("abc", "a\\%c", False),
        ("a_c", "a\\_c", True),
        ("a\\c", "a\\\\c", True),
        ("a%c", "a/%c", "/", True),
        ("a/c", "a//c", "/", True),
        ("a\\c", "a\\c", "/", True),
        ("aa", "a%a", True),
        ("a", "a%a", False),
        ("aba", "ab%ba", False),
        ("special requests", "%special%requests%", True),
        ("requests special", "%special%requests%", False),
        ("specialrequests", "%special%requests%", True),
        ("specialequests", "%special%lequests%", False),
        ("request requests special request", "%special%request%", True),
        ("forest green", "forest%", True),
        ("forest green", "%green", True),
        ("forest green", "%est%", True),
        ("forest green", "%e%e%", True),
        ("forest green", "f%t%g%n", True),
        ("(a+b)*[c]{d}^$|?", "(a+b)*[c]{d}^$|_", True),
        ("日本語", "%本%", True),
        ("日本語", "日%語", True),
        (None, "a", None),
        ("abc", None, None),
        ("abc", "abc\\", Fails("INVALID_FORMAT.ESC_AT_THE_END")),
        ("abc", "a\\bc", Fails("INVALID_FORMAT.ESC_IN_THE_MIDDLE")),
        ("abc", "a/%", "%", Fails("INVALID_FORMAT.ESC_AT_THE_END")),
    ],
    "ilike": [
        ("ABC", "a%", True),
        ("ÉA", "é_", True),
        ("ß", "SS", False),
        ("İ", "i%", True),
        ("ſ", "s", False),
        ("\u212a", "k", True),
        ("Special Requests", "%SPECIAL%requests%", True),
        ("abc", None, None),
    ],
}


@pytest.mark.parametrize("case", cases(TABLE), ids=str)
def test_like(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("pattern", ["%wxyz%", "%wxyz%abcd%", "wx%yz", "%yz%", "%z_a%", "w%"])
def test_every_way_to_match_agrees_with_arrow(pattern: str) -> None:
    words = [
        "wxyz",
        "abcd",
        "wx",
        "yz",
        "zqa",
        "",
        "xwxyz",
        "wxyzabc",
        "dwxyzzabcd",
        "abcdwxyz",
        "éwxyz日abcd",
    ]
    column = pa.array([left + gap + right for left in words for gap in ("", " ") for right in words] + [None])

    sliced = column.slice(5)

    assert matches(sliced, parse_like(pattern, "\\")) == pa.compute.match_like(sliced, pattern)


def test_find_all_finds_overlapping_occurrences_at_every_alignment() -> None:
    data = b"ababababab-aabab"

    assert find_all(pa_bytes(data), b"abab").tolist() == [0, 2, 4, 6, 12]


def test_find_all_in_less_than_a_word() -> None:
    assert find_all(pa_bytes(b"aba"), b"abab").tolist() == []


def pa_bytes(data: bytes) -> npt.NDArray[np.uint8]:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize("seed", range(4))
def test_a_pattern_of_each_row_matches_as_a_regular_expression_does(seed: int) -> None:
    chosen = random.Random(seed)
    meanings = {"a": "a", "b": "b", "%": ".*", "_": ".", "!%": "%", "!_": "_", "!!": "!", ".": r"\."}
    for _ in range(2000):
        parts = chosen.choices(list(meanings), k=chosen.randint(0, 8))
        text = "".join(chosen.choices("ab\n_%!.", k=chosen.randint(0, 9)))
        taken_apart = parse_like("".join(parts), "!")
        regex = re.compile("".join(map(meanings.__getitem__, parts)), re.DOTALL)
        assert taken_apart.matches(text) == (regex.fullmatch(text) is not None), (parts, text)


def test_many_wildcards_take_no_longer_than_the_text_is_long() -> None:
    pattern = parse_like("%a" * 40 + "%b", "!")
    assert not pattern.matches("a" * 100_000)
