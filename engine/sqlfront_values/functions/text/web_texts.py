"""Texts of the web and of forms: url_encode, url_decode, parse_url, mask, luhn_check, quote."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import quote_plus, unquote_to_bytes

from sqlfront_values.errors import DataError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import ScalarFunction, register
from sqlfront_values.functions.rowwise import row_kernel
from sqlfront_values.types import BOOLEAN, STRING

# ---- URLs


def url_encode(text: str) -> str:
    """Encode the text as ``application/x-www-form-urlencoded``, with the characters that
    ``java.net.URLEncoder`` keeps.

    >>> url_encode("a b&c~*")
    'a+b%26c%7E*'
    """
    return quote_plus(text, safe="*").replace("~", "%7E")


_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9a-fA-F]{2})")


def url_decode(text: str) -> str:
    """Decode the text, the inverse of :func:`url_encode`; bytes that are not UTF-8 become replacement
    characters. Raises CANNOT_DECODE_URL for a ``%`` without two hexadecimal digits after it."""
    if _BROKEN_ESCAPE.search(text):
        raise spark_error(
            "CANNOT_DECODE_URL",
            f"The provided URL cannot be decoded: {text}. Please ensure that the URL is properly formatted"
            " and try again.",
        )
    return unquote_to_bytes(text.replace("+", " ")).decode(errors="replace")


#: The URI pattern of RFC 2396's appendix B, and the characters that ``java.net.URI`` accepts besides those
#: above ASCII.
_URI: Final = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_LEGAL: Final = re.compile(r"(?:[A-Za-z0-9;/?:@&=+$,\-_.!~*'()\[\]#]|%[0-9a-fA-F]{2}|[^\x00-\xa0])*")
_SERVER: Final = re.compile(r"(?:([^@]*)@)?(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]*)(?::(\d*))?")
_LABEL: Final = r"(?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST: Final = re.compile(
    rf"\[.*\]|(?:[A-Za-z0-9]{_LABEL}\.)*[A-Za-z]{_LABEL}\.?|\d{{1,3}}(?:\.\d{{1,3}}){{3}}"
)


def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """Return the part of a URL that ``part`` names: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or
    USERINFO. With a ``key``, which is for QUERY only, return the key's value in the query.

    Returns None if the URL has no such part, or there is no part of that name. Raises INVALID_URL for a
    malformed URL.

    >>> parse_url("http://a.b/c?d=e#f", "QUERY", "d")
    'e'
    """
    match = _URI.fullmatch(url)
    if match is None or not _LEGAL.fullmatch(url):
        raise spark_error(
            "INVALID_URL",
            f"The url is invalid: {url}. Use `try_parse_url` to tolerate invalid URL and return NULL"
            " instead.",
        )
    scheme, authority, path, query, fragment = match.groups()
    if key is not None:
        return _query_value(query, key) if part == "QUERY" else None
    opaque = scheme is not None and authority is None and not path.startswith("/")
    match part:
        case "HOST":
            return _server(authority)[1]
        case "USERINFO":
            return _server(authority)[0]
        case "PATH":
            return None if opaque else path
        case "QUERY":
            return None if opaque else query
        case "REF":
            return fragment
        case "PROTOCOL":
            return scheme
        case "FILE":
            return None if opaque else path if query is None else f"{path}?{query}"
        case "AUTHORITY":
            return authority or None
        case _:
            return None


def _server(authority: str | None) -> tuple[str | None, str | None]:
    """Split the authority of a URL into user and host, each None if missing. Both are None if the authority
    does not have the form ``user@host:port``."""
    match = _SERVER.fullmatch(authority or "")
    if match is None or not _HOST.fullmatch(match[2]):
        return None, None
    return match[1], match[2]


@lru_cache(maxsize=64)
def _key_pattern(key: str) -> re.Pattern[str]:
    return re.compile(f"(?:&|^){re.escape(key)}=([^&]*)")


def _query_value(query: str | None, key: str) -> str | None:
    found = _key_pattern(key).search(query or "")
    return None if found is None else found[1]


def _or_null(function: Callable[..., object]) -> Callable[..., object]:
    """Return the ``try_`` form of a function, which returns None if the function raises DataError."""

    def attempt(*arguments: object) -> object:
        try:
            return function(*arguments)
        except DataError:
            return None

    return attempt


# ---- forms


def _luhn_check(digits: str) -> bool:
    """Return whether the text consists of digits, and the last is the check digit of the others by Luhn's
    algorithm."""
    if not digits or not all("0" <= digit <= "9" for digit in digits):
        return False
    total = 0
    for place, digit in enumerate(reversed(digits)):
        number = int(digit) * (1 + place % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def _mask(
    text: str | None,
    upper: str | None = "X",
    lower: str | None = "x",
    digit: str | None = "n",
    other: str | None = None,
) -> str | None:
    """Compute ``mask``: replace each upper-case letter, lower-case letter, digit and other character by the
    text for its kind. Characters of a kind whose text is null stay; a null text gives null."""
    if text is None:
        return None

    def masked(character: str) -> str:
        if character.isupper():
            kind = upper
        elif character.islower():
            kind = lower
        else:
            kind = digit if character.isdecimal() else other
        return character if kind is None else kind

    return "".join(map(masked, text))


def _quote(text: str) -> str:
    """Return the text in single quotes; single quotes in the text get a backslash before them."""
    return "'" + text.replace("'", "\\'") + "'"


_URL: Final = "'http://spark.apache.org/path?query=1'"

register(
    ScalarFunction(
        "url_encode",
        (STRING,),
        STRING,
        row_kernel(url_encode),
        growth=growth.times(3),
        example=("url_encode('a b&c')", "'a+b%26c'"),
    ),
    ScalarFunction(
        "url_decode",
        (STRING,),
        STRING,
        row_kernel(url_decode),
        can_fail=True,
        example=("url_decode('a+b%26c')", "'a b&c'"),
    ),
    ScalarFunction(
        "try_url_decode",
        (STRING,),
        STRING,
        row_kernel(_or_null(url_decode)),
        example=("try_url_decode('%zz')", "None"),
    ),
    ScalarFunction(
        "parse_url",
        (STRING, STRING, STRING),
        STRING,
        row_kernel(parse_url),
        optional=1,
        can_fail=True,
        exact=(0, 1, 2),
        example=(f"parse_url({_URL}, 'HOST')", "'spark.apache.org'"),
    ),
    ScalarFunction(
        "try_parse_url",
        (STRING, STRING, STRING),
        STRING,
        row_kernel(_or_null(parse_url)),
        optional=1,
        exact=(0, 1, 2),
        example=(f"try_parse_url({_URL}, 'QUERY', 'query')", "'1'"),
    ),
    ScalarFunction(
        "luhn_check",
        (STRING,),
        BOOLEAN,
        row_kernel(_luhn_check),
        example=("luhn_check('79927398713')", "True"),
    ),
    ScalarFunction(
        "mask",
        (STRING, STRING, STRING, STRING, STRING),
        STRING,
        row_kernel(_mask, null_aware=True),
        growth=growth.times(4),
        optional=4,
        null_propagating=False,
        exact=(0, 1, 2, 3, 4),
        constants=(1, 2, 3, 4),
        example=("mask('AbCD123-@$#')", "'XxXXnnn-@$#'"),
    ),
    ScalarFunction(
        "quote",
        (STRING,),
        STRING,
        row_kernel(_quote),
        growth=growth.times(2),
        example=("quote('it')", "\"'it'\""),
    ),
)
