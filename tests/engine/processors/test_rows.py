"""Filter, project, values, limit, union, sort, top-n, set operations and the scalar row."""

import random
from decimal import Decimal
from math import nan

import pyarrow as pa
import pytest

from sqlfront_engine.processors.filter import Filter
from sqlfront_engine.processors.limit import Limit
from sqlfront_engine.processors.project import FilterProject, Project
from sqlfront_engine.processors.set_difference import SetDifference, SetKind
from sqlfront_engine.processors.sort import Sort
from sqlfront_engine.processors.sources.scalar_row import ScalarRow
from sqlfront_engine.processors.sources.values import Values
from sqlfront_engine.processors.top_n import TopN
from sqlfront_engine.processors.union import Union
from sqlfront_engine.testing import batch_of, run_processor, verify_processor
from sqlfront_values.errors import DataError
from sqlfront_values.expressions import Call, Column, Literal, SortKey, SortOrder
from sqlfront_values.types import BOOLEAN, DOUBLE, INT, STRING, decimal

SCHEMA = pa.schema([("a", INT), ("s", STRING), ("f", DOUBLE), ("d", decimal(30, 2))])
ROWS = [
    (3, "b", 1.0, Decimal("1.50")),
    (None, "a", nan, Decimal("-99999999999999999999.00")),
    (1, None, -0.0, None),
    (2, "é", None, Decimal("99999999999999999999.00")),
    (1, "abcdefghi", -2.5, Decimal("0.00")),
    (2, "abcdefgh", float("inf"), Decimal("1.50")),
]
BATCH = batch_of(SCHEMA, ROWS)
A, S = Column(INT, 0, "a"), Column(STRING, 1, "s")
ABOVE_ONE = Call(BOOLEAN, "greater", (A, Literal(INT, 1)))


def test_a_filter_keeps_rows_for_which_the_condition_is_true() -> None:
    verify_processor(Filter(ABOVE_ONE), [[BATCH]], [row for row in ROWS if row[0] in (2, 3)], ordered=True)


def test_projections() -> None:
    schema = pa.schema([("s", STRING), ("b", BOOLEAN)])
    expected = [(row[1], None if row[0] is None else row[0] > 1) for row in ROWS]
    verify_processor(Project((S, ABOVE_ONE), schema), [[BATCH]], expected, ordered=True)
    passing = [row for row in expected if row[1]]
    verify_processor(FilterProject(ABOVE_ONE, (S, ABOVE_ONE), schema), [[BATCH]], passing, ordered=True)


def test_values_of_all_kinds_and_of_no_column() -> None:
    rows = tuple(
        tuple(Literal(field.type, value) for field, value in zip(SCHEMA, row, strict=True)) for row in ROWS
    )
    verify_processor(Values(SCHEMA, rows), [], ROWS, ordered=True, orders=2)
    assert [batch.num_rows for batch in run_processor(Values(pa.schema([]), ((),)))] == [1]


@pytest.mark.parametrize(("count", "offset"), [(2, 1), (None, 4), (0, 0), (10, 5), (3, 10), (6, 0)])
def test_limit_counts_rows_after_the_offset(count: int | None, offset: int) -> None:
    expected = ROWS[offset:][:count]
    verify_processor(Limit(count, offset), [[BATCH]], expected, ordered=True)


def test_limit_takes_no_more_than_it_needs() -> None:
    steps = Limit(2).run(None)  # type: ignore[arg-type]
    next(steps)
    assert steps.send(BATCH).num_rows == 2  # type: ignore[union-attr]
    with pytest.raises(StopIteration):
        next(steps)


def test_union_forwards_every_input_under_one_set_of_names() -> None:
    other = BATCH.rename_columns(["p", "q", "r", "t"])
    verify_processor(Union(("a", "s", "f", "d")), [[BATCH], [], [other]], ROWS + ROWS)


def value_order(value: object) -> tuple[object, ...]:
    """Where a value sorts ascending, NaN last."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    return (value.encode(),) if isinstance(value, str) else (value,)


@pytest.mark.parametrize("order", SortOrder)
@pytest.mark.parametrize("ordinal", range(4))
def test_sorting_by_every_type(ordinal: int, order: SortOrder) -> None:
    known = [row for row in ROWS if row[ordinal] is not None]
    unknown = [row for row in ROWS if row[ordinal] is None]
    known.sort(key=lambda row: value_order(row[ordinal]), reverse=order.descends)
    column = [row[ordinal] for row in (unknown + known if order.nulls_first else known + unknown)]
    alone = BATCH.select([ordinal])
    expected = [(value,) for value in column]
    keys = (SortKey(0, order),)
    verify_processor(Sort(keys), [[alone]], expected, ordered=True, orders=6)
    verify_processor(TopN(keys, 2, 1), [[alone]], expected[1:3], ordered=True, orders=6)


def test_several_keys_under_all_orders() -> None:
    keys = (SortKey(0, SortOrder.DESCENDING), SortKey(1))
    expected = [ROWS[0], ROWS[5], ROWS[3], ROWS[2], ROWS[4], ROWS[1]]
    verify_processor(Sort(keys), [[BATCH]], expected, ordered=True)
    verify_processor(TopN(keys, 3, 1), [[BATCH]], expected[1:4], ordered=True)


def test_top_n_of_many_rows_looks_at_the_best_only() -> None:
    randomness = random.Random(1)
    rows = [(f"key {randomness.randrange(10**6):06d}", number) for number in range(60_000)]
    schema = pa.schema([("s", STRING), ("n", INT)])
    batches = [batch_of(schema, rows[start : start + 9000]) for start in range(0, len(rows), 9000)]
    (result,) = run_processor(
        TopN((SortKey(0, SortOrder.DESCENDING_NULLS_FIRST), SortKey(1)), 50, 10), [batches]
    )

    expected = sorted(rows, key=lambda row: row[1])
    expected.sort(key=lambda row: row[0], reverse=True)
    assert list(zip(*result.to_pydict().values(), strict=True)) == expected[10:60]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("intersect", {1: 1, None: 1}),
        ("intersect_all", {1: 1, None: 1}),
        ("except", {2: 1}),
        ("except_all", {1: 1, 2: 1, None: 1}),
    ],
)
def test_set_operations_take_null_for_equal_to_null(kind: SetKind, expected: dict[int | None, int]) -> None:
    schema = pa.schema([("x", INT), ("s", STRING)])
    left = batch_of(schema, [(x, "t") for x in (1, 1, 2, None, None)])
    right = batch_of(schema, [(x, "t") for x in (1, None, 9)])
    rows = [(x, "t") for x, times in expected.items() for _ in range(times)]
    verify_processor(SetDifference(kind), [[left], [right]], rows)


def test_a_scalar_subquery_gives_its_row_or_nulls() -> None:
    verify_processor(ScalarRow(SCHEMA), [[BATCH.slice(0, 1)]], ROWS[:1], orders=4)
    verify_processor(ScalarRow(SCHEMA), [[]], [(None,) * 4], orders=2)


def test_a_scalar_subquery_of_two_rows_is_an_error() -> None:
    for batches in ([BATCH], [BATCH.slice(0, 1), BATCH.slice(1, 1)]):
        with pytest.raises(DataError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
            run_processor(ScalarRow(SCHEMA), [batches])
