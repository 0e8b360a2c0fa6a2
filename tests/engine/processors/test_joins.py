"""The joins give what nested loops over Python rows give."""

import itertools
import random
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
import pytest

from sqlfront_engine.join_kinds import JoinKind
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_engine.processors.joins.hash_join import HashJoin
from sqlfront_engine.processors.joins.nested_loop_join import NestedLoopJoin
from sqlfront_engine.testing import batch_of, run_processor, verify_processor
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import Call, Column
from sqlfront_values.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, decimal

LEFT = pa.schema([("a", INT), ("s", STRING)])
RIGHT = pa.schema([("b", INT), ("t", STRING)])
KINDS = [kind for kind in JoinKind if kind is not JoinKind.NULL_AWARE_ANTI]
RANDOM = random.Random(5)
LEFT_ROWS = [(RANDOM.choice([None, 1, 2, 3, 4]), RANDOM.choice("xyz")) for _ in range(12)]
RIGHT_SIDES = {
    "repeated keys": [(RANDOM.choice([None, 1, 2, 3, 9]), RANDOM.choice("xyz")) for _ in range(9)],
    "unique keys": [(1, "x"), (2, "y"), (3, "z"), (None, "q"), (7, "c")],
    "no rows": [],
}
LESS = Call(BOOLEAN, "less", (Column(STRING, 1, "s"), Column(STRING, 3, "t")))
Row = tuple[object, ...]


def reference(kind: JoinKind, right: Sequence[Row], matches: Callable[[Row, Row], bool]) -> list[Row]:
    """The join of LEFT_ROWS with ``right``, row by row."""
    rows: list[Row] = []
    met = set()
    for row in LEFT_ROWS:
        partners = [number for number, other in enumerate(right) if matches(row, other)]
        met.update(partners)
        if kind in (JoinKind.SEMI, JoinKind.ANTI):
            rows += [row] if bool(partners) == (kind == JoinKind.SEMI) else []
            continue
        rows += [row + right[number] for number in partners]
        if kind in (JoinKind.LEFT, JoinKind.FULL) and not partners:
            rows.append((*row, None, None))
    if kind in (JoinKind.RIGHT, JoinKind.FULL):
        rows += [(None, None, *other) for number, other in enumerate(right) if number not in met]
    return rows


def verify(
    join: HashJoin | NestedLoopJoin, right: Sequence[Row], expected: Sequence[Row], orders: int = 50
) -> None:
    verify_processor(join, [[batch_of(LEFT, LEFT_ROWS)], [batch_of(RIGHT, right)]], expected, orders=orders)


