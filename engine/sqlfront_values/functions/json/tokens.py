"""The tokens of a JSON text, like those of Jackson's UTF-8 parser in Spark, errors included.

A reader may go on after an error: Spark does so inside of nested values, and the tokens that it then finds
depend on the exact position of the parser. So the tokens come one by one, the value behind a name is read
together with the name, and a string in double quotes is checked only when the reader asks for the string or
goes on.
"""

import base64
import re
from enum import Enum
from typing import Final

from sqlfront_values.functions.json.scanner import MAX_DEPTH, SPECIAL, JsonScanner, JsonSyntaxError, Liberties


class Token(Enum):
    """The kinds of tokens of a JSON text."""

    START_OBJECT = "{"
    END_OBJECT = "}"
    START_ARRAY = "["
    END_ARRAY = "]"
    NAME = "name"
    STRING = "string"
    INTEGER = "integer"
    FRACTION = "fraction"
    """A number with a point or an exponent, or one of the words for NaN and the infinities."""
    TRUE = "true"
    FALSE = "false"
    NULL = "null"


_START_OBJECT: Final = Token.START_OBJECT
_START_ARRAY: Final = Token.START_ARRAY
_END_OBJECT: Final = Token.END_OBJECT
_END_ARRAY: Final = Token.END_ARRAY
_NAME: Final = Token.NAME
_STRING: Final = Token.STRING
_WORDS: Final = {
    ord("t"): (b"true", Token.TRUE),
    ord("f"): (b"false", Token.FALSE),
    ord("n"): (b"null", Token.NULL),
}


class _Context:
    """The object or array (``kind``) around the current token, or the text itself (``kind`` None).
    ``entries`` counts its entries read so far, ``name`` is the name of its current member."""

    __slots__ = ("entries", "kind", "name")

    def __init__(self, kind: Token | None) -> None:
        self.kind = kind
        self.entries = 0
        self.name: str | None = None


