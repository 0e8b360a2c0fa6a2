"""Which of many parameters the test command runs: the others are marked ``cluster``."""

from collections.abc import Iterable
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

T = TypeVar("T")


def sampled(values: Iterable[T], every: int) -> list[ParameterSet]:
    """The test command runs the first of every so many."""
    each = list(values)
    return shortened(each, *each[::every])


def shortened(values: Iterable[T], *kept: T) -> list[ParameterSet]:
    """The test command runs those that are kept."""
    return [pytest.param(value, marks=() if value in kept else pytest.mark.cluster) for value in values]
