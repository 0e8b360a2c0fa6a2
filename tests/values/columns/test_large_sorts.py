"""Many values are sorted run by run, and the sort can be stopped between two of them."""

import numpy as np
import pytest

from sqlfront_values.columns import ordering
from sqlfront_values.columns.encoding import Codes
from sqlfront_values.room import StoppedError, occupy


@pytest.fixture(autouse=True)
def short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ordering, "_RUN", 16)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 31, 32, 33, 100, 1000, 1025])
@pytest.mark.parametrize("bound", [3, 2**20, 2**62])
def test_the_order_is_that_of_the_values(length: int, bound: int) -> None:
    values = np.random.default_rng(length).integers(0, bound, length)
    order = ordering.sorting_order(Codes(values.copy(), bound))
    assert sorted(order.tolist()) == list(range(length))
    assert values[order].tolist() == sorted(values.tolist())


@pytest.mark.parametrize("bound", [2**20, 2**62])
def test_a_stopped_query_sorts_no_further(bound: int) -> None:
    values = np.random.default_rng(1).integers(0, bound, 1000)
    occupy(None, lambda: True)
    try:
        with pytest.raises(StoppedError):
            ordering.sorting_order(Codes(values, bound))
    finally:
        occupy(None, None)
