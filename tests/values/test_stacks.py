"""Recursion that goes on on other stacks."""

import contextvars
import gc
import sys
import threading
from collections.abc import Iterator

import pytest

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.stacks import deep, on_fresh_stack

DEEP = 4 * sys.getrecursionlimit()


@pytest.fixture(autouse=True)
def uncollected() -> Iterator[None]:
    """Garbage of other tests is collected before: its finalizers would meet the end of the stack, too."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@deep
def height(levels: int) -> int:
    return 0 if levels == 0 else 1 + height(levels - 1)


def endless(levels: int) -> int:
    try:
        return endless(levels + 1)
    except RecursionError:
        return on_fresh_stack(endless, levels)


def test_a_recursion_deeper_than_the_interpreters_limit_ends_with_its_result() -> None:
    assert height(DEEP) == DEEP


def test_a_shallow_recursion_stays_on_its_thread() -> None:
    @deep
    def thread(levels: int) -> int:
        return threading.get_ident() if levels == 0 else thread(levels - 1)

    assert thread(10) == threading.get_ident()


def test_a_recursion_without_end_is_an_error_of_the_hierarchy() -> None:
    with pytest.raises(NotSupportedError, match="FAILED_TO_PARSE_TOO_COMPLEX"):
        endless(0)


def test_an_operation_that_no_stack_is_large_enough_for_is_the_same_error() -> None:
    def greedy() -> None:
        greedy()

    with pytest.raises(NotSupportedError, match="FAILED_TO_PARSE_TOO_COMPLEX"):
        on_fresh_stack(greedy)


def test_errors_come_through_the_stacks() -> None:
    @deep
    def failing(levels: int) -> int:
        if levels == 0:
            raise KeyError("bottom")
        return failing(levels - 1)

    with pytest.raises(KeyError, match="bottom"):
        failing(DEEP)


def test_another_stack_sees_the_context_of_the_first() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")
    variable.set(7)
    assert on_fresh_stack(variable.get) == 7


def test_the_size_of_other_threads_stacks_is_left_as_it_was() -> None:
    before = threading.stack_size()
    on_fresh_stack(height, 5)
    assert threading.stack_size() == before
