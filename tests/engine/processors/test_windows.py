"""Window functions give what a loop over each frame gives."""

import random
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from math import inf, isnan, nan
from typing import Any

import pyarrow as pa
import pytest

from sqlfront_engine.processors import window as window_processor
from sqlfront_engine.processors.window import Window
from sqlfront_engine.testing import batch_of, verify_processor
from sqlfront_values.expressions import Column, Expr, FrameUnit, Literal, SortKey, WindowCall, WindowFrame
from sqlfront_values.types import BIGINT, DOUBLE, INT, STRING, decimal

SCHEMA = pa.schema(
    [("p", STRING), ("o", INT), ("x", INT), ("d", decimal(12, 2)), ("f", DOUBLE), ("s", STRING)]
)
FRAMES = {
    "running": WindowFrame(FrameUnit.ROWS, None, 0),
    "default": WindowFrame(FrameUnit.RANGE, None, 0),
    "partition": WindowFrame(FrameUnit.ROWS, None, None),
    "sliding": WindowFrame(FrameUnit.ROWS, -2, 1),
    "following": WindowFrame(FrameUnit.ROWS, 1, 3),
    "to the end": WindowFrame(FrameUnit.ROWS, 0, None),
    "later to the end": WindowFrame(FrameUnit.ROWS, 2, None),
    "empty": WindowFrame(FrameUnit.ROWS, 0, -1),
}
CALLS = [
    ("count", "x", BIGINT),
    ("sum", "x", BIGINT),
    ("sum", "d", decimal(22, 2)),
    ("avg", "d", decimal(16, 6)),
    ("sum", "f", DOUBLE),
    ("min", "f", DOUBLE),
    ("max", "s", STRING),
    ("min", "x", INT),
    ("first", "s", STRING),
    ("collect_list", "x", pa.list_(INT)),
]
DEFAULT = FRAMES["default"]


def make_rows(count: int) -> list[tuple[Any, ...]]:
    """Rows in random order; ``o`` is their place."""
    choice = random.Random(3).choice
    rows: list[tuple[Any, ...]] = [
        (
            choice(["a", "b", None]),
            number,
            choice([None, 1, 2, -3, 40]),
            choice([None, Decimal("1.50"), Decimal("-2.25")]),
            choice([None, 1.0, 2.5, nan, inf]),
            choice([None, "q", "r", "zz"]),
        )
        for number in range(count)
    ]
    random.Random(4).shuffle(rows)
    return rows


def aggregate(function: str, values: list[Any]) -> object:
    """The aggregate of a frame's values."""
    known = [value for value in values if value is not None]
    match function:
        case "count":
            return len(known)
        case "first":
            return values[0] if values else None
        case "collect_list":
            return known
        case _ if not known:
            return None
        case "sum":
            return sum(known)
        case "avg":
            return (sum(known) / len(known)).quantize(Decimal("0.000001"), ROUND_HALF_UP)
        case _:
            pick = min if function == "min" else max
            return pick(known, key=lambda value: (isinstance(value, float) and isnan(value), value))


@pytest.mark.parametrize("name", FRAMES)
def test_aggregates_over_frames(name: str) -> None:
    frame, rows = FRAMES[name], make_rows(40)
    calls = tuple(
        WindowCall(
            function, (Column(SCHEMA.field(column).type, SCHEMA.get_field_index(column)),), kind, frame
        )
        for function, column, kind in CALLS
    )
    expected = []
    for key in {row[0] for row in rows}:
        part = sorted((row for row in rows if row[0] == key), key=lambda row: row[1])
        assert not isinstance(frame.start, Expr)
        assert not isinstance(frame.end, Expr)
        for place, row in enumerate(part):
            start = 0 if frame.start is None else max(0, place + frame.start)
            stop = len(part) if frame.end is None else max(start, place + frame.end + 1)
            inside = part[start:stop]
            expected.append(
                row
                + tuple(
                    aggregate(function, [other[SCHEMA.get_field_index(column)] for other in inside])
                    for function, column, _ in CALLS
                )
            )
    schema = pa.schema([*SCHEMA, *((f"w{n}", kind) for n, (*_, kind) in enumerate(CALLS))])
    window = Window((0,), (SortKey(1),), calls, schema)
    verify_processor(window, [[batch_of(SCHEMA, rows)]], expected, orders=50 if name == "sliding" else 5)


def verify_calls(
    rows: Sequence[tuple[object, ...]],
    order: SortKey,
    calls: Sequence[WindowCall],
    results: Sequence[tuple[object, ...]],
) -> None:
    """The calls over all rows of two int columns; ``results`` row by row."""
    schema = pa.schema([("x", INT), ("y", INT)])
    names = pa.schema([*schema, *((f"w{n}", call.type) for n, call in enumerate(calls))])
    expected = [(*row, *result) for row, result in zip(rows, results, strict=True)]
    verify_processor(
        Window((), (order,), tuple(calls), names), [[batch_of(schema, rows)]], expected, orders=10
    )


