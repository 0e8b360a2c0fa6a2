"""Plus, minus, times and divided by, of dates, timestamps and intervals."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from sqlfront_values.functions.time.arithmetic import scale_amount
from sqlfront_values.types import BIGINT, DAY_TIME_INTERVAL, DOUBLE, YEAR_MONTH_INTERVAL
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

LEAP = date(2020, 2, 29)
NOON = datetime(2020, 2, 29, 12, tzinfo=UTC)
CLOCK = datetime(2020, 2, 29, 12)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
TICK = timedelta(microseconds=1)


def months(count: int) -> Typed:
    return Typed(count, YEAR_MONTH_INTERVAL)


def interval(value: timedelta | None) -> Typed:
    return Typed(value, DAY_TIME_INTERVAL)


TABLE: Table = {
    "add": [
        (LEAP, DAY, date(2020, 3, 1)),
        (LEAP, -60 * DAY, date(2019, 12, 31)),
        (LEAP, interval(None), None),
        (LEAP, months(12), date(2021, 2, 28)),
        (date(2020, 1, 31), months(1), LEAP),
        (date(2020, 1, 31), months(-2), date(2019, 11, 30)),
        (NOON, HOUR, datetime(2020, 2, 29, 13, tzinfo=UTC)),
        (NOON, -13 * HOUR, datetime(2020, 2, 28, 23, tzinfo=UTC)),
        (NOON, months(12), datetime(2021, 2, 28, 12, tzinfo=UTC)),
        (CLOCK, DAY + TICK, datetime(2020, 3, 1, 12, 0, 0, 1)),
        (CLOCK, months(-1), datetime(2020, 1, 29, 12)),
        (NOON, timedelta(days=106751991), Fails(None)),
        (LEAP, months(2**31 - 1), Fails("ARITHMETIC_OVERFLOW")),
    ],
    "subtract": [
        (LEAP, DAY, date(2020, 2, 28)),
        (date(2020, 3, 31), months(1), LEAP),
        (NOON, HOUR, datetime(2020, 2, 29, 11, tzinfo=UTC)),
        (LEAP, date(2019, 2, 28), interval(366 * DAY)),
        (date(1969, 12, 31), LEAP, interval(-18322 * DAY)),
        (NOON, datetime(2020, 2, 28, 11, tzinfo=UTC), interval(DAY + HOUR)),
        (CLOCK, datetime(2020, 3, 1, 12), interval(-DAY)),
    ],
    "multiply": [
        (HOUR, 2, 2 * HOUR),
        (5 * TICK, Decimal("0.5"), 3 * TICK),
        (-5 * TICK, Decimal("0.5"), -3 * TICK),
        (-5 * TICK, 0.5, -3 * TICK),
        (HOUR, Typed(None, BIGINT), None),
        (timedelta(days=106751991), 2, Fails(None)),
        (timedelta(days=106751991), 2.0, Fails(None)),
        (HOUR, Typed(float("nan"), DOUBLE), Fails(None)),
    ],
    "divide": [
        (HOUR, 2, Typed(HOUR / 2, DAY_TIME_INTERVAL)),
        (5 * TICK, 2, interval(3 * TICK)),
        (-5 * TICK, 2, interval(-3 * TICK)),
        (-5 * TICK, 2.0, interval(-3 * TICK)),
        (-5 * TICK, Decimal("2.00"), interval(-3 * TICK)),
        (HOUR, 0, Fails("INTERVAL_DIVIDED_BY_ZERO")),
        (HOUR, 0.0, Fails("INTERVAL_DIVIDED_BY_ZERO")),
    ],
}
#: Results of a type that the oracle's client cannot read.
IN_MONTHS: Table = {
    "multiply": [
        (months(5), 2, months(10)),
        (months(-5), Decimal("0.5"), months(-3)),
        (months(3), 0.5, months(2)),
    ],
    "divide": [
        (months(7), 2, months(4)),
        (months(-5), 2, months(-3)),
        (months(1), 0, Fails("INTERVAL_DIVIDED_BY_ZERO")),
    ],
}
SPRING = [
    # 2020-03-08 02:00 to 03:00 does not exist in New York, 2020-11-01 01:00 to 02:00 exists twice.
    (datetime(2020, 3, 7, 7, 30, tzinfo=UTC), DAY, datetime(2020, 3, 8, 7, 30, tzinfo=UTC)),
    (datetime(2020, 3, 8, 5, 30, tzinfo=UTC), 24 * HOUR, datetime(2020, 3, 9, 4, 30, tzinfo=UTC)),
    (datetime(2020, 10, 31, 5, 30, tzinfo=UTC), 25 * HOUR, datetime(2020, 11, 1, 6, 30, tzinfo=UTC)),
    (datetime(2020, 11, 1, 6, 30, tzinfo=UTC), timedelta(0), datetime(2020, 11, 1, 6, 30, tzinfo=UTC)),
    (datetime(2020, 10, 1, 5, 30, tzinfo=UTC), months(1), datetime(2020, 11, 1, 5, 30, tzinfo=UTC)),
    (datetime(2020, 11, 1, 6, 30, tzinfo=UTC), months(0), datetime(2020, 11, 1, 6, 30, tzinfo=UTC)),
]


@pytest.mark.parametrize("case", cases(TABLE), ids=str)
def test_temporal_arithmetic(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(IN_MONTHS))
def test_arithmetic_of_year_month_intervals(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases({"add": SPRING}, "America/New_York"))
def test_days_and_months_are_those_of_the_session_zone(case: Case) -> None:
    check(case)


def test_the_difference_of_timestamps_is_that_of_the_local_times() -> None:
    before, after = datetime(2020, 3, 7, 17, tzinfo=UTC), datetime(2020, 3, 8, 16, tzinfo=UTC)

    check(Case("subtract", (after, before), interval(DAY), "America/New_York"))


@pytest.mark.parametrize("amount, number", [(2**31 - 1, 2), (-(2**31), Decimal("1.1"))])
def test_intervals_do_not_wrap_around(amount: int, number: int | Decimal) -> None:
    with pytest.raises(Exception, match="integer overflow"):
        scale_amount("multiply", amount, number, 2**31 - 1)
