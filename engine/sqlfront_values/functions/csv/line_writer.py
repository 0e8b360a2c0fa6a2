"""The writer of CSV records: the line of a record from its fields' texts, without leading and trailing white
space, quoted where necessary."""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlfront_values.functions.csv.dialect import Dialect
from sqlfront_values.functions.csv.settings import CsvSettings

_WHITE: Final = "".join(map(chr, range(33)))
#: A field of the first column with this beginning is quoted, since it might be taken for a comment.
_COMMENT: Final = "#"


class LineWriter:
    """A formatter of records under the options of ``USING csv``."""

    def __init__(self, settings: CsvSettings, options: Mapping[str, str]) -> None:
        given = {key.lower(): value for key, value in options.items()}
        self._dialect: Dialect = settings.dialect
        dialect = settings.dialect
        self._special = (dialect.sep, dialect.quote, "\n", "\r")
        self._comment = dialect.comment or _COMMENT
        # By default reading keeps white space, and writing removes it.
        self._strips_left = given.get("ignoreleadingwhitespace", "true").lower() == "true"
        self._strips_right = given.get("ignoretrailingwhitespace", "true").lower() == "true"
        self._quotes_all = given.get("quoteall", "false").lower() == "true"
        self._null = self._instead(dialect.null_value)
        self._empty = self._instead(given.get("emptyvalue", '""'))

    def line(self, texts: Sequence[str | None]) -> str:
        """Return the line of one record, without its line end. ``texts``: the fields' texts, None = null."""
        return self._dialect.sep.join(
            [self._field(text, is_first=place == 0) for place, text in enumerate(texts)]
        )

    def _field(self, text: str | None, *, is_first: bool) -> str:
        if text is None:
            return self._null
        is_comment = is_first and text.startswith(self._comment)
        if self._strips_left:
            text = text.lstrip(_WHITE)
        # White space at the end counts for the quotes, though it isn't written.
        needs_quotes = is_comment or self._quotes_all or self._needs_quotes(text)
        if self._strips_right:
            text = text.rstrip(_WHITE)
        if not text:
            return self._empty
        return self._quoted(text) if needs_quotes else text

    def _instead(self, text: str) -> str:
        """Return the field that the file has for null or for an empty text. ``text``: the option nullValue or
        emptyValue; it is quoted if necessary, and unchanged if it is quoted already."""
        quote = self._dialect.quote
        has_quotes = len(text) > 1 and text[0] == quote == text[-1]
        if has_quotes or not (self._quotes_all or self._needs_quotes(text)):
            return text
        return self._quoted(text)

    def _needs_quotes(self, text: str) -> bool:
        return any(special in text for special in self._special)

    def _quoted(self, text: str) -> str:
        quote, escape, beyond = self._dialect.quote, self._dialect.escape, self._dialect.escape_escape
        if escape != quote and beyond != "\0":
            text = text.replace(escape, beyond + escape)
        return quote + text.replace(quote, escape + quote) + quote
