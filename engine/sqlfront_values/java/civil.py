"""The proleptic Gregorian calendar over days since 1970, without the bounds of Python's datetime.

>>> days_from_civil(1970, 1, 1), civil_from_days(-1), civil_from_days(days_from_civil(12345, 6, 7))
(0, (1969, 12, 31), (12345, 6, 7))
"""

from typing import Final

MICROS_PER_SECOND: Final = 1_000_000
MICROS_PER_MINUTE: Final = 60 * MICROS_PER_SECOND
MICROS_PER_HOUR: Final = 60 * MICROS_PER_MINUTE
MICROS_PER_DAY: Final = 24 * MICROS_PER_HOUR
NANOS_PER_MICRO: Final = 1_000
NANOS_PER_SECOND: Final = 1_000_000_000
NANOS_PER_DAY: Final = MICROS_PER_DAY * NANOS_PER_MICRO
#: Days from 0000-03-01 to 1970-01-01.
EPOCH_SHIFT: Final = 719_468
#: Days of 400 years, after which the calendar repeats.
ERA_DAYS: Final = 146_097
_DAYS_IN_MONTH: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a valid date; years count from 0 and may be negative."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * ERA_DAYS + day_of_era - EPOCH_SHIFT


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Return the year, month and day of the date that is ``days`` days after 1970-01-01 (before, if
    negative)."""
    era, day_of_era = divmod(days + EPOCH_SHIFT, ERA_DAYS)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month_from_march = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month_from_march + 2) // 5 + 1
    month = month_from_march + (3 if month_from_march < 10 else -9)
    return year_of_era + era * 400 + (month <= 2), month, day


def is_leap(year: int) -> bool:
    """Return whether the year's February has 29 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def days_in_month(year: int, month: int) -> int:
    """Return the number of days of a month, 1 to 12, of the year."""
    return 29 if month == 2 and is_leap(year) else _DAYS_IN_MONTH[month - 1]


def checked_days(year: int, month: int, day: int) -> int:
    """Return the days since 1970-01-01 of a date. Raises ValueError if there is no such date."""
    if not (1 <= month <= 12 and 1 <= day <= days_in_month(year, month)):
        raise ValueError(f"no date {year}-{month}-{day}")
    return days_from_civil(year, month, day)


def year_text(year: int) -> str:
    """Format a year as Java does: at least four digits, a sign if the year is negative or beyond 9999.

    >>> year_text(44), year_text(12345), year_text(-1)
    ('0044', '+12345', '-0001')
    """
    if year > 9999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"
