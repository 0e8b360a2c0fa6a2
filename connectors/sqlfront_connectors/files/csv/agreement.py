"""A check of a file's bytes, much quicker than parsing, that proves that Arrow's reader and Spark's parser
give equal fields. The tokenizer reads files that fail the check."""

import re
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

from sqlfront_connectors.files.contents import counted
from sqlfront_connectors.files.csv.lines import UTF8_MARK
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.functions.csv.dialect import Dialect
from sqlfront_values.functions.csv.settings import CsvSettings
from sqlfront_values.room import Account
from sqlfront_values.types import STRING

_Places = np.ndarray[tuple[int, ...], np.dtype[np.integer]]

_NUL: Final = 0
_SPACE: Final = 32
_WHITE: Final = bytes(range(33))
_BLANK_START: Final = re.compile(rb"^[\x00-\x20]")
#: Bytes of memory for the place of a quote and the values computed from it: three numbers of eight bytes.
_PLACE: Final = 24
_LINE_ENDS: Final = b"\r\n"
#: The characters that Arrow's reader supports as a separator or a quote.
_PLAIN: Final = re.compile(r"[\t -~]")
#: Bytes of a record in Arrow's reader at most: Arrow's block, by which its memory grows.
_BLOCK: Final = 1 << 20


def arrow_columns(
    content: bytes, settings: CsvSettings, width: int, columns: list[int], memory: Account
) -> list[pa.RecordBatch] | None:
    """Return the texts of the columns at the positions ``columns``, out of the file's ``width`` columns, read
    by Arrow: one batch per block, without the header, null where a field is ``nullValue``. Return None unless
    the file's bytes and the settings prove that Arrow reads the file as Spark does; the caller then has to
    read the file by the tokenizer. During the call the memory for the check of quotes is charged to
    ``memory``."""
    content = content.removeprefix(UTF8_MARK)
    if not _is_plain(settings, width) or not _agrees(content, settings, width, memory):
        return None
    if settings.header:
        content = content[_header_end(content) :]
    if not content:
        return []
    if not content.endswith((b"\n", b"\r")):
        content += b"\n"  # Arrow's reader takes an empty field at the very end for a quoted one
    names = [str(column) for column in range(width)]
    dialect = settings.dialect
    keeps_empty = dialect.empty_value != dialect.null_value
    try:
        reader = arrow_csv.open_csv(
            pa.BufferReader(content),
            arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=_BLOCK),
            arrow_csv.ParseOptions(
                delimiter=dialect.sep,
                quote_char=dialect.quote if dialect.quote.encode() in content else False,
                newlines_in_values=settings.several_lines,
            ),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, STRING),
                include_columns=[names[column] for column in columns],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=not keeps_empty,
            ),
        )
        batches = [_settled(batch, dialect, keeps_empty=keeps_empty) for batch in reader]
    except pa.ArrowInvalid:
        return None
    quoted = dialect.quote.encode() in content and not settings.several_lines
    if quoted and b"\r" not in content and sum(len(one) for one in batches) != _line_count(content):
        return None
    return batches


