"""Evaluation over batches: lazy operands, filters, projections, dictionaries, decimals, shared parts."""

import itertools
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.forms import plain
from sqlfront_values.errors import DataError, InternalError
from sqlfront_values.evaluate import (
    Rows,
    can_fail,
    compile_expressions,
    compile_projection,
    evaluate,
    evaluate_scalar,
    filter_batch,
    is_deterministic,
)
from sqlfront_values.evaluate.scaled import ScaledValues
from sqlfront_values.expressions import Call, Case, Cast, Column, Expr, Literal, Parameter
from sqlfront_values.functions.registry import lookup
from sqlfront_values.settings import Settings
from sqlfront_values.types import BIGINT, BOOLEAN, DICTIONARY_STRING, DOUBLE, INT, STRING, decimal, physical

UTC = Settings()
MONEY = decimal(12, 2)


def call(function: str, *arguments: Expr) -> Call:
    entry = lookup(function)
    assert entry is not None
    return Call(entry.result_type(tuple(argument.type for argument in arguments)), function, arguments)


def column(ordinal: int, data_type: pa.DataType) -> Column:
    return Column(data_type, ordinal)


def literal(value: object, data_type: pa.DataType) -> Literal:
    return Literal(data_type, value)


def batch(*columns: tuple[Sequence[object], pa.DataType]) -> pa.RecordBatch:
    arrays = [from_values(values, data_type) for values, data_type in columns]
    return pa.RecordBatch.from_arrays(arrays, names=[f"c{n}" for n in range(len(arrays))])


def values(expression: Expr, rows: pa.RecordBatch) -> list[object]:
    result = evaluate(expression, rows, UTC)
    assert len(result) == rows.num_rows
    return plain(result).to_pylist()


A, B = column(0, INT), column(1, INT)
ZERO, ONE, TEN = (literal(value, INT) for value in (0, 1, 10))
RATIO = call("div", Cast(BIGINT, TEN), Cast(BIGINT, A))
"""Fails where a is 0."""


# ---- operands for the rows that need them


def test_case_evaluates_a_branch_only_for_the_rows_that_take_it() -> None:
    safe = Case(BIGINT, ((call("equal", A, ZERO), literal(-1, BIGINT)),), RATIO)

    assert values(safe, batch(([0, 1, None, 5], INT))) == [-1, 10, None, 2]
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        values(RATIO, batch(([0, 1], INT)))


def test_case_evaluates_a_condition_only_for_the_rows_that_are_left() -> None:
    big = call("greater", RATIO, literal(4, BIGINT))
    case = Case(
        STRING,
        ((call("equal", A, ZERO), literal("zero", STRING)), (big, literal("big", STRING))),
        literal("small", STRING),
    )

    assert values(case, batch(([0, 1, 5, None, 2], INT))) == ["zero", "big", "small", "small", "big"]


def test_and_evaluates_its_right_side_unless_the_left_is_false() -> None:
    condition = call("and", call("not_equal", A, ZERO), call("greater", RATIO, literal(4, BIGINT)))

    assert values(condition, batch(([0, 1, 5], INT))) == [False, True, False]
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        values(
            call("and", call("is_null", B), call("greater", RATIO, literal(4, BIGINT))),
            batch(([0], INT), ([None], INT)),
        )


def test_and_with_null_on_the_left_needs_the_right_side() -> None:
    unknown = call("greater", B, ZERO)
    condition = call("and", unknown, call("greater", RATIO, literal(4, BIGINT)))

    assert values(condition, batch(([1, 5, 5], INT), ([None, None, 0], INT))) == [None, False, False]


def test_or_evaluates_its_right_side_unless_the_left_is_true() -> None:
    condition = call("or", call("equal", A, ZERO), call("greater", RATIO, literal(4, BIGINT)))

    assert values(condition, batch(([0, 1, 5, None], INT))) == [True, True, False, None]


