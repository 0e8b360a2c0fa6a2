"""Grouping in one stage and in two, by Spark's types and answers."""

from decimal import Decimal, localcontext
from math import inf, nan

import pyarrow as pa
import pytest

from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.testing import batch_of, run_processor, verify_processor
from sqlfront_values.errors import DataError
from sqlfront_values.expressions import AggregateCall, Call, Cast, Column, Expr, Literal
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, decimal

SCHEMA = pa.schema([("k", STRING), ("i", INT), ("d", decimal(12, 2)), ("f", DOUBLE), ("s", STRING)])
ROWS = [
    ("a", 1, Decimal("1.00"), 1.0, "x"),
    ("b", None, None, None, None),
    ("a", 3, Decimal("2.50"), nan, "z"),
    (None, 4, Decimal("3.00"), -1.5, "y"),
    (None, 4, None, 2.0, "abcdefghij"),
    ("a", None, Decimal("2.50"), 0.5, "x"),
]
TWO_THIRDS = Decimal("2.000000")

#: Function, column, distinct; then the result for the keys "a", "b" and null, as Spark gives it.
CASES: list[tuple[str, str | None, bool, list[object]]] = [
    ("count", None, False, [3, 1, 2]),
    ("count", "i", False, [2, 0, 2]),
    ("count", "i", True, [2, 0, 1]),
    ("sum", "i", False, [4, None, 8]),
    ("sum", "i", True, [4, None, 4]),
    ("sum", "d", False, [Decimal("6.00"), None, Decimal("3.00")]),
    ("sum", "d", True, [Decimal("3.50"), None, Decimal("3.00")]),
    ("sum", "f", False, [nan, None, 0.5]),
    ("avg", "i", False, [2.0, None, 4.0]),
    ("avg", "d", False, [TWO_THIRDS, None, Decimal("3.000000")]),
    ("avg", "f", False, [nan, None, 0.25]),
    ("min", "f", False, [0.5, None, -1.5]),
    ("max", "f", False, [nan, None, 2.0]),
    ("min", "s", False, ["x", None, "abcdefghij"]),
    ("max", "s", False, ["z", None, "y"]),
    ("max", "d", False, [Decimal("2.50"), None, Decimal("3.00")]),
    ("var_pop", "i", False, [1.0, None, 0.0]),
    ("stddev", "i", False, [2**0.5, None, 0.0]),
    ("bit_or", "i", False, [3, None, 4]),
    ("bit_xor", "i", False, [2, None, 0]),
    ("median", "i", False, [2.0, None, 4.0]),
    ("mode", "s", False, ["x", None, ...]),
]


def column(name: str) -> Column:
    return Column(SCHEMA.field(name).type, SCHEMA.get_field_index(name), name)


def call(function: str, *arguments: Expr, distinct: bool = False, where: Expr | None = None) -> AggregateCall:
    entry = lookup_aggregate(function)
    assert entry is not None
    kind = entry.result_type(tuple(argument.type for argument in arguments))
    return AggregateCall(function, arguments, kind, distinct, where)


def argument_of(function: str, name: str) -> Expr:
    """The column, as a double where the function asks for one (the planner would have cast it)."""
    entry = lookup_aggregate(function)
    assert entry is not None
    return Cast(DOUBLE, column(name)) if entry.arguments[0] == DOUBLE else column(name)


def output(calls: list[AggregateCall], keys: tuple[str, ...] = ("k",)) -> pa.Schema:
    return pa.schema(
        [*(SCHEMA.field(key) for key in keys), *((f"c{n}", item.type) for n, item in enumerate(calls))]
    )


