"""Functions that move and compare datetimes, and convert datetimes between time zones."""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.casts import compile_cast
from sqlfront_values.errors import DataError, spark_error
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import (
    as_numbers,
    columnar,
    constants,
    from_numbers,
    invalid_zone,
    micros_of,
    nulls,
)
from sqlfront_values.functions.time import calendar_dates
from sqlfront_values.functions.time.arithmetic import move_instants
from sqlfront_values.functions.time.calendar_dates import (
    Days,
    Integers,
    by_day,
    civil_from_days,
    days_in_month,
)
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND
from sqlfront_values.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, TIMESTAMP, TIMESTAMP_NTZ
from sqlfront_values.zones.wall_clock import instants_of, wall_clock

# ---- days of the month and week


@columnar
def _last_day(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column = arguments[0]
    return from_numpy(by_day(_month_ends, numpy_view(column)), DATE, valid_mask(column))  # type: ignore[arg-type]


def _month_ends(days: Days) -> Integers:
    year, month, day = civil_from_days(days)
    return days - day + days_in_month(year, month)


#: Monday to Sunday by their two letters, three letters and names.
_WEEKDAYS: Final = {
    text: index
    for index, name in enumerate(
        ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")
    )
    for text in (name[:2], name[:3], name)
}


def _weekday_index(name: str) -> int:
    index = _WEEKDAYS.get(name.upper())
    if index is None:
        raise spark_error("ILLEGAL_DAY_OF_WEEK", f"Illegal input for day of week: {name}.")
    return index


def _next_weekday(days: Days, wanted: int) -> Integers:
    return days + 1 + (wanted - 1 - calendar_dates.weekday(days)) % 7


@columnar
def _next_day(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, name = arguments
    given = constants((name,))
    if isinstance(column, pa.Array) and isinstance(name, pa.Scalar):
        if given is None or column.null_count == len(column):
            return nulls(invocation)
        days = _next_weekday(numpy_view(column), _weekday_index(str(given[0])))  # type: ignore[arg-type]
        return from_numpy(days, DATE, valid_mask(column))
    return from_numbers(
        lambda day, text: int(_next_weekday(np.array([day]), _weekday_index(text))[0]),
        (as_numbers(column), name),
        invocation,
    )


# ---- differences

_SECONDS_PER_DAY: Final = 86_400
#: The first whole second that fits a bigint of microseconds.
_FIRST_SECOND: Final = -9_223_372_036_854
#: Days of a month in months_between, by Spark's definition.
_DAYS_PER_MONTH: Final = 31


@columnar
def _months_between(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    end, start, rounds = (*arguments, scalar(True, BOOLEAN))[:3]
    columns, valid = _aligned((end, start, rounds), invocation.length)
    zone = invocation.settings.time_zone
    months, late = _fractional_months(micros_of(columns[0]), micros_of(columns[1]), zone)
    if (late if valid is None else late & valid).any():
        raise DataError("long overflow")
    rounded = np.floor(months * 1e8 + 0.5) / 1e8
    return from_numpy(np.where(numpy_view(columns[2]), rounded, months), DOUBLE, valid)


def _fractional_months(
    end: Integers, start: Integers, zone: str
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the months from ``start`` to ``end`` (instants, in microseconds), and a mask of the rows for
    which Spark raises an error.

    The months are a whole number if both local dates have the same day of the month or both are the last day
    of their month; otherwise the remaining days count as 31sts of a month. Spark fails for the masked rows
    because the local midnight, from which it counts seconds, lies before the first timestamp."""
    parts, unbounded = [], np.zeros(len(end), np.bool_)
    for instants in (end, start):
        wall = wall_clock(instants, zone)
        days = wall // MICROS_PER_DAY
        midnight = days * _SECONDS_PER_DAY - (wall - instants) // MICROS_PER_SECOND
        unbounded |= midnight < _FIRST_SECOND
        year, month, day = civil_from_days(days)
        seconds = (instants - instants_of(days * MICROS_PER_DAY, zone)) // MICROS_PER_SECOND
        parts.append((year * 12 + month, day, days_in_month(year, month) == day, seconds))
    (end_month, end_day, end_is_last, end_seconds), (month, day, is_last, seconds) = parts
    difference = end_month - month
    rest = (end_day - day) * _SECONDS_PER_DAY + end_seconds - seconds
    whole = (end_day == day) | (end_is_last & is_last)
    months = np.where(whole, difference, difference + rest / (_DAYS_PER_MONTH * _SECONDS_PER_DAY))
    return months, unbounded & ~whole


def _aligned(
    arguments: tuple[Datum, ...], length: int
) -> tuple[list[pa.Array], npt.NDArray[np.bool_] | None]:
    """Return all arguments as columns of ``length`` rows, and the mask of the rows in which no argument is
    null (None: no row has a null)."""
    columns = [pa.repeat(datum, length) if isinstance(datum, pa.Scalar) else datum for datum in arguments]
    valid = None
    for mask in map(valid_mask, columns):
        if mask is not None:
            valid = mask if valid is None else valid & mask
    return columns, valid


#: Units of timestampadd and timestampdiff: months, or microseconds.
_MONTH_UNITS: Final = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_TIME_UNITS: Final = {
    "WEEK": 7 * MICROS_PER_DAY,
    "DAY": MICROS_PER_DAY,
    "DAYOFYEAR": MICROS_PER_DAY,
    "HOUR": MICROS_PER_HOUR,
    "MINUTE": MICROS_PER_MINUTE,
    "SECOND": MICROS_PER_SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
#: Units that timestampadd counts from instant to instant; other units count by the calendar.
_CLOCK_UNITS: Final = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})


def _unit(datum: Datum) -> str:
    """Return in upper case the unit that ``datum``, a constant scalar or a column of one repeated value,
    names."""
    return str(datum[0].as_py() if isinstance(datum, pa.Array) else datum.as_py()).upper()


@columnar
def _timestampadd(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    unit = _unit(arguments[0])
    columns, valid = _aligned(arguments[1:], invocation.length)
    counts, instants = (
        np.where(valid, micros_of(column), 0) if valid is not None else micros_of(column)
        for column in columns
    )
    by_calendar = invocation.type == TIMESTAMP and unit not in _CLOCK_UNITS
    zone = invocation.settings.time_zone if by_calendar else "UTC"
    factor = _MONTH_UNITS.get(unit) or _TIME_UNITS[unit]
    limit = 2**31 - 1 if unit in _MONTH_UNITS else 2**63 - 1
    try:
        if len(counts) and int(np.abs(counts).max()) > limit // factor:
            raise DataError("overflow")
        moved = move_instants(instants, counts * factor, zone, in_months=unit in _MONTH_UNITS)
    except DataError:
        raise spark_error(
            "DATETIME_OVERFLOW", f"Datetime operation overflow: add {unit}s to a timestamp."
        ) from None
    return from_numpy(moved, invocation.type, valid)


@columnar
def _timestampdiff(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    unit = _unit(arguments[0])
    columns, valid = _aligned(arguments[1:], invocation.length)
    zone = invocation.settings.time_zone
    start, end = (wall_clock(micros_of(column), zone) for column in columns)
    if unit in _MONTH_UNITS:
        counts = _towards_zero(_whole_months(start, end), _MONTH_UNITS[unit])
    else:
        counts = _towards_zero(end - start, _TIME_UNITS[unit])
    return from_numpy(counts, BIGINT, valid)


def _towards_zero(values: Integers, divisor: int) -> Integers:
    return np.sign(values) * (np.abs(values) // divisor)


def _whole_months(start: Integers, end: Integers) -> Integers:
    """Return the complete months from ``start`` to ``end`` (local times), as ``ChronoUnit.MONTHS.between``
    counts them."""
    start_days, end_days = start // MICROS_PER_DAY, end // MICROS_PER_DAY
    start_time, end_time = start - start_days * MICROS_PER_DAY, end - end_days * MICROS_PER_DAY
    end_days = end_days - ((end_days > start_days) & (end_time < start_time))
    end_days = end_days + ((end_days < start_days) & (end_time > start_time))
    packed = []
    for days in (start_days, end_days):
        year, month, day = civil_from_days(days)
        packed.append((year * 12 + month) * 32 + day)
    return _towards_zero(packed[1] - packed[0], 32)


# ---- time zones


def _between_zones(local: Integers, source: str, target: str) -> Integers:
    """Convert local times of the zone ``source`` to local times of the zone ``target``, both in microseconds
    since 1970. Raises INVALID_TIMEZONE for an unknown zone."""
    for zone in (source, target):
        try:
            instants = instants_of(local, zone) if zone is source else wall_clock(local, zone)
        except ValueError:
            raise invalid_zone(zone) from None
        local = instants
    return local


def _zone_change(*, to_utc: bool) -> Kernel:
    """Make the kernel of to_utc_timestamp or, if ``to_utc`` is False, of from_utc_timestamp.

    to_utc_timestamp takes the UTC reading of a timestamp for a local time of the zone and returns the instant
    of that local time; from_utc_timestamp does the reverse."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column, zone = arguments
        given = constants((zone,))
        if isinstance(column, pa.Array) and isinstance(zone, pa.Scalar):
            if given is None:
                return nulls(invocation)
            pair = (str(given[0]), "UTC") if to_utc else ("UTC", str(given[0]))
            return from_numpy(_between_zones(micros_of(column), *pair), TIMESTAMP, valid_mask(column))
        return from_numbers(
            lambda micros, name: int(
                _between_zones(np.array([micros]), *((name, "UTC") if to_utc else ("UTC", name)))[0]
            ),
            (as_numbers(column), zone),
            invocation,
        )

    return kernel


@columnar
def _convert_timezone(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute ``convert_timezone([source,] target, time)``: the local time in the zone ``target`` when the
    zone ``source`` (default: the session's zone) shows the local time ``time``. Raises INVALID_TIMEZONE for
    an unknown zone."""
    settings = invocation.settings
    source = arguments[0] if len(arguments) == 3 else scalar(settings.time_zone, STRING)
    target, times = arguments[-2:]
    # The middle argument is the target of three and the local time of two.
    target = compile_cast(invocation.argument_types[-2], STRING, safe=False, settings=settings)(target)
    times = compile_cast(invocation.argument_types[-1], TIMESTAMP_NTZ, safe=False, settings=settings)(times)
    given = constants((source, target))
    if isinstance(times, pa.Array) and given is not None:
        moved = _between_zones(micros_of(times), str(given[0]), str(given[1]))
        return from_numpy(moved, TIMESTAMP_NTZ, valid_mask(times))
    return from_numbers(
        lambda of, to, micros: int(_between_zones(np.array([micros]), of, to)[0]),
        (source, target, as_numbers(times)),
        invocation,
    )


register(
    ScalarFunction(
        "last_day",
        (DATE,),
        DATE,
        _last_day,
        example=("last_day(date'2009-01-12')", "datetime.date(2009, 1, 31)"),
    ),
    ScalarFunction(
        "next_day",
        (DATE, STRING),
        DATE,
        _next_day,
        can_fail=True,
        example=("next_day(date'2015-01-14', 'TU')", "datetime.date(2015, 1, 20)"),
    ),
    ScalarFunction(
        "months_between",
        (TIMESTAMP, TIMESTAMP, BOOLEAN),
        DOUBLE,
        _months_between,
        optional=1,
        can_fail=True,
        example=("months_between('1997-02-28 10:30:00', '1996-10-30')", "3.94959677"),
    ),
    ScalarFunction(
        "timestampadd",
        (STRING, BIGINT, Kind.ANY_TIMESTAMP),
        lambda types: types[2],
        _timestampadd,
        constants=(0,),
        can_fail=True,
        example=(
            "timestampadd(MONTH, 1, timestamp'2020-01-31 10:00:00Z')",
            "datetime.datetime(2020, 2, 29, 10, 0)",
        ),
    ),
    ScalarFunction(
        "timestampdiff",
        (STRING, TIMESTAMP, TIMESTAMP),
        BIGINT,
        _timestampdiff,
        constants=(0,),
        example=("timestampdiff(MONTH, timestamp'2020-01-31', timestamp'2020-03-31')", "2"),
    ),
    *(
        ScalarFunction(
            name,
            (TIMESTAMP, STRING),
            TIMESTAMP,
            _zone_change(to_utc=name == "to_utc_timestamp"),
            can_fail=True,
            example=(
                f"{name}(timestamp'2016-08-31 00:00:00Z', 'Asia/Seoul')",
                f"datetime.datetime({example})",
            ),
        )
        for name, example in (
            ("to_utc_timestamp", "2016, 8, 30, 15, 0"),
            ("from_utc_timestamp", "2016, 8, 31, 9, 0"),
        )
    ),
    ScalarFunction(
        "convert_timezone",
        (STRING, Kind.TIMESTAMP_TEXT, Kind.TIMESTAMP_TEXT),
        TIMESTAMP_NTZ,
        _convert_timezone,
        optional=1,
        can_fail=True,
        example=(
            "convert_timezone('Europe/Brussels', 'America/Los_Angeles', timestamp_ntz'2021-12-06 00:00:00')",
            "datetime.datetime(2021, 12, 5, 15, 0)",
        ),
    ),
)
