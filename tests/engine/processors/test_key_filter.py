"""A key filter drops what finds no partner, and never what does."""

import pyarrow as pa
import pytest

from sqlfront_engine.processors.joins.key_filter import KeyFilter
from sqlfront_engine.testing import batch_of, run_processor, verify_processor
from sqlfront_values.errors import InternalError
from sqlfront_values.expressions import Call, Column, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, INT, STRING

HELD = pa.schema([("name", STRING), ("id", BIGINT)])
ROWS = pa.schema([("k", BIGINT), ("n", INT)])
ODD = Call(BOOLEAN, "equal", (Call(INT, "mod", (Column(INT, 1), Literal(INT, 2))), Literal(INT, 1)))
BY_KEY = KeyFilter(ODD, (Column(INT, 1),), (1,), (0,), pa.schema([("n", INT)]))
MANY = batch_of(ROWS, [(number * 3, number) for number in range(10_000)] + [(None, 1)])


def passed(key_filter: KeyFilter, held: list[tuple[str, int | None]], rows: pa.RecordBatch) -> list[int]:
    batches = run_processor(key_filter, [[batch_of(HELD, held)], [rows]])
    return [number for batch in batches for number in batch.column(0).to_pylist()]


def test_rows_without_a_partner_and_those_that_fail_the_condition_are_dropped() -> None:
    held: list[tuple[str, int | None]] = [("a", 300), ("b", 303), ("c", 304), ("d", None), ("e", 29_997)]

    assert passed(BY_KEY, held, MANY) == [101, 9999]


def test_keys_far_apart_lose_no_partner() -> None:
    rows = batch_of(ROWS, [(number * 10**14, number) for number in range(10_000)])
    held: list[tuple[str, int | None]] = [("a", number * 10**14) for number in range(0, 10_000, 100)]
    found = passed(KeyFilter(None, (Column(INT, 1),), (1,), (0,), BY_KEY.schema), held, rows)

    assert set(range(0, 10_000, 100)) <= set(found)
    assert len(found) < 2_000


def test_a_filter_that_drops_nearly_nothing_passes_all() -> None:
    held: list[tuple[str, int | None]] = [("a", number * 3) for number in range(9_000)]

    assert len(passed(BY_KEY, held, MANY)) == 5_001


def test_nothing_passes_where_nothing_is_held() -> None:
    assert run_processor(BY_KEY, [[], [MANY]]) == []


def test_few_rows_are_left_to_the_join() -> None:
    rows = batch_of(ROWS, [(1, 1), (2, 2), (None, 3)])
    held = batch_of(HELD, [("a", 7)])

    verify_processor(BY_KEY, [[held], [rows]], [(1,), (3,)], orders=20)


def test_keys_come_in_pairs() -> None:
    with pytest.raises(InternalError):
        KeyFilter(None, (), (1, 0), (0,), pa.schema([]))
