"""The characters of a JSON text, read from UTF-8 bytes as Jackson reads them: spaces, names, strings,
numbers.

An error leaves the scanner's ``place`` behind the same byte as in Jackson, since the caller may go on
reading.
"""

import re
from typing import Final

import msgspec

#: Bounds of Jackson's ``StreamReadConstraints``: nested values, digits of a number, characters of a text,
#: bytes of a name.
MAX_DEPTH: Final = 1000
MAX_DIGITS: Final = 1000
MAX_TEXT: Final = 20_000_000
MAX_NAME: Final = 50_000


class Liberties(msgspec.Struct, frozen=True):
    """Deviations from the JSON standard that a reader accepts in a text; the defaults are Spark's.

    ``single_quotes``: also around strings and names. ``words_for_numbers``: ``NaN``, ``Infinity``,
    ``+Infinity``, ``-Infinity``, ``+INF``, ``-INF``. ``any_escape``: a backslash before any character.
    ``control_characters``: unescaped ones inside of strings."""

    comments: bool = False
    unquoted_names: bool = False
    single_quotes: bool = True
    leading_zeros: bool = False
    words_for_numbers: bool = True
    """NaN, Infinity, -Infinity, +Infinity, -INF, +INF."""
    any_escape: bool = False
    control_characters: bool = False


class JsonSyntaxError(ValueError):
    """An error for a text that is not JSON. The position at which the error was noticed is the ``place`` of
    the scanner that has raised the error."""


class MissingDigitError(JsonSyntaxError):
    """An error for a number without a digit behind its point or in its exponent."""


class JsonEncodingError(JsonSyntaxError):
    """An error for bytes that are not UTF-8, even by Jackson's rules, which allow overlong forms and
    surrogates."""


_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
#: Bytes that, directly behind an apparent number, make it another number or a broken one.
_GOES_ON: Final = frozenset(b"0123456789.eE")
_PLAIN: Final = {34: re.compile(rb'[^"\\\x00-\x1f]*'), 39: re.compile(rb"[^'\\\x00-\x1f]*")}
#: Bytes that Jackson accepts in names without quotes, read as characters of Latin 1.
_UNQUOTED: Final = re.compile(
    rb"[A-Za-z0-9_$@#*+\-\x7f-\x9f\xa2-\xa5\xaa\xad\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff]+"
)
#: Characters besides letters that may begin a Java identifier, in Latin 1.
_WORD_STARTS: Final = frozenset(b"_$\xa2\xa3\xa4\xa5")
#: Characters of an unknown word that are read before the error, as in Jackson (``ErrorReportConfiguration``).
LONGEST_WORD: Final = 256
_DIGITS: Final = frozenset(b"0123456789")
_ESCAPES: Final = {
    **{ord(letter): letter for letter in '"\\/'},
    **dict(zip(b"bfnrt", "\b\f\n\r\t", strict=True)),
}
#: Words for numbers.
SPECIAL: Final = {
    "NaN": float("nan"),
    "Infinity": float("inf"),
    "+Infinity": float("inf"),
    "+INF": float("inf"),
    "-Infinity": float("-inf"),
    "-INF": float("-inf"),
}


