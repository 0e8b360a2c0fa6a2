"""Trim and pad, search and replace, concatenate, encode."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.functions.text.similarity import levenshtein
from sqlfront_values.types import BIGINT, BINARY
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check, run

STRINGS = pa.list_(pa.string())

PADDING: Table = {
    "trim": [
        ("  a b  ", "a b"),
        ("\t a \n", "\t a \n"),
        ("xy", "xyaxybyx", "axyb"),
        ("", " a", " a"),
        ("é😀", "😀éa😀", "a"),
        ("", ""),
        (None, None),
        (None, "a", None),
        ("a", None, None),
    ],
    "ltrim": [("  a ", "a "), ("xy", "xyaxy", "axy"), (None, None)],
    "rtrim": [(" a  ", " a"), ("xy", "axyx", "a"), ("", "", "")],
    "btrim": [("  a ", "a"), ("xyaxyb", "xyb", "a"), ("a", "", "a"), ("a", None, None)],
    "lpad": [
        ("hi", 5, "??", "???hi"),
        ("hi", 1, "?", "h"),
        ("hi", 5, "   hi"),
        ("hi", 5, "", "hi"),
        ("", 3, "é😀", "é😀é"),
        ("日本", 4, "x", "xx日本"),
        ("hi", 0, "x", ""),
        ("hi", -1, "x", ""),
        (None, 5, "x", None),
        ("hi", None, "x", None),
        ("hi", 5, None, None),
        (b"hi", 5, b"ab", b"abahi"),
        (b"hi", 5, b"\0\0\0hi"),
        (b"hi", 1, b"x", b"h"),
    ],
    "rpad": [
        ("hi", 5, "ab", "hiaba"),
        ("日本", 5, "😀é", "日本😀é😀"),
        ("日本", 1, "x", "日"),
        ("hi", 0, "x", ""),
        ("hi", 4, "hi  "),
        (b"hi", 5, b"hi\0\0\0"),
    ],
    "repeat": [
        ("ab", 3, "ababab"),
        ("ab", 0, ""),
        ("ab", -1, ""),
        ("", 3, ""),
        (None, 2, None),
        ("a", None, None),
    ],
    "space": [(3, "   "), (0, ""), (-1, ""), (None, None)],
}
SEARCHING: Table = {
    "instr": [
        ("corporate", "or", 2),
        ("abc", "", 1),
        ("", "", 1),
        ("abc", "d", 0),
        ("a😀b", "b", 3),
        (None, "a", None),
        ("abc", None, None),
    ],
    "locate": [
        ("or", "corporate", 2),
        ("or", "corporate", 3, 5),
        ("or", "corporate", 0, 0),
        ("or", "corporate", -1, 0),
        ("", "abc", 1),
        ("", "abc", 2, 1),
        ("", "abc", 5, 1),
        ("b", "a😀b", 2, 3),
        ("c", "abc", 4, 0),
        (None, "a", None),
        ("a", None, None),
        ("a", "a", None, 0),
        (None, None, None, 0),
        (None, "a", 0, None),
    ],
    "position": [("b", "abc", 2)],
    "find_in_set": [
        ("b", "a,b,c", 2),
        ("d", "a,b", 0),
        ("a,b", "a,b", 0),
        ("", "a,,b", 2),
        ("", "", 1),
        ("é", "a,é", 2),
        ("a", "", 0),
        (None, "a", None),
        ("a", None, None),
    ],
    "startswith": [
        ("Spark", "Sp", True),
        ("Spark", "", True),
        ("", "a", False),
        ("é", "e", False),
        (b"abc", b"a", True),
        (None, "a", None),
        ("a", None, None),
    ],
    "endswith": [("Spark", "rk", True), ("a😀", "😀", True), ("\u00e9", "\u0301", False), (None, "a", None)],
    "contains": [
        ("Spark", "par", True),
        ("a😀b", "😀", True),
        ("a", "", True),
        ("Spark SQL", "park S", True),
        ("Spark SQL", "park Q", False),
        (b"abc", b"b", True),
        (None, "a", None),
        ("a", None, None),
    ],
    "split_part": [
        ("11.12.13", ".", 3, "13"),
        ("11.12.13", ".", -1, "13"),
        ("11.12.13", ".", 4, ""),
        ("11.12.13", ".", -4, ""),
        ("abc", "", 1, "abc"),
        ("abc", "", -1, "abc"),
        ("abc", "", 2, ""),
        ("", ".", 1, ""),
        ("a😀b", "😀", 2, "b"),
        ("a..b", ".", 2, ""),
        (None, "a", 1, None),
        ("a", None, 1, None),
        ("a.b", ".", None, None),
        ("a", "b", 0, Fails("INVALID_INDEX_OF_ZERO")),
    ],
    "substring_index": [
        ("www.apache.org", ".", 2, "www.apache"),
        ("www.apache.org", ".", -2, "apache.org"),
        ("www.apache.org", ".", 0, ""),
        ("www.apache.org", ".", 5, "www.apache.org"),
        ("www.apache.org", ".", -5, "www.apache.org"),
        ("www.apache.org", "", 1, ""),
        ("aaaa", "aa", 1, ""),
        ("aaaa", "aa", 2, "a"),
        ("aaaaa", "aa", -2, "a"),
        ("aaaaa", "aa", -1, ""),
        ("a😀b😀c", "😀", -2, "b😀c"),
        ("", ".", 1, ""),
        (None, ".", 1, None),
        ("a", None, 1, None),
        ("a.b", ".", None, None),
    ],
    "replace": [
        ("abcabc", "b", "X", "aXcaXc"),
        ("abc", "b", "ac"),
        ("abc", "", "X", "abc"),
        ("aaa", "aa", "b", "ba"),
        ("😀a😀", "😀", "é", "éaé"),
        ("", "", "x", ""),
        (None, "a", "b", None),
        ("abc", None, "x", None),
        ("abc", "b", None, None),
    ],
    "translate": [
        ("AaBbCc", "abc", "123", "A1B2C3"),
        ("abc", "ab", "1", "1c"),
        ("aabb", "aab", "123", "1133"),
        ("😀a", "😀", "é", "éa"),
        ("abc", "", "x", "abc"),
        ("abc", "b", "", "ac"),
        (None, "a", "b", None),
        ("abc", "a", None, None),
    ],
    "overlay": [
        ("Spark SQL", "_", 6, "Spark_SQL"),
        ("Spark SQL", "CORE", 7, "Spark CORE"),
        ("Spark SQL", "ANSI ", 7, 0, "Spark ANSI SQL"),
        ("Spark SQL", "tructured", 2, 4, "Structured SQL"),
        ("abc", "X", 0, "Xabc"),
        ("abc", "X", -1, "Xabc"),
        ("abc", "X", -3, "Xbc"),
        ("abc", "X", 10, "abcX"),
        ("abc", "X", 1, -1, "Xbc"),
        ("a😀c", "é", 2, "aéc"),
        (b"abc", b"X", 2, b"aXc"),
        ("abc", "X", 2, 100, "aX"),
        ("abc", "", 2, "abc"),
        (None, "a", 1, None),
        ("abc", "X", None, None),
    ],
}
CONCATENATION: Table = {
    "concat": [
        ("a", "é😀", "aé😀"),
        ("a", "a"),
        (b"a", b"b", b"ab"),
        ("a", None, None),
        (["a"], [None, "b"], Typed(["a", None, "b"], STRINGS)),
        ("",),
    ],
    "concat_op": [("a", "b", "ab"), ("a", None, None), ("", "", "")],
    "concat_ws": [
        (",", "a", None, "b", "a,b"),
        (",", "a", Typed(None, pa.string()), "a"),
        (",", ["a", None, "b"], "c", "a,b,c"),
        (",", ""),
        (",", None, ""),
        ("", "a", "", "a"),
        (",", "", "", ","),
        (None, "a", None),
        ("😀", "a", "b", "a😀b"),
    ],
    "elt": [
        (1, "a", "b", "a"),
        (2, "a", "é", "é"),
        (1, None, "b", None),
        (1, b"a", b"b", b"a"),
        (None, "a", None),
        (3, "a", "b", Fails("INVALID_ARRAY_INDEX")),
        (0, "a", "b", Fails("INVALID_ARRAY_INDEX")),
    ],
}
ENCODING: Table = {
    "ascii": [("abc", 97), ("", 0), ("é", 233), ("😀", 128512), (None, None)],
    "chr": [(65, "A"), (0, "\0"), (256, "\0"), (255, "ÿ"), (-1, ""), (321, "A"), (128, "\x80"), (None, None)],
    "char": [(Typed(65, BIGINT), "A")],
    "base64": [(b"a", "YQ=="), (b"", ""), (b"a" * 60, "YWFh" * 19 + "\r\nYWFh"), (None, None)],
    "unbase64": [
        ("YWJj", b"abc"),
        ("YQ==", b"a"),
        ("", b""),
        ("YW Jj", b"abc"),
        ("YQ", b"a"),
        ("YWJ", b"ab"),
        ("!!!", b""),
        (None, None),
        ("Y", Fails(None)),
        ("YQ==YQ==", Fails(None)),
    ],
    "encode": [
        ("aé😀", "UTF-8", "aé😀".encode()),
        ("aé", "iso-8859-1", b"a\xe9"),
        ("aé", "UTF-16", b"\xfe\xff\0a\0\xe9"),
        ("a", "UTF-16LE", b"a\0"),
        ("a", "UTF-16BE", b"\0a"),
        ("a", "UTF-32", b"\0\0\0a"),
        ("a", "us-ascii", b"a"),
        ("", "utf-16", b""),
        (None, "utf-8", None),
        ("a", None, None),
        ("é", "US-ASCII", Fails("MALFORMED_CHARACTER_CODING")),
        ("é", "foo", Fails("INVALID_PARAMETER_VALUE.CHARSET")),
    ],
    "decode": [
        ("aé".encode(), "utf-8", "aé"),
        (b"a\0", "utf-16le", "a"),
        (b"\xff\xfea\0", "utf-16", "a"),
        (b"\0a", "utf-16", "a"),
        (b"\xe9", "iso-8859-1", "é"),
        (Typed(None, BINARY), "utf-8", None),
        (b"\xff", "UTF-8", Fails("MALFORMED_CHARACTER_CODING")),
        (b"\xff", "US-ASCII", Fails("MALFORMED_CHARACTER_CODING")),
    ],
    "md5": [
        (b"Spark", "8cde774d6f7333752ed72cacddb05126"),
        (b"", "d41d8cd98f00b204e9800998ecf8427e"),
        (None, None),
    ],
    "sha1": [(b"Spark", "85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c")],
    "sha": [(b"Spark", "85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c"), (None, None)],
    "sha2": [
        (b"Spark", 224, "dbeab94971678d36af2195851c0f7485775a2a7c60073d62fc04549c"),
        (b"Spark", 0, "529bc3b07127ecb7e53a4dcf1991d9152c24537d919178022b2c42657f79a26b"),
        (b"Spark", 1, None),
        (b"Spark", None, None),
        (None, 256, None),
    ],
    "crc32": [(b"Spark", 1557323817), (b"", 0), (None, None)],
}
SIMILARITY: Table = {
    "levenshtein": [
        ("kitten", "sitting", 3),
        ("", "abc", 3),
        ("kitten", "sitting", 2, -1),
        ("kitten", "sitting", 3, 3),
        ("a", "a", 0, 0),
        ("a", "b", -1, -1),
        ("a😀", "ab", 1),
        ("abc", "", 2, -1),
        ("", "", 0, 0),
        (None, "a", None),
    ],
    "soundex": [
        ("Miller", "M460"),
        ("Tymczak", "T522"),
        ("Ashcraft", "A261"),
        ("Pfister", "P236"),
        ("Honeyman", "H555"),
        ("123", "123"),
        ("éa", "éa"),
        ("a-b", "A100"),
        ("aé1b", "A100"),
        ("Rupert Smith", "R163"),
        ("O'Hara", "O600"),
        ("hW", "H000"),
        ("A", "A000"),
        ("", ""),
        (None, None),
    ],
}


@pytest.mark.parametrize(
    "case", cases({**PADDING, **SEARCHING, **CONCATENATION, **ENCODING, **SIMILARITY}), ids=str
)
def test_texts(case: Case) -> None:
    check(case)


def test_concat_ws_keeps_rows_of_nulls_only() -> None:
    case = Case("concat_ws", (",", None, None), "")
    check(case)
    column = pa.array([None, "a", None, ""])

    result = run("concat_ws", scalar(",", pa.string()), column, column.take(pa.array([2, 1, 3, 0])))

    assert result.to_pylist() == ["", "a,a", "", ""]


def distance_by_table(left: str, right: str) -> int:
    """The definition: each prefix of one text against each of the other's."""
    table = {(row, 0): row for row in range(len(left) + 1)} | {(0, row): row for row in range(len(right) + 1)}
    for i, mine in enumerate(left, 1):
        for j, other in enumerate(right, 1):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (mine != other))
    return table[len(left), len(right)]


@given(st.text("abé😀", max_size=80), st.text("abé😀", max_size=80))
def test_levenshtein_is_what_it_is_defined_as(left: str, right: str) -> None:
    assert levenshtein(left, right) == distance_by_table(left, right)