def test_ranking() -> None:
    rows = [(value, 0) for value in (None, 1, 1, 2, 3, 3, 3, 7)]
    names = ("rank", "dense_rank")
    calls = [WindowCall(name, (), INT, DEFAULT) for name in names]
    calls += [WindowCall(name, (), DOUBLE, DEFAULT) for name in ("percent_rank", "cume_dist")]
    results = [
        (1, 1, 0.0, 0.125), (2, 2, 1 / 7, 0.375), (2, 2, 1 / 7, 0.375), (4, 3, 3 / 7, 0.5),
        (5, 4, 4 / 7, 0.875), (5, 4, 4 / 7, 0.875), (5, 4, 4 / 7, 0.875), (8, 5, 1.0, 1.0),
    ]  # fmt: skip
    verify_calls(rows, SortKey(0), calls, results)


def test_row_numbers_and_tiles() -> None:
    rows = [(value, 0) for value in range(8)]
    calls = [
        WindowCall("row_number", (), INT, DEFAULT),
        WindowCall("ntile", (Literal(INT, 3),), INT, DEFAULT),
        WindowCall("ntile", (Literal(INT, 20),), INT, DEFAULT),
    ]
    tiles = (1, 1, 1, 2, 2, 2, 3, 3)
    verify_calls(rows, SortKey(0), calls, [(n + 1, tiles[n], n + 1) for n in range(8)])


def test_values_at_other_rows() -> None:
    rows = [(1, 1), (None, 2), (3, 3), (None, 4), (5, 5)]
    x = Column(INT, 0, "x")
    two, seven = Literal(INT, 2), Literal(INT, 7)
    whole = FRAMES["partition"]
    calls = [
        WindowCall("lag", (x,), INT, DEFAULT, ignore_nulls=True),
        WindowCall("lead", (x, two, seven), INT, DEFAULT, ignore_nulls=True),
        WindowCall("lead", (x, two, seven), INT, DEFAULT),
        WindowCall("lag", (x, Literal(INT, -1)), INT, DEFAULT),
        WindowCall("nth_value", (x, two), INT, whole, ignore_nulls=True),
        WindowCall("first", (x,), INT, WindowFrame(FrameUnit.ROWS, -1, 1), ignore_nulls=True),
        WindowCall("last", (x,), INT, DEFAULT),
    ]
    results = [
        (None, 5, 3, None, 3, 1, 1),
        (1, 5, None, 3, 3, 1, None),
        (1, 7, 5, None, 3, 3, 3),
        (3, 7, 7, 5, 3, 3, None),
        (3, 7, 7, None, 3, 5, 5),
    ]
    verify_calls(rows, SortKey(1), calls, results)


def test_a_nan_or_an_infinity_touches_only_the_frames_that_hold_it() -> None:
    schema = pa.schema([("y", INT), ("f", DOUBLE)])
    rows = [(1, nan), (2, 1.0), (3, 2.0), (4, inf), (5, 3.0), (6, 4.0)]
    call = WindowCall("sum", (Column(DOUBLE, 1),), DOUBLE, WindowFrame(FrameUnit.ROWS, -1, 0))
    sums = [nan, nan, 3.0, inf, inf, 7.0]
    expected = [(*row, total) for row, total in zip(rows, sums, strict=True)]
    names = pa.schema([*schema, ("w", DOUBLE)])
    verify_processor(
        Window((), (SortKey(0),), (call,), names), [[batch_of(schema, rows)]], expected, orders=5
    )


@pytest.mark.parametrize("most", [0, 1, 3, 1000])
def test_only_the_first_rows_of_partitions_are_emitted(most: int) -> None:
    rows = make_rows(60)
    call = WindowCall("row_number", (), INT, FRAMES["running"])
    expected = []
    for key in ("a", "b", None):
        part = sorted((row for row in rows if row[0] == key), key=lambda row: row[1])
        expected += [(*row, place) for place, row in enumerate(part[:most], 1)]
    window = Window((0,), (SortKey(1),), (call,), pa.schema([*SCHEMA, ("n", INT)]), most)
    verify_processor(window, [[batch_of(SCHEMA, rows)]], expected, orders=5)


def test_many_rows_are_pruned_as_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_processor, "_PRUNED_ROWS", 20)
    schema = pa.schema([("x", INT), ("y", INT)])
    rows = [(row % 3, -row) for row in range(200)]
    batches = [batch_of(schema, rows[start : start + 7]) for start in range(0, 200, 7)]
    call = WindowCall("row_number", (), INT, FRAMES["running"])
    window = Window((0,), (SortKey(1),), (call,), pa.schema([*schema, ("n", INT)]), 1)
    verify_processor(window, [batches], [(0, -198, 1), (1, -199, 1), (2, -197, 1)], orders=5)
