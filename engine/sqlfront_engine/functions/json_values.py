"""JSON read and written as Jackson does it for Spark: objects keep duplicate names, numbers their kind.

Texts may be in single quotes and hold control characters; what follows the first value is ignored. A parsed
value is None, bool, int, float, str, a list, or an :class:`JsonObject`.
"""

import re
from json import JSONDecoder
from typing import Final, TypeAlias

import msgspec

from sqlfront_engine.floats import float_text


class JsonObject(msgspec.Struct, frozen=True):
    """Names and values in the order of the text."""

    members: tuple[tuple[str, "JsonValue"], ...]


JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | JsonObject | None


class JsonError(ValueError):
    """The text is no JSON."""


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_PLAIN: Final = {'"': re.compile(r'[^"\\]*'), "'": re.compile(r"[^'\\]*")}
_WORDS: Final[tuple[tuple[str, JsonValue], ...]] = (("true", True), ("false", False), ("null", None))
_ESCAPES: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = re.compile(r"[0-9a-fA-F]{4}")
_WRITTEN: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_TO_ESCAPE: Final = re.compile(r'["\\\x00-\x1f]')


def parse_json(text: str) -> JsonValue:
    """The first value of a text.

    >>> parse_json("{'a': [1.50, null]} rest")
    JsonObject(members=(('a', [1.5, None]),))

    Errors: :class:`JsonError`.
    """
    start = _skip(text, 0)
    try:
        value, place = _PLAIN_JSON.raw_decode(text, start) if "\\u" not in text else _value(text, start)
    except ValueError:  # it may be in single quotes
        value, place = _value(text, start)
    if not isinstance(value, str | list | JsonObject) and text[place : place + 1].strip(" \t\r\n"):
        raise JsonError("a number or word that goes on")
    return value


def _no_number(text: str) -> JsonValue:
    raise JsonError(f"{text} is no number")


#: Reads what needs none of Jackson's liberties, many times as fast: surrogates stay as they are escaped, too.
_PLAIN_JSON: Final = JSONDecoder(
    object_pairs_hook=lambda members: JsonObject(tuple(members)), parse_constant=_no_number, strict=False
)


def _skip(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    assert match is not None
    return match.end()


def _value(text: str, place: int) -> tuple[JsonValue, int]:
    character = text[place : place + 1]
    if character == "{":
        return _object(text, place + 1)
    if character == "[":
        return _array(text, place + 1)
    if character in ('"', "'") and character:
        return _string(text, place + 1, character)
    for word, value in _WORDS:
        if text.startswith(word, place):
            return value, place + len(word)
    number = _NUMBER.match(text, place)
    if number is None or text[number.end() : number.end() + 1].isalnum():
        raise JsonError(f"no value at {place}")
    is_float = number[1] or number[2]
    return (float(number[0]) if is_float else int(number[0])), number.end()


def _object(text: str, place: int) -> tuple[JsonObject, int]:
    members: list[tuple[str, JsonValue]] = []
    place = _skip(text, place)
    if text[place : place + 1] == "}":
        return JsonObject(()), place + 1
    while True:
        place = _skip(text, place)
        quote = text[place : place + 1]
        if quote not in ('"', "'") or not quote:
            raise JsonError(f"no name at {place}")
        name, place = _string(text, place + 1, quote)
        place = _skip(text, place)
        if text[place : place + 1] != ":":
            raise JsonError(f"no colon at {place}")
        value, place = _value(text, _skip(text, place + 1))
        members.append((name, value))
        place = _skip(text, place)
        if text[place : place + 1] == "}":
            return JsonObject(tuple(members)), place + 1
        place = _comma(text, place)


def _array(text: str, place: int) -> tuple[list[JsonValue], int]:
    items: list[JsonValue] = []
    place = _skip(text, place)
    if text[place : place + 1] == "]":
        return items, place + 1
    while True:
        value, place = _value(text, _skip(text, place))
        items.append(value)
        place = _skip(text, place)
        if text[place : place + 1] == "]":
            return items, place + 1
        place = _comma(text, place)


def _comma(text: str, place: int) -> int:
    if text[place : place + 1] != ",":
        raise JsonError(f"no comma at {place}")
    return place + 1


def _string(text: str, place: int, quote: str) -> tuple[str, int]:
    pieces: list[str] = []
    plain = _PLAIN[quote]
    while True:
        match = plain.match(text, place)
        assert match is not None
        pieces.append(match[0])
        place = match.end()
        if place >= len(text):
            raise JsonError("a string without end")
        if text[place] == quote:
            joined = "".join(pieces)
            return _without_lone_surrogates(joined), place + 1
        piece, place = _escape(text, place + 1)
        pieces.append(piece)


def _escape(text: str, place: int) -> tuple[str, int]:
    character = text[place : place + 1]
    if character == "u":
        match = _HEX.match(text, place + 1)
        if match is None:
            raise JsonError(f"no code at {place}")
        return chr(int(match[0], 16)), match.end()
    if not character or character not in _ESCAPES:
        raise JsonError(f"no escape at {place}")
    return _ESCAPES[character], place + 1


def _without_lone_surrogates(text: str) -> str:
    """Pairs of escaped surrogates become their character, others a question mark."""
    if text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", "?")


def write_json(value: JsonValue) -> str:
    """The value as Jackson copies it: without spaces, floats as Java prints doubles.

    >>> write_json(parse_json('{"a": 1.50, "b": [1e2]}'))
    '{"a":1.5,"b":[100.0]}'
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            text = float_text(value)
            return text if text[-1].isdigit() else f'"{text}"'
        case str():
            return write_string(value)
        case list():
            return f"[{','.join(map(write_json, value))}]"
        case JsonObject():
            members = (f"{write_string(name)}:{write_json(item)}" for name, item in value.members)
            return f"{{{','.join(members)}}}"


def write_string(text: str) -> str:
    """A JSON string; only quotes, backslashes and control characters are escaped."""
    return '"' + _TO_ESCAPE.sub(lambda found: _WRITTEN.get(found[0]) or f"\\u{ord(found[0]):04X}", text) + '"'
