"""Intervals of months, days and microseconds side by side, as make_interval gives them: added to dates and
timestamps, and as texts. There is no column of such intervals; each function takes the interval's seven
parts."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Mask
from sqlfront_values.columns.lists import both_valid
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.functions.time.arithmetic import move_instants
from sqlfront_values.functions.time.calendar_dates import months_later
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND
from sqlfront_values.types import DATE, INT, STRING, TIMESTAMP_NTZ, decimal

Integers = npt.NDArray[np.int64]

#: The types of years, months, weeks, days, hours, minutes and seconds.
_PARTS: Final = (INT, INT, INT, INT, INT, INT, decimal(18, 6))
#: The SQL functions that make such intervals; ``try_`` gives null in place of an overflow.
_MAKERS: Final = ("make_interval", "try_make_interval")

_MAX_INT: Final = 2**31 - 1
_LONGEST_TEXT: Final = 120


class _Intervals(msgspec.Struct, frozen=True):
    """A column of intervals. ``valid`` is false where a part is null, or where there is an overflow that
    gives null; None = all rows are valid."""

    months: Integers
    days: Integers
    micros: Integers
    valid: Mask | None


def _overflow() -> DatabaseError:
    return spark_error("ARITHMETIC_OVERFLOW", "overflow.")


def _intervals(parts: tuple[Datum, ...], length: int, *, safe: bool) -> _Intervals:
    """Return the intervals of the seven parts. Raises ARITHMETIC_OVERFLOW for more months or days than an int
    holds, unless ``safe``. Microseconds can't overflow: of a bigint's, hours and seconds take less than
    all."""
    columns = [full_array(part, length) for part in parts]
    valid: Mask | None = None
    for column in columns:
        valid = both_valid(valid, valid_mask(column))
    numbers = [numpy_view(column).astype(np.int64) for column in columns]
    if valid is not None:
        numbers = [np.where(valid, column, 0) for column in numbers]
    years, months, weeks, days, hours, minutes, seconds = numbers
    months, days = years * 12 + months, weeks * 7 + days
    fits = (np.abs(months) <= _MAX_INT) & (np.abs(days) <= _MAX_INT)
    if not fits.all():
        if not safe:
            raise _overflow()
        valid = both_valid(valid, fits)
        months, days = np.where(fits, months, 0), np.where(fits, days, 0)
    return _Intervals(months, days, hours * MICROS_PER_HOUR + minutes * MICROS_PER_MINUTE + seconds, valid)


# ---- dates and timestamps


def _moving(*, sign: int, safe: bool) -> Kernel:
    """Make the kernel that adds intervals (``sign`` 1) or subtracts them (-1): first the months, then the
    days, then the microseconds."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        moment = full_array(arguments[0], invocation.length)
        intervals = _intervals(arguments[1:], invocation.length, safe=safe)
        valid = both_valid(valid_mask(moment), intervals.valid)
        months, days, micros = sign * intervals.months, sign * intervals.days, sign * intervals.micros
        starts = numpy_view(moment).astype(np.int64)
        if valid is not None:
            months, days, micros, starts = (
                np.where(valid, part, 0) for part in (months, days, micros, starts)
            )
        if invocation.type == DATE:
            return from_numpy(_moved_dates(starts, months, days, micros), DATE, valid)
        zone = "UTC" if invocation.type == TIMESTAMP_NTZ else invocation.settings.time_zone
        starts = move_instants(starts, months, zone, in_months=True)
        starts = move_instants(starts, days * MICROS_PER_DAY, zone, in_months=False)
        return from_numpy(move_instants(starts, micros, "UTC", in_months=False), invocation.type, valid)

    return kernel


def _moved_dates(
    dates: Integers, months: Integers, days: Integers, micros: Integers
) -> npt.NDArray[np.int32]:
    if micros.any():
        raise spark_error(
            "INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION",
            "Cannot add an interval to a date because its microseconds part is not 0. To resolve this, cast "
            "the"
            " input date to a timestamp, which supports the addition of intervals with non-zero "
            "microseconds.",
        )
    moved = np.array(dates, np.int64)
    for amount in np.unique(months).tolist():
        rows = months == amount
        moved[rows] = months_later(dates[rows].astype(np.int32), amount)
    moved += days
    if (np.abs(moved) > _MAX_INT).any():
        raise _overflow()
    return moved.astype(np.int32)


# ---- texts


def _counted(amount: int, unit: str) -> list[str]:
    return [f"{amount} {unit}"] if amount else []


def interval_text(months: int, days: int, micros: int) -> str:
    """Return the text of an interval, in Spark's words.

    >>> interval_text(14, -8, 90_500_000), interval_text(0, 0, 0)
    ('1 years 2 months -8 days 1 minutes 30.5 seconds', '0 seconds')
    """
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), 12)
    words = [*_counted(sign * years, "years"), *_counted(sign * rest, "months"), *_counted(days, "days")]
    sign = -1 if micros < 0 else 1
    hours, rest = divmod(abs(micros), MICROS_PER_HOUR)
    minutes, rest = divmod(rest, MICROS_PER_MINUTE)
    words += [*_counted(sign * hours, "hours"), *_counted(sign * minutes, "minutes")]
    if rest:
        seconds, fraction = divmod(rest, MICROS_PER_SECOND)
        shown = f"{seconds}.{fraction:06}".rstrip("0").rstrip(".")
        words.append(f"{'-' if micros < 0 else ''}{shown} seconds")
    return " ".join(words) or "0 seconds"


def _texts(*, safe: bool) -> Kernel:
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        is_constant = all(isinstance(argument, pa.Scalar) for argument in arguments)
        length = 1 if is_constant else invocation.length
        intervals = _intervals(arguments, length, safe=safe)
        valid = [True] * length if intervals.valid is None else intervals.valid.tolist()
        rows = zip(
            intervals.months.tolist(), intervals.days.tolist(), intervals.micros.tolist(), valid, strict=True
        )
        texts = from_values([interval_text(*row) if known else None for *row, known in rows], STRING)
        return texts[0] if is_constant else texts

    return kernel


#: The operators, each with its sign and an example.
_MOVES: Final = (
    ("add", 1, ("date'2020-01-31' + {}(0, 1)", "datetime.date(2020, 2, 29)")),
    ("subtract", -1, ("date'2020-01-31' - {}(0, 1)", "datetime.date(2019, 12, 31)")),
)


def _entries(maker: str) -> Iterator[ScalarFunction]:
    """The functions of the interval of a maker: added, subtracted, and written."""
    safe = maker.startswith("try_")
    for operator, sign, example in _MOVES:
        yield ScalarFunction(
            f"{operator} {maker}",
            (Kind.ANY, *_PARTS),
            lambda types: types[0],
            _moving(sign=sign, safe=safe),
            can_fail=True,
            example=(example[0].format(maker), example[1]),
        )
    yield ScalarFunction(
        f"text of {maker}",
        _PARTS,
        STRING,
        _texts(safe=safe),
        can_fail=not safe,
        growth=growth.at_most(_LONGEST_TEXT),
        example=(f"CAST({maker}(0, 14) AS STRING)", "'1 years 2 months'"),
    )


register(*(entry for maker in _MAKERS for entry in _entries(maker)))
