"""The special characters of a CSV file, and the limits of its records."""

from enum import Enum

import msgspec


class QuoteHandling(Enum):
    """The treatment of a field with an unescaped quote that doesn't end the field."""

    #: The field goes on until a quote is followed by a separator.
    STOP_AT_CLOSING_QUOTE = "STOP_AT_CLOSING_QUOTE"
    #: The field ends before the next separator, and includes the quotes.
    STOP_AT_DELIMITER = "STOP_AT_DELIMITER"
    #: The field ends before the next separator, and separators already taken for a part of the field count
    #: again.
    BACK_TO_DELIMITER = "BACK_TO_DELIMITER"
    #: The field is empty.
    SKIP_VALUE = "SKIP_VALUE"
    #: The file can't be read.
    RAISE_ERROR = "RAISE_ERROR"


class Dialect(msgspec.Struct, frozen=True):
    """The special characters and limits of a CSV file; most fields are options of Spark's CSV reader. A
    character that is switched off is NUL, as in Spark; ``comment`` is then empty.

    ``escape_escape``: charToEscapeQuoteEscaping. ``null_value``: the value of a field without characters.
    ``empty_value``: the value of a field that is only a pair of quotes. ``max_chars``: the longest field in
    characters, -1 = no limit. ``handling``: unescapedQuoteHandling. ``line_end``: the end of a line in a text
    of several lines, empty = the first line end in the text. ``newline``: the character by which the parser
    replaces each line end."""

    sep: str = ","
    quote: str = '"'
    escape: str = "\\"
    escape_escape: str = "\\"
    comment: str = ""
    ignore_leading: bool = False
    ignore_trailing: bool = False
    null_value: str = ""
    empty_value: str = ""
    max_columns: int = 20480
    max_chars: int = -1
    handling: QuoteHandling = QuoteHandling.STOP_AT_DELIMITER
    line_end: str = "\n"
    newline: str = "\n"