def test_coalesce_evaluates_an_operand_only_where_all_before_are_null() -> None:
    first = call("coalesce", column(1, BIGINT), RATIO)

    assert values(first, batch(([0, 1, 5], INT), ([7, None, None], BIGINT))) == [7, 10, 2]
    with pytest.raises(DataError, match="DIVIDE_BY_ZERO"):
        values(first, batch(([0], INT), ([None], BIGINT)))


@pytest.mark.parametrize("function", ["if", "nvl2"])
def test_if_and_nvl2_evaluate_one_side(function: str) -> None:
    condition = call("not_equal", A, ZERO) if function == "if" else call("nullif", A, ZERO)
    chosen = Call(BIGINT, function, (condition, RATIO, literal(-1, BIGINT)))

    assert values(chosen, batch(([0, 1, 5], INT))) == [-1, 10, 2]


def test_lazy_forms_over_no_rows_give_no_rows() -> None:
    empty = batch(([], INT), ([], INT))
    for expression in (
        Case(BIGINT, ((call("equal", A, ZERO), literal(-1, BIGINT)),), RATIO),
        call("coalesce", Cast(BIGINT, B), RATIO),
        call("and", call("equal", A, ZERO), call("equal", RATIO, literal(1, BIGINT))),
    ):
        assert values(expression, empty) == []


def test_lazy_case_keeps_strings_decimals_and_constants_in_their_rows() -> None:
    text = Cast(STRING, RATIO)
    case = Case(STRING, ((call("equal", A, ZERO), column(1, STRING)),), text)
    rows = batch(([0, 2, 0, 5], INT), (["x", "y", "z", "w"], DICTIONARY_STRING))

    assert values(case, rows) == ["x", "5", "z", "2"]


# ---- constants, nulls, nothing


def test_a_constant_becomes_as_many_rows() -> None:
    rows = batch(([1, 2, 3], INT))

    assert values(literal("x", STRING), rows) == ["x"] * 3
    assert values(literal(Decimal("1.50"), MONEY), rows) == [Decimal("1.50")] * 3
    assert values(literal(None, pa.null()), rows) == [None] * 3
    assert values(literal(1, INT), rows.slice(0, 0)) == []


def test_evaluate_scalar_gives_the_python_value_or_raises() -> None:
    assert evaluate_scalar(call("add", ONE, TEN), UTC) == 11
    assert evaluate_scalar(Cast(STRING, literal(None, INT)), UTC) is None
    with pytest.raises(DataError, match="ARITHMETIC_OVERFLOW"):
        evaluate_scalar(call("add", ONE, literal(2**31 - 1, INT)), UTC)


def test_what_must_be_bound_before_does_not_reach_the_engine() -> None:
    with pytest.raises(InternalError, match="Parameter"):
        evaluate_scalar(Parameter(INT, 0), UTC)


def test_a_function_that_is_not_registered_is_named() -> None:
    with pytest.raises(InternalError, match="nonsense"):
        evaluate_scalar(Call(INT, "nonsense", ()), UTC)


# ---- what can fail


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (A, False),
        (call("add", A, B), True),
        (call("add", column(0, DOUBLE), column(1, DOUBLE)), False),
        (call("multiply", column(0, MONEY), column(1, MONEY)), False),
        (call("multiply", column(0, decimal(38, 2)), column(1, MONEY)), True),
        (call("divide", column(0, DOUBLE), literal(2.0, DOUBLE)), False),
        (call("divide", column(0, DOUBLE), literal(0.0, DOUBLE)), True),
        (call("divide", column(0, DOUBLE), column(1, DOUBLE)), True),
        (call("try_divide", column(0, DOUBLE), column(1, DOUBLE)), False),
        (call("equal", A, B), False),
        (Cast(INT, column(0, STRING)), True),
        (Cast(INT, column(0, STRING), True), False),
        (Cast(BIGINT, A), False),
        (Case(INT, ((call("equal", A, B), call("add", A, B)),), A), True),
    ],
)
def test_can_fail(expression: Expr, expected: bool) -> None:
    assert can_fail(expression) is expected


