"""Fields of dates and timestamps, and dates some days or months away."""

from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest

from sqlfront_values.functions.time import calendar_dates
from sqlfront_values.types import TIMESTAMP
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

LEAP = date(2020, 2, 29)
FIRST = date(1, 1, 1)
LAST = date(9999, 12, 31)
BEFORE = date(1969, 12, 31)
NOON = datetime(2020, 2, 29, 12, 58, 59, 500_000, tzinfo=UTC)
EARLY = datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)

FIELDS: Table = {
    "year": [(LEAP, 2020), (FIRST, 1), (LAST, 9999), (BEFORE, 1969), (None, None)],
    "quarter": [(LEAP, 1), (BEFORE, 4), (date(2020, 4, 1), 2)],
    "month": [(LEAP, 2), (BEFORE, 12), (date(2020, 1, 1), 1)],
    "day": [(LEAP, 29), (FIRST, 1)],
    "dayofmonth": [(LEAP, 29)],
    "dayofweek": [(LEAP, 7), (FIRST, 2), (date(2020, 3, 1), 1), (BEFORE, 4)],
    "weekday": [(LEAP, 5), (FIRST, 0), (date(2020, 3, 1), 6), (BEFORE, 2)],
    "dayofyear": [(LEAP, 60), (date(2020, 12, 31), 366), (LAST, 365), (FIRST, 1)],
    "weekofyear": [(LEAP, 9), (date(2021, 1, 1), 53), (date(2019, 12, 31), 1), (FIRST, 1), (LAST, 52)],
    "year_of_week": [(date(2021, 1, 1), 2020), (date(2019, 12, 31), 2020), (FIRST, 1)],
    "dayofweek_iso": [(LEAP, 6), (date(2020, 3, 1), 7)],
    "hour": [
        (NOON, 12),
        (EARLY, 23),
        (LEAP, 0),
        (NOON.replace(tzinfo=None), 12),
        (Typed(None, TIMESTAMP), None),
    ],
    "minute": [(NOON, 58), (EARLY, 59), (LEAP, 0)],
    "second": [(NOON, 59), (EARLY, 59), (LEAP, 0)],
    "second_with_fraction": [
        (NOON, Decimal("59.500000")),
        (EARLY, Decimal("59.999999")),
        (LEAP, Decimal("0.000000")),
    ],
}
ARITHMETIC: Table = {
    "date_add": [
        (LEAP, 1, date(2020, 3, 1)),
        (LEAP, -60, date(2019, 12, 31)),
        (LEAP, None, None),
        (None, 1, None),
    ],
    "dateadd": [(LEAP, 0, LEAP)],
    "date_sub": [(LEAP, 60, date(2019, 12, 31)), (LEAP, -1, date(2020, 3, 1)), (LEAP, None, None)],
    "add_months": [
        (LEAP, 12, date(2021, 2, 28)),
        (LEAP, -1, date(2020, 1, 29)),
        (date(2020, 1, 31), 1, LEAP),
        (date(2020, 1, 31), -11, date(2019, 2, 28)),
        (date(2020, 12, 31), 1, date(2021, 1, 31)),
        (LEAP, 0, LEAP),
        (LEAP, None, None),
        (None, 1, None),
        (LEAP, 2**31 - 1, Fails("ARITHMETIC_OVERFLOW")),
    ],
    "datediff": [(LEAP, BEFORE, 18322), (BEFORE, LEAP, -18322), (LAST, FIRST, 3652058), (LEAP, None, None)],
    "date_diff": [(LEAP, LEAP, 0)],
}


@pytest.mark.parametrize("case", cases({**FIELDS, **ARITHMETIC}), ids=str)
def test_dates(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "case",
    cases(
        {"hour": [(NOON, 18), (NOON.replace(tzinfo=None), 12), (LEAP, 0)], "minute": [(NOON, 28)]},
        "Asia/Kolkata",
    ),
    ids=str,
)
def test_the_fields_of_a_timestamp_are_those_of_the_session_zone(case: Case) -> None:
    check(case)


def test_the_calendar_agrees_with_python_on_all_of_its_dates() -> None:
    days = np.arange(date.min.toordinal(), date.max.toordinal() + 1, 7) - date(1970, 1, 1).toordinal()
    dates = [date.fromordinal(day + date(1970, 1, 1).toordinal()) for day in days.tolist()]

    year, month, day = calendar_dates.civil_from_days(days)
    iso_year, iso_week = calendar_dates.iso_week(days)

    assert [(d.year, d.month, d.day) for d in dates] == list(
        zip(year.tolist(), month.tolist(), day.tolist(), strict=True)
    )
    assert [d.isocalendar()[:2] for d in dates] == list(
        zip(iso_year.tolist(), iso_week.tolist(), strict=True)
    )
    assert [d.timetuple().tm_yday for d in dates] == calendar_dates.day_of_year(days).tolist()
    assert [d.weekday() for d in dates] == calendar_dates.weekday(days).tolist()
    assert (calendar_dates.days_from_civil(year, month, day) == days).all()
