"""JSON values, read and written like Jackson in Spark: objects keep duplicate names, integers and fractions
stay distinct.

Texts may be in single quotes and contain control characters; text after the first value is ignored. A parsed
value is None, bool, int, float, str, a list, or a :class:`JsonObject`.
"""

import re
from json import JSONDecoder
from typing import Final, TypeAlias

import msgspec

from sqlfront_values.functions.json.scanner import JsonSyntaxError, Liberties
from sqlfront_values.functions.json.tokens import JsonTokens, Token
from sqlfront_values.java.floats import float_text


class JsonObject(msgspec.Struct, frozen=True):
    """A JSON object: pairs of name and value in the order of the text, duplicate names included."""

    members: tuple[tuple[str, "JsonValue"], ...]


JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | JsonObject | None


class JsonError(ValueError):
    """An error for a text that is not JSON."""


_SPACE: Final = re.compile(r"[ \t\r\n]*")
#: Deviations from the standard that Spark's functions allow.
_LIBERTIES: Final = Liberties(words_for_numbers=False, control_characters=True)
_WRITTEN: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SURROGATES: Final = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")
_TO_ESCAPE: Final = re.compile(r'["\\\x00-\x1f]')


def parse_json(text: str) -> JsonValue:
    """Return the first value of a JSON text; text after the value is ignored. Raises :class:`JsonError` if
    the text does not begin with a JSON value.

    >>> parse_json("{'a': [1.50, null]} rest")
    JsonObject(members=(('a', [1.5, None]),))
    """
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    if "\\u" not in text:
        try:
            value, place = _PLAIN_JSON.raw_decode(text, start)
        except ValueError:  # the text may be in single quotes
            pass
        else:
            # A number or a word may go on.
            if isinstance(value, str | list | JsonObject) or not text[place : place + 1].strip(" \t\r\n"):
                return value
    tokens = JsonTokens(text.encode(), _LIBERTIES)
    try:
        tokens.advance()
        return value_of(tokens)
    except JsonSyntaxError as error:
        raise JsonError(*error.args) from None


def _no_number(text: str) -> JsonValue:
    raise JsonError(f"{text} is no number")


#: A decoder for texts that need none of Jackson's liberties, many times as fast. Surrogates stay as escaped.
_PLAIN_JSON: Final = JSONDecoder(
    object_pairs_hook=lambda members: JsonObject(tuple(members)), parse_constant=_no_number, strict=False
)


def value_of(tokens: JsonTokens) -> JsonValue:
    """Read and return the value that begins with the current token; afterwards the current token is the
    value's last.

    Raises JsonSyntaxError if the value is malformed, JsonError if no value begins with the current token.
    """
    match tokens.token:
        case Token.START_OBJECT:
            members: list[tuple[str, JsonValue]] = []
            while tokens.advance() is not Token.END_OBJECT:
                name = tokens.name or ""
                tokens.advance()
                members.append((name, value_of(tokens)))
            return JsonObject(tuple(members))
        case Token.START_ARRAY:
            items: list[JsonValue] = []
            while tokens.advance() is not Token.END_ARRAY:
                items.append(value_of(tokens))
            return items
        case Token.STRING:
            return tokens.text()
        case Token.INTEGER:
            return int(tokens.text())
        case Token.FRACTION:
            return tokens.number()
        case Token.TRUE:
            return True
        case Token.FALSE:
            return False
        case Token.NULL:
            return None
        case _:
            raise JsonError("no value")


def write_json(value: JsonValue) -> str:
    """Return the value as a JSON text, as Jackson writes values that it copies: without spaces, floats as
    Java prints doubles, surrogates escaped.

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
            return _escaped(value)
        case list():
            return f"[{','.join(map(write_json, value))}]"
        case JsonObject():
            members = (f"{_escaped(name)}:{write_json(item)}" for name, item in value.members)
            return f"{{{','.join(members)}}}"


def _escaped(text: str) -> str:
    """Return the text as a JSON string. Characters beyond 16 bits, and lone surrogates, are escaped, too."""
    written = write_string(text)
    return written if written.isascii() else _SURROGATES.sub(_units, written)


def _units(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex().upper()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


def write_string(text: str) -> str:
    """Return the text as a JSON string; only quotes, backslashes and control characters are escaped."""
    return '"' + _TO_ESCAPE.sub(lambda found: _WRITTEN.get(found[0]) or f"\\u{ord(found[0]):04X}", text) + '"'
