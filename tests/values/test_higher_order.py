"""Functions that take lambdas, over batches: slices, dictionaries, captured values, order of evaluation."""

import operator
import random
from collections.abc import Callable

import pyarrow as pa
import pytest

from sqlfront_values.arrow.forms import plain
from sqlfront_values.errors import DataError
from sqlfront_values.evaluate import Rows as InputRows
from sqlfront_values.evaluate import can_fail, compile_projection, evaluate, is_deterministic
from sqlfront_values.expression_text import describe
from sqlfront_values.expressions import (
    Call,
    Cast,
    Column,
    Expr,
    HigherOrder,
    Lambda,
    Literal,
    Parameter,
    columns_used,
    map_columns,
    transform,
)
from sqlfront_values.functions.registry import lookup
from sqlfront_values.java.tim_sort import InconsistentOrder, tim_sort
from sqlfront_values.settings import Settings
from sqlfront_values.types import BOOLEAN, DOUBLE, INT, STRING

UTC = Settings()
INTS = pa.list_(INT)
ARRAY, NUMBER, TEXT = Column(INTS, 0, "a"), Column(INT, 1, "b"), Column(STRING, 2, "t")
X, SECOND, THIRD = Column(INT, 0, "x"), Column(INT, 1, "y"), Column(INT, 2, "z")


def call(function: str, *arguments: Expr) -> Call:
    entry = lookup(function)
    assert entry is not None
    return Call(entry.result_type(tuple(argument.type for argument in arguments)), function, arguments)


def higher(
    function: str,
    result: pa.DataType,
    arguments: tuple[Expr, ...],
    *bodies: tuple[int, Expr],
    captured: tuple[Expr, ...] = (),
) -> HigherOrder:
    return HigherOrder(result, function, arguments, captured, tuple(Lambda(*body) for body in bodies))


def batch() -> pa.RecordBatch:
    lists = pa.array([[9, 9], [1, None, 3], [], None, [4], [9]], INTS).slice(1, 4)
    texts = pa.array(["p", None, "q", "p"]).dictionary_encode()
    return pa.RecordBatch.from_arrays([lists, pa.array([10, 20, 30, 40], INT), texts], names=["a", "b", "t"])


def values(expression: Expr, rows: pa.RecordBatch | None = None) -> list[object]:
    rows = batch() if rows is None else rows
    result = evaluate(expression, rows, UTC)
    assert len(result) == rows.num_rows
    return plain(result).to_pylist()


PLUS_CAPTURED = higher("transform", INTS, (ARRAY,), (1, call("add", X, SECOND)), captured=(NUMBER,))


def test_a_body_reads_elements_of_a_slice_and_captured_values() -> None:
    assert values(PLUS_CAPTURED) == [[11, None, 13], [], None, [44]]


def test_a_captured_dictionary_string_is_read_for_each_element() -> None:
    body = Column(STRING, 1)

    assert values(higher("transform", pa.list_(STRING), (ARRAY,), (1, body), captured=(TEXT,))) == [
        ["p", "p", "p"],
        [],
        None,
        ["p"],
    ]


def test_no_rows_give_an_empty_column() -> None:
    assert values(PLUS_CAPTURED, batch().slice(0, 0)) == []


def test_arrays_without_elements_evaluate_no_body() -> None:
    one, zero = Literal(DOUBLE, 1.0), Literal(DOUBLE, 0.0)
    failing = higher("transform", pa.list_(DOUBLE), (ARRAY,), (1, call("divide", one, zero)))

    assert values(failing, batch().slice(1, 2)) == [[], None]
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        values(failing)


def test_more_elements_than_are_evaluated_at_once_keep_their_order() -> None:
    lists = pa.array([list(range(50_000)), list(range(100_000)), [7]], INTS)
    rows = pa.RecordBatch.from_arrays([lists, pa.array([1, 2, 3], INT)], names=["a", "b"])

    first, second, third = evaluate(PLUS_CAPTURED, rows, UTC).to_pylist()
    assert first == list(range(1, 50_001))
    assert second == list(range(2, 100_002))
    assert third == [10]


def test_exists_evaluates_no_element_behind_the_first_that_is_true() -> None:
    inverse = call("divide", Cast(DOUBLE, Literal(INT, 6)), Cast(DOUBLE, X))
    condition = call("greater", inverse, Literal(DOUBLE, 1.0))
    rows = pa.RecordBatch.from_arrays([pa.array([[1, 0], [6, 2, 0]], INTS)], names=["a"])

    assert values(higher("exists", BOOLEAN, (ARRAY,), (1, condition)), rows) == [True, True]
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        values(higher("forall", BOOLEAN, (ARRAY,), (1, condition)), rows.slice(0, 1))