def test_rand_is_not_deterministic() -> None:
    assert not is_deterministic(call("add", call("rand"), literal(1.0, DOUBLE)))
    assert is_deterministic(call("add", A, B))


# ---- filters


def kept(condition: Expr, rows: pa.RecordBatch) -> list[object]:
    return filter_batch(rows, condition, UTC).column(0).to_pylist()


def test_filter_keeps_the_rows_for_which_the_condition_is_true() -> None:
    rows = batch(([1, 5, None, 7], INT))

    assert kept(call("greater", A, literal(4, INT)), rows) == [5, 7]


def test_filter_hands_on_the_batch_itself_if_all_rows_pass() -> None:
    rows = batch(([1, 5], INT))

    assert filter_batch(rows, call("greater", A, ZERO), UTC) is rows
    assert filter_batch(rows, literal(True, BOOLEAN), UTC) is rows
    assert filter_batch(rows, literal(None, BOOLEAN), UTC).num_rows == 0


def test_filter_evaluates_a_conjunct_that_fails_only_for_the_rows_that_are_left() -> None:
    condition = call("and", call("not_equal", A, ZERO), call("greater", RATIO, literal(4, BIGINT)))

    assert kept(condition, batch(([0, 1, 2, 5, None, 0], INT))) == [1, 2]


def test_filter_does_not_move_a_conjunct_before_one_that_protects_it() -> None:
    condition = call(
        "and",
        call("not_equal", column(1, STRING), literal("x", STRING)),
        call("greater", Cast(INT, column(1, STRING)), ZERO),
    )

    assert kept(condition, batch(([1, 2, 3], INT), (["5", "x", "0"], STRING))) == [1]


@pytest.mark.parametrize("chosen", [0, 1, 50, 999, 1000])
def test_filter_of_any_selectivity(chosen: int) -> None:
    rows = batch((list(range(1000)), INT), (["a", "b"] * 500, DICTIONARY_STRING))
    condition = call("and", call("less", A, literal(chosen, INT)), call("greater_equal", A, ZERO))
    result = filter_batch(rows, condition, UTC)

    assert result.column(0).to_pylist() == list(range(chosen))
    assert plain(result.column(1)).to_pylist() == (["a", "b"] * 500)[:chosen]


def test_filter_of_a_slice_looks_at_the_slice() -> None:
    rows = batch((list(range(10)), INT)).slice(5, 3)

    assert kept(call("greater", A, literal(5, INT)), rows) == [6, 7]


def test_projection_with_a_condition_evaluates_only_the_rows_that_pass() -> None:
    project = compile_projection((RATIO, A), UTC, call("not_equal", A, ZERO))
    columns, length = project(Rows(batch(([0, 1, 5, 0], INT))))

    assert length == 2
    assert [item.to_pylist() for item in columns] == [[10, 2], [1, 5]]


def test_projection_of_nothing_counts_rows() -> None:
    assert compile_projection((), UTC)(Rows(batch(([1, 2], INT)))) == ([], 2)


# ---- dictionaries


TEXTS = ["b", None, "a", "b", "c", "a", "b", None, "a", "a"] * 200


