"""Python code over columns: once for all rows that are the same."""

import pyarrow as pa
import pytest

from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DataError, NotSupportedError
from sqlfront_values.functions.registry import Invocation
from sqlfront_values.functions.rowwise import by_row
from sqlfront_values.functions.time.building import days_of
from sqlfront_values.settings import Settings
from sqlfront_values.types import INT

Rows = list[tuple[object, ...]]


def seen_and_made(
    arguments: tuple[Datum, ...], length: int, *, null_aware: bool
) -> tuple[Rows, list[object]]:
    """The rows that the function was called with, and the results."""
    seen: Rows = []

    def number(*row: object) -> int:
        seen.append(row)
        return len(seen)

    invocation = Invocation(INT, tuple(argument.type for argument in arguments), length, Settings())
    return seen, by_row(number, arguments, invocation, null_aware=null_aware).to_pylist()


@pytest.mark.parametrize("null_aware", [False, True])
def test_a_row_that_comes_again_is_computed_once(null_aware: bool) -> None:
    first = pa.array([3, None, 1, 3] * 50)
    second = pa.array(["a", "b", None, "b"] * 50)
    seen, made = seen_and_made((first, pa.scalar(7), second), 200, null_aware=null_aware)

    if null_aware:
        assert (seen, made) == ([(3, 7, "a"), (None, 7, "b"), (1, 7, None), (3, 7, "b")], [1, 2, 3, 4] * 50)
    else:
        assert (seen, made) == ([(3, 7, "a"), (3, 7, "b")], [1, None, None, 2] * 50)


def test_rows_that_are_distinct_only_together() -> None:
    first = pa.array([row // 10 for row in range(100)])
    second = pa.array([row % 10 for row in range(100)])
    seen, made = seen_and_made((first, second), 100, null_aware=False)

    assert seen == [(row // 10, row % 10) for row in range(100)]
    assert made == list(range(1, 101))


def test_values_that_cant_be_compared() -> None:
    lists = pa.array([[1], [2]] * 50)
    assert seen_and_made((lists,), 100, null_aware=False)[1] == list(range(1, 101))


def test_the_error_is_that_of_the_first_row_that_has_one() -> None:
    months = pa.array([2, 13, 14, 2] * 50)
    invocation = Invocation(INT, (INT, INT, INT), 200, Settings())
    with pytest.raises(DataError, match=r"MonthOfYear.*: 13"):
        by_row(days_of, (pa.array([2020] * 200), months, pa.array([1] * 200)), invocation)


def test_a_date_that_python_doesnt_have_is_refused() -> None:
    days = pa.array([0, 3_000_000], pa.int32()).view(pa.date32())
    with pytest.raises(NotSupportedError, match="years 1 to 9999"):
        seen_and_made((days,), 2, null_aware=False)
