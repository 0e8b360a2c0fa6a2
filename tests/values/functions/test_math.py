"""Roots, logarithms, trigonometry; rounding; bits and bases; hashes."""

import math
from decimal import Decimal

import pytest

from sqlfront_values.types import BIGINT, BINARY, DOUBLE, FLOAT, INT, SMALLINT, STRING, TINYINT, decimal
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

NAN, INF = float("nan"), float("inf")
NULL = Typed(None, DOUBLE)
NO_BIT = Fails("INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE")
OVERFLOW = Fails("ARITHMETIC_OVERFLOW")
LONG_MAX = 2**63 - 1


def long(value: int | None) -> Typed:
    return Typed(value, BIGINT)


def dec(text: str, precision: int, scale: int) -> Typed:
    return Typed(Decimal(text), decimal(precision, scale))


REALS: Table = {
    "sqrt": [(4.0, 2.0), (-1.0, NAN), (-0.0, -0.0), (NULL, NULL)],
    "cbrt": [(27.0, 3.0), (-8.0, -2.0)],
    "exp": [(0.0, 1.0), (1000.0, INF), (-1000.0, 0.0)],
    "expm1": [
        (0.0, 0.0),
        (1e-10, 1.00000000005e-10),
        (19.0, 178482299.96318728),
        (-0.31, -0.26655304377571076),
        (87.7, 1.2235622316380759e38),
    ],
    "ln": [(1.0, 0.0), (0.0, NULL), (-1.0, NULL), (INF, INF), (NAN, NAN)],
    "log": [
        (1.0, 0.0),
        (2.0, 8.0, 3.0),
        (10.0, 100.0, 2.0),
        (0.0, 5.0, NULL),
        (2.0, -8.0, NULL),
        (1.0, 5.0, INF),
    ],
    "log10": [(1000.0, 3.0), (0.0, NULL)],
    "log2": [(8.0, 3.0), (-1.0, NULL)],
    "log1p": [
        (0.0, 0.0),
        (-1.0, NULL),
        (-2.0, NULL),
        (0.2, 0.18232155679395462),
        (175.0, 5.170483995038152),
    ],
    "pow": [
        (2.0, 3.0, 8.0),
        (2.0, -1.0, 0.5),
        (-8.0, 1 / 3, NAN),
        (0.0, 0.0, 1.0),
        (NAN, 0.0, 1.0),
        (1.0, NAN, NAN),
        (2.9, 3.0, 24.388999999999996),
        (0.7, 1 / 3, 0.8879040017426008),
        (1.0000001, 3e9, 1.9423975992963885e130),
        (0.5, 1074.0, 5e-324),
        (-0.0, -3.0, -INF),
        (-2.5, -3.0, -0.064),
        (-INF, 0.5, INF),
    ],
    "power": [(-1.0, INF, NAN), (0.0, -1.0, INF)],
    "hypot": [
        (3.0, 4.0, 5.0),
        (0.24, 0.01, 0.24020824298928625),
        (-0.7, 0.01, 0.7000714249274854),
        (1e300, 2e300, 2.23606797749979e300),
        (1e-310, 2e-310, 2.2360679774998e-310),
        (NAN, -INF, INF),
    ],
    "sign": [(-3.0, -1.0), (0.0, 0.0), (-0.0, -0.0), (NAN, NAN), (2.5, 1.0)],
    "signum": [(5.0, 1.0)],
    "rint": [(2.5, 2.0), (-1.5, -2.0), (0.5, 0.0)],
    "degrees": [(math.pi, 180.0), (1.0, 57.29577951308232)],
    "radians": [(180.0, math.pi), (90.0, math.pi / 2)],
    "asin": [
        (2.0, NAN),
        (0.0, 0.0),
        (0.58, 0.6187286906722511),
        (-0.96, -1.2870022175865685),
        (-1.0, -math.pi / 2),
    ],
    "acos": [(2.0, NAN), (-0.84, 2.568079549166696), (1.0, 0.0), (-1.0, math.pi)],
    "atan": [(NAN, NAN), (-4.7, -1.361156480920684), (2.4, 1.1760052070951352), (1e300, math.pi / 2)],
    "acosh": [(0.5, NAN), (1.0, 0.0)],
    "sinh": [(-0.0, -0.0), (19.0, 89241150.48159364), (-35.7, -1596919441840389.0)],
    "tanh": [(-0.0, -0.0), (INF, 1.0), (0.5, 0.46211715726000974), (-12.9, -0.9999999999875195)],
    "atanh": [(1.0, INF), (2.0, NAN)],
    "atan2": [
        (0.0, -1.0, math.pi),
        (19.0, 1.5, 1.4920123658057527),
        (-2.0, -2.5, -2.4668517113662407),
        (INF, -INF, 3 * math.pi / 4),
    ],
    "cot": [(0.0, INF)],
    "csc": [(0.0, INF)],
    "sec": [(0.0, 1.0)],
    "factorial": [(5, long(120)), (20, long(2432902008176640000)), (21, long(None)), (-1, long(None))],
    "width_bucket": [
        (5.3, 0.2, 10.6, long(5), long(3)),
        (-2.1, 1.3, 3.4, long(3), long(0)),
        (8.1, 0.0, 5.7, long(4), long(5)),
        (10.0, 10.0, 0.0, long(3), long(1)),
        (0.0, 10.0, 0.0, long(3), long(4)),
        (1.0, 1.0, 1.0, long(1), long(None)),
        (1.0, 0.0, 10.0, long(LONG_MAX), long(None)),
    ],
}
ROUNDING: Table = {
    "ceil": [
        (-0.1, long(0)),
        (dec("1.5", 2, 1), dec("2", 2, 0)),
        (long(5), long(5)),
        (Typed(3, TINYINT), long(3)),
        (1e30, OVERFLOW),
        (NAN, long(0)),
        (9.223372036854775e18, long(9223372036854774784)),
        (3.14159, 2, dec("3.15", 18, 2)),
        (12345, -2, dec("12400", 11, 0)),
        (dec("123.456", 6, 3), -1, dec("130", 4, 0)),
    ],
    "ceiling": [(1.2, long(2))],
    "floor": [
        (dec("-1.5", 2, 1), dec("-2", 2, 0)),
        (NAN, long(0)),
        (Typed(1.5, FLOAT), long(1)),
        (dec("-3.14159", 6, 5), 2, dec("-3.15", 4, 2)),
        (12345, -2, dec("12300", 11, 0)),
    ],
    "round": [
        (2.5, 3.0),
        (-2.5, -3.0),
        (-0.4, 0.0),
        (2.675, 2, 2.68),
        (1.005, 2, 1.01),
        (0.285, 2, 0.29),
        (NAN, NAN),
        (-INF, 1, -INF),
        (1e300, 2, 1e300),
        (12.345, 400, 12.345),
        (12.345, -400, 0.0),
        (Typed(1.45, FLOAT), 1, Typed(1.5, FLOAT)),
        (25, -1, 30),
        (-25, -1, -30),
        (155, -2, 200),
        (5, 1, 5),
        (2147483647, -1, OVERFLOW),
        (Typed(127, TINYINT), -1, OVERFLOW),
        (long(12345678901234567), -3, long(12345678901235000)),
        (dec("2.5", 2, 1), dec("3", 2, 0)),
        (dec("125.315", 6, 3), 2, dec("125.32", 6, 2)),
        (dec("-125.315", 6, 3), 2, dec("-125.32", 6, 2)),
        (dec("15.5", 3, 1), -1, dec("20", 3, 0)),
        (dec("1.5", 2, 1), 5, dec("1.5", 3, 1)),
        (dec("1.234", 38, 10), 2, dec("1.23", 31, 2)),
        (1.5, Typed(None, INT), NULL),
    ],
    "bround": [
        (2.5, 2.0),
        (3.5, 4.0),
        (1.005, 2, 1.0),
        (25, -1, 20),
        (35, -1, 40),
        (dec("2.675", 4, 3), 2, dec("2.68", 4, 2)),
        (dec("2.5", 2, 1), dec("2", 2, 0)),
    ],
}
BITS: Table = {
    "bit_and_op": [(6, 3, 2), (long(-1), long(5), long(5))],
    "bit_or_op": [(6, 3, 7)],
    "bit_xor_op": [(6, 3, 5)],
    "bit_not": [(5, -6), (Typed(5, TINYINT), Typed(-6, TINYINT))],
    "shiftleft": [(1, 31, -(2**31)), (1, 33, 2), (1, -1, -(2**31)), (long(2), 65, long(4))],
    "shiftright": [(-8, 1, -4), (1, 33, 0)],
    "shiftrightunsigned": [(-8, 1, 2147483644), (-1, 33, 2147483647), (long(-1), 1, long(LONG_MAX))],
    "bit_count": [(7, 3), (-1, 64), (Typed(-1, SMALLINT), 64)],
    "getbit": [
        (11, 1, Typed(1, TINYINT)),
        (11, 2, Typed(0, TINYINT)),
        (long(5), 64, Fails("INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE")),
    ],
    "hex": [(long(17), "11"), (long(-1), "F" * 16), ("Spark", "537061726B"), (b"\x00\xff", "00FF"), ("", "")],
    "unhex": [("537061726B", b"Spark"), ("F", b"\x0f"), ("GG", Typed(None, BINARY)), ("abc", b"\x0a\xbc")],
    "bin": [(long(13), "1101"), (long(-1), "1" * 64)],
    "conv": [
        ("100", 2, 10, "4"),
        ("-10", 16, -10, "-16"),
        ("zz", 36, 16, "50F"),
        ("12x", 10, 16, "C"),
        ("", 10, 16, Typed(None, STRING)),
        ("-1", 10, 16, "F" * 16),
        ("ffffffffffffffff", 16, -10, "-1"),
        ("-9223372036854775809", 10, -10, "-9223372036854775807"),
        ("18446744073709551616", 10, 16, OVERFLOW),
        ("100", 2, 40, Typed(None, STRING)),
    ],
    "hash": [
        (1, -559580957),
        ("a", 2, Typed(None, INT), 201997482),
        (True, -559580957),
        (dec("1.00", 20, 2), -295670906),
    ],
    "xxhash64": [
        ("a", 1, long(-4810547614043336770)),
        (dec("1.5", 2, 1), long(3132713209420183794)),
        (dec("1.00", 20, 2), long(4409375254388155230)),
        ("abcdefghijklmnopqrstuvwxyz0123456789", long(2724237963427677065)),
        (1, Typed(None, INT), long(-6698625589789238999)),
        (True, long(-6698625589789238999)),
    ],
}


@pytest.mark.parametrize("case", cases(REALS), ids=str)
def test_reals(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(ROUNDING), ids=str)
def test_rounding(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(BITS), ids=str)
def test_bits_bases_and_hashes(case: Case) -> None:
    check(case)
