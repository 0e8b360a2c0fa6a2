"""The decoding of a CSV file's bytes as in Java, and their division into lines as in Hadoop."""

import re
from collections.abc import Iterator
from typing import Final

from sqlfront_connectors.files.contents import pieces
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.settings import CsvSettings

UTF8_MARK: Final = b"\xef\xbb\xbf"
_UTF16_MARKS: Final = (b"\xfe\xff", b"\xff\xfe")
#: A sequence that Java replaces by one character, and Python by three.
_ENCODED_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf]")
_WHITE: Final = "".join(map(chr, range(33)))


def decode(content: bytes, encoding: str) -> str:
    """Decode the bytes as Java's decoders do. Raises NotSupportedError where Java's replacement of malformed
    bytes differs from Python's."""
    if encoding == "utf-16":
        encoding = "utf-16" if content.startswith(_UTF16_MARKS) else "utf-16-be"
    elif encoding == "utf-32":
        encoding = "utf-32-be"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        replaces = encoding == "us-ascii" or (encoding == "utf-8" and not _ENCODED_SURROGATE.search(content))
        if not replaces:
            raise NotSupportedError(f"CSV: bytes that are not {encoding}") from None
        return content.decode(encoding, "replace")


def lines_of(content: bytes, settings: CsvSettings) -> Iterator[str]:
    """Yield the lines of a file, decoded, without their ends; blank lines and comments are included. Raises
    NotSupportedError for a line feed inside a line with another ``lineSep``."""
    content = content.removeprefix(UTF8_MARK)
    if settings.line_separator is None:
        for piece in pieces(content):
            for plain in piece.splitlines():
                yield decode(plain, settings.encoding)
        return
    separator = _encoded(settings.line_separator, settings.encoding)
    for piece in pieces(content, separator):
        lines = piece.split(separator)
        if not lines[-1]:
            lines.pop()
        for plain in lines:
            line = decode(plain, settings.encoding)
            if settings.line_separator != "\n" and "\n" in line:
                raise NotSupportedError("CSV: line feeds inside lines that end with another lineSep")
            yield line


def _encoded(text: str, encoding: str) -> bytes:
    """Encode the text as Java's encoders do: UTF-16 begins with a byte-order mark and is big-endian."""
    if encoding == "utf-16":
        return b"\xfe\xff" + text.encode("utf-16-be")
    return text.encode("utf-32-be" if encoding == "utf-32" else encoding)


def is_blank(line: str) -> bool:
    """Return whether the line holds control characters and spaces alone."""
    return not line.strip(_WHITE)


def data_lines(lines: Iterator[str], settings: CsvSettings) -> Iterator[str]:
    """Return an iterator over the lines that hold records, without blank lines and comments."""
    comment = settings.dialect.comment
    return (line for line in lines if not (comment and line.startswith(comment)) and not is_blank(line))


def header_line(lines: Iterator[str], settings: CsvSettings) -> str | None:
    """Return the header, the first line that is neither blank nor a comment, and consume the iterator up to
    this line; None if there is no such line."""
    comment = settings.dialect.comment
    for line in lines:
        if not is_blank(line) and not (comment and line.startswith(comment)):
            return line
    return None