@pytest.mark.parametrize("side", RIGHT_SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_meet_on_equal_keys(kind: JoinKind, side: str) -> None:
    right = RIGHT_SIDES[side]
    expected = reference(kind, right, lambda left, other: left[0] is not None and left[0] == other[0])
    for build_left, orders in ((False, 50), (True, 6)):
        verify(HashJoin(kind, (0,), (0,), None, LEFT, RIGHT, build_left), right, expected, orders)


@pytest.mark.parametrize("side", RIGHT_SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_residual_condition_decides_which_pairs_match(kind: JoinKind, side: str) -> None:
    right = RIGHT_SIDES[side]

    def matches(left: Row, other: Row) -> bool:
        return left[0] is not None and left[0] == other[0] and str(left[1]) < str(other[1])

    for build_left in (False, True):
        join = HashJoin(kind, (0,), (0,), LESS, LEFT, RIGHT, build_left)
        verify(join, right, reference(kind, right, matches), 6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("null_safe", [(), (True, False)])
def test_compound_keys_with_null_only_equal_where_null_safe(
    kind: JoinKind, null_safe: tuple[bool, ...]
) -> None:
    right = RIGHT_SIDES["repeated keys"]

    def matches(left: Row, other: Row) -> bool:
        return left == other and (bool(null_safe) or left[0] is not None)

    for build_left in (False, True):
        join = HashJoin(kind, (0, 1), (0, 1), None, LEFT, RIGHT, build_left, null_safe)
        verify(join, right, reference(kind, right, matches), 6)


@pytest.mark.parametrize("side", RIGHT_SIDES)
@pytest.mark.parametrize("kind", KINDS)
def test_nested_loops_take_any_condition_or_none(kind: JoinKind, side: str) -> None:
    right = RIGHT_SIDES[side]
    for condition, matches in (
        (LESS, lambda left, other: left[1] < other[1]),
        (None, lambda left, other: True),
    ):
        join = NestedLoopJoin(kind, condition, LEFT, RIGHT)
        verify(join, right, reference(kind, right, matches), 8)


@pytest.mark.parametrize(
    ("right", "expected"),
    [
        ([], LEFT_ROWS),
        ([(None, "x"), (1, "x")], []),
        ([(1, "x"), (1, "y")], [row for row in LEFT_ROWS if row[0] not in (None, 1)]),
    ],
    ids=["nothing on the right", "a null on the right", "no null on the right"],
)
def test_not_in_knows_null(right: Sequence[Row], expected: Sequence[Row]) -> None:
    verify(HashJoin(JoinKind.NULL_AWARE_ANTI, (0,), (0,), None, LEFT, RIGHT), right, expected, 12)
    equal = Call(BOOLEAN, "equal", (Column(INT, 0, "a"), Column(INT, 2, "b")))
    verify(NestedLoopJoin(JoinKind.NULL_AWARE_ANTI, equal, LEFT, RIGHT), right, expected, 12)


def test_a_null_aware_join_takes_one_key_and_no_condition() -> None:
    with pytest.raises(InternalError, match="null-aware"):
        HashJoin(JoinKind.NULL_AWARE_ANTI, (0, 1), (0, 1), None, LEFT, RIGHT)


def test_output_columns_may_be_chosen_or_none_at_all() -> None:
    right = RIGHT_SIDES["repeated keys"]
    pairs = reference(JoinKind.INNER, right, lambda left, other: left[0] is not None and left[0] == other[0])
    chosen = HashJoin(JoinKind.INNER, (0,), (0,), None, LEFT, RIGHT, output=(3, 0))
    verify(chosen, right, [(row[3], row[0]) for row in pairs], 6)
    verify(HashJoin(JoinKind.INNER, (0,), (0,), None, LEFT, RIGHT, output=()), right, [()] * len(pairs), 6)


@pytest.mark.parametrize(
    ("data_type", "values"),
    [
        (DOUBLE, [0.0, -0.0, float("nan"), 1.5, None]),
        (BIGINT, [-(2**63), 2**63 - 1, 0, None, 5]),
        (decimal(12, 2), [1, 2, None, -3, 4]),
        (decimal(38, 0), [10**37, -(10**37), None, 3, 2**64]),
        (pa.binary(), [b"", b"\0", b"abcdefghi", None, b"x"]),
        (pa.date32(), [0, None, 1, 20000, -5]),
        (BOOLEAN, [True, False, None, True, False]),
        (pa.list_(INT), [[1], [], None, [1, None], [2]]),
    ],
    ids=str,
)
def test_keys_of_every_type(data_type: pa.DataType, values: list[object]) -> None:
    schema = pa.schema([("k", data_type), ("n", INT)])
    column = pa.array(values, data_type)
    rows = [(value, number) for number, value in enumerate(column.to_pylist())]

    def same(left: object, right: object) -> bool:
        nan = left != left and right != right
        return left is not None and (left == right or nan)

    expected = [
        (left[1], right[1]) for left, right in itertools.product(rows, rows) if same(left[0], right[0])
    ]
    batch = pa.RecordBatch.from_arrays([column, pa.array(range(5), INT)], schema=schema)
    verify_processor(
        HashJoin(JoinKind.INNER, (0,), (0,), None, schema, schema, output=(1, 3)),
        [[batch], [batch]],
        expected,
        orders=6,
    )


def test_a_skewed_join_comes_in_bounded_batches() -> None:
    schema = pa.schema([("k", INT), ("n", INT)])
    many = batch_of(schema, [(1, number) for number in range(400)])
    batches = run_processor(HashJoin(JoinKind.INNER, (0,), (0,), None, schema, schema), [[many], [many]])

    assert sum(batch.num_rows for batch in batches) == 160_000
    assert max(batch.num_rows for batch in batches) <= BATCH_ROWS
    assert set(rows_by_column(batches, 1, 3)) == set(itertools.product(range(400), range(400)))


def rows_by_column(batches: Iterable[pa.RecordBatch], *ordinals: int) -> list[Row]:
    """The rows of some columns."""
    return [
        row
        for batch in batches
        for row in zip(*(batch.column(ordinal).to_pylist() for ordinal in ordinals), strict=True)
    ]


def test_many_keys_far_apart_and_many_strings() -> None:
    schema = pa.schema([("k", BIGINT), ("s", STRING), ("n", INT)])
    numbers = [(-1) ** n * n * 10**13 for n in range(20_000)]
    build = batch_of(schema, [(key, f"key {key}", n) for n, key in enumerate(numbers)])
    probe = batch_of(schema, [(key, f"key {key}", n) for n, key in enumerate([*numbers[::3], 7, -7])])
    expected = [(n, 3 * n) for n in range(len(numbers[::3]))]
    for keys in ((0,), (1,), (0, 1)):
        join = HashJoin(JoinKind.INNER, keys, keys, None, schema, schema, output=(2, 5))
        assert sorted(rows_by_column(run_processor(join, [[probe], [build]]), 0, 1)) == expected


@pytest.mark.parametrize("step", [1, 10**14])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("build_left", [False, True])
def test_many_rows_of_which_few_have_a_partner(kind: JoinKind, build_left: bool, step: int) -> None:
    schema = pa.schema([("k", BIGINT), ("n", INT)])
    few: list[tuple[int | None, int]] = [(key * step, key) for key in (-5, 7, 7, 4_000, 9_999, 20_000)]
    few.append((None, 0))
    many: list[tuple[int | None, int]] = [(key * step, key) for key in range(10_000)]
    many += [(None, 0), (-(2**63), 1), (2**63 - 1, 2)]
    left, right = (few, many) if build_left else (many, few)
    join = HashJoin(kind, (0,), (0,), None, schema, schema, build_left)
    found = run_processor(join, [[batch_of(schema, left)], [batch_of(schema, right)]])

    partners: dict[int, list[int]] = {}
    for key, number in right:
        if key is not None:
            partners.setdefault(key, []).append(number)
    met = [(n, other) for key, n in left if key is not None for other in partners.get(key, ())]
    left_met = {n for n, _ in met}
    right_met = {other for _, other in met}
    alone = [n for key, n in left if n not in left_met or key is None]
    expected: dict[JoinKind, list[Row]] = {
        JoinKind.SEMI: [(n,) for key, n in left if n in left_met and key is not None],
        JoinKind.ANTI: [(n,) for n in alone],
    }
    if kind in expected:
        assert sorted(rows_by_column(found, 1)) == sorted(expected[kind])
        return
    rows: list[Row] = list(met)
    rows += [(n, None) for n in alone if kind in (JoinKind.LEFT, JoinKind.FULL)]
    rows += [
        (None, n)
        for key, n in right
        if kind in (JoinKind.RIGHT, JoinKind.FULL) and (key is None or n not in right_met)
    ]
    assert sorted(rows_by_column(found, 1, 3), key=repr) == sorted(rows, key=repr)
