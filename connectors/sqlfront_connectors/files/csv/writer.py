"""The writer of CSV files, whose output equals that of Spark's writer: values as texts in the session's time
zone, without leading and trailing white space, quoted where necessary."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, scalar
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Cast, Column
from sqlfront_values.functions.csv.line_writer import LineWriter
from sqlfront_values.functions.csv.settings import CsvSettings, csv_settings
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_MINUTE
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BINARY, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, is_decimal
from sqlfront_values.zones.wall_clock import wall_clock

_NTZ_PATTERN: Final = "yyyy-MM-dd'T'HH:mm:ss.SSS"

Texts = list[str | None]


def write(
    path: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema, options: Mapping[str, str], zone: str
) -> None:
    """Write the batches, in physical form, to a new file at ``path``. ``schema``: the batches' logical
    schema. ``options``: the options of ``USING csv``. ``zone``: the time zone in which timestamps are
    written."""
    settings = csv_settings(options)
    lines = LineWriter(settings, options)
    end = settings.line_separator or "\n"
    with open(path, "w", encoding=settings.encoding, newline="") as out:
        if settings.header:
            out.write(_ended(lines.line(schema.names), end))
        for batch in batches:
            columns = [_texts(batch, index, field, settings, zone) for index, field in enumerate(schema)]
            out.writelines(_ended(lines.line(row), end) for row in zip(*columns, strict=True))


def _ended(line: str, end: str) -> str:
    """Return the line with its end; a line without characters is left out."""
    return line + end if line else ""


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
