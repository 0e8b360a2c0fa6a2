"""The tokens of a JSON text that Jackson reads as characters, not as the bytes of a file."""

import re
from typing import Final

from sqlfront_values.functions.json.scanner import (
    LONGEST_WORD,
    JsonSyntaxError,
    MissingDigitError,
    is_part,
)
from sqlfront_values.functions.json.tokens import JsonTokens, Token

#: Characters besides those of Java identifiers that Jackson accepts in names without quotes.
_IN_NAMES: Final = frozenset("@#*-+")
#: The beginning of a number, up to its point or exponent.
_WHOLE_PART: Final = re.compile(rb"-?[1-9][0-9]*[.eE]")


class TextTokens(JsonTokens):
    """A reader of the tokens of a text in UTF-8, as Jackson's ``ReaderBasedJsonParser`` finds the tokens.
    After an error, it stands behind another character than the reader of bytes would."""

    __slots__ = ()

    def advance(self) -> Token | None:
        """Go to the next token, as :meth:`JsonTokens.advance`."""
        try:
            return super().advance()
        except JsonSyntaxError:
            self._end_character()
            raise

    def text(self) -> str:
        """Return the text of the current token, as :meth:`JsonTokens.text`."""
        try:
            return super().text()
        except JsonSyntaxError:
            self._end_character()
            raise

    def _end_character(self) -> None:
        """Go behind the character of which the first byte has been read."""
        while self.place < self._end and self._data[self.place] & 0xC0 == 0x80:
            self.place += 1

    def _name(self, byte: int) -> str:
        is_quoted = byte == 34 or (byte == 39 and self._liberties.single_quotes)
        if is_quoted or not self._liberties.unquoted_names:
            return super()._name(byte)
        self.place -= 1
        name = ""
        while self.place < self._end:
            before = self.place
            character = self._character(self._take())
            if not (character in _IN_NAMES or is_part(character)):
                self.place = before
                break
            name += character
        if not name:
            self.place += 1
            raise JsonSyntaxError("no name")
        return name

    def _odd_number(self) -> bool:
        start = self.place - 1
        try:
            return super()._odd_number()
        except MissingDigitError:
            whole = _WHOLE_PART.match(self._data, start)
            if whole is not None:
                self.place = whole.end()
            raise

    def _check_end(self, word: bytes) -> None:
        before = self.place
        goes_on = is_part(self._character(self._take()))
        self.place = before
        if goes_on:
            self._skip_word(len(word))
            raise JsonSyntaxError(f"{word.decode()} goes on")

    def _no_value(self, byte: int) -> JsonSyntaxError:
        character = self._character(byte)
        if is_part(character) and (character.isidentifier() or not character.isalnum()):
            self._skip_word(1)
        return JsonSyntaxError("no value")

    def _skip_word(self, known: int) -> None:
        for _ in range(LONGEST_WORD - known):
            if self.place >= self._end:
                return
            before = self.place
            if not is_part(self._character(self._take())):
                self.place = before
                return