class JsonTokens(JsonScanner):
    """A reader of the tokens of ``data``, the bytes of a JSON text. ``token`` is the current token, None
    before the first and after the last; ``liberties`` are the accepted deviations from the standard."""

    __slots__ = ("_contexts", "_incomplete", "_pending", "start", "token")

    def __init__(self, data: bytes, liberties: Liberties) -> None:
        super().__init__(data, liberties)
        self._contexts = [_Context(None)]
        # The value behind the current name.
        self._pending: Token | None = None
        # Whether the current string has not been read yet.
        self._incomplete = False
        self.token: Token | None = None
        #: The position where the current value began.
        self.start = 0

    # ---- walking

    def advance(self) -> Token | None:
        """Go to the next token and return it; None at the end of the text. Raises JsonSyntaxError if the text
        is not JSON there."""
        if self.token is _NAME:
            pending, self._pending = self._pending, None
            if pending is _START_OBJECT or pending is _START_ARRAY:
                self._open(pending)
            self.token = pending
            return pending
        if self._incomplete:
            self._incomplete = False
            self._read_string(34, keep=False)
        byte = self._next_or_end()
        if byte < 0:
            if self._contexts[-1].kind is not None:
                raise JsonSyntaxError("the text ends too early")
            self.token = None
            return None
        if byte == 93:
            return self._close(_START_ARRAY, _END_ARRAY)
        if byte == 125:
            return self._close(_START_OBJECT, _END_OBJECT)
        context = self._contexts[-1]
        context.entries += 1
        if context.entries > 1 and context.kind is not None:
            if byte != 44:
                raise JsonSyntaxError("no comma")
            byte = self._next()
        if context.kind is not _START_OBJECT:
            self.start = self.place - 1
            token = self._value(byte)
            if token is _START_OBJECT or token is _START_ARRAY:
                self._open(token)
            self.token = token
            return token
        self._read_name(byte, context)
        return _NAME

    def _read_name(self, byte: int, context: _Context) -> None:
        """Read a name that begins with ``byte``, its colon and the beginning of its value. The name becomes
        the current token. Raises JsonSyntaxError if the text has no name, colon or value there."""
        self.start = self.place - 1
        context.name = self._name(byte)
        self.token = _NAME
        byte = self._next()
        if byte != 58:
            raise JsonSyntaxError("no colon")
        byte = self._next()
        self.start = self.place - 1
        self._pending = self._value(byte)

    def _open(self, kind: Token) -> None:
        self._contexts.append(_Context(kind))
        if len(self._contexts) > MAX_DEPTH + 1:
            raise JsonSyntaxError("nested too deep")

    def _close(self, kind: Token, token: Token) -> Token:
        self.start = self.place - 1
        if self._contexts[-1].kind is not kind:
            raise JsonSyntaxError("the end of something else")
        self._contexts.pop()
        self.token = token
        return token

    def skip_children(self) -> None:
        """If the current token begins an object or an array, go to the token that ends the same object or
        array; else do nothing. Raises JsonSyntaxError if the text is not JSON."""
        if self.token is not _START_OBJECT and self.token is not _START_ARRAY:
            return
        depth = len(self._contexts) - 1
        while len(self._contexts) > depth:
            self.advance()

    # ---- the current token

    @property
    def name(self) -> str | None:
        """The name of the object's member to which the current token belongs; None in an array."""
        if self.token is _START_OBJECT or self.token is _START_ARRAY:
            return self._contexts[-2].name
        return self._contexts[-1].name

    def text(self) -> str:
        """Return the text of the current string, or of the current number as written; lone surrogates are not
        replaced. Raises JsonSyntaxError if the string, which may not have been read yet, is malformed."""
        if self._incomplete:
            self._incomplete = False
            self._text = self._read_string(34, keep=True)
        return self._text

    def number(self) -> float:
        """Return the current number as the nearest double; the integer -0 is 0.0."""
        if self.token is Token.INTEGER:
            return float(self._text) + 0.0
        special = SPECIAL.get(self._text)
        return float(self._text) if special is None else special

    def is_special(self) -> bool:
        """Return whether the current number is a word for NaN or an infinity."""
        return self._text in SPECIAL

    def since(self, start: int) -> bytes:
        """Return the bytes from position ``start`` up to the reader's ``place``."""
        return self._data[start : self.place]

    def base64(self) -> bytes:
        """Return the bytes that the current string encodes in base 64; padding is required, spaces are
        allowed between groups of four characters.

        Raises JsonSyntaxError if the string is malformed; the next :meth:`advance` then skips the rest of the
        string.
        """
        if not self._incomplete:
            return from_base64(self._text)
        out, group = bytearray(), 0
        digits = 0
        while True:
            code = self._take()
            if code == 34:
                if digits == 0:
                    self._incomplete = False
                    return bytes(out)
                self.place -= 1 if digits > 1 else 0
                raise JsonSyntaxError("base 64 without its padding")
            if code == 92:
                code = ord(self._escape())
            if code <= 32 and digits == 0:
                continue
            value = _BASE64.get(code)
            if value is not None:
                group = group << 6 | value
                digits += 1
            elif code == 61 and digits > 1:
                if digits == 2 and self._take() != 61:
                    raise JsonSyntaxError("no base 64")
                out += (group >> (4 if digits == 2 else 2)).to_bytes(digits - 1, "big")
                group = digits = 0
            else:
                raise JsonSyntaxError("no base 64")
            if digits == 4:
                out += group.to_bytes(3, "big")
                group = digits = 0

    # ---- values

    def _value(self, byte: int) -> Token:
        """Read the token that begins with ``byte``, which has been read, and return its kind. A string in
        double quotes is not read any further. Raises JsonSyntaxError if no value begins with the byte."""
        match byte:
            case 34:
                self._incomplete = True
                return _STRING
            case 123:
                return _START_OBJECT
            case 91:
                return _START_ARRAY
            case 116 | 102 | 110:
                word, token = _WORDS[byte]
                self._match(word, 1)
                return token
            case 39 if self._liberties.single_quotes:
                self._text = self._read_string(39, keep=True)
                return _STRING
            case 78:
                self._match(b"NaN", 1)
                self._special("NaN")
                return Token.FRACTION
            case 73:
                self._match(b"Infinity", 1)
                self._special("Infinity")
                return Token.FRACTION
            case 43:
                self._infinity(self._take(), "+")
                return Token.FRACTION
            case 45 | 48 | 49 | 50 | 51 | 52 | 53 | 54 | 55 | 56 | 57:
                is_integer = self._number()
                if self._contexts[-1].kind is None and not self.is_special():
                    self._check_behind_root()
                return Token.INTEGER if is_integer else Token.FRACTION
        raise self._no_value(byte)


_BASE64_DIGITS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_BASE64: Final = {digit: value for value, digit in enumerate(_BASE64_DIGITS)}
_BASE64_GROUP: Final = re.compile(r"[\x00-\x20]*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)")


def from_base64(text: str) -> bytes:
    """Return the bytes that the text encodes in base 64; padding is required, spaces are allowed between
    groups of four characters. Raises JsonSyntaxError for a malformed text."""
    out, place = bytearray(), 0
    while match := _BASE64_GROUP.match(text, place):
        out += base64.b64decode(match[1])
        place = match.end()
    if text[place:].strip("".join(map(chr, range(33)))):
        raise JsonSyntaxError("no base 64")
    return bytes(out)
