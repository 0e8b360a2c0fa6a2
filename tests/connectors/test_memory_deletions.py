"""Rows of memory tables that are deleted without rewriting the others."""

from __future__ import annotations

import itertools
import random
import threading
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_connectors.base import Partitioning, insert_all
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.segments import merging
from sqlfront_connectors.memory.segments.segment import RowNumbers, Segment
from sqlfront_connectors.memory.table import MemorySnapshot
from sqlfront_values.errors import InternalError
from sqlfront_values.types import BIGINT, STRING
from tests.connectors.reading import read

SCHEMA = pa.schema([("k", BIGINT), ("n", BIGINT), ("s", STRING)])
Row = tuple[object, ...]


def batch(rows: list[Row]) -> pa.RecordBatch:
    columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(SCHEMA)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def contents(snapshot: MemorySnapshot, **how: object) -> Counter[Row]:
    return Counter(tuple(row.values()) for row in read(snapshot, range(3), **how))  # type: ignore[arg-type]


def where(snapshot: MemorySnapshot, chosen: random.Random, share: float) -> dict[int, RowNumbers]:
    """Some of the rows."""
    found = {}
    for number, segment in enumerate(snapshot.segments):
        rows = segment.live_rows()
        found[number] = rows[[chosen.random() < share for _ in rows]]
    return found


def rows_at(snapshot: MemorySnapshot, places: dict[int, RowNumbers]) -> list[Row]:
    return [
        tuple(snapshot.segments[number].batch.slice(int(row), 1).to_pylist()[0].values())
        for number, rows in places.items()
        for row in rows
    ]


@pytest.fixture(autouse=True)
def merge_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_FEW_ROWS", 6)


_CHANGE = st.tuples(
    st.sampled_from(["insert", "delete", "update"]), st.integers(0, 60), st.integers(0, 2**32)
)


@given(st.lists(_CHANGE, max_size=14), st.booleans())
def test_any_changes_leave_what_a_model_says(changes: list[tuple[str, int, int]], placed: bool) -> None:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5) if placed else None)
    model: Counter[Row] = Counter()
    before: list[tuple[MemorySnapshot, Counter[Row]]] = []
    for kind, amount, seed in changes:
        chosen = random.Random(seed)
        snapshot = table.snapshot()
        before.append((snapshot, model.copy()))
        if kind == "insert":
            made: list[Row] = [
                (chosen.choice([None, *range(5)]), chosen.randrange(9), f"s{chosen.randrange(3)}")
                for _ in range(amount)
            ]
            insert_all(table, [batch(made)])
            model.update(made)
            continue
        places = where(snapshot, chosen, amount / 60)
        gone = rows_at(snapshot, places)
        changed: list[Row] = [(k, -1, s) for k, _, s in gone] if kind == "update" else []
        table.replace_rows(snapshot, places, [batch(changed)])
        model.subtract(gone)
        model.update(changed)
        model += Counter()
    before.append((table.snapshot(), model))
    for snapshot, expected in before:
        check(snapshot, expected, placed=placed)


def check(snapshot: MemorySnapshot, expected: Counter[Row], *, placed: bool) -> None:
    """All ways to read a version give its rows."""
    count = sum(expected.values())
    assert contents(snapshot) == contents(snapshot, instances=3) == expected
    assert snapshot.statistics.rows == count == len(read(snapshot, ()))
    assert Counter(snapshot.small_rows((0, 1, 2), count) or ()) == expected
    for name in ("k", "n"):
        known = snapshot.statistics.columns[name]
        values = [row[SCHEMA.names.index(name)] for row in expected]
        assert all(known.minimum <= value <= known.maximum for value in values if value is not None)
        assert known.nulls or None not in values
    if not placed:
        return
    path = snapshot.row_path((0,), (0, 1, 2))
    assert path is not None
    for key in (None, *range(6)):
        wanted = Counter({row: times for row, times in expected.items() if row[0] == key})
        assert Counter(path.find([(key,)])[0]) == wanted
        assert contents(snapshot, by=(0,), keys=((key,),)) == wanted
    partitions: Iterator[Counter[Row]] = (contents(snapshot, partitions=(each,)) for each in range(5))
    assert sum(partitions, Counter()) == expected


def numbers(count: int) -> list[Row]:
    return [(number, number, "s") for number in range(count)]


