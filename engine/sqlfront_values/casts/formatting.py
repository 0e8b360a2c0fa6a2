"""Casts to strings, in Spark's notation."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_values, numpy_view
from sqlfront_values.arrow.forms import INT64, decimal_text, unscaled, widened
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.java.civil import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    civil_from_days,
    days_from_civil,
    year_text,
)
from sqlfront_values.java.floats import float_text
from sqlfront_values.types import STRING
from sqlfront_values.zones.wall_clock import to_wall_clock

_CAST: Final = pc.get_function("cast")
_TO_STRING: Final = pc.CastOptions.safe(STRING)
_REPLACE: Final = pc.get_function("replace_substring_regex")
_TRAILING_ZEROS: Final = pc.ReplaceSubstringOptions(r"\.?0+$", "")
_WHOLE_NUMBER: Final = pc.ReplaceSubstringOptions(r"^(-?[0-9]+)$", r"\1.0")
_FIRST_DAY: Final = days_from_civil(0, 1, 1)
_LAST_DAY: Final = days_from_civil(9999, 12, 31)


def integral_to_string(values: pa.Array) -> pa.Array:
    """Cast integrals to strings of their digits, with a minus if negative; cast booleans to ``true`` and
    ``false``."""
    return _CAST.call([values], _TO_STRING)


def _by_row(values: list[object], text: Callable[..., str]) -> pa.Array:
    return from_values([None if value is None else text(value) for value in values], STRING)


def float_to_string(source: pa.DataType) -> Convert:
    """Make the cast of floats or doubles to strings, in Java's notation
    (:func:`~sqlfront_values.java.floats.float_text`)."""
    single = source.bit_width == 32

    def by_row(values: pa.Array) -> pa.Array:
        return _by_row(values.to_pylist(), lambda value: float_text(value, single=single))

    def convert(values: pa.Array) -> pa.Array:
        with np.errstate(invalid="ignore"):
            magnitudes = np.abs(numpy_view(values).astype(np.float64, copy=False))
        plain = ((magnitudes >= 1e-3) & (magnitudes < 1e7)) | (magnitudes == 0)
        if not plain.all():
            return by_row(values)
        # Arrow writes such numbers as Java does, but whole numbers without a point.
        return _REPLACE.call([_CAST.call([values], _TO_STRING)], _WHOLE_NUMBER)

    return convert


def decimal_to_string(source: pa.DataType) -> Convert:
    """Make the cast of decimals to strings, in plain notation with all digits of the scale."""
    scale = source.scale
    if scale <= 6:
        # Arrow writes exponents only for values below 1e-6.
        return lambda values: _CAST.call([widened(values)], _TO_STRING)
    return lambda values: _by_row(list(unscaled(values)), lambda value: decimal_text(value, scale))


def date_to_string(values: pa.Array) -> pa.Array:
    """Cast dates to strings ``yyyy-MM-dd``; years beyond 9999 and before 0 have a sign."""
    days = numpy_view(values)
    if not len(days) or (int(days.min()) >= _FIRST_DAY and int(days.max()) <= _LAST_DAY):
        return _CAST.call([values], _TO_STRING)
    return _by_row(values.view(pa.int32()).to_pylist(), date_text)


def date_text(days: int) -> str:
    """Format a date, given in days since 1970, as Spark's cast to string does.

    >>> date_text(0), date_text(-719529)
    ('1970-01-01', '-0001-12-31')
    """
    year, month, day = civil_from_days(days)
    return f"{year_text(year)}-{month:02d}-{day:02d}"


def timestamp_ntz_to_string(values: pa.Array) -> pa.Array:
    """Cast wall-clock times to strings: ``yyyy-MM-dd HH:mm:ss``, and the fraction's digits without trailing
    zeros."""
    micros = numpy_view(values)
    first, last = _FIRST_DAY * MICROS_PER_DAY, (_LAST_DAY + 1) * MICROS_PER_DAY
    if len(micros) and not (int(micros.min()) >= first and int(micros.max()) < last):
        return _by_row(values.view(INT64).to_pylist(), timestamp_text)
    if not np.any(micros % MICROS_PER_SECOND):
        return _CAST.call([_CAST.call([values], pc.CastOptions.unsafe(pa.timestamp("s")))], _TO_STRING)
    return _REPLACE.call([_CAST.call([values], _TO_STRING)], _TRAILING_ZEROS)


def timestamp_text(micros: int) -> str:
    """Format a wall-clock time (microseconds since 1970).

    >>> timestamp_text(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    days, rest = divmod(micros, MICROS_PER_DAY)
    return f"{date_text(days)} {_clock_text(rest)}"


def _clock_text(micros: int) -> str:
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def timestamp_to_string(zone: str) -> Convert:
    """Make the cast of timestamps to strings of the time that the wall clock of the time zone named ``zone``
    shows."""
    return lambda values: timestamp_ntz_to_string(to_wall_clock(values, zone))
