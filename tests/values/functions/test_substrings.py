"""Length, case, substring and its relatives."""

import pytest

from tests.values.functions.kernel_cases import Case, Table, cases, check

LAST = 2**31 - 1

LENGTHS: Table = {
    "length": [("h😀é", 3), (b"h\xf0\x9f\x98\x80", 5), ("abc  ", 5), ("", 0), ("e\u0301", 2), (None, None)],
    "char_length": [("naïve", 5)],
    "character_length": [("日本", 2)],
    "len": [("", 0)],
    "octet_length": [("é😀", 6), (b"\xc3\xa9", 2), ("", 0), (None, None)],
    "bit_length": [("é", 16), (b"\xc3\xa9", 16), ("", 0), (None, None)],
}
CASE: Table = {
    "upper": [
        ("ßaéŉﬁ😀𐐨", "SSAÉʼNFI😀𐐀"),
        ("i\u0307", "I\u0307"),
        ("\u0390", "\u0399\u0308\u0301"),
        ("\u019b\u0264\U00010d70\U00016ed3", "\ua7dc\ua7cb\U00010d50\U00016eb8"),
        ("plain", "PLAIN"),
        ("", ""),
        (None, None),
    ],
    "ucase": [("a", "A")],
    "lower": [
        ("İÉΣ ΑΣ ẞ 𐐀", "i\u0307éς ας ß 𐐨"),
        ("ΑΣα", "ασα"),
        ("Σ", "σ"),
        ("Α'Σ", "α'ς"),
        ("\ua7dc\ua7cb\U00010d50", "\u019b\u0264\U00010d70"),
        ("", ""),
        (None, None),
    ],
    "lcase": [("A", "a")],
    "initcap": [
        ("hello wORLD o'neil x-y tab\tz éCOLE ǆabc", "Hello World O'neil X-y Tab\tz École ǅabc"),
        ("1abc -abc (def) _x", "1abc -abc (def) _x"),
        ("a  b", "A  B"),
        (" lead", " Lead"),
        ("ABC.DEF", "Abc.def"),
        ("ΟΔΟΣ ΑΣ", "Οδος Ας"),
        ("ŉx ﬃx", "ʼNx Ffix"),
        ("ijs IJS", "Ijs Ijs"),
        ("a\nb c", "A\nb C"),
        ("e\u0301a", "E\u0301a"),
        ("", ""),
        (None, None),
    ],
}
PARTS: Table = {
    "substring": [
        ("hello", 2, 3, "ell"),
        ("hello", 0, 2, "he"),
        ("hello", -3, 2, "ll"),
        ("hello", -10, 7, "he"),
        ("hello", 2, "ello"),
        ("hello", 10, 2, ""),
        ("hello", 1, -1, ""),
        ("h😀llo", 2, 1, "😀"),
        ("日本語", -2, "本語"),
        ("hello", -10, 3, ""),
        ("hello", 0, "hello"),
        ("hello", LAST, LAST, ""),
        ("hello", -LAST - 1, LAST, "hell"),
        (b"hello", -3, 2, b"ll"),
        (b"hello", 0, 2, b"he"),
        (b"hello", -10, 7, b"he"),
        (b"hello", 1, -1, b""),
        ("", 1, 1, ""),
        (None, 1, 2, None),
        ("hello", None, None),
        ("hello", 1, None, None),
    ],
    "substr": [("hello", 2, 3, "ell")],
    "left": [
        ("hello", -1, ""),
        ("hello", 0, ""),
        ("hello", 10, "hello"),
        ("h😀é", 2, "h😀"),
        (b"ab", 1, b"a"),
        ("", 3, ""),
        (None, 1, None),
        ("abc", None, None),
    ],
    "right": [
        ("hello", -1, ""),
        ("hello", 0, ""),
        ("hello", 10, "hello"),
        ("h😀é", 2, "😀é"),
        ("", 2, ""),
        (None, 1, None),
        ("abc", None, None),
    ],
}


@pytest.mark.parametrize("case", cases({**LENGTHS, **CASE, **PARTS}), ids=str)
def test_strings(case: Case) -> None:
    check(case)
