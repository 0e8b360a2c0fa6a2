"""Arrow's JSON reader, used where the bytes prove that its rules and Spark's agree.

Arrow refuses JSON that is not standard, a value whose type differs from its column's, and a field that occurs
twice. A refused piece is cut into ever smaller parts, and the caller reads the parts
that Arrow still refuses. Where Arrow accepts more than Spark, or reads a text as another value, the bytes are
checked first: each line must hold one object, and the text must be UTF-8, without the values ``NaN``,
``Infinity`` and ``-0``, and within Jackson's limits.
"""

import re
from decimal import Decimal
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.json as arrow_json

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.casts import compile_cast
from sqlfront_values.functions.json.scanner import MAX_DEPTH, MAX_DIGITS, MAX_NAME, MAX_TEXT
from sqlfront_values.functions.json.typed.inference import Items, Kind, ObjectFields, in_java_order
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.settings import Settings
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    VOID,
    is_decimal,
    is_fractional,
    physical,
)

#: Bytes below which a piece that Arrow refuses is read line by line; a larger piece is halved, so that only
#: the lines near the refused one are read slowly.
SMALL: Final = 256 << 10
_READ_AS_THEY_ARE: Final = frozenset((BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING))
_CAST: Final = frozenset((DATE, TIMESTAMP, TIMESTAMP_NTZ))
_WORD: Final = re.compile(rb"[:\[,\s]-?(?:NaN|Inf)")
#: Bytes before and behind the number ``-0``, and of its two.
_BEFORE: Final = np.frombuffer(b":[, \t\r\n\v\f", np.uint8)
_BEHIND: Final = np.frombuffer(b",}] \t\r\n\v\f", np.uint8)
_MINUS, _ZERO = b"-0"
_LINE_FEED: Final = 10
#: Bytes of texts that are certainly joined within Arrow's offsets.
_MOST_JOINED: Final = 1 << 30
#: Lines by which the types of values are guessed.
_SAMPLE: Final = 64
#: One of the three parts of a number with too many digits.
_LONG_PART: Final = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS // 3))
_PLAIN_CLOCK: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?$"
#: A column of nulls, which has the number of rows when no column is wanted.
_ROWS: Final = "\0"