@pytest.mark.parametrize(
    "expression",
    [
        call("equal", column(0, STRING), literal("b", STRING)),
        call("not_equal", column(0, STRING), literal("b", STRING)),
        call("greater", column(0, STRING), literal("a", STRING)),
        call("in", column(0, STRING), literal("a", STRING), literal("c", STRING)),
        call("in", column(0, STRING), literal("a", STRING), literal(None, STRING)),
        call("upper", column(0, STRING)),
        call("length", column(0, STRING)),
        call("coalesce", column(0, STRING), literal("none", STRING)),
        call("is_null", column(0, STRING)),
        call("equal_null_safe", column(0, STRING), literal(None, STRING)),
        call("nullif", column(0, STRING), literal("a", STRING)),
        call("equal", column(0, STRING), column(1, STRING)),
        Case(
            STRING,
            ((call("equal", column(0, STRING), literal("a", STRING)), column(1, STRING)),),
            column(0, STRING),
        ),
        Cast(INT, column(0, STRING), True),
    ],
    ids=lambda expression: getattr(expression, "function", type(expression).__name__),
)
def test_dictionary_and_plain_strings_give_the_same(expression: Expr) -> None:
    other = [text and text * 2 for text in TEXTS]
    forms = [
        batch((TEXTS, left), (other, right))
        for left, right in itertools.product((STRING, DICTIONARY_STRING), repeat=2)
    ]
    expected = values(expression, forms[0])

    assert [values(expression, form) for form in forms] == [expected] * 4
    assert [values(expression, form.slice(3, 5)) for form in forms] == [expected[3:8]] * 4
    assert [values(expression, form.slice(3, 1500)) for form in forms] == [expected[3:1503]] * 4


def test_a_string_result_of_a_dictionary_is_a_dictionary_without_repetitions() -> None:
    result = evaluate(call("upper", column(0, STRING)), batch((["a", "A", "b"] * 10, DICTIONARY_STRING)), UTC)

    assert isinstance(result, pa.DictionaryArray)
    assert sorted(result.dictionary.to_pylist()) == ["A", "B"]


def test_all_nulls() -> None:
    rows = batch(([None] * 3, INT), ([None] * 3, MONEY), ([None] * 3, DICTIONARY_STRING))
    rows = rows.set_column(1, "c1", from_values([None] * 3, physical(MONEY)))

    assert values(call("add", A, ONE), rows) == [None] * 3
    assert values(call("multiply", column(1, MONEY), column(1, MONEY)), rows) == [None] * 3
    assert values(call("equal", column(2, STRING), literal("a", STRING)), rows) == [None] * 3


@pytest.mark.parametrize("function", ["equal", "not_equal"])
def test_a_long_dictionary_column_of_nulls_only_has_an_empty_dictionary(function: str) -> None:
    rows = batch(([None] * 2000, DICTIONARY_STRING))

    assert len(rows.column(0).dictionary) == 0
    assert values(call(function, column(0, STRING), literal("a", STRING)), rows) == [None] * 2000
    assert values(Cast(BOOLEAN, column(0, STRING)), rows) == [None] * 2000


# ---- decimals on int64


def money(*columns: list[Decimal | None]) -> pa.RecordBatch:
    return batch(*((list(values), physical(MONEY)) for values in columns))


def test_a_product_that_fits_64_bits_has_its_types_form() -> None:
    price = call(
        "multiply", column(0, MONEY), call("subtract", literal(Decimal(1), decimal(1, 0)), column(1, MONEY))
    )
    rows = money([Decimal("10.50"), None], [Decimal("0.10"), Decimal("0.05")])
    result = evaluate(price, rows, UTC)

    assert price.type == result.type == decimal(26, 4)
    assert result.to_pylist() == [Decimal("9.4500"), None]


def test_a_product_that_does_not_fit_64_bits_is_as_right() -> None:
    largest = Decimal("9999999999.99")
    square = call("multiply", column(0, MONEY), column(1, MONEY))
    for length in (1, 10_000):
        rows = money([largest] * length, [-largest] * length)

        assert set(values(square, rows)) == {Decimal("-99999999999800000000.0001")}


def test_a_compact_result_is_int64_where_it_fits_and_wide_where_not() -> None:
    square = call("multiply", column(0, MONEY), column(1, MONEY))
    (compact,) = compile_expressions((square,), UTC, frozenset({0}))

    assert compact(Rows(money([Decimal("1.50")], [Decimal("2.00")]))).type == pa.decimal64(18, 4)
    assert compact(
        Rows(money([Decimal("9999999999.99")] * 2, [Decimal("9999999999.99")] * 2))
    ).type == decimal(25, 4)


