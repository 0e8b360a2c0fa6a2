"""The records of a file: its lines, or with multiLine the whole file.

A line ends with a line feed, a carriage return or both, or with the separator of the option lineSep.
"""

import re
from typing import Final

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.json.typed.settings import JsonSettings

_BREAK: Final = re.compile(rb"\r\n|\n|\r")
#: The byte order mark of UTF-8.
MARK: Final = b"\xef\xbb\xbf"


def records_of(content: bytes, settings: JsonSettings) -> list[bytes]:
    """Return the records in the content, without the separators that end them; with multiLine the content is
    one record. The text after the last separator is a record, too, unless it is empty."""
    if settings.multi_line:
        return [content]
    if settings.separator is not None:
        records = content.split(settings.separator)
    elif b"\r" in content:
        records = _BREAK.split(content)
    else:
        records = content.split(b"\n")
    if not records[-1]:
        records.pop()
    return records


def as_utf8(record: bytes, settings: JsonSettings) -> tuple[bytes, bool]:
    """Return the record in UTF-8, without a byte order mark; and True if these are the file's own bytes,
    False if the record was decoded from another encoding.

    Without the option encoding, the first four bytes determine the encoding, as in Jackson. Raises
    UnicodeError if the record isn't in the encoding of the option, NotSupportedError where Spark would
    replace malformed bytes.
    """
    if settings.encoding is not None:
        return _decoded(record, settings.encoding, settings).encode("utf-8", "surrogatepass"), False
    encoding, mark = _detected(record)
    if encoding == "utf-8":
        return record[mark:], True
    try:
        return record[mark:].decode(encoding).encode("utf-8", "surrogatepass"), False
    except UnicodeDecodeError:
        raise NotSupportedError(f"JSON in broken {encoding.upper()}") from None


def _decoded(record: bytes, encoding: str, settings: JsonSettings) -> str:
    try:
        if encoding == "utf-32" and not record.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
            encoding = "utf-32-be"
        if encoding == "utf-16" and not record.startswith((b"\xff\xfe", b"\xfe\xff")):
            encoding = "utf-16-be"
        return record.decode(encoding)
    except UnicodeDecodeError:
        if settings.multi_line:
            raise NotSupportedError(f"JSON in broken {encoding.upper()}") from None
        raise


def _detected(record: bytes) -> tuple[str, int]:
    """Return the encoding of a record, determined from its first four bytes, and the length of its byte order
    mark, 0 = no mark. Raises NotSupportedError for a mixed byte order and for NUL bytes."""
    start = record[:4]
    if start.startswith(MARK) and len(start) == 4:
        return "utf-8", 3
    if len(start) == 4:
        if start == b"\x00\x00\xfe\xff":
            return "utf-32-be", 4
        if start == b"\xff\xfe\x00\x00":
            return "utf-32-le", 4
    if len(start) == 4 and start[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return "utf-16-be" if start[0] == 0xFE else "utf-16-le", 2
    if len(start) == 4 and start.count(0) == 3:
        places = {3: "utf-32-be", 0: "utf-32-le"}
        place = next((index for index, byte in enumerate(start) if byte), 0)
        if place not in places:
            raise NotSupportedError("JSON in UTF-32 of an odd byte order")
        return places[place], 0
    if len(start) >= 2 and 0 in start[:2] and start[:2] != b"\x00\x00":
        return "utf-16-be" if start[0] == 0 else "utf-16-le", 0
    if b"\x00" in start[:2]:
        raise NotSupportedError("JSON that begins with NUL bytes")
    return "utf-8", 0