def test_captured_values_that_fail_are_computed_only_for_arrays_with_elements() -> None:
    failing = call("divide", Literal(DOUBLE, 1.0), Cast(DOUBLE, call("subtract", NUMBER, Literal(INT, 20))))
    once = higher("transform", pa.list_(DOUBLE), (ARRAY,), (1, Column(DOUBLE, 1)), captured=(failing,))
    twice = call("add", Column(DOUBLE, 1), Column(DOUBLE, 1))

    assert values(once)[1] == []  # the row whose value would fail
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        values(higher("transform", pa.list_(DOUBLE), (ARRAY,), (1, twice), captured=(failing,)))


def test_aggregate_goes_on_with_the_arrays_that_are_long_enough() -> None:
    rows = pa.RecordBatch.from_arrays(
        [pa.array([[1], None, [1, 2, 3], [], [4, 5]], INTS), pa.array([100] * 5, INT)], names=["a", "b"]
    )
    merge = call("add", call("multiply", X, Literal(INT, 10)), SECOND)
    finish = call("add", X, SECOND)

    assert values(
        higher("aggregate", INT, (ARRAY, Literal(INT, 0)), (2, merge), (1, finish), captured=(NUMBER,)), rows
    ) == [101, None, 223, 100, 145]


def test_generic_functions_see_what_a_call_reads_and_not_the_bodies() -> None:
    assert columns_used(PLUS_CAPTURED) == {0, 1}
    moved = map_columns(PLUS_CAPTURED, lambda column: Column(column.type, column.ordinal + 5))
    assert columns_used(moved) == {5, 6}
    assert isinstance(moved, HigherOrder)
    assert moved.lambdas == PLUS_CAPTURED.lambdas


def test_a_parameter_of_the_plan_is_captured_and_replaced() -> None:
    open_call = higher(
        "filter", INTS, (ARRAY,), (1, call("greater", X, SECOND)), captured=(Parameter(INT, 0),)
    )
    bound = transform(open_call, lambda item: Literal(INT, 2) if isinstance(item, Parameter) else item)

    assert values(bound) == [[3], [], None, [4]]


def test_calls_with_different_bodies_over_one_array_share_nothing() -> None:
    other = higher("transform", INTS, (ARRAY,), (1, call("subtract", X, SECOND)), captured=(NUMBER,))
    project = compile_projection((PLUS_CAPTURED, other, PLUS_CAPTURED), UTC)

    columns, _ = project(InputRows(batch()))
    assert columns[0].to_pylist() == columns[2].to_pylist() != columns[1].to_pylist()


def test_properties_are_those_of_arguments_and_bodies() -> None:
    random_body = higher("transform", pa.list_(DOUBLE), (ARRAY,), (1, call("rand", Literal(INT, 1))))

    assert can_fail(PLUS_CAPTURED)  # the sum may overflow
    assert not can_fail(higher("transform", INTS, (ARRAY,), (1, X)))
    assert is_deterministic(PLUS_CAPTURED)
    assert not is_deterministic(random_body)


def test_the_text_shows_captured_values_in_their_places() -> None:
    assert describe(PLUS_CAPTURED) == "transform(a#0, x#0 -> x#0 + b#1)"


# ---- sorting


def _sorted(keys: list[int], compare: Callable[[int, int], int] = operator.sub) -> list[int]:
    items = list(range(len(keys)))
    sort = tim_sort(items)
    pair = next(sort, None)
    while pair is not None:
        try:
            pair = sort.send(compare(keys[pair[0]], keys[pair[1]]))
        except StopIteration:
            pair = None
    return items


@pytest.mark.parametrize("count", [0, 1, 2, 31, 32, 33, 64, 200, 1000])
@pytest.mark.parametrize("distinct", [2, 7, 10_000])
def test_the_sort_is_stable(count: int, distinct: int) -> None:
    source = random.Random(f"{count} {distinct}")
    for shape in range(4):
        keys = [source.randrange(distinct) for _ in range(count)]
        if shape == 1:
            keys.sort()
        if shape == 2:
            keys.sort(reverse=True)
        if shape == 3:
            keys = [*sorted(keys[: count // 2]), *sorted(keys[count // 2 :])]
        assert _sorted(keys) == sorted(range(count), key=keys.__getitem__)


def test_a_sort_finds_that_a_comparator_contradicts_itself() -> None:
    keys = [number * 37 % 11 for number in range(1, 101)]

    with pytest.raises(InconsistentOrder):
        _sorted(keys, lambda left, right: -1 if left <= right else 1)


def test_arrays_are_sorted_together_and_nulls_are_compared() -> None:
    nulls = Literal(INT, -1)
    order = call("subtract", call("coalesce", SECOND, nulls), call("coalesce", X, nulls))

    assert values(higher("array_sort", INTS, (ARRAY,), (2, order))) == [[3, 1, None], [], None, [4]]


def test_a_comparison_without_result_is_an_error() -> None:
    with pytest.raises(DataError, match="COMPARATOR_RETURNS_NULL"):
        values(higher("array_sort", INTS, (ARRAY,), (2, call("subtract", X, SECOND))))