DECIMALS = st.one_of(
    st.none(),
    st.integers(-(10**12) + 1, 10**12 - 1).map(lambda number: Decimal(number).scaleb(-2)),
    st.sampled_from([Decimal("9999999999.99"), Decimal("-9999999999.99"), Decimal("0.00"), Decimal("0.01")]),
)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(DECIMALS, DECIMALS, DECIMALS), min_size=1, max_size=6), st.sampled_from([1, 1000]))
def test_nested_decimal_arithmetic_is_exact(
    rows: list[tuple[Decimal | None, Decimal | None, Decimal | None]], repeat: int
) -> None:
    one = literal(Decimal(1), decimal(1, 0))
    a, b, c = (column(ordinal, MONEY) for ordinal in range(3))
    expression = call("subtract", call("multiply", a, call("add", one, b)), call("negative", c))
    table = money(*(list(part) for part in zip(*(rows * repeat), strict=True)))

    expected = [None if None in row else row[0] * (1 + row[1]) + row[2] for row in rows] * repeat  # type: ignore[operator]

    assert values(expression, table) == expected


def test_decimals_compare_across_expressions() -> None:
    total = call("multiply", column(0, MONEY), column(1, MONEY))
    bound = literal(Decimal("3.0000"), total.type)
    rows = money(
        [Decimal("1.50"), Decimal("9999999999.99"), None],
        [Decimal("2.00"), Decimal("9999999999.99"), Decimal(1)],
    )

    assert values(call("greater", total, bound), rows.slice(0, 1)) == [False]
    assert values(call("greater", total, bound), rows) == [False, True, None]


@pytest.mark.parametrize("function", ["abs", "negative"])
def test_the_least_64_bit_number_has_its_counterpart_in_a_wider_form(function: str) -> None:
    wide = decimal(20, 0)
    least, greatest = Decimal(-(2**63)), Decimal(2**63)

    stored = batch(([least, None], wide))
    assert values(call(function, column(0, wide)), stored) == [greatest, None]

    whole = batch(([-(2**63), 1], BIGINT))
    assert values(call(function, Cast(wide, column(0, BIGINT))), whole)[0] == greatest


def test_decimal_case_over_int64() -> None:
    total = call("multiply", column(0, MONEY), column(1, MONEY))
    case = Case(
        total.type,
        ((call("greater", column(0, MONEY), literal(Decimal("2.00"), MONEY)), total),),
        literal(Decimal("0.0000"), total.type),
    )
    rows = money([Decimal("1.50"), Decimal("3.00"), None], [Decimal("2.00")] * 3)

    assert values(case, rows) == [Decimal("0.0000"), Decimal("6.0000"), Decimal("0.0000")]


# ---- shared parts


def test_a_part_of_several_expressions_is_computed_once() -> None:
    drawn = call("multiply", column(0, MONEY), column(1, MONEY))
    expressions = (call("add", drawn, drawn), call("negative", drawn), drawn)
    rows = Rows(money([Decimal("1.50")], [Decimal("2.00")]))
    runs = compile_expressions(expressions, UTC)
    results = [run(rows).to_pylist() for run in runs]

    assert results == [[Decimal("6.0000")], [Decimal("-3.0000")], [Decimal("3.0000")]]
    assert any(isinstance(kept, ScaledValues) for kept in rows.memo.values())


def test_random_numbers_are_not_shared() -> None:
    rows = Rows(batch((list(range(100)), INT)))
    left, right = compile_expressions((call("rand"), call("negative", call("rand"))), UTC)

    assert left(rows).to_pylist() != [-value for value in right(rows).to_pylist()]


def test_literals_that_python_takes_for_equal_are_not_shared() -> None:
    rows = Rows(batch(([1], INT)))
    runs = compile_expressions(
        tuple(
            call("negative", call("negative", literal(value, kind)))
            for value, kind in ((1, INT), (1.0, DOUBLE), (0.0, DOUBLE), (-0.0, DOUBLE))
        ),
        UTC,
    )

    assert [repr(run(rows)[0].as_py()) for run in runs] == ["1", "1.0", "0.0", "-0.0"]
