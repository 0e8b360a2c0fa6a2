"""Three-valued logic and functions that choose."""

from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_values.types import BOOLEAN, DOUBLE, INT, STRING, VOID, decimal
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

NAN = float("nan")
NULL = Typed(None, BOOLEAN)
NO_INT = Typed(None, INT)


def dec(text: str | None) -> Typed:
    return Typed(None if text is None else Decimal(text), decimal(12, 2))


def wide(text: str | None) -> Typed:
    return Typed(None if text is None else Decimal(text), decimal(30, 2))


LOGIC: Table = {
    "and": [
        (True, True, True),
        (True, False, False),
        (NULL, False, False),
        (False, NULL, False),
        (NULL, True, NULL),
        (NULL, NULL, NULL),
    ],
    "or": [
        (False, False, False),
        (True, False, True),
        (NULL, True, True),
        (True, NULL, True),
        (NULL, False, NULL),
        (NULL, NULL, NULL),
    ],
    "not": [(True, False), (False, True), (NULL, NULL)],
    "is_null": [(NO_INT, True), (1, False), (NAN, False)],
    "is_not_null": [(NO_INT, False), (1, True)],
    "isnull": [(NO_INT, True)],
    "isnotnull": [(NO_INT, False)],
}
CHOICES: Table = {
    "coalesce": [
        (1, 2, 1),
        (NO_INT, 2, 2),
        (NO_INT, NO_INT, 3, 3),
        (NO_INT, NO_INT, NO_INT),
        (dec(None), dec("1.50"), dec("1.50")),
        (wide(None), wide("1.50"), wide("1.50")),
        (dec("2.50"), dec("1.50"), dec("2.50")),
        (Typed(None, STRING), "x", "x"),
    ],
    "nvl": [(NO_INT, 2, 2), (1, 2, 1)],
    "ifnull": [(NO_INT, 2, 2)],
    "if": [
        (True, 1, 2, 1),
        (False, 1, 2, 2),
        (NULL, 1, 2, 2),
        (True, dec("1.50"), dec("2.50"), dec("1.50")),
        (False, "a", "b", "b"),
    ],
    "nvl2": [(NO_INT, 1, 2, 2), (5, 1, 2, 1)],
    "nullif": [
        (1, 1, NO_INT),
        (1, 2, 1),
        (NO_INT, 1, NO_INT),
        (NAN, NAN, Typed(None, DOUBLE)),
        (dec("1.50"), dec("1.50"), dec(None)),
    ],
    "zeroifnull": [(NO_INT, 0), (5, 5), (dec(None), dec("0.00"))],
    "nullifzero": [(0, NO_INT), (5, 5), (-0.0, Typed(None, DOUBLE)), (dec("0.00"), dec(None))],
    "greatest": [
        (1, 2, 2),
        (1, NO_INT, 1),
        (NO_INT, NO_INT, NO_INT),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        ("a", "B", "a"),
        (False, True, True),
        (dec("1.50"), dec("-2.50"), dec("1.50")),
        (wide("1.50"), wide(None), wide("2.50"), wide("2.50")),
    ],
    "least": [
        (1, 2, 1),
        (NO_INT, 3, 3),
        (NAN, 1.0, 1.0),
        ("a", "B", "B"),
        (dec("1.50"), dec("-2.50"), dec("-2.50")),
    ],
    "isnan": [(NAN, True), (1.0, False), (Typed(None, DOUBLE), False)],
    "nanvl": [(NAN, 5.0, 5.0), (1.0, 2.0, 1.0), (Typed(None, DOUBLE), 1.0, Typed(None, DOUBLE))],
}
RAISES: Table = {
    "assert_true": [
        (True, "never", Typed(None, VOID)),
        (False, "boo", Fails("USER_RAISED_EXCEPTION")),
        (NULL, "boo", Fails("USER_RAISED_EXCEPTION")),
    ],
    "raise_error": [("boo", Fails("USER_RAISED_EXCEPTION"))],
}


@pytest.mark.parametrize("case", cases(LOGIC), ids=str)
def test_logic(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases(CHOICES), ids=str)
def test_choices(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases({"raise_error": RAISES["raise_error"]}), ids=str)
def test_raising(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", cases({"assert_true": RAISES["assert_true"][1:]}), ids=str)
def test_asserting(case: Case) -> None:
    check(case)


def test_void_is_the_only_value_of_void() -> None:
    assert pa.types.is_null(VOID)
