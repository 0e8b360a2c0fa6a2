"""Functions that round datetimes down to a unit."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions.registry import Invocation, ScalarFunction, register
from sqlfront_values.functions.rowwise import as_numbers, columnar, constants, from_numbers, micros_of, nulls
from sqlfront_values.functions.time import calendar_dates
from sqlfront_values.functions.time.calendar_dates import (
    Days,
    Integers,
    by_day,
    civil_from_days,
    days_from_civil,
)
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND
from sqlfront_values.types import DATE, STRING, TIMESTAMP
from sqlfront_values.zones.wall_clock import instants_of, wall_clock

_DATE_LEVELS: Final = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "year"),
    "QUARTER": "quarter",
    **dict.fromkeys(("MONTH", "MM", "MON"), "month"),
    "WEEK": "week",
}
_TIME_LEVELS: Final = {
    **dict.fromkeys(("DAY", "DD"), MICROS_PER_DAY),
    "HOUR": MICROS_PER_HOUR,
    "MINUTE": MICROS_PER_MINUTE,
    "SECOND": MICROS_PER_SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}


def _truncated_days(days: Days, level: str) -> Integers:
    """Return the first day of each date's year, quarter, month or (from Monday) week; ``level`` is the unit's
    name in lower case."""
    if level == "week":
        return days - calendar_dates.weekday(days)
    year, month, _ = civil_from_days(days)
    match level:
        case "year":
            month = np.ones_like(month)
        case "quarter":
            month = (month - 1) // 3 * 3 + 1
    return days_from_civil(year, month, np.ones_like(year))


def _truncated_instants(instants: Integers, level: str, zone: str) -> Integers | None:
    """Return the start of the unit that contains each instant, by the zone's clock. ``level`` is a name of
    :data:`_DATE_LEVELS` or :data:`_TIME_LEVELS` in any case; for any other name the result is None."""
    unit = _TIME_LEVELS.get(level.upper())
    if unit is not None and unit <= MICROS_PER_SECOND:
        return instants // unit * unit
    local = wall_clock(instants, zone)
    if unit is not None and unit < MICROS_PER_DAY:
        return instants_of(local // unit * unit, zone, preferred=local - instants)
    date_level = _DATE_LEVELS.get(level.upper())
    if unit is None and date_level is None:
        return None
    days = local // MICROS_PER_DAY
    if date_level is not None:
        days = _truncated_days(days, date_level)
    return instants_of(days * MICROS_PER_DAY, zone)


@columnar
def _trunc(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, level = arguments
    given = constants((level,))
    if isinstance(column, pa.Array) and isinstance(level, pa.Scalar):
        known = _DATE_LEVELS.get(str(given[0]).upper()) if given else None
        if known is None:
            return nulls(invocation)
        days = by_day(lambda span: _truncated_days(span, known), numpy_view(column))  # type: ignore[arg-type]
        return from_numpy(days, DATE, valid_mask(column))

    def one(day: int, unit: str) -> int | None:
        known = _DATE_LEVELS.get(unit.upper())
        return None if known is None else int(_truncated_days(np.array([day]), known)[0])

    return from_numbers(one, (as_numbers(column), level), invocation)


@columnar
def _date_trunc(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    level, column = arguments
    zone = invocation.settings.time_zone
    given = constants((level,))
    if isinstance(column, pa.Array) and isinstance(level, pa.Scalar):
        if given is None:
            return nulls(invocation)
        result = _truncated_instants(micros_of(column), str(given[0]), zone)
        return nulls(invocation) if result is None else from_numpy(result, TIMESTAMP, valid_mask(column))

    def one(unit: str, micros: int) -> int | None:
        result = _truncated_instants(np.array([micros]), unit, zone)
        return None if result is None else int(result[0])

    return from_numbers(one, (level, as_numbers(column)), invocation)


register(
    ScalarFunction(
        "trunc",
        (DATE, STRING),
        DATE,
        _trunc,
        example=("trunc(date'2019-08-04', 'week')", "datetime.date(2019, 7, 29)"),
    ),
    ScalarFunction(
        "date_trunc",
        (STRING, TIMESTAMP),
        TIMESTAMP,
        _date_trunc,
        example=(
            "date_trunc('HOUR', timestamp'2015-03-05 09:32:05Z')",
            "datetime.datetime(2015, 3, 5, 9, 0)",
        ),
    ),
)
