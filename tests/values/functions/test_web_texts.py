"""URLs, forms, notations of bytes, and identifiers."""

import pytest

from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.functions import registry
from sqlfront_values.functions.registry import Signature
from sqlfront_values.settings import Settings
from sqlfront_values.types import STRING
from tests.values.functions.kernel_cases import Case, Fails, Table, cases, check

URL = "http://user:pw@spark.apache.org:80/path/p.php?query=1&b=2#Ref"

URLS: Table = {
    "url_encode": [
        ("a b&c=é/~*-_.", "a+b%26c%3D%C3%A9%2F%7E*-_."),
        ("😀", "%F0%9F%98%80"),
        ("", ""),
        (None, None),
    ],
    "url_decode": [
        ("a+b%26", "a b&"),
        ("%F0%9F%98%80", "😀"),
        ("%ff", "\ufffd"),
        ("", ""),
        ("%zz", Fails("CANNOT_DECODE_URL")),
        ("%2", Fails("CANNOT_DECODE_URL")),
    ],
    "try_url_decode": [("%zz", None), ("a+b", "a b")],
    "parse_url": [
        (URL, "HOST", "spark.apache.org"),
        (URL, "PATH", "/path/p.php"),
        (URL, "QUERY", "query=1&b=2"),
        (URL, "REF", "Ref"),
        (URL, "PROTOCOL", "http"),
        (URL, "FILE", "/path/p.php?query=1&b=2"),
        (URL, "AUTHORITY", "user:pw@spark.apache.org:80"),
        (URL, "USERINFO", "user:pw"),
        (URL, "QUERY", "b", "2"),
        (URL, "QUERY", "x", None),
        ("http://a/", "HOST", "x", None),
        ("http://a", "PATH", ""),
        ("http://a", "QUERY", None),
        ("http://a", "foo", None),
        ("http://a?b", "FILE", "?b"),
        ("HTTP://A.B", "PROTOCOL", "HTTP"),
        ("HTTP://A.B", "HOST", "A.B"),
        ("http://a/?q", "QUERY", "q", None),
        ("http://a/?a=1&a=2", "QUERY", "a", "1"),
        ("http://[::1]:80/", "HOST", "[::1]"),
        ("http://a.b_c/", "HOST", None),
        ("http://a/%41?%42", "PATH", "/%41"),
        ("a/b", "HOST", None),
        ("mailto:x@y", "HOST", None),
        ("", "HOST", None),
        (None, "HOST", None),
        ("http://a b", "HOST", Fails("INVALID_URL")),
    ],
    "try_parse_url": [("http://a b", "HOST", None)],
}
FORMS: Table = {
    "luhn_check": [
        ("79927398713", True),
        ("79927398714", False),
        ("0", True),
        ("x", False),
        (" 0", False),
        ("", False),
        ("\uff14", False),
        (None, None),
    ],
    "mask": [
        ("AbCD123-@$#", "XxXXnnn-@$#"),
        ("AbCD123-@$#", "Q", "QxQQnnn-@$#"),
        ("AbCD123-@$#", "Q", "q", "d", "o", "QqQQdddoooo"),
        ("aéÉß1\u0663日", "X", "x", "n", "o", "xxXxnno"),
        ("aA1-", None, None, None, None, "aA1-"),
        ("", ""),
        (None, None),
    ],
    "quote": [("a'b", "'a\\'b'"), ("a\\b", "'a\\b'"), ("", "''"), ("é", "'é'"), (None, None)],
}
BYTES: Table = {
    "to_binary": [
        ("616263", "hex", b"abc"),
        ("616263", b"abc"),
        ("ABC", "hex", b"\n\xbc"),
        ("", "hex", b""),
        ("YWJj", "base64", b"abc"),
        ("YQ", "base64", b"a"),
        ("YW Jj", "base64", b"abc"),
        ("é", "UTF8", "é".encode()),
        (None, "hex", None),
        ("x", "hex", Fails("CONVERSION_INVALID_INPUT")),
        (" 61", "hex", Fails("CONVERSION_INVALID_INPUT")),
        ("a", "foo", Fails("DATATYPE_MISMATCH.INVALID_ARG_VALUE")),
    ],
    "try_to_binary": [("x", "hex", None), ("!", "base64", None), ("a", "foo", None), ("61", "hex", b"a")],
    "jaro_winkler_similarity": [
        ("MARTHA", "MARHTA", 0.9611111111111111),
        ("DWAYNE", "DUANE", 0.8400000000000001),
        ("DIXON", "DICKSONX", 0.8133333333333332),
        ("abc", "xyz", 0.0),
        ("a", "", 0.0),
        ("", "", 1.0),
        (None, "a", None),
    ],
}


@pytest.mark.parametrize("case", cases({**URLS, **FORMS, **BYTES}), ids=str)
def test_web_texts(case: Case) -> None:
    check(case)


def test_every_row_gets_an_identifier_of_its_own() -> None:
    function = registry.lookup("uuid")
    assert function is not None

    values = function.prepared(Signature(STRING, (), (), Settings()))((), 100).to_pylist()

    assert len(set(values)) == 100
    assert {len(value) for value in values} == {36}
    assert not function.deterministic
    assert scalar(values[0], STRING).is_valid
