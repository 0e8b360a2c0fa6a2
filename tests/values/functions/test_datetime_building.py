"""Datetimes made of numbers, rounded down, moved, compared and seen in other time zones."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from sqlfront_values.types import BIGINT, FLOAT, TIMESTAMP, YEAR_MONTH_INTERVAL
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

BOUNDS = Fails("DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION")
ZONE = Fails("INVALID_TIMEZONE")
OVERFLOW = Fails("DATETIME_OVERFLOW")
LEAP = date(2020, 2, 29)
MOMENT_PARTS = (2020, 7, 15, 12, 34, 56, 789123)


def on(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


def months(count: int) -> Typed:
    return Typed(count, YEAR_MONTH_INTERVAL)


MOMENT = on(*MOMENT_PARTS)
EARLY = on(1969, 12, 31, 23, 59, 59, 500_000)

BUILDING: Table = {
    "make_date": [
        (2020, 2, 29, LEAP),
        (9999, 12, 31, date(9999, 12, 31)),
        (None, 1, 1, None),
        (2020, 1, None, None),
        (2021, 2, 29, BOUNDS),
        (2021, 4, 31, BOUNDS),
        (2021, 13, 1, BOUNDS),
        (2021, 1, 32, BOUNDS),
        (10000000, 1, 1, Fails("ARITHMETIC_OVERFLOW")),
    ],
    "make_timestamp": [
        (2020, 1, 2, 3, 4, Decimal("5.123456"), on(2020, 1, 2, 3, 4, 5, 123456)),
        (2020, 1, 2, 3, 4, Decimal("60"), on(2020, 1, 2, 3, 5)),
        (2020, 1, 2, 3, 4, Decimal("5"), "America/New_York", on(2020, 1, 2, 8, 4, 5)),
        (2020, 1, 2, 3, 4, None, None),
        (2020, 1, 2, 3, 4, Decimal("5"), None, None),
        (2020, 1, 2, 3, 4, Decimal("60.5"), Fails("INVALID_FRACTION_OF_SECOND")),
        (2020, 1, 2, 2, 4, Decimal("61"), BOUNDS),
        (2020, 1, 2, 2, 4, Decimal("-1"), BOUNDS),
        (2020, 1, 2, 2, 60, Decimal("1"), BOUNDS),
        (2020, 1, 2, 25, 4, Decimal("1"), BOUNDS),
        (2021, 2, 29, 3, 4, Decimal("1"), BOUNDS),
        (2020, 1, 2, 2, 4, Decimal("1"), "foo", ZONE),
    ],
    "make_timestamp_ltz": [(2020, 1, 2, 3, 4, Decimal("5"), on(2020, 1, 2, 3, 4, 5))],
    "make_timestamp_ntz": [(2020, 1, 2, 3, 4, Decimal("5.5"), datetime(2020, 1, 2, 3, 4, 5, 500_000))],
    "try_make_timestamp": [
        (2021, 2, 29, 3, 4, Decimal("1"), None),
        (2021, 2, 28, 3, 4, Decimal("60.5"), None),
        (2021, 2, 28, 3, 4, Decimal("1"), on(2021, 2, 28, 3, 4, 1)),
        (2020, 1, 2, 2, 4, Decimal("1"), "foo", ZONE),
    ],
    "try_make_timestamp_ntz": [(2021, 2, 28, 3, 4, Decimal("5"), datetime(2021, 2, 28, 3, 4, 5))],
    "make_dt_interval": [
        (1, 2, 3, Decimal("4.5"), timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        (-1, 25, 61, Decimal("-1.5"), timedelta(hours=2, seconds=58.5)),
        (1, timedelta(days=1)),
        (0, 2147483647, 0, Decimal(0), timedelta(hours=2147483647)),
        (1, None, None),
        (106751992, Fails("INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION")),
    ],
    "timestamp_seconds": [
        (1, on(1970, 1, 1, 0, 0, 1)),
        (Decimal("1.5"), on(1970, 1, 1, 0, 0, 1, 500_000)),
        (Decimal("-1.5"), on(1969, 12, 31, 23, 59, 58, 500_000)),
        (Decimal("1.1234560000"), on(1970, 1, 1, 0, 0, 1, 123_456)),
        (1.123456789, on(1970, 1, 1, 0, 0, 1, 123_456)),
        (Typed(1.5, FLOAT), on(1970, 1, 1, 0, 0, 1, 500_000)),
        (float("nan"), None),
        (float("inf"), None),
        (Typed(None, BIGINT), None),
        (Decimal("1.1234567"), Fails(None)),
        (2**63 - 1, OVERFLOW),
    ],
    "timestamp_millis": [
        (1500, on(1970, 1, 1, 0, 0, 1, 500_000)),
        (-1, on(1969, 12, 31, 23, 59, 59, 999_000)),
        (2**63 - 1, OVERFLOW),
    ],
    "timestamp_micros": [(-1, on(1969, 12, 31, 23, 59, 59, 999_999)), (None, None)],
    "date_from_unix_date": [(0, date(1970, 1, 1)), (-1, date(1969, 12, 31)), (None, None)],
    "unix_date": [(date(2020, 1, 2), 18263), (None, None)],
    "unix_seconds": [
        (EARLY, -1),
        (on(1970, 1, 1, 0, 0, 1, 999_999), 1),
        (Typed(None, TIMESTAMP), None),
        (datetime(1970, 1, 1, 0, 0, 1), 1),
    ],
    "unix_millis": [(on(1969, 12, 31, 23, 59, 59, 999_500), -1)],
    "unix_micros": [(EARLY, -500_000)],
}
INTERVALS: Table = {
    "make_ym_interval": [(1, 2, months(14)), (1, -13, months(-1)), (1, months(12))],
    "interval_year": [(months(14), 1), (months(-14), -1)],
    "interval_month": [(months(14), 2), (months(-14), -2)],
    "interval_day": [(timedelta(days=-1, hours=-2), -1)],
    "interval_hour": [(timedelta(days=1, hours=2), 2)],
    "interval_minute": [(timedelta(days=-1, minutes=-3), -3)],
    "interval_second": [(timedelta(seconds=-64.5), Decimal("-4.500000"))],
}
MOVING: Table = {
    "last_day": [
        (date(2020, 2, 1), LEAP),
        (date(2021, 2, 28), date(2021, 2, 28)),
        (date(1969, 12, 1), date(1969, 12, 31)),
        (None, None),
    ],
    "next_day": [
        (date(2020, 1, 2), "MON", date(2020, 1, 6)),
        (date(2020, 1, 2), "Thursday", date(2020, 1, 9)),
        (date(2020, 1, 2), "su", date(2020, 1, 5)),
        (date(1969, 12, 31), "FR", date(1970, 1, 2)),
        (date(2020, 1, 2), None, None),
        (None, "MO", None),
        (date(2020, 1, 2), " mon", Fails("ILLEGAL_DAY_OF_WEEK")),
        (date(2020, 1, 2), "xx", Fails("ILLEGAL_DAY_OF_WEEK")),
    ],
    "trunc": [
        (date(2020, 8, 15), "year", date(2020, 1, 1)),
        (date(2020, 8, 15), "YYYY", date(2020, 1, 1)),
        (date(2020, 8, 15), "yy", date(2020, 1, 1)),
        (date(2020, 8, 15), "quarter", date(2020, 7, 1)),
        (date(2020, 8, 15), "mon", date(2020, 8, 1)),
        (date(2020, 8, 15), "MM", date(2020, 8, 1)),
        (date(2020, 8, 15), "week", date(2020, 8, 10)),
        (date(1969, 12, 31), "week", date(1969, 12, 29)),
        (date(2020, 8, 15), "day", None),
        (date(2020, 8, 15), "xx", None),
        (date(2020, 8, 15), None, None),
        (None, "year", None),
    ],
    "date_trunc": [
        ("YEAR", MOMENT, on(2020, 1, 1)),
        ("yyyy", MOMENT, on(2020, 1, 1)),
        ("QUARTER", MOMENT, on(2020, 7, 1)),
        ("mon", MOMENT, on(2020, 7, 1)),
        ("WEEK", MOMENT, on(2020, 7, 13)),
        ("dd", MOMENT, on(2020, 7, 15)),
        ("HOUR", MOMENT, on(2020, 7, 15, 12)),
        ("minute", MOMENT, on(2020, 7, 15, 12, 34)),
        ("second", MOMENT, on(2020, 7, 15, 12, 34, 56)),
        ("second", EARLY, on(1969, 12, 31, 23, 59, 59)),
        ("MILLISECOND", MOMENT, on(2020, 7, 15, 12, 34, 56, 789_000)),
        ("MICROSECOND", MOMENT, MOMENT),
        ("decade", MOMENT, None),
        (None, MOMENT, None),
        ("year", None, None),
    ],
    "months_between": [
        (on(1997, 2, 28, 10, 30), on(1996, 10, 30), 3.94959677),
        (on(1997, 2, 28, 10, 30), on(1996, 10, 30), False, 3.9495967741935485),
        (on(2020, 1, 31), on(2020, 2, 29), -1.0),
        (on(2020, 3, 15, 12), on(2020, 1, 15), 2.0),
        (on(2020, 1, 1), on(2020, 3, 17), -2.51612903),
        (on(2020, 3, 1, 0, 0, 1), on(2020, 1, 31, 23, 59, 59), 1.00000075),
        (on(2020, 1, 1), None, None),
        (on(2020, 1, 1), on(2020, 3, 17), None, None),
    ],
    "timestampadd": [
        ("MONTH", 1, on(2020, 1, 31, 10), on(2020, 2, 29, 10)),
        ("YEAR", -1, datetime(2020, 2, 29), datetime(2019, 2, 28)),
        ("QUARTER", 1, on(2020, 1, 31), on(2020, 4, 30)),
        ("WEEK", 1, on(2020, 1, 31), on(2020, 2, 7)),
        ("DAY", -1, on(2020, 1, 1), on(2019, 12, 31)),
        ("HOUR", 25, on(2020, 1, 31), on(2020, 2, 1, 1)),
        ("MICROSECOND", 1, on(2020, 1, 31), on(2020, 1, 31, 0, 0, 0, 1)),
        ("SECOND", None, on(2020, 1, 31), None),
        ("DAY", 1, Typed(None, TIMESTAMP), None),
        ("YEAR", 1000000, on(2020, 1, 31), OVERFLOW),
        ("DAY", 200000000, on(2020, 1, 31), OVERFLOW),
    ],
    "timestampdiff": [
        ("MONTH", on(2020, 1, 31, 10), on(2020, 2, 29, 10), 0),
        ("MONTH", on(2020, 1, 29, 10), on(2020, 2, 29, 9), 0),
        ("MONTH", on(2020, 3, 31), on(2020, 2, 29), -1),
        ("YEAR", on(2020, 2, 29), on(2021, 2, 28), 0),
        ("YEAR", on(2020, 1, 1), on(2019, 1, 1, 0, 0, 1), 0),
        ("QUARTER", on(2020, 1, 1), on(2020, 12, 31), 3),
        ("WEEK", on(2020, 1, 1), on(2020, 1, 15), 2),
        ("DAY", on(2020, 1, 31), on(2020, 3, 1), 30),
        ("HOUR", on(2020, 1, 1), on(2020, 1, 2, 0, 59, 59), 24),
        ("MINUTE", on(2020, 1, 1), on(2019, 12, 31, 23, 59, 1), 0),
        ("SECOND", on(2020, 1, 2), on(2020, 1, 1, 0, 0, 0, 500_000), -86399),
        ("MILLISECOND", on(2020, 1, 1), on(2020, 1, 1, 0, 0, 0, 1_900), 1),
        ("MICROSECOND", on(2020, 1, 1), on(2020, 1, 2), 86400000000),
        ("DAY", None, on(2020, 1, 1), None),
    ],
    "to_utc_timestamp": [
        (on(2020, 1, 1), "America/New_York", on(2020, 1, 1, 5)),
        (on(2020, 3, 8, 2, 30), "America/New_York", on(2020, 3, 8, 7, 30)),
        (on(2020, 1, 1), None, None),
        (on(2020, 1, 1), "foo", ZONE),
    ],
    "from_utc_timestamp": [
        (on(2020, 7, 1), "America/New_York", on(2020, 6, 30, 20)),
        (on(2020, 1, 1), "+05:30", on(2020, 1, 1, 5, 30)),
        (on(2020, 1, 1), "PST", on(2019, 12, 31, 16)),
        (on(2020, 1, 1), "GMT+1", on(2020, 1, 1, 1)),
        (on(2020, 1, 1), "+1", on(2020, 1, 1, 1)),
        (on(2020, 1, 1), "foo", ZONE),
    ],
    "convert_timezone": [
        ("America/New_York", "Asia/Tokyo", datetime(2020, 1, 1), datetime(2020, 1, 1, 14)),
        ("Asia/Tokyo", datetime(2020, 1, 1), datetime(2020, 1, 1, 9)),
        ("UTC", "Asia/Tokyo", date(2020, 1, 1), datetime(2020, 1, 1, 9)),
        ("UTC", "Asia/Tokyo", "2020-01-01 00:00:00", datetime(2020, 1, 1, 9)),
        ("UTC", None, datetime(2020, 1, 1), None),
        ("foo", "Asia/Tokyo", datetime(2020, 1, 1), ZONE),
    ],
}


@pytest.mark.parametrize("case", cases({**BUILDING, **MOVING}), ids=str)
def test_datetimes(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(INTERVALS))
def test_intervals(case: Case) -> None:
    check(case)


NEW_YORK = cases(
    {
        "date_trunc": [
            ("day", on(2020, 7, 2, 3), on(2020, 7, 1, 4)),
            ("hour", on(2020, 11, 1, 6, 30), on(2020, 11, 1, 6)),
            ("month", on(2020, 3, 20), on(2020, 3, 1, 5)),
        ],
        "timestampdiff": [("DAY", on(2020, 3, 7, 17), on(2020, 3, 8, 16), 1)],
        "timestampadd": [("DAY", 1, on(2020, 3, 7, 17), on(2020, 3, 8, 16))],
        "months_between": [(on(2020, 4, 1, 3), on(2020, 2, 1, 3), 2.0)],
        "make_timestamp": [(2020, 7, 1, 23, 0, Decimal(0), on(2020, 7, 2, 3))],
        "convert_timezone": [("UTC", datetime(2020, 1, 1), datetime(2020, 1, 1, 5))],
    },
    "America/New_York",
)


@pytest.mark.parametrize("case", NEW_YORK)
def test_the_session_zone_decides(case: Case) -> None:
    check(case)
