"""format_string and format_number."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.text.number_texts import parse_number_pattern
from sqlfront_values.functions.text.printf import parse_format
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, STRING, TINYINT
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

WRONG = Fails(None)
NAN, INF = float("nan"), float("inf")

STRINGS: Table = {
    "format_string": [
        (
            "%d|%5d|%-5d|%05d|%+d|% d|%,d|%(d",
            42,
            42,
            42,
            42,
            42,
            42,
            1234567,
            -42,
            "42|   42|42   |00042|+42| 42|1,234,567|(42)",
        ),
        ("%x|%X|%o|%08x|%#x|%#o", 255, 255, 8, 255, 255, 8, "ff|FF|10|000000ff|0xff|010"),
        ("%x %x %x", -1, Typed(-1, BIGINT), Typed(-1, TINYINT), "ffffffff ffffffffffffffff ff"),
        ("%f|%.2f|%10.3f|%-10.1f|", 1.5, 2.345, 3.14159, 2.55, "1.500000|2.35|     3.142|2.6       |"),
        (
            "%e|%.3E|%.0e|%e|%e",
            12345.678,
            0.00012345,
            15.0,
            0.0,
            1e-10,
            "1.234568e+04|1.235E-04|2e+01|0.000000e+00|1.000000e-10",
        ),
        (
            "%g|%.3g|%g|%g|%g|%g",
            0.0001,
            123456.0,
            1e10,
            0.00001,
            99999.95,
            0.0,
            "0.000100000|1.23e+05|1.00000e+10|1.00000e-05|100000|0.00000",
        ),
        ("%f|%f|%f|%5.1f", NAN, INF, -INF, NAN, "NaN|Infinity|-Infinity|  NaN"),
        ("%.0f|%.0f|%.0f|%.2f|%.1f", 0.5, 1.5, 2.5, 1.005, 0.25, "1|2|3|1.01|0.3"),
        (
            "%f|%,.2f|%.2f",
            1e20,
            1234567.891,
            Typed(1.1, FLOAT),
            "100000000000000000000.000000|1,234,567.89|1.10",
        ),
        ("%,d|%(,.2f|%08.2f|%+.1f", -1234567, -1234.5, -3.14159, 2.0, "-1,234,567|(1,234.50)|-0003.14|+2.0"),
        ("%s|%10s|%-10s|%.2s|%S", "abc", "abc", "abc", "abc", "abc", "abc|       abc|abc       |ab|ABC"),
        ("%b|%B|%b|%b", True, False, Typed(None, BOOLEAN), "x", "true|FALSE|false|true"),
        (
            "%s|%d|%f|%5s|",
            Typed(None, STRING),
            Typed(None, INT),
            Typed(None, DOUBLE),
            True,
            "null|null|null| true|",
        ),
        ("%c%c", 65, 128512, "A😀"),
        ("%s %s %s %s", 1.0, 100000000.0, Typed(1.5, FLOAT), 1e-5, "1.0 1.0E8 1.5 1.0E-5"),
        ("%s %s", Decimal("1.50"), date(2020, 1, 1), "1.50 18262"),
        ("%d %s", date(2020, 1, 1), datetime(2020, 1, 1, 12, tzinfo=UTC), "18262 1577880000000000"),
        ("%2$s %1$s %s %<s", "a", "b", "b a a a"),
        ("a%%b%n", "a%b\n"),
        ("é😀%s", "ü", "é😀ü"),
        ("", 1, ""),
        (None, 1, None),
        ("%d", "a", WRONG),
        ("%d", 1.5, WRONG),
        ("%d", Decimal("5"), WRONG),
        ("%.2f", Decimal("1.5"), WRONG),
        ("%d", WRONG),
        ("%s %d", "a", WRONG),
        ("%q", 1, WRONG),
        ("%5", 1, WRONG),
        ("%-d", 1, WRONG),
        ("%,s", 1, WRONG),
    ],
    "printf": [("%s", "a", "a")],
}
NUMBERS: Table = {
    "format_number": [
        (Decimal("12332.123456"), 4, "12,332.1235"),
        (Decimal("0.5"), 0, "0"),
        (Decimal("1.5"), 0, "2"),
        (Decimal("2.5"), 0, "2"),
        (Decimal("-1234567.891"), 2, "-1,234,567.89"),
        (1234567, 2, "1,234,567.00"),
        (123, 0, "123"),
        (0, 3, "0.000"),
        (1e20, 1, "100,000,000,000,000,000,000.0"),
        (0.135, 2, "0.14"),
        (1.005, 2, "1.00"),
        (Decimal("0.125"), 2, "0.12"),
        (Decimal("-0.4"), 0, "-0"),
        (-0.4, 0, "-0"),
        (Typed(0.375, FLOAT), 2, "0.38"),
        (NAN, 2, "NaN"),
        (INF, 2, "∞"),
        (-INF, 1, "-∞"),
        (Decimal("123456789012345678901234567890.12"), 1, "123,456,789,012,345,678,901,234,567,890.1"),
        (Decimal("1.0"), -1, None),
        (Typed(None, DOUBLE), 2, None),
        (Decimal("1.0"), Typed(None, INT), None),
        (Decimal("12345.678"), "#,###.##", "12,345.68"),
        (Decimal("12345.678"), "0.0", "12345.7"),
        (Decimal("12332.123456"), "##################.###", "12332.123"),
        (Decimal("0.5"), "#.##", "0.5"),
        (Decimal("1234.5"), "000000.00", "001234.50"),
        (-5, "#", "-5"),
        (0, "#", "0"),
        (0, "#.#", "0"),
        (Decimal("1234567.5"), "#,##,##0.0", "1,234,567.5"),
        (5, "$0.00", "$5.00"),
        (Decimal("0.25"), "0%", "25%"),
        (Decimal("1234.567"), "#.", "1235."),
        (12, "0.0#", "12.0"),
        (-0.001, "0.00", "-0.00"),
        (Decimal("2.5"), "'x'0", "x2"),
        (Decimal("1234.5"), "", "1,234"),
    ],
}


@pytest.mark.parametrize("case", cases({**STRINGS, **NUMBERS}), ids=str)
def test_formats(case: Case) -> None:
    check(case)


def test_what_is_not_built_is_refused_by_name() -> None:
    with pytest.raises(NotSupportedError, match=r"0\.0E0"):
        parse_number_pattern("0.0E0")
    with pytest.raises(NotSupportedError, match="%h"):
        parse_format("%h")
    with pytest.raises(NotSupportedError, match="array<int>"):
        check(Case("format_string", ("%s", [1, 2]), "[1,2]"))
