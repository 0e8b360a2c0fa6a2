"""Chunks of a memory table whose bounds say that none of their rows are wanted."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_connectors.base import ScanRequest, insert_all
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.segments.chunks import judged
from sqlfront_engine.processor import BATCH_ROWS
from sqlfront_values.expressions import Call, Column, Expr, Literal
from sqlfront_values.types import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, decimal
from tests.connectors.reading import read

CHUNKS = 4
ROWS = CHUNKS * BATCH_ROWS - 10
DAY = date(2000, 1, 1)
SCHEMA = pa.schema(
    {"n": BIGINT, "mixed": BIGINT, "d": DATE, "p": decimal(12, 2), "s": STRING, "late": BIGINT, "g": DOUBLE}
)


@pytest.fixture(scope="module")
def table() -> MemoryTable:
    """Ascending values, values all over each chunk, and values that begin with the third chunk."""
    numbers = range(ROWS)
    data = pa.table(
        [
            pa.array(numbers, BIGINT),
            pa.array([number % 100 for number in numbers], BIGINT),
            pa.array([DAY + timedelta(number // 1000) for number in numbers], DATE),
            pa.array([Decimal(number) / 100 for number in numbers], decimal(12, 2)),
            pa.array([f"{number:07}" for number in numbers], STRING),
            pa.array([None if number < 2 * BATCH_ROWS else number for number in numbers], BIGINT),
            pa.array([float(number) for number in numbers], DOUBLE),
        ],
        schema=SCHEMA,
    )
    made = MemoryTable("t", SCHEMA)
    insert_all(made, data.combine_chunks().to_batches())
    return made


def call(function: str, name: str, *values: object) -> Expr:
    place = SCHEMA.names.index(name)
    kind = SCHEMA.field(name).type
    return Call(BOOLEAN, function, (Column(kind, place), *(Literal(kind, value) for value in values)))


def either(*parts: Expr) -> Expr:
    return Call(BOOLEAN, "or", parts)


@pytest.mark.parametrize(
    ("condition", "read_chunks"),
    [
        (call("equal", "n", 5), 1),
        (call("equal", "n", ROWS), 0),
        (call("equal", "n", None), 0),
        (call("less", "n", BATCH_ROWS), 1),
        (call("less_equal", "n", BATCH_ROWS), 2),
        (call("greater", "n", 2 * BATCH_ROWS), 2),
        (call("greater_equal", "n", 0), 4),
        (call("in", "n", 1, 3 * BATCH_ROWS), 2),
        (call("equal_null_safe", "n", 7), 1),
        (call("is_null", "n"), 0),
        (call("is_null", "late"), 2),
        (call("is_not_null", "late"), 2),
        (call("greater", "late", 0), 2),
        (either(call("equal", "n", 1), call("equal", "n", ROWS - 1)), 2),
        (call("equal", "d", DAY), 1),
        (call("less", "d", DAY), 0),
        (call("equal", "p", Decimal("0.05")), 1),
        (call("equal", "s", "0000005"), 1),
        (call("greater", "s", "9"), 0),
        (call("equal", "mixed", 5), 4),
        (call("equal", "mixed", 100), 0),
        (call("not_equal", "n", 5), 4),
        (call("equal", "g", 5.0), 4),
        (either(call("equal", "n", 1), call("not_equal", "mixed", 1)), 4),
    ],
)
def test_chunks_without_such_rows_are_skipped(table: MemoryTable, condition: Expr, read_chunks: int) -> None:
    snapshot = table.snapshot()
    (pieces,) = snapshot.pieces(ScanRequest((0,), (condition,)))
    assert (pieces.what, pieces.read, pieces.total) == ("chunks", read_chunks, CHUNKS)

    emitted = sum(len(read(snapshot, (0,), (condition,), instances=count)) for count in (1, 3))
    rows = [min(BATCH_ROWS, ROWS - chunk * BATCH_ROWS) for chunk in range(CHUNKS)]
    assert emitted % 2 == 0
    assert sum(rows[:read_chunks]) - BATCH_ROWS <= emitted // 2 <= read_chunks * BATCH_ROWS


def test_only_what_bounds_can_judge_goes_with_a_scan() -> None:
    kept = call("equal", "n", 5)
    both = Call(BOOLEAN, "and", (kept, call("not_equal", "n", 6)))
    others = (
        call("not_equal", "n", 5),
        Call(BOOLEAN, "equal", (Column(BIGINT, 0), Column(BIGINT, 1))),
        either(kept, call("not_equal", "n", 6)),
        Call(BOOLEAN, "not", (kept,)),
    )
    assert judged((kept, both, *others)) == (kept, both)


values = st.one_of(st.none(), st.integers(-3, 12))


@given(
    rows=st.lists(st.tuples(values, values), max_size=30),
    wanted=st.lists(
        st.tuples(
            st.sampled_from(["equal", "less", "less_equal", "greater", "greater_equal", "equal_null_safe"]),
            st.sampled_from([0, 1]),
            values,
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_no_row_that_passes_is_skipped(
    rows: list[tuple[int | None, int | None]],
    wanted: list[tuple[str, int, int | None]],
) -> None:
    schema = pa.schema({"a": BIGINT, "b": BIGINT})
    table = MemoryTable("t", schema)
    if rows:
        columns = [pa.array([row[place] for row in rows], BIGINT) for place in (0, 1)]
        insert_all(table, [pa.RecordBatch.from_arrays(columns, schema=schema)])
    filters = tuple(
        Call(BOOLEAN, function, (Column(BIGINT, place), Literal(BIGINT, value)))
        for function, place, value in wanted
    )

    found = [(row["a"], row["b"]) for row in read(table.snapshot(), (0, 1), filters)]
    passing = [
        row for row in rows if all(_passes(function, row[place], value) for function, place, value in wanted)
    ]
    assert all(found.count(row) >= passing.count(row) for row in passing)


def _passes(function: str, mine: int | None, value: int | None) -> bool:
    if function == "equal_null_safe":
        return mine == value
    if mine is None or value is None:
        return False
    return {
        "equal": mine == value,
        "less": mine < value,
        "less_equal": mine <= value,
        "greater": mine > value,
        "greater_equal": mine >= value,
    }[function]