def test_a_deletion_shares_the_rows_and_what_is_known_of_them() -> None:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5))
    insert_all(table, [batch(numbers(1000))])
    before = table.snapshot()
    table.replace_rows(before, {0: np.array([3], np.int64)})
    [old], [new] = before.segments, table.snapshot().segments

    assert new.batch is old.batch and new.memo is old.memo
    assert (old.rows, new.rows) == (1000, 999)


def test_rows_between_few_deleted_ones_are_slices() -> None:
    segment = Segment(batch(numbers(100))).without(np.array([0, 50], np.int64))
    pieces = list(segment.pieces(segment.batch, 0, 100))
    addresses = [piece.column(0).buffers()[1].address for piece in pieces]

    assert [piece.num_rows for piece in pieces] == [49, 49]
    assert set(addresses) == {segment.batch.column(0).buffers()[1].address}


def test_rows_between_many_deleted_ones_come_as_one_batch() -> None:
    segment = Segment(batch(numbers(100))).without(np.arange(0, 100, 2, dtype=np.int64))
    [piece] = segment.pieces(segment.batch, 0, 100)

    assert piece.column(0).to_pylist() == list(range(1, 100, 2))
    assert list(segment.pieces(segment.batch, 4, 5)) == []


def test_what_is_deleted_is_forgotten_when_it_has_become_much() -> None:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5))
    insert_all(table, [batch(numbers(100))])
    for _ in range(30):
        snapshot = table.snapshot()
        table.replace_rows(snapshot, {0: snapshot.segments[0].live_rows()[:1]})
    [segment] = table.snapshot().segments

    assert segment.rows == 70
    assert segment.batch.num_rows == 75


def test_a_table_without_rows_has_no_segments() -> None:
    table = MemoryTable("t", SCHEMA)
    insert_all(table, [batch(numbers(10))])
    snapshot = table.snapshot()
    table.replace_rows(snapshot, {0: snapshot.segments[0].live_rows()})

    assert table.snapshot().segments == ()
    assert read(table.snapshot(), range(3)) == []


def test_small_inserts_rewrite_small_segments() -> None:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5))
    insert_all(table, [batch(numbers(5000))])
    base = table.snapshot().segments[0]
    for number in range(1000):
        insert_all(table, [batch([(number, 0, "new")])])
    segments = table.snapshot().segments

    assert segments[0] is base
    assert len(segments) <= 9
    sizes = [segment.rows for segment in segments]
    assert all(larger > 4 * smaller for larger, smaller in itertools.pairwise(sizes) if larger > 6)


def test_an_outdated_version_cant_be_changed() -> None:
    table = MemoryTable("t", SCHEMA)
    snapshot = table.snapshot()
    insert_all(table, [batch(numbers(1))])

    with pytest.raises(InternalError):
        table.replace_rows(snapshot, {}, [batch(numbers(1))])


def test_eight_readers_see_whole_versions_while_rows_are_replaced() -> None:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5))
    insert_all(table, [batch([(number, 0, "s") for number in range(3000)])])
    done, wrong = threading.Event(), list[object]()

    def look() -> None:
        while not done.is_set():
            snapshot = table.snapshot()
            values = {row["n"] for row in read(snapshot, (1,))}
            path = snapshot.row_path((0,), (1,))
            assert path is not None
            if (
                len(values) != 1
                or path.find([(7,)])[0] != [tuple(values)]
                or snapshot.statistics.rows != 3000
            ):
                wrong.append((snapshot.version, values))

    readers = [threading.Thread(target=look) for _ in range(8)]
    for reader in readers:
        reader.start()
    for version in range(1, 25):
        snapshot = table.snapshot()
        everything = {number: each.live_rows() for number, each in enumerate(snapshot.segments)}
        changed: list[Row] = [(number, version, "s") for number in range(3000)]
        table.replace_rows(snapshot, everything, [batch(changed)])
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []


def test_a_segment_that_is_full_takes_no_rows_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MAX_COLUMN_BYTES", 8000)
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5))
    insert_all(table, [batch(numbers(1000))])
    full = table.snapshot().segments[0]
    for _ in range(3):
        insert_all(table, [batch(numbers(400))])
    assert table.snapshot().segments[0] is full

    table.replace_rows(table.snapshot(), {0: full.live_rows()[:300]})
    assert table.snapshot().segments[0].rows == table.snapshot().segments[0].batch.num_rows
    assert table.snapshot().statistics.rows == 1900