def two_stages(calls: list[AggregateCall], batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """The states of each batch by a partial aggregation of its own."""
    partial = Aggregate((0,), tuple(calls), AggregateMode.PARTIAL, output(calls))
    return [state for batch in batches for state in run_processor(partial, [[batch]])]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def test_functions_in_one_stage_and_in_two(case: tuple[str, str | None, bool, list[object]]) -> None:
    function, name, distinct, results = case
    made = call(function, *([argument_of(function, name)] if name else []), distinct=distinct)
    if ... in results:  # a tie: left out
        rows, results = ROWS[:3] + ROWS[5:], results[:2]
    else:
        rows = ROWS
    batch = batch_of(SCHEMA, rows)
    expected = [(key, result) for key, result in zip(("a", "b", None), results, strict=False)]

    single = Aggregate((0,), (made,), AggregateMode.SINGLE, output([made]))
    verify_processor(single, [[batch]], expected, orders=8)
    states = two_stages([made], [batch.slice(0, 2), batch.slice(2)])
    final = Aggregate((0,), (made,), AggregateMode.FINAL, output([made]))
    verify_processor(final, [states], expected, orders=4)


def test_all_orders_with_many_calls() -> None:
    calls = [
        call(function, *([argument_of(function, name)] if name else []), distinct=distinct)
        for function, name, distinct, results in CASES
        if ... not in results
    ]
    expected = [
        (key, *(results[number] for *_, results in CASES if ... not in results))
        for number, key in enumerate(("a", "b", None))
    ]
    verify_processor(
        Aggregate((0,), tuple(calls), AggregateMode.SINGLE, output(calls)),
        [[batch_of(SCHEMA, ROWS)]],
        expected,
    )


def test_no_rows_and_no_keys_is_one_row() -> None:
    calls = [
        call("count"),
        call("sum", column("i")),
        call("collect_list", column("i")),
        call("max", column("s")),
    ]
    schema = output(calls, ())
    verify_processor(Aggregate((), tuple(calls), AggregateMode.SINGLE, schema), [[]], [(0, None, [], None)])
    verify_processor(Aggregate((), tuple(calls), AggregateMode.FINAL, schema), [[]], [(0, None, [], None)])


def test_no_rows_with_keys_is_no_row() -> None:
    calls = [call("count")]
    verify_processor(Aggregate((0,), tuple(calls), AggregateMode.SINGLE, output(calls)), [[]], [], orders=3)


def test_zeros_and_nans_are_one_key_each() -> None:
    schema = pa.schema([("f", DOUBLE)])
    batch = batch_of(schema, [(0.0,), (-0.0,), (nan,), (nan,), (None,), (inf,)])
    counted = Aggregate(
        (0,), (call("count"),), AggregateMode.SINGLE, pa.schema([("f", DOUBLE), ("n", BIGINT)])
    )
    verify_processor(counted, [[batch]], [(0.0, 2), (nan, 2), (None, 1), (inf, 1)])


def test_distinct_rows_are_a_grouping_without_calls() -> None:
    grouping = Aggregate((0, 1), (), AggregateMode.SINGLE, pa.schema(list(SCHEMA)[:2]))
    expected = [("a", 1), ("b", None), ("a", 3), (None, 4), ("a", None)]
    verify_processor(grouping, [[batch_of(SCHEMA, ROWS)]], expected)


def test_a_filter_keeps_errors_away_from_rows_that_do_not_pass() -> None:
    positive = Call(BOOLEAN, "greater", (column("i"), Literal(INT, 3)))
    calls = [call("count", where=positive), call("sum", column("i"), where=positive)]
    verify_processor(
        Aggregate((0,), tuple(calls), AggregateMode.SINGLE, output(calls)),
        [[batch_of(SCHEMA, ROWS)]],
        [("a", 0, None), ("b", 0, None), (None, 2, 8)],
        orders=10,
    )


def test_a_bigint_sum_beyond_64_bits_is_an_error_and_null_for_try_sum() -> None:
    schema = pa.schema([("x", BIGINT)])
    batch = batch_of(schema, [(2**63 - 1,), (1,)])
    argument = Column(BIGINT, 0, "x")
    names = pa.schema([("c", BIGINT)])
    with pytest.raises(DataError, match="ARITHMETIC_OVERFLOW"):
        run_processor(Aggregate((), (call("sum", argument),), AggregateMode.SINGLE, names), [[batch]])
    tolerant = Aggregate((), (call("try_sum", argument),), AggregateMode.SINGLE, names)
    verify_processor(tolerant, [[batch]], [(None,)], orders=3)


@pytest.mark.parametrize("top", [2**62, 2**63 - 1, 10**18 - 1])
def test_bigint_sums_are_exact_on_both_sides_of_the_proof(top: int) -> None:
    schema = pa.schema([("x", BIGINT)])
    batch = batch_of(schema, [(top,), (-top,), (top,), (-1,)])
    total = Aggregate((), (call("sum", Column(BIGINT, 0)),), AggregateMode.SINGLE, pa.schema([("c", BIGINT)]))

    # In one step: a partial sum may leave 64 bits, as in Spark, but not in this order.
    assert run_processor(total, [[batch]])[0].column(0).to_pylist() == [top - 1]


@pytest.mark.parametrize("digits", [17, 18, 19, 33])
def test_decimal_sums_and_averages_are_exact(digits: int) -> None:
    kind = decimal(digits + 1, 2)
    with localcontext(prec=76):
        big = Decimal(10) ** (digits - 2) - Decimal("0.01")
        batch = batch_of(pa.schema([("x", kind)]), [(big,), (big,), (-big,), (Decimal("0.01"),), (None,)])
        calls = [call("sum", Column(kind, 0)), call("avg", Column(kind, 0))]
        single = Aggregate((), tuple(calls), AggregateMode.SINGLE, output(calls, ()))
        total = big + Decimal("0.01")
        average = (total / 4).quantize(Decimal(1).scaleb(-calls[1].type.scale))
    verify_processor(single, [[batch]], [(total, average)], orders=4)


def test_a_decimal_sum_of_more_than_38_digits_is_an_error() -> None:
    kind = decimal(38, 0)
    batch = batch_of(pa.schema([("x", kind)]), [(Decimal(10) ** 38 - 1,), (Decimal(1),)])
    with pytest.raises(DataError, match="Overflow in sum of decimals"):
        run_processor(
            Aggregate((), (call("sum", Column(kind, 0)),), AggregateMode.SINGLE, pa.schema([("c", kind)])),
            [[batch]],
        )


def test_an_average_that_does_not_fit_its_type_is_an_error_and_null_for_try_avg() -> None:
    kind = decimal(38, 2)
    batch = batch_of(pa.schema([("x", kind)]), [(Decimal(10) ** 35 - 1,)])
    names = pa.schema([("c", decimal(38, 6))])
    with pytest.raises(DataError, match="NUMERIC_VALUE_OUT_OF_RANGE"):
        run_processor(Aggregate((), (call("avg", Column(kind, 0)),), AggregateMode.SINGLE, names), [[batch]])
    tolerant = Aggregate((), (call("try_avg", Column(kind, 0)),), AggregateMode.SINGLE, names)
    verify_processor(tolerant, [[batch]], [(None,)], orders=2)


def test_many_groups_are_merged_in_bounded_memory() -> None:
    schema = pa.schema([("k", BIGINT), ("v", BIGINT)])
    groups = 50_000
    batches = [batch_of(schema, [(key * 10**12, round_) for key in range(groups)]) for round_ in range(4)]
    argument = Column(BIGINT, 1)
    made = (call("sum", argument), call("count"))
    names = pa.schema([("k", BIGINT), ("s", BIGINT), ("n", BIGINT)])
    emitted = run_processor(Aggregate((0,), made, AggregateMode.SINGLE, names), [batches])

    rows = sorted(row for batch in emitted for row in zip(*batch.to_pydict().values(), strict=True))
    assert rows == [(key * 10**12, 6, 4) for key in range(groups)]


@pytest.mark.parametrize(("values", "expected"), [([1e308, 1e308], inf), ([inf, -inf], nan)])
def test_sums_beyond_the_doubles_warn_of_nothing(values: list[float], expected: float) -> None:
    batch = batch_of(pa.schema([("f", DOUBLE)]), [(value,) for value in values])
    total = AggregateCall("sum", (Column(DOUBLE, 0, "f"),), DOUBLE)
    summed = Aggregate((), (total,), AggregateMode.SINGLE, pa.schema([("sum", DOUBLE)]))

    verify_processor(summed, [[batch]], [(expected,)])
