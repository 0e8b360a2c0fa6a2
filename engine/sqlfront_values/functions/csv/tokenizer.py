"""The grammar of CSV records of Spark's parser (univocity-parsers), one character at a time.

The tokenizer is slow, and follows Spark's parser in every special case: unescaped and unbalanced quotes,
escapes of escapes, separators of several characters, fields over several lines. It reads all files for which
:mod:`~sqlfront_connectors.files.csv.agreement` can't prove that Arrow's reader gives the same fields.

An *unescaped quote* is a quote inside a field that neither follows an escape nor precedes a separator.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from io import StringIO
from typing import Final

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.dialect import Dialect, QuoteHandling
from sqlfront_values.room import check

#: "No character": before the first one, and for a quote, escape or comment that is switched off.
NUL: Final = "\0"
_MARK: Final = "\ufeff"
#: Characters of a text at whose end Spark's parser looks for line ends again.
_TINY: Final = 4
#: Characters between two checks whether the query is to stop: some hundredths of a second.
_UNCHECKED: Final = 1 << 18
_BLANKS: Final = "".join(map(chr, range(33)))


#: Fields; None for a field that was skipped because of its invalid quotes.
Record = list[str | None]


class RecordError(Exception):
    """The error of a record that the parser refuses: too many columns, too many characters, a quote that must
    be escaped."""


class EndOfText(Exception):
    """An internal signal: the tokenizer needs another character, and the text has none left."""


@lru_cache(maxsize=256)
def any_of(characters: str) -> re.Pattern[str]:
    """Return a pattern that matches one character, any of ``characters``."""
    return re.compile(f"[{re.escape(characters)}]")


class Tokenizer:
    """A tokenizer of one file's texts into records; the separator of fields is one character. ``limited``:
    the ordinals of the columns to which the dialect's limit ``max_chars`` applies; None = all.

    >>> Tokenizer(Dialect()).line('1,"a, b",x"y')
    ['1', 'a, b', 'x"y']
    """

    def __init__(self, dialect: Dialect, limited: frozenset[int] | None = None) -> None:
        self._dialect = dialect
        self._limited = limited
        self._handling = dialect.handling
        self._sep, self._quote, self._escape = dialect.sep, dialect.quote, dialect.escape
        self._newline = dialect.newline
        self._stops_at_delimiter = dialect.handling in (
            QuoteHandling.STOP_AT_DELIMITER,
            QuoteHandling.BACK_TO_DELIMITER,
            QuoteHandling.SKIP_VALUE,
        )
        self._set_line_end(dialect.line_end or "\n")
        self._text, self._at, self._start = "", 0, 0
        self._started = self._marked = self._ended = False
        self._is_first, self._is_tiny = True, False
        self._row: Record = []
        self._collected, self._checked = StringIO(), 0
        self._skips = self._trims = False
        self._character = self._previous = NUL
        self._unescaped = False

    # ---- records

    def line(self, text: str) -> Record | None:
        """Return the fields of the record in one line; None if the line is empty or a comment. Raises
        RecordError for a record that Spark's parser refuses."""
        if not text:
            return None
        self._text, self._at, self._marked = text, 0, False
        if not self._started:
            self._drop_mark()
            self._started = True
        return self._next_record(comment_ends=True)

    def records(self, text: str) -> Iterator[Record]:
        """Yield all records of a text whose records may have several lines; comments and empty lines are left
        out. Raises RecordError for a record that Spark's parser refuses."""
        self._text, self._at = text, 0
        self._drop_mark()
        if not self._dialect.line_end:
            self._set_line_end(_detected(self._text))
            # Spark's parser looks for line ends again, and in vain, at the end of such a text.
            self._is_tiny = len(text) <= _TINY
        while not self._ended and (record := self._next_record(comment_ends=False)) is not None:
            yield record

    def consumed(self) -> str:
        """Return the characters of the text from which the last record was parsed, without the line end."""
        text = self._text[self._start : self._at]
        return text[:-2] if text.endswith("\r\n") else text[:-1] if text.endswith(("\n", "\r")) else text

    def _drop_mark(self) -> None:
        """Remove the byte-order mark at the text's beginning. A text that is only a mark becomes a NUL, as in
        Spark's parser."""
        self._marked = self._text.startswith(_MARK)
        if self._marked:
            self._text = self._text[1:] or NUL

    def _next_record(self, *, comment_ends: bool) -> Record | None:
        try:
            while True:
                self._start = self._at
                self._character = self._next()
                if self._dialect.comment and self._character == self._dialect.comment:
                    self._skip_line()
                    if comment_ends:
                        return None
                    continue
                self._parse_record()
                record = self._take_record()
                if record is not None:
                    return record
        except EndOfText:
            self._ended = True
            return self._last_record()

    def _take_record(self) -> Record | None:
        """Return the fields collected so far as a record, and begin a new record; None if no field was
        collected, as for an empty line."""
        record, self._row = self._row, []
        if record and self._is_first:
            self._is_first = False
            self._check_first(record)
        return record or None

    def _check_first(self, record: Record) -> None:
        """Raise an error for a first record on which Spark's parser fails. With ignoreTrailingWhiteSpace
        alone Spark's parser trims the first record as if it were the header, and fails if a field is only
        white space. Raises RecordError where Spark certainly fails, NotSupportedError where that is
        unknown."""
        trims = self._dialect.ignore_trailing and not self._dialect.ignore_leading
        if trims:
            blank = [field for field in record if field is not None and not field.strip(_BLANKS)]
            kinds = set(blank) | {""}
            # Two names that differ by white space alone are not trimmed.
            if len(kinds) == 2 and "" not in blank:
                raise RecordError("white space alone in the first record")
            if len(kinds) > 1 and len(blank) > 2:
                raise NotSupportedError("CSV: several fields of white space alone in a first record")

    def _last_record(self) -> Record | None:
        """Return the record that the end of the text completes, including its unfinished last field; None if
        no characters were left for a record."""
        inside = self._ends_inside()
        if self._row or inside:
            if self._collected.tell() or inside:
                self._end_field()
            elif self._at > self._start:
                self._push(self._dialect.null_value)
        elif self._collected.tell() or self._skips:
            self._end_field()
        elif self._at > self._start:
            self._push(self._dialect.null_value)
        return self._take_record()

    def _ends_inside(self) -> bool:
        """Return whether the text ended inside a field."""
        if self._character == self._quote:
            if self._previous == self._quote:
                return True
            if not self._unescaped:
                self._append(self._quote)
        outside = (self._delimiter, self._newline, self._dialect.comment or "#")
        inside = self._previous != NUL and self._character not in outside
        self._character = self._previous = NUL
        return inside

    def _skip_line(self) -> None:
        end = self._text.find(self._line_end, self._at)
        self._at = len(self._text) if end < 0 else end + len(self._line_end)

    # ---- characters

    @property
    def _delimiter(self) -> str:
        return self._sep

    def _set_line_end(self, line_end: str) -> None:
        self._line_end, self._end, self._second_end = line_end, line_end[0], line_end[1:]

    def _next(self) -> str:
        """Return the next character and advance; in place of a line end, return ``newline`` of the dialect.
        Raises EndOfText at the end of the text."""
        at = self._at
        if at >= len(self._text):
            raise EndOfText
        character = self._text[at]
        self._at = at + 1
        if self._is_tiny and self._at == len(self._text):
            self._set_line_end("\n")
        if character == self._end and self._text.startswith(self._second_end, at + 1):
            self._at += len(self._second_end)
            return self._newline
        return character

    def _skip_blanks(self) -> None:
        while self._character <= " " and self._character not in (self._sep, self._newline, self._quote):
            self._character = self._next()

    # ---- fields

    def _push(self, field: str | None) -> None:
        if len(self._row) >= self._dialect.max_columns:
            raise RecordError(f"more than {self._dialect.max_columns} columns")
        self._row.append(field)
        self._skips = False

    def _end_field(self, *, trims: bool = False) -> None:
        """Append the collected characters to the record as its next field: the dialect's ``empty_value`` if
        there are none, None if the field is skipped because of its quotes. ``trims``: remove white space at
        the field's end."""
        value, skipped = self._taken(), self._skips
        if self._trims or trims:
            value = value.rstrip(_BLANKS)
        self._push(None if skipped else value or self._dialect.empty_value)

    def _taken(self) -> str:
        """Return the collected characters, and clear them."""
        value, self._collected = self._collected.getvalue(), StringIO()
        return value

    def _append(self, text: str) -> None:
        if self._skips:
            return
        self._collected.write(text)
        if self._at > self._checked:
            self._checked = self._at + _UNCHECKED
            check()
        limit = self._dialect.max_chars
        if 0 <= limit < self._collected.tell() and (self._limited is None or len(self._row) in self._limited):
            raise RecordError(f"more than {limit} characters in a field")

    def _append_until(self, *stops: str) -> str:
        """Collect characters, from the current one up to the first that is one of ``stops``, and return this
        character without collecting it. Raises EndOfText if none follows."""
        character = self._character
        pattern = any_of("".join(stops) + self._end)
        while character not in stops:
            self._append(character)
            found = pattern.search(self._text, self._at)
            stop = found.start() if found else len(self._text)
            if stop > self._at:
                self._append(self._text[self._at : stop])
                self._at = stop
            character = self._next()
        return character

    def _parse_record(self) -> None:
        dialect = self._dialect
        if dialect.ignore_leading and self._character <= " ":
            self._skip_blanks()
        while self._character != self._newline:
            if dialect.ignore_leading and self._character <= " ":
                self._skip_blanks()
            if self._character in (self._sep, self._newline):
                self._push(dialect.null_value)
            else:
                self._unescaped, self._previous = False, NUL
                if self._character == self._quote:
                    if not self._collected.tell() and (field := self._plain_quoted()) is not None:
                        self._push(field or dialect.empty_value)
                        if not self._after_quoted():
                            return
                        continue
                    self._trims = False
                    self._parse_quoted()
                    if self._keeps_field():
                        self._end_field()
                else:
                    self._parse_unquoted()
            if self._character != self._newline:
                self._character = self._next()
                if self._character == self._newline:
                    self._push(dialect.null_value)

    def _keeps_field(self) -> bool:
        """Return whether the quoted field just parsed is to be added to the record. False only with
        BACK_TO_DELIMITER after an unescaped quote, if no characters of the field are left."""
        return (
            not self._unescaped
            or self._handling is not QuoteHandling.BACK_TO_DELIMITER
            or self._collected.tell() > 0
        )

    def _after_quoted(self) -> bool:
        """Advance from a quoted field's closing quote over the separator to the first character of the next
        field, or to the line end. If the text ends after the separator, or a line end follows the separator,
        an empty last field is added. Return False if the text has ended, else True."""
        try:
            self._character = self._next()
            if self._character != self._sep:
                return True
        except EndOfText:
            return False
        try:
            self._character = self._next()
        except EndOfText:
            self._push(self._dialect.null_value)
            return False
        if self._character == self._newline:
            self._push(self._dialect.null_value)
        return True

    def _plain_quoted(self) -> str | None:
        """Return the text of a quoted field up to the next quote, if that quote certainly ends the field and
        no escape, line end or excessive length needs further treatment. Otherwise return None and consume no
        characters; :meth:`_parse_quoted` must then parse the field."""
        text, at = self._text, self._at
        pattern = any_of(self._quote + self._escape + self._end)
        while (found := pattern.search(text, at)) is not None:
            place, after = found.start(), found.end()
            if text[place] == self._quote:
                closed = text[place - 1] != self._escape and text[after : after + 1] in (
                    self._sep,
                    self._newline,
                )
                if not closed or 0 <= self._limit < place - self._at:
                    return None
                field, self._at = text[self._at : place], after
                return field
            if text[place] == self._escape:
                if text[after : after + 1] in (self._quote, self._dialect.escape_escape):
                    return None
            elif text.startswith(self._second_end, after):
                return None
            at = after
        return None

    @property
    def _limit(self) -> int:
        return self._dialect.max_chars

    def _parse_unquoted(self) -> None:
        """Parse a field that doesn't begin with a quote."""
        if not self._collected.tell() and (field := self._plain_unquoted()) is not None:
            self._push(field)
            self._character = self._next()
            return
        self._trims = self._dialect.ignore_trailing
        self._character = self._append_until(self._sep, self._newline)
        self._end_field()

    def _plain_unquoted(self) -> str | None:
        """Return an unquoted field up to the next separator or line end. Return None, without consuming
        characters, if the text ends before, or the field is too long; :meth:`_parse_unquoted` then collects
        the field's characters. Raises RecordError for white space before the first separator, which Spark's
        parser refuses."""
        text, start = self._text, self._at - 1
        at = start
        pattern = any_of(self._sep + self._end)
        while (found := pattern.search(text, at)) is not None:
            place = found.start()
            at = place + 1
            if text[place] == self._sep or (at < len(text) and text.startswith(self._second_end, at)):
                break
        if found is None or self._at == len(text) or 0 <= self._limit < place - start:
            return None
        end = place
        if self._dialect.ignore_trailing:
            while end and text[end - 1] <= " ":
                end -= 1
                if end == 0 and not self._marked:
                    raise RecordError("white space before the first separator")
        self._at = place
        return text[start:end] if end > start else self._dialect.null_value

    # ---- quoted fields

    def _parse_quoted(self) -> None:
        """Parse a field that begins with a quote, up to the separator or newline after the field."""
        if self._previous != NUL and self._stops_at_delimiter:
            if self._handling is QuoteHandling.SKIP_VALUE:
                self._skip_field()
                return
            self._prepend_quote()
            self._character = self._next()
            self._trims = self._dialect.ignore_trailing
            self._character = self._append_until(self._delimiter, self._newline)
            return
        self._character = self._next()
        while True:
            character = self._character
            if self._previous == self._quote and (
                character <= " " or character in (self._delimiter, self._newline)
            ):
                break
            if character not in (self._quote, self._escape):
                if self._previous == self._quote:
                    self._handle_unescaped_in_quotes()
                    return
                self._collect_in_quotes()
            else:
                self._process_escape()
                self._previous = self._character
                self._character = self._next()
                if self._unescaped and self._character in (self._delimiter, self._newline):
                    return
        self._parse_after_quote()

    def _collect_in_quotes(self) -> None:
        if self._previous == self._escape != NUL:
            self._append(self._escape)
        self._character = self._append_until(self._quote, self._escape, self._dialect.escape_escape)
        self._previous = self._character
        self._character = self._next()

    def _prepend_quote(self) -> None:
        value = self._taken()
        self._collected.write(self._quote)
        self._append(value)

    def _parse_after_quote(self) -> None:
        """Skip the white space after a closing quote. If a character other than a separator or line end
        follows, continue the field; raise RecordError if the option unescapedQuoteHandling is RAISE_ERROR."""
        if self._character in (self._delimiter, self._newline) or self._character > " ":
            return
        blanks = ""
        while self._character <= " " and self._character != self._delimiter:
            blanks += self._character
            self._character = self._next()
            if self._character == self._newline:
                return
        if self._character != self._delimiter and self._handling is not QuoteHandling.RAISE_ERROR:
            self._append(self._quote + blanks)
            if self._stops_at_delimiter or self._character not in (self._quote, self._escape):
                self._append(self._character)
            self._previous = self._character
            self._parse_quoted()
        if self._character not in (self._delimiter, self._newline):
            raise RecordError("text after a quoted field")

    def _process_escape(self) -> None:
        """Decide what the current character, a quote or the escape, means after the previous character, and
        collect what it stands for."""
        character, previous, beyond = self._character, self._previous, self._dialect.escape_escape
        if character == self._escape and previous == beyond != NUL:
            self._append(self._escape)
            self._character = NUL
        elif previous == self._escape:
            if character == self._quote:
                self._append(self._quote)
                self._character = NUL
            else:
                self._append(previous)
        elif character == self._quote and previous == self._quote:
            self._append(self._quote)
        elif previous == self._quote:
            self._handle_unescaped_in_value()

    def _handle_unescaped_in_value(self) -> None:
        """Handle an escape after a quote that seemed to close the field: depending on unescapedQuoteHandling,
        skip the field, raise RecordError, or parse on with quotes as characters of the field."""
        if self._handling is QuoteHandling.SKIP_VALUE:
            self._skip_field()
        elif self._handling is QuoteHandling.RAISE_ERROR:
            raise RecordError("an unescaped quote")
        else:
            self._append(self._quote)
            self._previous = self._character
            self._parse_value_with_escapes()

    def _parse_value_with_escapes(self) -> None:
        while self._character not in (self._delimiter, self._newline):
            if self._character in (self._quote, self._escape):
                self._process_escape()
            elif self._previous == self._quote:
                self._handle_unescaped_in_value()
                return
            else:
                self._append(self._character)
            self._previous = self._character
            self._character = self._next()

    def _skip_field(self) -> None:
        self._collected, self._skips = StringIO(), True
        self._character = self._append_until(self._delimiter, self._newline)

    def _handle_unescaped_in_quotes(self) -> None:
        """Handle a quote inside a quoted field that no separator follows, by the option
        unescapedQuoteHandling. Raises RecordError if the option is RAISE_ERROR."""
        self._unescaped = True
        match self._handling:
            case QuoteHandling.BACK_TO_DELIMITER:
                self._split_collected()
                self._append(self._character)
                self._previous = NUL
                self._parse_quoted()
            case QuoteHandling.STOP_AT_CLOSING_QUOTE | QuoteHandling.STOP_AT_DELIMITER:
                self._append(self._quote + self._character)
                self._previous = self._character
                self._parse_quoted()
            case QuoteHandling.SKIP_VALUE:
                self._skip_field()
            case QuoteHandling.RAISE_ERROR:
                raise RecordError("an unescaped quote")

    def _split_collected(self) -> None:
        """Divide the collected characters at separators: each part before a separator becomes a field of the
        record, the last part stays collected. Raises NotSupportedError for a line end among the characters,
        and if only some columns are limited in length."""
        value, start = self._taken(), 0
        for found in any_of(self._delimiter + self._newline).finditer(value):
            if self._limited is not None:
                raise NotSupportedError("unescapedQuoteHandling BACK_TO_DELIMITER with some of the columns")
            self._push(value[start : found.start()])
            if found[0] == self._newline:
                raise NotSupportedError("unescapedQuoteHandling BACK_TO_DELIMITER beyond a line's end")
            start = found.end()
        self._collected.write(value[start:])


def _detected(text: str) -> str:
    """Return the first line end of a text, a line feed if the text has none; a carriage return alone counts
    as a line end."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"
