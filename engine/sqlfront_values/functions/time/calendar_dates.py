"""The proleptic Gregorian calendar over numpy arrays of days since 1970-01-01.

The algorithms are Howard Hinnant's ("chrono-Compatible Low-Level Date Algorithms"): years begin in March, so
that the leap day is the last day of the year. The algorithms hold for all of Spark's dates, years -5,877,641
to 5,881,580; Arrow's own kernels end at year 32,767.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_values.errors import spark_error
from sqlfront_values.java.civil import EPOCH_SHIFT, ERA_DAYS

Integers = npt.NDArray[np.int64]
Days = npt.NDArray[np.int32] | Integers


def civil_from_days(days: Days) -> tuple[Integers, Integers, Integers]:
    """Return the year, the month (1 to 12) and the day (1 to 31) of each date.

    >>> [part.tolist() for part in civil_from_days(np.array([0, -1, 18321]))]
    [[1970, 1969, 2020], [1, 12, 2], [1, 31, 29]]
    """
    shifted = days.astype(np.int64) + EPOCH_SHIFT
    era = shifted // ERA_DAYS
    day_of_era = shifted - era * ERA_DAYS
    leap_days = day_of_era // 1460 - day_of_era // 36_524 + day_of_era // 146_096
    year_of_era = (day_of_era - leap_days) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = np.where(shifted_month < 10, shifted_month + 3, shifted_month - 9)
    return year_of_era + era * 400 + (month <= 2), month, day


def days_from_civil(year: Integers, month: Integers, day: Integers) -> Integers:
    """Return the days since 1970-01-01 of each date, the inverse of :func:`civil_from_days`; months must be 1
    to 12.

    >>> days_from_civil(np.array([2020]), np.array([2]), np.array([29])).tolist()
    [18321]
    """
    shifted = year - (month <= 2)
    era = shifted // 400
    year_of_era = shifted - era * 400
    day_of_year = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return (
        era * ERA_DAYS + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - EPOCH_SHIFT
    )


def days_in_month(year: Integers, month: Integers) -> Integers:
    """Return the number of days, 28 to 31, of each month (1 to 12) in its year.

    >>> days_in_month(np.array([2020, 2100]), np.array([2, 2])).tolist()
    [29, 28]
    """
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    return _MONTH_LENGTHS[month - 1] + ((month == 2) & leap)


_MONTH_LENGTHS: Final = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


def add_months(days: Days, months: Integers | int) -> Integers:
    """Return each date plus ``months``, as days since 1970; if the resulting month lacks the date's day, the
    result is the month's last day."""
    year, month, day = civil_from_days(days)
    total = year * 12 + (month - 1) + months
    year, month = total // 12, total % 12 + 1
    return days_from_civil(year, month, np.minimum(day, days_in_month(year, month)))


def months_later(days: Days, months: int) -> npt.NDArray[np.int32]:
    """Return each date plus ``months``, as days since 1970 in int32; a day that the resulting month lacks
    becomes the month's last day. Raises ARITHMETIC_OVERFLOW if a result exceeds Spark's dates."""
    return checked_days(by_day(lambda span: checked_days(add_months(span, months)), days))


def checked_days(days: Days) -> npt.NDArray[np.int32]:
    """Return days since 1970 as int32, the type of a date. Raises ARITHMETIC_OVERFLOW for days that don't
    fit."""
    if days.dtype != np.int32 and len(days) and (int(days.min()) < -(2**31) or int(days.max()) >= 2**31):
        raise spark_error("ARITHMETIC_OVERFLOW", "overflow.")
    return days.astype(np.int32, copy=False)


def weekday(days: Days) -> Integers:
    """Return the day of the week of each date, 0 for Monday to 6 for Sunday."""
    return (days.astype(np.int64) + 3) % 7


def day_of_year(days: Days) -> Integers:
    """Return the day of the year of each date, 1 to 366."""
    return days - year_start(civil_from_days(days)[0]) + 1


def year_start(year: Integers) -> Integers:
    """Return the first of January of each year, as days since 1970."""
    return days_from_civil(year, np.ones_like(year), np.ones_like(year))


def iso_week(days: Days) -> tuple[Integers, Integers]:
    """Return ISO 8601's year and week of each date: the week of a date is the week of its Thursday.

    >>> [part.tolist() for part in iso_week(np.array([18261, 18628]))]  # 2019-12-31, 2021-01-01
    [[2020, 2020], [1, 53]]
    """
    thursday = days - weekday(days) + 3
    return civil_from_days(thursday)[0], (day_of_year(thursday) - 1) // 7 + 1


def by_day(function: Callable[[Days], Days], days: Days) -> Days:
    """Return ``function(days)``, whose values must fit 32 bits, with as little computation as possible. If
    there are at least as many rows as days from the first day to the last, the function gets each day of that
    range only once, and each row takes the value of its day."""
    if len(days) == 0:
        return np.zeros(0, np.int32)
    first, last = int(days.min()), int(days.max())
    if last - first >= len(days):
        return function(days)
    return function(np.arange(first, last + 1)).astype(np.int32)[days - days.dtype.type(first)]