class JsonScanner:
    """A reader of the parts of a JSON text, given as the bytes ``data``; ``place`` is the position in
    ``data`` of the next byte to read. ``liberties`` are the accepted deviations from the JSON standard.
    Methods that read a number, or a word such as NaN for a number, store its text in ``_text``."""

    __slots__ = ("_data", "_end", "_liberties", "_text", "place")

    def __init__(self, data: bytes, liberties: Liberties) -> None:
        self._data = data
        self._end = len(data)
        self._liberties = liberties
        self._text = ""
        self.place = 0

    # ---- space

    def _take(self) -> int:
        if self.place >= self._end:
            raise JsonSyntaxError("the text ends too early")
        byte = self._data[self.place]
        self.place += 1
        return byte

    def _next_or_end(self) -> int:
        """Read and return the next byte outside of spaces and comments; -1 at the end of the text. Raises
        JsonSyntaxError for a control character, and for a comment if comments are not allowed."""
        while True:
            match = _SPACE.match(self._data, self.place)
            assert match is not None
            place = match.end()
            if place >= self._end:
                self.place = place
                return -1
            self.place = place + 1
            byte = self._data[place]
            if byte == 47:
                self._skip_comment()
            elif byte < 32:
                raise JsonSyntaxError("a control character")
            else:
                return byte

    def _next(self) -> int:
        """Read and return the next byte outside of spaces and comments. Raises JsonSyntaxError at the end of
        the text, for a control character, and for a comment if comments are not allowed."""
        byte = self._next_or_end()
        if byte < 0:
            raise JsonSyntaxError("the text ends too early")
        return byte

    def _skip_comment(self) -> None:
        if not self._liberties.comments:
            raise JsonSyntaxError("a comment")
        kind = self._take()
        if kind == 47:
            while self.place < self._end:
                byte = self._take()
                if byte in (10, 13):
                    return
                self._check_in_comment(byte)
        elif kind == 42:
            while True:
                byte = self._take()
                if byte == 42 and self.place < self._end and self._data[self.place] == 47:
                    self.place += 1
                    return
                if byte not in (10, 13):
                    self._check_in_comment(byte)
        else:
            raise JsonSyntaxError("no comment")

    def _check_in_comment(self, byte: int) -> None:
        if byte >= 128:
            self._character(byte)
        elif byte < 32 and byte != 9:
            raise JsonSyntaxError("a control character")

    # ---- words

    def _special(self, text: str) -> None:
        """Store ``text``, a word for a number such as NaN that has been read, in ``_text``. Raises
        JsonSyntaxError if such words are not allowed."""
        if not self._liberties.words_for_numbers:
            raise JsonSyntaxError(f"{text} is no number")
        self._text = text

    def _match(self, word: bytes, place: int) -> None:
        """Read the rest of ``word``, of which ``place`` bytes have been read. Raises JsonSyntaxError if the
        text has another word there."""
        data = self._data
        for index in range(place, len(word)):
            if self.place >= self._end or data[self.place] != word[index]:
                self._skip_word(index)
                raise JsonSyntaxError(f"no {word.decode()}")
            self.place += 1
        if self.place < self._end and data[self.place] >= 48 and data[self.place] not in b"]}":
            self._check_end(word)

    def _check_end(self, word: bytes) -> None:
        """Raise JsonSyntaxError if the byte at ``place``, behind ``word``, continues the word."""
        byte = self._data[self.place]
        if byte >= 128:
            self.place += 1 if 0xC0 <= byte < 0xF8 else 0
            raise JsonSyntaxError(f"{word.decode()} goes on")
        if is_part(chr(byte)):
            self._skip_word(len(word))
            raise JsonSyntaxError(f"{word.decode()} goes on")

    def _no_value(self, byte: int) -> JsonSyntaxError:
        """Skip the word that begins with ``byte``, which has been read and begins no value, and return the
        error for it."""
        if chr(byte).isalpha() or byte in _WORD_STARTS:
            self._skip_word(1)
        return JsonSyntaxError("no value")

    def _skip_word(self, known: int) -> None:
        """Skip the rest of a word, up to and including the first character that can't be in a Java
        identifier; ``known`` characters have been read. Jackson quotes the word in its message, up to a
        longest length, and this method stops there, too."""
        for _ in range(LONGEST_WORD - known):
            if self.place >= self._end:
                return
            if not is_part(self._character(self._take())):
                return

    def _infinity(self, byte: int, sign: str) -> None:
        """Read the rest of ``Infinity`` or ``INF`` after a sign; ``byte``, the byte after the sign, has been
        read. Raises JsonSyntaxError for any other text."""
        if byte == 73:
            byte = self._take()
            rest = {78: "INF", 110: "Infinity"}.get(byte)
            if rest is not None:
                self._match((sign + rest).encode(), 3)
                self._special(sign + rest)
                return
        raise JsonSyntaxError("no number")

    # ---- numbers

    def _number(self) -> bool:
        """Read a number whose first byte has been read, and store its text in ``_text``. Return True for an
        integer, False for a number with a point or an exponent. Raises JsonSyntaxError for a malformed
        number."""
        start = self.place - 1
        match = _NUMBER.match(self._data, start)
        if match is None or (match.end() < self._end and self._data[match.end()] in _GOES_ON):
            return self._odd_number()
        self.place = match.end()
        self._keep_number(match[0])
        return match.start(1) < 0 and match.start(2) < 0

    def _keep_number(self, text: bytes) -> None:
        self._text = text.decode()
        if len(text) > MAX_DIGITS and sum(byte in _DIGITS for byte in text) > MAX_DIGITS:
            raise JsonSyntaxError("too many digits")

    def _check_behind_root(self) -> None:
        """Raise JsonSyntaxError unless a space or the end of the text follows a number that is the entire
        JSON text."""
        if self.place < self._end:
            byte = self._data[self.place]
            if byte != 13:
                self.place += 1
            if byte not in b" \t\r\n":
                raise JsonSyntaxError("a number that goes on")

    def _odd_number(self) -> bool:
        """Read byte by byte a number with leading zeros, or a malformed number, whose first byte has been
        read. Return True for an integer; raise JsonSyntaxError for a malformed number."""
        data, end = self._data, self._end
        start = self.place - 1
        text = bytearray()
        byte = data[start]
        if byte == 45:
            text.append(byte)
            byte = self._take()
            if byte not in _DIGITS:
                self._infinity(byte, "-")
                return False
        if byte == 48:
            byte = self._after_zero()
        text.append(byte)
        self._digits(text)
        is_integer = True
        if self.place < end and data[self.place] == 46:
            is_integer = False
            text.append(self._take())
            if not self._digits(text):
                self.place = min(self.place + 1, end)
                raise MissingDigitError("no digit behind the point")
        if self.place < end and data[self.place] in b"eE":
            is_integer = False
            text.append(self._take())
            byte = self._take()
            if byte in b"+-":
                text.append(byte)
                byte = self._take()
            if byte not in _DIGITS:
                raise MissingDigitError("no digit in the exponent")
            text.append(byte)
            self._digits(text)
        self._keep_number(bytes(text))
        return is_integer

    def _digits(self, text: bytearray) -> int:
        """Read digits and append them to ``text``; return their number."""
        before = self.place
        while self.place < self._end and self._data[self.place] in _DIGITS:
            text.append(self._data[self.place])
            self.place += 1
        return self.place - before

    def _after_zero(self) -> int:
        """Skip the leading zeros of a number, of which the first has been read. Return the next digit, or the
        zero itself if no digit follows. Raises JsonSyntaxError if leading zeros are not allowed."""
        if self.place >= self._end or self._data[self.place] not in _DIGITS:
            return 48
        if not self._liberties.leading_zeros:
            raise JsonSyntaxError("a leading zero")
        byte = self._take()
        while byte == 48:
            if self.place >= self._end or self._data[self.place] not in _DIGITS:
                return 48
            byte = self._take()
        return byte

    # ---- names and strings

    def _name(self, byte: int) -> str:
        if byte == 34 or (byte == 39 and self._liberties.single_quotes):
            return self._quoted_name(byte)
        if not self._liberties.unquoted_names:
            if byte >= 128:
                self._character(byte)
            raise JsonSyntaxError("a name without quotes")
        self.place -= 1
        match = _UNQUOTED.match(self._data, self.place)
        if match is None:
            self.place += 1
            raise JsonSyntaxError("no name")
        self.place = match.end()
        try:
            return match[0].decode()
        except UnicodeDecodeError:
            raise JsonSyntaxError("a name that is no UTF-8") from None

    def _quoted_name(self, quote: int) -> str:
        """Read a name up to and including the closing ``quote``, and return the name. For bytes that aren't
        UTF-8, raise JsonEncodingError only after the closing quote has been read."""
        before = self.place
        try:
            name = self._read_string(quote, keep=True)
        except JsonEncodingError:
            self.place = before
            plain = _PLAIN[quote]
            while True:
                match = plain.match(self._data, self.place)
                assert match is not None
                self.place = match.end()
                byte = self._take()
                if byte == quote:
                    raise
                if byte == 92:
                    self._escape()
                elif not self._liberties.control_characters:
                    raise JsonSyntaxError("a control character in a name") from None
        if self.place - before - 1 > MAX_NAME:
            raise JsonSyntaxError("too long a name")
        return name

    def _read_string(self, quote: int, *, keep: bool) -> str:
        """Read a string up to and including the closing ``quote``, and return the text. Without ``keep``, the
        caller only skips the string: lone surrogates in UTF-8 and too long texts are then accepted."""
        plain = _PLAIN[quote]
        pieces: list[str] = []
        while True:
            match = plain.match(self._data, self.place)
            assert match is not None
            piece = match[0]
            place = match.end()
            if piece.isascii():
                pieces.append(piece.decode())
            else:
                try:
                    pieces.append(piece.decode())
                except UnicodeDecodeError:
                    pieces.append(self._odd_text(place, keep=keep))
            self.place = place
            byte = self._take()
            if byte == quote:
                break
            if byte == 92:
                pieces.append(self._escape())
            elif self._liberties.control_characters:
                pieces.append(chr(byte))
            else:
                raise JsonSyntaxError("a control character in a text")
        text = "".join(pieces)
        if keep and len(text) > MAX_TEXT:
            raise JsonSyntaxError("too long a text")
        return text if text.isascii() else _joined(text)

    def _odd_text(self, end: int, *, keep: bool) -> str:
        """Decode the bytes up to ``end``, which are not valid UTF-8, by Jackson's rules. Raises
        JsonEncodingError if they are not UTF-8 by these rules either, or, if ``keep``, for a lone
        surrogate."""
        characters = []
        while self.place < end:
            character = self._character(self._take())
            if keep and len(character) == 1 and "\ud800" <= character <= "\udfff":
                raise JsonEncodingError("half a surrogate pair")
            characters.append(character)
        return "".join(characters)

    def _character(self, byte: int) -> str:
        """Read and return the UTF-8 character whose first byte, ``byte``, has been read; overlong forms and
        surrogates are accepted. Raises JsonEncodingError for bytes that are not UTF-8 even so."""
        if byte < 128:
            return chr(byte)
        if 0xC0 <= byte < 0xE0:
            return chr((byte & 31) << 6 | self._continued())
        if 0xE0 <= byte < 0xF0:
            code = (byte & 15) << 12
            code |= self._continued() << 6
            return chr(code | self._continued())
        if 0xF0 <= byte < 0xF8:
            code = (byte & 7) << 18
            code |= self._continued() << 12
            code |= self._continued() << 6
            code = (code | self._continued()) - 0x10000
            return chr((0xD800 | code >> 10) & 0xFFFF) + chr(0xDC00 | code & 0x3FF)
        raise JsonEncodingError("no UTF-8")

    def _continued(self) -> int:
        byte = self._take()
        if byte & 0xC0 != 0x80:
            raise JsonEncodingError("no UTF-8")
        return byte & 0x3F

    def _escape(self) -> str:
        r"""Read the rest of an escape whose backslash has been read, and return its character; of ``\u``,
        which stands for one unit of UTF-16, possibly a surrogate. Raises JsonSyntaxError for an escape that
        is not allowed."""
        byte = self._take()
        known = _ESCAPES.get(byte)
        if known is not None:
            return known
        if byte != 117:
            character = self._character(byte)
            if self._liberties.any_escape or (byte == 39 and self._liberties.single_quotes):
                return character
            raise JsonSyntaxError("no escape")
        code = 0
        for _ in range(4):
            digit = self._take()
            value = _HEX.get(digit)
            if value is None:
                raise JsonSyntaxError("no code")
            code = code << 4 | value
        return chr(code)


_HEX: Final = {ord(digit): int(digit, 16) for digit in "0123456789abcdefABCDEF"}


def _joined(text: str) -> str:
    """Return the text with pairs of surrogates joined to their characters; lone surrogates stay."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def is_part(character: str) -> bool:
    """Return whether a character may be part of a Java identifier."""
    code = ord(character[0])
    if code < 128:
        return character.isalnum() or character in "_$" or code < 9 or 14 <= code < 28 or code == 127
    return character.isidentifier() or f"a{character}".isidentifier() or code < 160
