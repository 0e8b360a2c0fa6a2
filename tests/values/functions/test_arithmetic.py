"""The arithmetic operators on both sides of each type's bounds."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_values.types import BIGINT, DOUBLE, FLOAT, SMALLINT, TINYINT, decimal
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

NAN, INF = float("nan"), float("inf")
LONG_MAX, LONG_MIN = 2**63 - 1, -(2**63)
INT_MAX, INT_MIN = 2**31 - 1, -(2**31)
OVERFLOW = Fails("ARITHMETIC_OVERFLOW")
SMALL_OVERFLOW = Fails("BINARY_ARITHMETIC_OVERFLOW")
TOO_LONG = Fails("NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION")
TOO_LONG_ROUNDED = Fails("NUMERIC_VALUE_OUT_OF_RANGE.WITHOUT_SUGGESTION")
BY_ZERO, REST_BY_ZERO = Fails("DIVIDE_BY_ZERO"), Fails("REMAINDER_BY_ZERO")
WIDEST, LEAST = Decimal("9" * 38), Decimal("-" + "9" * 38)


def tiny(value: int | None) -> Typed:
    return Typed(value, TINYINT)


def small(value: int | None) -> Typed:
    return Typed(value, SMALLINT)


def long(value: int | None) -> Typed:
    return Typed(value, BIGINT)


def dec(text: str, precision: int, scale: int) -> Typed:
    return Typed(Decimal(text), decimal(precision, scale))


def day(days: float) -> datetime.timedelta:
    return datetime.timedelta(days=days)


SUMS: Table = {
    "add": [
        (INT_MAX - 1, 1, INT_MAX),
        (INT_MAX, 1, OVERFLOW),
        (long(LONG_MAX - 1), long(1), long(LONG_MAX)),
        (long(LONG_MAX), long(1), OVERFLOW),
        (tiny(126), tiny(1), tiny(127)),
        (tiny(127), tiny(1), SMALL_OVERFLOW),
        (small(-32767), small(-1), small(-32768)),
        (small(-32768), small(-1), SMALL_OVERFLOW),
        (1e308, 1e308, INF),
        (NAN, 1.0, NAN),
        (Typed(1.5, FLOAT), Typed(0.25, FLOAT), Typed(1.75, FLOAT)),
        (day(1), day(0.5), day(1.5)),
    ],
    "subtract": [
        (INT_MIN + 1, 1, INT_MIN),
        (INT_MIN, 1, OVERFLOW),
        (long(LONG_MIN), long(1), OVERFLOW),
        (tiny(-128), tiny(1), SMALL_OVERFLOW),
        (0.0, 0.0, 0.0),
        (INF, INF, NAN),
        (day(1), day(2), day(-1)),
    ],
    "multiply": [
        (46340, 46340, 2147395600),
        (46341, 46341, OVERFLOW),
        (long(3037000499), long(3037000499), long(9223372030926249001)),
        (long(3037000500), long(3037000500), OVERFLOW),
        (long(LONG_MIN), long(-1), OVERFLOW),
        (small(181), small(181), small(32761)),
        (small(182), small(182), SMALL_OVERFLOW),
        (0.0, -1.0, -0.0),
    ],
}

DECIMALS: Table = {
    "add": [
        (dec("99.99", 4, 2), dec("0.01", 4, 2), dec("100.00", 5, 2)),
        (dec("1.5", 2, 1), dec("0.25", 4, 3), dec("1.750", 5, 3)),
        (dec("-9" + "9" * 16, 17, 0), dec("-9" + "9" * 16, 17, 0), dec("-1" + "9" * 16 + "8", 18, 0)),
        (dec("9" * 18, 18, 0), dec("9" * 18, 18, 0), dec("1" + "9" * 17 + "8", 19, 0)),
        (dec("9" * 37, 37, 0), dec("1", 37, 0), dec("1" + "0" * 37, 38, 0)),
        (Typed(WIDEST, decimal(38, 0)), dec("0", 38, 0), Typed(WIDEST, decimal(38, 0))),
        (Typed(WIDEST, decimal(38, 0)), dec("1", 38, 0), TOO_LONG),
        (dec("0.000000000000000001", 38, 18), dec("1", 38, 0), dec("1.000000", 38, 6)),
    ],
    "subtract": [
        (dec("1", 1, 0), dec("0.10", 12, 2), dec("0.90", 13, 2)),
        (Typed(LEAST, decimal(38, 0)), dec("1", 38, 0), TOO_LONG),
    ],
    "multiply": [
        (dec("99999.99", 7, 2), dec("0.95", 13, 2), dec("94999.9905", 21, 4)),
        (dec("-1.5", 2, 1), dec("1.5", 2, 1), dec("-2.25", 5, 2)),
        (dec("999999999.99", 11, 2), dec("999999999.99", 11, 2), dec("999999999980000000.0001", 23, 4)),
        (dec("9" * 18, 18, 0), dec("9" * 18, 18, 0), dec("9" * 17 + "8" + "0" * 17 + "1", 37, 0)),
        (dec("9" * 19, 19, 0), dec("9" * 19, 19, 0), dec("9" * 18 + "8" + "0" * 18 + "1", 38, 0)),
        (Typed(WIDEST, decimal(38, 0)), dec("10", 38, 0), TOO_LONG),
        (dec("3", 38, 20), dec("3", 38, 20), dec("9.000000", 38, 6)),
        (dec("0.0000005", 38, 20), dec("1", 38, 20), dec("0.000001", 38, 6)),
    ],
    "divide": [
        (dec("1.00", 12, 2), dec("3.00", 12, 2), dec("0.333333333333333", 27, 15)),
        (dec("-2.00", 12, 2), dec("3.00", 12, 2), dec("-0.666666666666667", 27, 15)),
        (dec("5", 1, 0), dec("2.0", 2, 1), dec("2.500000", 8, 6)),
        (dec("1", 38, 0), dec("7", 38, 0), dec("0.142857", 38, 6)),
        (dec("9999999999.99", 12, 2), dec("0.01", 12, 2), dec("999999999999.000000000000000", 27, 15)),
        (Typed(WIDEST, decimal(38, 0)), dec("0.0000001", 38, 10), TOO_LONG),
        (dec("1.0", 2, 1), dec("0.0", 2, 1), BY_ZERO),
    ],
    "remainder": [
        (dec("5.5", 2, 1), dec("2", 1, 0), dec("1.5", 2, 1)),
        (dec("-10.0", 3, 1), dec("3", 1, 0), dec("-1.0", 2, 1)),
        (dec("1.0", 2, 1), dec("0", 1, 0), REST_BY_ZERO),
    ],
    "pmod": [
        (dec("-5.5", 2, 1), dec("2.5", 2, 1), dec("2.0", 2, 1)),
        (dec("7.5", 2, 1), dec("-2", 1, 0), dec("1.5", 2, 1)),
    ],
    "div": [
        (dec("7.9", 2, 1), dec("2.1", 2, 1), long(3)),
        (dec("-7.9", 2, 1), dec("2.1", 2, 1), long(-3)),
        (dec("1" + "0" * 30, 38, 0), dec("0.1", 2, 1), long(-4570789518076018688)),
        (dec("1.0", 2, 1), dec("0.0", 2, 1), BY_ZERO),
    ],
    "negative": [
        (dec("1.50", 12, 2), dec("-1.50", 12, 2)),
        (Typed(WIDEST, decimal(38, 0)), TOO_LONG_ROUNDED),
        (
            dec("12345678901234567890123456789012345678", 38, 0),
            dec("-12345678901234567890123456789012350000", 38, 0),
        ),
        (
            dec("1234567890123456789012345678901234.5678", 38, 4),
            dec("-1234567890123456789012345678901235.0000", 38, 4),
        ),
    ],
    "abs": [
        (dec("-1.50", 12, 2), dec("1.50", 12, 2)),
        (Typed(WIDEST, decimal(38, 0)), Typed(WIDEST, decimal(38, 0))),
        (Typed(LEAST, decimal(38, 0)), TOO_LONG_ROUNDED),
        (
            dec("-1234567890123456789012345678901234.5678", 38, 4),
            dec("1234567890123456789012345678901235.0000", 38, 4),
        ),
    ],
}
DIVISIONS: Table = {
    "divide": [
        (7.0, 2.0, 3.5),
        (1.0, 0.0, BY_ZERO),
        (0.0, -0.0, BY_ZERO),
        (NAN, 0.0, BY_ZERO),
        (Typed(None, DOUBLE), 0.0, Typed(None, DOUBLE)),
        (1.0, Typed(None, DOUBLE), Typed(None, DOUBLE)),
        (1.0, NAN, NAN),
    ],
    "div": [
        (long(-7), long(2), long(-3)),
        (long(7), long(-2), long(-3)),
        (long(LONG_MIN), long(-1), OVERFLOW),
        (long(LONG_MIN), long(1), long(LONG_MIN)),
        (long(1), long(0), BY_ZERO),
        (long(None), long(0), long(None)),
    ],
    "remainder": [
        (-7, 3, -1),
        (7, -3, 1),
        (long(LONG_MIN), long(-1), long(0)),
        (1, 0, REST_BY_ZERO),
        (tiny(None), tiny(0), tiny(None)),
        (7.5, 2.0, 1.5),
        (-5.5, 2.0, -1.5),
        (1.0, 0.0, REST_BY_ZERO),
        (INF, 2.0, NAN),
        (1.0, INF, 1.0),
    ],
    "mod": [(10, 3, 1)],
    "pmod": [
        (-7, 3, 2),
        (7, -3, 1),
        (-7, -3, -1),
        (tiny(-128), tiny(-1), tiny(0)),
        (tiny(-127), tiny(-128), tiny(-127)),
        (INT_MIN, INT_MAX, INT_MAX - 1),
        (long(LONG_MIN), long(LONG_MAX), long(LONG_MAX - 1)),
        (-7.5, 2.0, 0.5),
        (1, 0, REST_BY_ZERO),
    ],
}
SAFE: Table = {
    "try_add": [
        (INT_MAX, 1, Typed(None, pa.int32())),
        (tiny(127), tiny(1), tiny(None)),
        (1, 2, 3),
        (Typed(WIDEST, decimal(38, 0)), dec("1", 38, 0), Typed(None, decimal(38, 0))),
    ],
    "try_subtract": [(INT_MIN, 1, Typed(None, pa.int32())), (1, 2, -1)],
    "try_multiply": [(long(LONG_MAX), long(2), long(None)), (long(4), long(2), long(8))],
    "try_divide": [
        (1.0, 0.0, Typed(None, DOUBLE)),
        (1.0, 2.0, 0.5),
        (dec("1.5", 2, 1), dec("0", 1, 0), Typed(None, decimal(7, 6))),
    ],
    "try_mod": [(5, 0, Typed(None, pa.int32())), (-7, 3, -1)],
}
SIGNS: Table = {
    "negative": [
        (INT_MAX, -INT_MAX),
        (INT_MIN, OVERFLOW),
        (tiny(-128), OVERFLOW),
        (0.0, -0.0),
        (day(1), day(-1)),
    ],
    "positive": [(5, 5)],
    "abs": [(INT_MIN + 1, INT_MAX), (INT_MIN, OVERFLOW), (small(-32768), OVERFLOW), (-0.0, 0.0), (NAN, NAN)],
}


@pytest.mark.parametrize("case", cases(SUMS), ids=str)
def test_sums_and_products(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(DECIMALS), ids=str)
def test_decimals(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(DIVISIONS), ids=str)
def test_divisions(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(SAFE), ids=str)
def test_what_fails_is_null_in_the_try_forms(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(SIGNS), ids=str)
def test_signs(case: Case) -> None:
    check(case)