def halves(piece: bytes, smallest: int | None = None) -> tuple[bytes, bytes] | None:
    """Cut ``piece``, bytes of a file, into two at a line end near its middle. Return None if the piece is one
    line, or has fewer than ``smallest`` bytes (None = :data:`SMALL`)."""
    if len(piece) < (SMALL if smallest is None else smallest):
        return None
    middle = piece.find(b"\n", len(piece) // 2) + 1
    if middle in (0, len(piece)):
        middle = piece.rfind(b"\n", 0, len(piece) // 2) + 1
    return None if middle == 0 else (piece[:middle], piece[middle:])


def is_plain(settings: JsonSettings) -> bool:
    """Return whether each record is a line in UTF-8 that ends with a line feed, perhaps after a carriage
    return, as far as the settings tell (the bytes aren't read): none of the options multiLine, encoding and
    lineSep is given."""
    return not settings.multi_line and settings.encoding is None and settings.separator is None


def one_object_a_line(piece: bytes) -> bytes | None:
    """Return ``piece``, bytes of a file, without blank lines and without spaces around its lines, for Arrow's
    JSON reader. Return None unless each line begins with ``{`` and ends with ``}``, and the text is UTF-8,
    without NaN and Infinity, and within Jackson's limits.

    No record of such a piece extends into the next line: within one JSON value, ``{`` never follows ``}``
    without a comma in between.
    """
    text = piece.strip(b" \t\r\n")
    breaks, returns = text.count(b"\n"), text.count(b"\r")
    if returns and not returns == breaks == text.count(b"}\r\n{"):
        return None
    if not returns and breaks != text.count(b"}\n{"):
        lines = [stripped for line in text.split(b"\n") if (stripped := line.strip(b" \t"))]
        text = b"\n".join(lines)
        if text.count(b"}\n{") != len(lines) - 1:
            return None
    if not (text.startswith(b"{") and text.endswith(b"}")):
        return None
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == _LINE_FEED)
    longest = int(np.diff(ends, prepend=-1, append=len(text)).max(initial=0))
    return text if _is_moderate(text, longest) else None


def as_lines(texts: pa.Array) -> bytes | None:
    """Return the texts, of which none is null, as a line each, like :func:`one_object_a_line`. Return None
    unless each text is one line that has one object, as far as that function tells."""
    if texts.nbytes > _MOST_JOINED:
        return None
    ends = from_values([0, len(texts)], INT)
    text: bytes = pc.binary_join(pa.ListArray.from_arrays(ends, texts), "\n")[0].as_buffer().to_pybytes()
    if _line_feeds(text) != len(texts) - 1 or b"\r" in text:
        return None
    if not (pc.all(pc.starts_with(texts, "{")).as_py() and pc.all(pc.ends_with(texts, "}")).as_py()):
        lines = one_object_a_line(text)
        return lines if lines is not None and lines.count(b"\n") == len(texts) - 1 else None
    return text if _is_moderate(text, pc.max(pc.binary_length(texts)).as_py()) else None


def _is_moderate(text: bytes, longest: int) -> bool:
    """Return whether the text is UTF-8, has no value NaN or Infinity, and certainly stays within Jackson's
    limits for the length of names, texts and numbers and for the depth of nesting. ``longest``: the bytes of
    its longest line, at most one too many."""
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError:
            return False
    # A single byte is found many times as fast as three.
    is_worded = (b"N" in text and b"NaN" in text) or (b"I" in text and b"Inf" in text)
    if is_worded and _WORD.search(text):
        return False
    if longest < MAX_DIGITS:
        return True
    if _LONG_PART.search(text) or longest > MAX_TEXT:
        return False
    if longest > MAX_NAME and (b"\\" in text or max(map(len, text.split(b'"'))) > MAX_NAME):
        return False
    return all(
        line.count(b"{") + line.count(b"[") < MAX_DEPTH for line in text.split(b"\n") if len(line) > MAX_DEPTH
    )


def can_read(schema: pa.Schema, settings: JsonSettings) -> bool:
    """Return whether Arrow can read columns of ``schema`` under these settings: each record is a line in
    UTF-8, Arrow has all types, and with dates or timestamps no option gives a format."""
    formats = (settings.date_format, settings.timestamp_format, settings.timestamp_ntz_format)
    has_formats = formats != (None, None, None)
    return is_plain(settings) and all(
        _is_read(field.type) or is_decimal(field.type) or (field.type in _CAST and not has_formats)
        for field in schema
    )


def _is_read(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_read(kind.value_type)
    if pa.types.is_struct(kind):
        return kind.num_fields > 0 and all(_is_read(field.type) for field in kind)
    return kind in _READ_AS_THEY_ARE


def rows_of(text: bytes, schema: pa.Schema, settings: Settings) -> pa.RecordBatch | None:
    """Return a batch of the columns of ``schema``, in physical form. ``text``: a result of
    :func:`one_object_a_line`. Return None if Arrow can't read the text as Spark does."""
    if _has_floats(schema) and has_negative_zero(text):
        return None
    fields = [field.with_type(STRING) if field.type in _CAST else field for field in schema]
    table = _parsed(text, pa.schema([*fields, pa.field(_ROWS, pa.null())]))
    if table is None:
        return None
    columns = []
    for field in schema:
        column = _fitted(_whole(table.column(field.name)), field.type, settings)
        if column is None:
            return None
        columns.append(column)
    if columns:
        return pa.RecordBatch.from_arrays(columns, names=schema.names)
    nothing = pa.StructArray.from_arrays([pa.nulls(table.num_rows)], ["_"])
    return pa.RecordBatch.from_struct_array(nothing).select([])


def has_negative_zero(text: bytes) -> bool:
    """Return whether the text has the number ``-0``, or a text that looks as if it had."""
    values = np.frombuffer(text, np.uint8)
    places = np.flatnonzero(values == _MINUS)
    places = places[(places > 0) & (places < len(values) - 2)]
    around = values[places - 1], values[places + 1], values[places + 2]
    return bool((np.isin(around[0], _BEFORE) & (around[1] == _ZERO) & np.isin(around[2], _BEHIND)).any())


def columns_as_text(text: bytes, schema: pa.Schema) -> pa.Schema:
    """Return the schema with the type BIGINT or BOOLEAN in place of STRING for the columns whose first values
    are numbers or booleans: Spark reads their texts, which Arrow refuses to do. ``text``: a result of
    :func:`one_object_a_line`."""
    sample = types_of_first(text)
    if sample is None:
        return schema
    found = {field.name: field.type for field in sample if field.type in (BIGINT, BOOLEAN)}
    return pa.schema(
        [
            field.with_type(found[field.name]) if field.type == STRING and field.name in found else field
            for field in schema
        ]
    )


def types_of_first(text: bytes) -> pa.Schema | None:
    """Return the types of Arrow that the first values have; None if Arrow can't read these. ``text``: a
    result of :func:`one_object_a_line`."""
    table = _parsed(b"\n".join(text.split(b"\n", _SAMPLE)[:_SAMPLE]), None)
    return None if table is None else table.schema


def _parsed(text: bytes, schema: pa.Schema | None) -> pa.Table | None:
    """Return the table that Arrow reads from the lines. ``schema``: the types, None = inferred by Arrow.
    Return None if Arrow refuses the text, or a line doesn't hold exactly one object."""
    read_options = arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
    parse_options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    try:
        table = arrow_json.read_json(pa.BufferReader(text), read_options, parse_options)
    except pa.ArrowException:
        return None
    return table if table.num_rows == _line_feeds(text) + 1 else None


def _line_feeds(text: bytes) -> int:
    """Return the number of line feeds, which numpy counts faster than Python where there are many."""
    return int(np.count_nonzero(np.frombuffer(text, np.uint8) == _LINE_FEED))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _has_floats(schema: pa.Schema | pa.StructType) -> bool:
    for field in schema:
        kind = field.type
        while pa.types.is_list(kind):
            kind = kind.value_type
        if is_fractional(kind) or (pa.types.is_struct(kind) and _has_floats(kind)):
            return True
    return False


def _fitted(column: pa.Array, kind: pa.DataType, settings: Settings) -> pa.Array | None:
    """Convert a column that Arrow has read to the physical form of the type ``kind``. Return None if a value
    doesn't fit the type, or if Spark might read the value differently."""
    if is_decimal(kind):
        # Arrow checks digits behind the point only.
        bounds = pc.min_max(column).as_py()
        limit = Decimal(10) ** (kind.precision - kind.scale)
        if any(value is not None and abs(value) >= limit for value in bounds.values()):
            return None
        return column.cast(physical(kind))
    if kind not in _CAST:
        return column
    if kind == TIMESTAMP_NTZ:
        # Spark's cast takes texts with a zone, too.
        plain = pc.match_substring_regex(column, _PLAIN_CLOCK)
        if plain.true_count + column.null_count < len(column):
            return None
    converted = compile_cast(STRING, kind, safe=True, settings=settings)(column)
    return converted if converted.null_count == column.null_count else None


def kind_of(text: bytes) -> ObjectFields | None:
    """Return the type that covers all objects of ``text``, a result of :func:`one_object_a_line`. Return None
    if Arrow can't infer the type as Spark does."""
    table = _parsed(text, None)
    if table is None:
        return None
    try:
        members = [(field.name, _kind(_whole(table.column(field.name)))) for field in table.schema]
    except _UnclearError:
        return None
    return in_java_order(members)


def _kind(values: pa.Array) -> Kind:
    kind = values.type
    if pa.types.is_list(kind):
        return Items(_kind(values.flatten()))
    if pa.types.is_struct(kind):
        return in_java_order(
            [(kind.field(index).name, _kind(part)) for index, part in enumerate(values.flatten())]
        )
    if kind == DOUBLE:
        # An integer beyond bigint is a decimal to Spark.
        if (pc.max(pc.abs(values)).as_py() or 0.0) >= 2.0**63:
            raise _UnclearError
        return kind
    if kind == STRING:
        return STRING if pc.max(pc.binary_length(values)).as_py() else VOID
    if pa.types.is_timestamp(kind):
        return STRING
    if kind in (VOID, BOOLEAN, BIGINT):
        return kind
    raise _UnclearError


class _UnclearError(Exception):
    """The error of a column whose type in Spark differs from Arrow's, or may differ."""
