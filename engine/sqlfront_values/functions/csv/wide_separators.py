"""The CSV grammar with a separator of several characters. Quoted fields with an escape, quote, line end or
leading separator inside are not supported: Spark's parser treats them differently than with a separator of
one character."""

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.settings import CsvSettings
from sqlfront_values.functions.csv.tokenizer import NUL, Tokenizer


class WideTokenizer(Tokenizer):
    """A tokenizer of texts into records, by a separator of several characters.

    >>> from sqlfront_values.functions.csv.dialect import Dialect
    >>> WideTokenizer(Dialect(sep="||")).line('1||"a || b"||x|y')
    ['1', 'a || b', 'x|y']
    """

    _matched = 0

    def _ends_inside(self) -> bool:
        inside = super()._ends_inside() or self._matched > 0
        self._keep_matched()
        return inside

    def _keep_matched(self) -> None:
        """Collect the characters that began like a separator and turned out not to be one, if there are any,
        as a part of the field."""
        if 0 < self._matched < len(self._sep):
            self._append(self._sep[: self._matched])
        self._matched = 0

    def _match_separator(self) -> bool:
        """Advance as long as the characters match the separator; return True after a whole separator, False
        (with the matched characters collected as a part of the field) otherwise."""
        while self._character == self._sep[self._matched]:
            self._matched += 1
            if self._matched == len(self._sep):
                self._matched = 0
                return True
            self._character = self._next()
        self._keep_matched()
        return False

    def _parse_record(self) -> None:
        dialect = self._dialect
        while self._character != self._newline:
            if self._match_separator():
                self._push(dialect.null_value)
            elif self._character == self._quote and not self._collected.tell():
                self._parse_plain_quoted()
            else:
                self._previous = NUL
                self._collect_to_separator()
                self._end_field(trims=dialect.ignore_trailing)
            if self._character != self._newline:
                self._character = self._next()
                if self._character == self._newline:
                    self._push(dialect.null_value)

    def _collect_to_separator(self) -> None:
        while self._character != self._newline:
            if self._sep[self._matched] == self._character:
                self._matched += 1
                if self._matched == len(self._sep):
                    break
            elif self._matched:
                self._keep_matched()
                continue
            else:
                self._append(self._character)
            self._character = self._next()
        self._keep_matched()

    def _parse_plain_quoted(self) -> None:
        """Parse a quoted field and the separator or line end after it. Raises NotSupportedError for a field
        with an escape, quote, line end or leading separator inside."""
        text = self._text
        end = text.find(self._quote, self._at)
        field = text[self._at : end]
        odd = (self._escape, self._dialect.escape_escape, self._line_end)
        beyond = end + 1
        closed = beyond < len(text) and (text.startswith(self._sep, beyond) or text[beyond] == self._line_end)
        if (
            end < 0
            or not closed
            or self._is_tiny
            or self._escape == NUL
            or field.startswith(self._sep)
            or any(part in field for part in odd)
        ):
            raise NotSupportedError(f"CSV: sep {self._sep!r} with quotes inside quoted fields")
        self._append(field)
        self._at = beyond
        self._previous = self._quote
        self._end_field()
        self._character = self._next()
        if self._character != self._newline:
            self._match_separator()


def tokenizer_of(settings: CsvSettings, limited: frozenset[int] | None = None) -> Tokenizer:
    """Return a new tokenizer for one file, or for texts that follow each other. ``limited``: the ordinals of
    the columns to which the option maxCharsPerColumn applies, None = all. Raises NotSupportedError for
    ignoreLeadingWhiteSpace with a separator of several characters."""
    if len(settings.dialect.sep) == 1:
        return Tokenizer(settings.dialect, limited)
    if settings.dialect.ignore_leading:
        raise NotSupportedError("CSV: ignoreLeadingWhiteSpace with a sep of several characters")
    return WideTokenizer(settings.dialect, limited)
