"""Every aggregate and window function's example gives the answer that stands beside it (Spark's). The sum of
ANSI mode off has no call of its own."""

import pytest

import sqlfront
from sqlfront_values.functions.aggregates.registry import aggregate_names, lookup_aggregate
from sqlfront_values.functions.legacy import WRAPPING_SUM
from sqlfront_values.functions.windows.registry import lookup_window, window_names


def check(example: tuple[str, str] | None) -> None:
    """Run an example."""
    assert example is not None, "a function without an example"
    sql, answer = example
    ((value,),) = sqlfront.sql(sql).collect()

    if isinstance(value, float):
        assert value == pytest.approx(float(answer), rel=1e-9)
    else:
        assert repr(value) == answer


@pytest.mark.parametrize("name", [name for name in aggregate_names() if name != WRAPPING_SUM])
def test_aggregates(name: str) -> None:
    function = lookup_aggregate(name)
    assert function is not None
    check(function.example)


@pytest.mark.parametrize("name", window_names())
def test_window_functions(name: str) -> None:
    function = lookup_window(name)
    assert function is not None
    check(function.example)