def _line_count(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n"))


def row_count(content: bytes, settings: CsvSettings) -> int | None:
    """Return the number of records in the content, without the header, by counting line ends; None if only
    parsing each line tells the number."""
    content = content.removeprefix(UTF8_MARK)
    plain = settings.encoding == "utf-8" and settings.line_separator is None and not settings.dialect.comment
    if not plain or b"\r" in content or _BLANK_START.search(content[: _header_end(content)]):
        return None
    return _line_count(content) - _blank_lines(content) - settings.header if content else 0


def _blank_lines(content: bytes) -> int:
    """Return the number of blank lines after the first line, in content whose lines end with line feeds."""
    codes = np.frombuffer(content, np.uint8)
    starts = np.flatnonzero(codes[:-1] == _LINE_ENDS[1]) + 1
    odd = starts[codes[starts] <= _SPACE].tolist()
    return sum(
        1 for start in odd if not content[start : content.find(b"\n", start) + 1 or None].strip(_WHITE)
    )


def _settled(batch: pa.RecordBatch, dialect: Dialect, *, keeps_empty: bool) -> pa.RecordBatch:
    """Return Arrow's batch with null for texts equal to ``nullValue``, and, if ``keeps_empty``, with
    ``emptyValue`` for empty texts. ``keeps_empty``: Arrow has read empty quoted fields as empty texts and
    unquoted ones as null; otherwise it has read both as null."""
    columns = batch.columns
    if keeps_empty and dialect.empty_value:
        empty, instead = scalar("", STRING), scalar(dialect.empty_value, STRING)
        columns = [pc.if_else(pc.equal(column, empty), instead, column) for column in columns]
    if dialect.null_value:
        wanted, null = scalar(dialect.null_value, STRING), scalar(None, STRING)
        columns = [pc.if_else(pc.equal(column, wanted), null, column) for column in columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _is_plain(settings: CsvSettings, width: int) -> bool:
    """Return whether the options allow Arrow's reader for a file of ``width`` columns, whatever its
    content."""
    dialect = settings.dialect
    return (
        _PLAIN.fullmatch(dialect.sep) is not None
        and (_PLAIN.fullmatch(dialect.quote) is not None or dialect.quote == "\0")
        and dialect.quote != dialect.sep
        and settings.encoding == "utf-8"
        and settings.line_separator is None
        and not (dialect.ignore_leading or dialect.ignore_trailing)
        and dialect.max_chars == -1
        and 0 < width <= dialect.max_columns
    )


def _agrees(content: bytes, settings: CsvSettings, width: int, memory: Account) -> bool:
    dialect = settings.dialect
    if not content or _NUL in content or content.startswith((b"\n", b"\r", UTF8_MARK)):
        return False
    if dialect.comment:
        comment = dialect.comment.encode()
        if content.startswith(comment) or b"\n" + comment in content or b"\r" + comment in content:
            return False
    if settings.several_lines and b"\r" in content:
        return False
    first = content[: _header_end(content)]
    if not first.strip(_WHITE):
        return False
    # A line of separators alone is a blank line if the separators are white space.
    skips = not settings.several_lines and (width == 1 or dialect.sep <= " ")
    if skips and (b"\r" in content or _blank_lines(content)):
        return False
    quote = dialect.quote.encode()
    if dialect.quote == "\0" or quote not in content:
        return True
    # Arrow's reader doesn't see the header, so no quoted field may begin there and end below.
    if settings.header and first.count(quote) % 2:
        return False
    with counted(memory) as account:
        account.charge(content.count(quote) * _PLACE)
        return _has_plain_quotes(content, settings)


def _header_end(content: bytes) -> int:
    """Return the index of the first byte behind the first line, the length of the content if there is no line
    end."""
    found = re.search(rb"\r\n|\n|\r", content)
    return found.end() if found else len(content)


def _has_plain_quotes(content: bytes, settings: CsvSettings) -> bool:
    """Return whether each quote begins or ends a field or is a doubled quote, so that Arrow's reader and
    Spark's parser agree on the quoted fields. False in doubtful cases, such as escaped quotes."""
    dialect = settings.dialect
    codes = np.frombuffer(content, np.uint8)
    quotes = np.flatnonzero(codes == ord(dialect.quote))
    if len(quotes) % 2 or dialect.escape == "\0":
        return False
    opens, closes = quotes[::2], quotes[1::2]
    around = np.zeros(256, np.bool_)
    around[[ord(dialect.sep), *_LINE_ENDS]] = True
    doubled = np.zeros(len(opens), np.bool_)
    if dialect.escape == dialect.quote:
        if dialect.escape_escape != "\0":
            return False
        doubled[1:] = opens[1:] == closes[:-1] + 1
    elif _needs_escapes(content, codes, closes, dialect):
        return False
    begins = doubled | (opens == 0) | around[codes[np.maximum(opens - 1, 0)]]
    last = len(codes) - 1
    ends = (closes == last) | around[codes[np.minimum(closes + 1, last)]]
    ends[:-1] |= doubled[1:]
    if not (begins.all() and ends.all()):
        return False
    if settings.several_lines:
        return not settings.header or _header_end(content) <= opens[0] or _is_outside(content, opens, closes)
    if b"\r" not in content:
        return True  # the number of rows will tell
    line_ends = np.flatnonzero((codes == _LINE_ENDS[0]) | (codes == _LINE_ENDS[1]))
    return bool((np.searchsorted(line_ends, opens) == np.searchsorted(line_ends, closes)).all())


def _is_outside(content: bytes, opens: _Places, closes: _Places) -> bool:
    """Return whether the end of the first line lies outside of quoted fields. ``opens`` and ``closes``: the
    indices of the opening and of the closing quotes."""
    end = _header_end(content) - 1
    return int(np.searchsorted(opens, end)) == int(np.searchsorted(closes, end))


def _needs_escapes(content: bytes, codes: _Places, closes: _Places, dialect: Dialect) -> bool:
    """Return whether the content may have an escape character that takes effect, which Arrow's reader doesn't
    know: before a quote, or before another character that it escapes. ``codes``: the content's bytes;
    ``closes``: the indices of the closing quotes."""
    escape = dialect.escape.encode()
    if escape not in content and dialect.escape_escape.encode() not in content:
        return False
    if len(escape) > 1 or escape + dialect.escape_escape.encode() in content:
        return True
    return bool((codes[closes - 1] == ord(dialect.escape)).any()) or dialect.escape_escape != dialect.escape
