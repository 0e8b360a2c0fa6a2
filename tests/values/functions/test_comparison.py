"""Comparisons: NaN, negative zero, bytes, nulls, nested values; IN."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Call, Column, Literal
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BOOLEAN, DICTIONARY_STRING, DOUBLE, FLOAT, INT, STRING, decimal
from tests.values.functions.kernel_cases import Case, Table, Typed, cases, check

NAN, INF = float("nan"), float("inf")
TRUE, FALSE, NULL = Typed(True, BOOLEAN), Typed(False, BOOLEAN), Typed(None, BOOLEAN)
A, B = "a", "B"


def null(data_type: pa.DataType) -> Typed:
    return Typed(None, data_type)


def wide(text: str) -> Typed:
    return Typed(Decimal(text), decimal(30, 2))


ORDER = [
    (1, 2),
    (-INF, -1e308),
    (1e308, INF),
    (INF, NAN),
    (Typed(INF, FLOAT), Typed(NAN, FLOAT)),
    ("B", "a"),
    ("z", "é"),
    ("", "a"),
    ("ab", "abc"),
    (b"\x00", b"\xff"),
    (False, True),
    (Decimal("-1.50"), Decimal("+1.50")),
    (wide("-1.50"), wide("12345678901234567890.00")),
    (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)),
    (datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, 0, 1)),
    (datetime.timedelta(days=-1), datetime.timedelta(0)),
]
SAME = [
    (1, 1),
    (NAN, NAN),
    (0.0, -0.0),
    (Typed(NAN, FLOAT), Typed(NAN, FLOAT)),
    ("é", "é"),
    (b"", b""),
    (Decimal("1.50"), Decimal("1.50")),
    (wide("1.50"), wide("1.50")),
    (datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)),
]
UP, DOWN = [(a, b) for a, b in ORDER], [(b, a) for a, b in ORDER]
COMPARISONS: Table = {
    "less": [*((*pair, True) for pair in UP), *((*pair, False) for pair in DOWN + SAME)],
    "greater": [*((*pair, True) for pair in DOWN), *((*pair, False) for pair in UP + SAME)],
    "less_equal": [*((*pair, True) for pair in UP + SAME), *((*pair, False) for pair in DOWN)],
    "greater_equal": [*((*pair, True) for pair in DOWN + SAME), *((*pair, False) for pair in UP)],
    "equal": [*((a, b, False) for a, b in ORDER), *((a, b, True) for a, b in SAME), (null(INT), 1, NULL)],
    "not_equal": [*((a, b, True) for a, b in ORDER), *((a, b, False) for a, b in SAME), (1, null(INT), NULL)],
    "equal_null_safe": [
        *((a, b, False) for a, b in ORDER),
        *((a, b, True) for a, b in SAME),
        (null(INT), null(INT), True),
        (null(INT), 1, False),
        (NAN, null(DOUBLE), False),
    ],
}
LISTS: Table = {
    "in": [
        (1, 2, 3, False),
        (1, 2, 1, True),
        (1, null(INT), 1, True),
        (1, null(INT), 2, NULL),
        (null(INT), 1, 2, NULL),
        (NAN, 1.0, NAN, True),
        (0.0, 1.0, -0.0, True),
        ("b", "a", "b", True),
        (Decimal("1.50"), Decimal("1.50"), Decimal("2.50"), True),
        *((value, 1, 2, 3, 4, 5, 6, 7, 8, answer) for value, answer in ((8, True), (9, False))),
        ("x", *"abcdefgh", False),
        ("h", *"abcdefgh", True),
        ("x", *"abcdefg", null(STRING), NULL),
        (Decimal("8.5"), *(Decimal(f"{n}.5") for n in range(1, 9)), True),
    ],
}


@pytest.mark.parametrize("case", cases(COMPARISONS), ids=str)
def test_comparisons(case: Case) -> None:
    check(case)


def in_list(values: pa.Array, data_type: pa.DataType, constants: tuple[object, ...]) -> list[bool | None]:
    batch = pa.RecordBatch.from_arrays([values], names=["a"])
    listed = tuple(Literal(data_type, item) for item in constants)
    return evaluate(Call(BOOLEAN, "in", (Column(data_type, 0), *listed)), batch, Settings()).to_pylist()


@pytest.mark.parametrize("case", cases(LISTS), ids=str)
def test_in(case: Case) -> None:
    value, *constants = (item.value if isinstance(item, Typed) else item for item in case.arguments)
    first = next(item for item in case.arguments if not isinstance(item, Typed) or item.value is not None)
    data_type = {float: DOUBLE, str: STRING, Decimal: decimal(2, 1), int: INT}[type(first)]
    data_type = decimal(3, 2) if value == Decimal("1.50") else data_type
    physical = pa.decimal64(data_type.precision, data_type.scale) if isinstance(first, Decimal) else data_type
    column = from_values([value, None, value], physical)
    answer = case.answer.value if isinstance(case.answer, Typed) else case.answer

    assert in_list(column, data_type, tuple(constants)) == [answer, None, answer]
    assert in_list(column.slice(2), data_type, tuple(constants)) == [answer]
    if data_type == STRING:
        encoded = from_values([value, None] * 20, DICTIONARY_STRING)
        assert in_list(encoded, data_type, tuple(constants)) == [answer, None] * 20


def test_in_a_long_list_of_decimals_of_any_precision() -> None:
    for data_type in (decimal(5, 1), decimal(30, 1)):
        listed = tuple(Decimal(number) / 2 for number in range(0, 2000, 3))
        column = pa.array([Decimal("1.5"), Decimal("1.0"), None, Decimal("-1.5")], data_type)
        known = column if data_type.precision > 18 else column.cast(pa.decimal64(5, 1))

        assert in_list(known, data_type, listed) == [True, False, None, False]
        assert in_list(known, data_type, (*listed, None)) == [True, None, None, None]


def test_in_a_list_of_nulls_is_null() -> None:
    assert in_list(from_values([1, None], INT), INT, (None, None)) == [None, None]


def test_in_a_list_of_columns_is_an_or() -> None:
    batch = pa.RecordBatch.from_arrays(
        [from_values(v, BIGINT) for v in ([1, 1, None], [2, None, 1], [1, 2, 1])], names="abc"
    )
    expression = Call(BOOLEAN, "in", (Column(BIGINT, 0), Column(BIGINT, 1), Column(BIGINT, 2)))

    assert evaluate(expression, batch, Settings()).to_pylist() == [True, None, None]


@pytest.mark.parametrize(
    ("left", "right", "less"),
    [
        ([1], [1, 2], True),
        ([None], [1], True),
        ([2], [1, 2], False),
        ([1, None], [1, 0], True),
        ([], [None], True),
    ],
)
def test_arrays_compare_element_by_element_null_first(left: list[int], right: list[int], less: bool) -> None:
    kind = pa.list_(INT)
    batch = pa.RecordBatch.from_arrays([pa.array([left], kind), pa.array([right], kind)], names=["a", "b"])

    def compared(function: str) -> object:
        return evaluate(Call(BOOLEAN, function, (Column(kind, 0), Column(kind, 1))), batch, Settings())[
            0
        ].as_py()

    assert compared("less") is less
    assert compared("greater_equal") is not less
    assert compared("equal") is False
    assert compared("not_equal") is True
