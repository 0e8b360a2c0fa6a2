"""The meaning of the characters of a CSV file."""

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
    """The special characters and limits of a CSV file. A character that is switched off is NUL, as in Spark.
    ``line_end`` ends a line, in texts of several lines only; empty = the first line end of the text. The
    parser replaces a line end by ``newline``. ``null_value`` is the value of a field without characters,
    ``empty_value`` of a field of quotes alone."""

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
