"""What the characters of a CSV file mean."""

from enum import Enum

import msgspec


class QuoteHandling(Enum):
    """What becomes of a field with a quote that neither escapes nor ends anything."""

    #: The field goes on until a quote is followed by a separator.
    STOP_AT_CLOSING_QUOTE = "STOP_AT_CLOSING_QUOTE"
    #: The field is what stands before the next separator, quotes included.
    STOP_AT_DELIMITER = "STOP_AT_DELIMITER"
    #: The same, and separators that were taken for a part of the field count again.
    BACK_TO_DELIMITER = "BACK_TO_DELIMITER"
    #: The field is empty.
    SKIP_VALUE = "SKIP_VALUE"
    #: The file can't be read.
    RAISE_ERROR = "RAISE_ERROR"


class Dialect(msgspec.Struct, frozen=True):
    """Characters that are switched off are NUL, as in Spark. ``line_end`` ends a line, in texts of several
    lines only; empty = the one that the text has first. ``newline`` stands for it afterwards.
    ``null_value`` is what stands for a field without characters, ``empty_value`` for one of quotes alone."""

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
