"""The writer of CSV files, whose output equals that of Spark's writer: values as texts in the session's time
zone, without leading and trailing white space, quoted where necessary."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_connectors.files.csv.dialect import Dialect
from sqlfront_connectors.files.csv.settings import CsvSettings, csv_settings
from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, scalar
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_MINUTE
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BINARY, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, is_decimal
from sqlfront_values.zones.wall_clock import wall_clock

_WHITE: Final = "".join(map(chr, range(33)))
#: A field of the first column with this beginning is quoted, since it might be taken for a comment.
_COMMENT: Final = "#"
_NTZ_PATTERN: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS"

Texts = list[str | None]


def write(
    path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema, options: Mapping[str, str], zone: str
) -> None:
    """Write the batches, in physical form, to a new file at ``path``. ``schema``: the batches' logical
    schema. ``options``: the options of ``USING csv``. ``zone``: the time zone in which timestamps are
    written."""
    settings = csv_settings(options)
    lines = _Lines(settings, options)
    with open(path, "w", encoding=settings.encoding, newline="") as out:
        if settings.header:
            out.write(lines.line(schema.names))
        for batch in batches:
            columns = [_texts(batch, index, field, settings, zone) for index, field in enumerate(schema)]
            out.writelines(lines.line(row) for row in zip(*columns, strict=True))


# ---- values


def _texts(batch: pa.RecordBatch, index: int, field: pa.Field, settings: CsvSettings, zone: str) -> Texts:
    column, kind = batch.column(index), field.type
    if kind == DATE and settings.date_format is not None:
        to_text = formatter(settings.date_format)
        return _each(column.cast(INT), lambda day: to_text(Moment(day * MICROS_PER_DAY, 0, zone)))
    if kind == TIMESTAMP:
        return _instants(column, settings.timestamp_format, zone)
    if kind == TIMESTAMP_NTZ:
        to_text = formatter(settings.ntz_format or _NTZ_PATTERN)
        return _each(column.cast(BIGINT), lambda micros: to_text(Moment(micros, 0, "UTC")))
    if kind == BINARY:
        return _each(column, lambda value: f"[{value.hex(' ').upper()}]")
    if is_decimal(kind):
        return _each(column, str)
    texts: Texts = evaluate(Cast(STRING, Column(kind, index)), batch, Settings(time_zone=zone)).to_pylist()
    return texts


def _each(column: pa.Array, to_text: Callable[..., str]) -> Texts:
    return [None if value is None else to_text(value) for value in column.to_pylist()]


def _instants(column: pa.Array, pattern: str | None, zone: str) -> Texts:
    known = pc.fill_null(column.cast(BIGINT), scalar(0, BIGINT))
    micros = numpy_view(known).astype(np.int64, copy=False)
    local = wall_clock(micros, zone)
    pairs = zip(local.tolist(), (local - micros).tolist(), strict=True)
    to_text = _usual_text if pattern is None else formatter(pattern)
    valid = column.is_valid().to_pylist()
    return [
        to_text(Moment(clock, offset, zone)) if known else None
        for known, (clock, offset) in zip(valid, pairs, strict=True)
    ]


def _usual_text(moment: Moment) -> str:
    """Return the text of a timestamp in Spark's default pattern, with the offset from UTC; seconds of the
    offset are written only if they are not 0."""
    offset = moment.offset * 1_000_000
    letters = "XXX" if offset % MICROS_PER_MINUTE == 0 else "XXXXX"
    return formatter(f"{_NTZ_PATTERN}{letters}")(moment)


# ---- lines


class _Lines:
    """A formatter of records: :meth:`line` makes the line of a record from its fields' texts."""

    def __init__(self, settings: CsvSettings, options: Mapping[str, str]) -> None:
        given = {key.lower(): value for key, value in options.items()}
        self._dialect: Dialect = settings.dialect
        self._end = settings.line_separator or "\n"
        dialect = settings.dialect
        self._special = (dialect.sep, dialect.quote, "\n", "\r")
        self._comment = dialect.comment or _COMMENT
        # By default reading keeps white space, and writing removes it.
        self._strips_left = given.get("ignoreleadingwhitespace", "true").lower() == "true"
        self._strips_right = given.get("ignoretrailingwhitespace", "true").lower() == "true"
        self._null = self._instead(dialect.null_value)
        self._empty = self._instead(given.get("emptyvalue", '""'))

    def line(self, texts: Sequence[str | None]) -> str:
        """Return the line of one record, with its line end; the empty string if the line would be empty.
        ``texts``: the fields' texts, None = null."""
        fields = [self._field(text, is_first=place == 0) for place, text in enumerate(texts)]
        line = self._dialect.sep.join(fields)
        return line + self._end if line else ""

    def _field(self, text: str | None, *, is_first: bool) -> str:
        if text is None:
            return self._null
        if self._strips_left:
            text = text.lstrip(_WHITE)
        if self._strips_right:
            text = text.rstrip(_WHITE)
        if not text:
            return self._empty
        is_comment = is_first and text.startswith(self._comment)
        return self._quoted(text) if is_comment or self._needs_quotes(text) else text

    def _instead(self, text: str) -> str:
        """Return the field that the file has for null or for an empty text. ``text``: the option nullValue or
        emptyValue; it is quoted if necessary, and unchanged if it is quoted already."""
        quote = self._dialect.quote
        has_quotes = len(text) > 1 and text[0] == quote == text[-1]
        return text if has_quotes or not self._needs_quotes(text) else self._quoted(text)

    def _needs_quotes(self, text: str) -> bool:
        return any(special in text for special in self._special)

    def _quoted(self, text: str) -> str:
        quote, escape, beyond = self._dialect.quote, self._dialect.escape, self._dialect.escape_escape
        if escape != quote and beyond != "\0":
            text = text.replace(escape, beyond + escape)
        return quote + text.replace(quote, escape + quote) + quote
