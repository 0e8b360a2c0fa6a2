"""A sample of the deep and long statements; ``python -m tests.fuzz.depth`` has all of them."""

import sys
from collections.abc import Iterator

import pytest

import sqlfront
from tests.fuzz.depth import MOST_SECONDS, Ending, Worker, fault
from tests.fuzz.shapes import SHAPES

#: Each with the size that has to be answered, and one that may be refused.
SAMPLE = (
    *("and", "or", "add", "add-constant", "concat-operator", "parentheses", "case", "functions", "not"),
    *("subqueries", "scalar-subqueries", "parenthesized-query", "exists", "union-all", "except"),
    *("joins-equal", "joins-left", "in-integers", "windows-alike", "types-array", "common-tables-doubling"),
    *("cube", "name-of-function", "casts", "minus-column", "explain-case", "parameters"),
)
LARGE = dict.fromkeys(SAMPLE, 3_000) | {"types-array": 2_000, "name-of-function": 1_000_000, "cube": 30}
#: The others have to be answered at a size that is as large, or larger.
LARGER = tuple(name for name in SAMPLE if LARGE[name] > SHAPES[name].answered)


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with Worker() as worker:
        yield worker


@pytest.mark.xdist_group("depth")
@pytest.mark.parametrize("name", SAMPLE)
def test_a_size_that_has_to_be_answered_is(name: str, worker: Worker) -> None:
    shape = SHAPES[name]
    assert_right(name, shape.answered, worker.run(name, shape.answered))


@pytest.mark.xdist_group("depth")
@pytest.mark.parametrize("name", LARGER)
def test_a_larger_size_is_answered_or_refused_by_an_error_of_the_hierarchy(name: str, worker: Worker) -> None:
    assert_right(name, LARGE[name], worker.run(name, LARGE[name]))


def assert_right(name: str, size: int, ending: Ending) -> None:
    """Machines that do other work at the same time take longer; how long is for the run by hand to say."""
    assert fault(SHAPES[name], size, ending) in ("", "SLOW"), ending
    assert ending.seconds < 4 * MOST_SECONDS, ending


def test_the_interpreters_recursion_limit_is_its_own() -> None:
    before = sys.getrecursionlimit()
    terms = 2 * before
    with sqlfront.connect() as connection:
        added = connection.execute(f"SELECT {' + '.join(['1'] * terms)}").fetchall()
    assert added == [(terms,)]
    assert sys.getrecursionlimit() == before
