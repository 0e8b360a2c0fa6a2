"""rlike, the regexp functions, split; Java's patterns."""

import pyarrow as pa
import pytest

from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.text.patterns.java_regex import java_pattern
from tests.values.functions.kernel_cases import Case, Fails, Table, cases, check, run

INVALID = Fails("INVALID_PARAMETER_VALUE.PATTERN")
GROUP = Fails("INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX")

MATCHING: Table = {
    "rlike": [
        ("abc", "b", True),
        ("abc", "", True),
        ("", "", True),
        ("abc", "^b", False),
        ("abc", "c$", True),
        ("abc\n", "c$", True),
        ("abc\r\n", "c$", True),
        ("a\r\nb", "a$", False),
        ("a\r\n", "a\r$", False),
        ("a\u2028", "a$", True),
        ("a\n\n", "a$", False),
        ("a\nb", "a.b", False),
        ("a\rb", "a.b", False),
        ("a\u0085b", "a.b", False),
        ("a\nb", "(?s)a.b", True),
        ("a\nb", "a(?s:.)b", True),
        ("A", "(?i)a", True),
        ("É", "(?i)é", False),
        ("abC", "ab(?i:c)", True),
        ("é", "\\w", False),
        ("٣", "\\d", False),
        ("a\u00a0b", "a\\sb", False),
        ("a\x0bb", "a\\sb", True),
        ("a b", "a\\hb", True),
        ("a-b", "a\\Wb", True),
        ("ab", "\\bab\\b", True),
        ("aé", "a\\b", False),
        ("😀", "^.$", True),
        ("a😀b", "a[^x]b", True),
        ("a", "\\p{Alpha}", True),
        ("é", "\\p{Alpha}", False),
        ("é", "\\p{L}", True),
        ("é", "\\pL", True),
        ("e", "\\P{L}", False),
        ("É", "\\p{Lu}", True),
        ("é", "\\p{IsL}", True),
        ("a", "[\\p{Lu}\\d]", False),
        ("abab", "(ab)\\1", True),
        ("abab", "(?<x>ab)\\k<x>", True),
        ("aba1", "(a)b\\11", True),
        ("foobar", "foo(?=bar)", True),
        ("foobar", "(?<!o)bar", False),
        ("aaa", "a++a", False),
        ("aaa", "a{2,}?", True),
        ("aaa", "^(?>a+)a", False),
        ("ab", "\\Aab\\z", True),
        ("ab\n", "\\Aab\\z", False),
        ("ab\n", "ab\\Z", True),
        ("a}", "a}", True),
        ("a-b", "[a\\-z]-", True),
        ("b-", "[a-c][-x]", True),
        ("-", "[-a]", True),
        ("^", "[a^]", True),
        ("]", "[\\]]", True),
        ("a.b", "\\Qa.b\\E", True),
        ("axb", "\\Qa.b\\E", False),
        ("a\tb", "a\\tb", True),
        ("aAb", "a\\x41b", True),
        ("aAb", "a\\u0041b", True),
        ("a😀b", "a\\x{1F600}b", True),
        ("aAb", "a\\0101b", True),
        ("a\r\nb", "a\\Rb", True),
        ("a/b", "a\\/b", True),
        ("a b", "a\\ b", True),
        ("日本語", "本", True),
        ("foo|bar", "foo\\|bar", True),
        ("bar", "foo|bar", True),
        (None, "a", None),
        ("a", None, None),
        ("abc", "(", INVALID),
        ("abc", ")", INVALID),
        ("abc", "[a", INVALID),
        ("abc", "*a", INVALID),
        ("abc", "a{,3}", INVALID),
        ("abc", "a{x", INVALID),
        ("abc", "\\y", INVALID),
        ("abc", "a**", INVALID),
        ("abc", "abc\\", INVALID),
        ("abc", "(?<1a>b)", INVALID),
    ],
    "regexp_like": [("Spark", "ark$", True)],
    "regexp": [("abc", "^b", False)],
    "regexp_count": [
        ("Steven Jones and Stephen Smith", "Ste(v|ph)en", 2),
        ("abc", "", 4),
        ("aaa", "aa", 1),
        ("😀😀", ".", 2),
        (None, "a", None),
        ("a", None, None),
    ],
    "regexp_instr": [
        ("Steven Jones", "Jo", 8),
        ("abc", "x", 0),
        ("a😀b", "b", 3),
        ("abc", "", 1),
        ("abc", "b", 2, 2),
        (None, "a", None),
    ],
    "regexp_substr": [
        ("Steven Jones and Stephen", "Ste(v|ph)en", "Steven"),
        ("abc", "x", None),
        ("abc", "", None),
        (None, "a", None),
    ],
}
EXTRACTING: Table = {
    "regexp_extract": [
        ("100-200", "(\\d+)-(\\d+)", 1, "100"),
        ("100-200", "(\\d+)-(\\d+)", 2, "200"),
        ("100-200", "(\\d+)-(\\d+)", 0, "100-200"),
        ("100-200", "(\\d+)-(\\d+)", "100"),
        ("foo", "(\\d+)", 1, ""),
        ("foo", "\\d+", 1, ""),
        ("ab", "a(x)?b", 1, ""),
        ("日本語", "日(.)", 1, "本"),
        (None, "a", 0, None),
        ("a", None, 0, None),
        ("a", "a", None, None),
        ("100-200", "(\\d+)-(\\d+)", 3, GROUP),
        ("100-200", "(\\d+)-(\\d+)", -1, GROUP),
    ],
    "regexp_extract_all": [
        ("100-200, 300-400", "(\\d+)-(\\d+)", 1, ["100", "300"]),
        ("100-200, 300-400", "(\\d+)-(\\d+)", ["100", "300"]),
        ("a1b2", "\\d", 0, ["1", "2"]),
        ("abc", "(x)", 1, []),
        ("abc", "", 0, ["", "", "", ""]),
        ("ab", "a(x)?", 1, [""]),
        (None, "a", 0, None),
    ],
    "regexp_replace": [
        ("100-200", "(\\d+)", "num", "num-num"),
        ("100-200", "(\\d+)-(\\d+)", "$2-$1", "200-100"),
        ("abc", "b", "\\$", "a$c"),
        ("abc", "b", "\\\\", "a\\c"),
        ("a.b", "\\.", "x", "axb"),
        ("aaa", "a", "b", 2, "abb"),
        ("abc", "", "-", "-a-b-c-"),
        ("a😀b", ".", "x", "xxx"),
        ("a\nb", ".", "x", "x\nx"),
        ("Abc", "(?i)a", "x", "xbc"),
        ("abc", "(b)", "$12", "ab2c"),
        ("abc", "(x)?b", "[$1]", "a[]c"),
        ("abc", "b", "x", 10, "abc"),
        ("", "", "x", "x"),
        ("", "a*", "x", 1, "x"),
        ("aaa", "a*", "x", "xx"),
        ("ab\n", "b$", "x", "ax\n"),
        (None, "a", "b", None),
        ("abc", "b", None, None),
        ("abc", None, "x", None),
        ("abc", "b", "$1", Fails("INVALID_REGEXP_REPLACE")),
        ("abc", "b", "x$", Fails("INVALID_REGEXP_REPLACE")),
        ("abc", "(", "x", INVALID),
    ],
    "split": [
        ("one,two,,three", ",", ["one", "two", "", "three"]),
        ("a.b", ".", ["", "", "", ""]),
        ("a.b", "\\.", ["a", "b"]),
        ("aXbXc", "X", 2, ["a", "bXc"]),
        ("aXbXc", "X", -1, ["a", "b", "c"]),
        ("aXbXc", "X", 0, ["a", "b", "c"]),
        ("aXbX", "X", 0, ["a", "b", ""]),
        ("oneAtwoBthreeC", "[ABC]", 1, ["oneAtwoBthreeC"]),
        ("oneAtwoBthreeC", "[ABC]", ["one", "two", "three", ""]),
        ("", ",", [""]),
        ("", "", [""]),
        ("abc", "", ["a", "b", "c"]),
        ("a😀b", "", ["a", "😀", "b"]),
        ("abc", "", 2, ["a", "bc"]),
        ("abc", "x*", ["a", "b", "c", ""]),
        ("Xa", "X", ["", "a"]),
        ("a(1)b", "(\\(|\\))", ["a", "1", "b"]),
        ("a||b", "||", ["a", "|", "|", "b", ""]),
        (None, ",", None),
        ("a", None, None),
        ("a,b", ",", None, None),
    ],
}


@pytest.mark.parametrize("case", cases({**MATCHING, **EXTRACTING}), ids=str)
def test_regular_expressions(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "pattern",
    ["[a-c&&[b]]", "[[:alpha:]]", "(?m)^a", "a(?i)b", "\\Ga", "\\X", "(?<=a*)b", "\\p{IsGreek}", "[\\P{L}]"],
)
def test_what_python_lacks_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(NotSupportedError, match="a regular expression with"):
        java_pattern(pattern)


@pytest.mark.parametrize(
    "pattern", ["a.c", "[^b]+", "^a|c$", "\\d{2,3}?", "a\\.b", "(?:x|y)z", "é+", "\\s\\S\\w"]
)
def test_re2_agrees_with_python(pattern: str) -> None:
    java = java_pattern(pattern)
    texts = ["abc", "a\nc", "a.b", "123", "xz", "éé", " a_", "", "c\n", "b\u2028", "a😀c", "\x0b1a"]

    assert java.re2 is not None
    assert run("rlike", pa.array(texts), scalar(pattern, pa.string())).to_pylist() == [
        java.compiled.search(text) is not None for text in texts
    ]
