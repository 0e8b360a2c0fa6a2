"""Secondary indexes of memory tables: what they find, and that they follow every change."""

from __future__ import annotations

import datetime
import math
import random
import threading
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_connectors.base import Partitioning, insert_all
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.segments import index, merging
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.table import MemorySnapshot
from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    decimal,
    physical,
)
from tests.connectors.reading import read

Row = tuple[object, ...]

_VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    BOOLEAN: st.booleans(),
    TINYINT: st.integers(-128, 127),
    INT: st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    BIGINT: st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    FLOAT: st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 0.5, 1.5]),
    DOUBLE: st.sampled_from([0.0, -0.0, math.nan]) | st.floats(),
    decimal(12, 2): st.decimals(-99999, 99999, places=2),
    decimal(38, 3): st.decimals(-99999, 99999, places=3),
    STRING: st.text(max_size=3),
    BINARY: st.binary(max_size=3),
    DATE: st.dates(),
    TIMESTAMP: st.datetimes(timezones=st.just(datetime.UTC)),
    TIMESTAMP_NTZ: st.datetimes(),
}
_TYPES = st.sampled_from(list(_VALUES))


def same(left: object, right: object) -> bool:
    """SQL's ``<=>``, in which NaN equals NaN."""
    if isinstance(left, float) and isinstance(right, float) and math.isnan(left):
        return math.isnan(right)
    return (left is None) == (right is None) and left == right


@st.composite
def _columns(draw: st.DrawFn) -> tuple[tuple[pa.DataType, ...], list[Row]]:
    types = tuple(draw(st.lists(_TYPES, min_size=1, max_size=3)))
    row = st.tuples(*(st.none() | _VALUES[kind] for kind in types))
    few = draw(st.lists(row, min_size=1, max_size=6))
    return types, draw(st.lists(st.sampled_from(few) | row, max_size=40))


@given(_columns(), st.integers(1, 3), st.booleans(), st.booleans(), st.integers(0, 2**32))
def test_an_index_finds_what_a_filter_finds(
    columns: tuple[tuple[pa.DataType, ...], list[Row]], inserts: int, encoded: bool, early: bool, seed: int
) -> None:
    types, rows = columns
    schema = pa.schema([("n", BIGINT), *((f"c{place}", kind) for place, kind in enumerate(types))])
    by = tuple(range(1, len(types) + 1))
    table = MemoryTable("t", schema, Partitioning((0,), 7) if early else None)
    numbered = [(number, *row) for number, row in enumerate(rows)]
    if early:
        table.set_indexes((IndexDefinition("i", by),))
    for part in range(inserts):
        insert_all(table, [_batch(schema, numbered[part::inserts], encoded=encoded)])
    if not early:
        table.set_indexes((IndexDefinition("i", by),))
    gone = random.Random(seed)
    snapshot = table.snapshot()
    places = {
        number: segment.live_rows()[[gone.random() < 0.2 for _ in range(segment.rows)]]
        for number, segment in enumerate(snapshot.segments)
    }
    table.replace_rows(snapshot, places)
    check(table.snapshot(), by, [*rows, (None,) * len(types)])


def check(snapshot: MemorySnapshot, by: tuple[int, ...], keys: list[Row]) -> None:
    """Both ways to use the index give the rows that are there."""
    everything = [tuple(row.values()) for row in read(snapshot, (0, *by))]
    path = snapshot.row_path(by, (0,))
    assert by in snapshot.keys
    assert path is not None
    for key, found in zip(keys, path.find(keys), strict=True):
        wanted = [row[0] for row in everything if all(map(same, row[1:], key))]
        assert Counter(number for (number,) in found) == Counter(wanted)
        scanned = read(snapshot, (0,), by=by, keys=(key,), instances=2)
        assert Counter(number for (number,) in map(dict.values, scanned)) == Counter(wanted)


def _batch(schema: pa.Schema, rows: list[Row], *, encoded: bool = False) -> pa.RecordBatch:
    arrays = []
    for place, field in enumerate(schema):
        array = from_values([row[place] for row in rows], physical(field.type))
        arrays.append(array.dictionary_encode() if encoded and field.type == STRING else array)
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


@pytest.mark.parametrize(
    "kind, values",
    [
        (BIGINT, [1, 2, None]),
        (STRING, ["a", "b", None]),
        (DOUBLE, [math.nan, 0.0, -0.0, None]),
        (decimal(12, 2), [Decimal("1.50"), Decimal("-1.50"), None]),
        (decimal(38, 2), [Decimal("1.50"), None]),
        (DATE, [datetime.date(2024, 1, 1), datetime.date(1, 1, 1), None]),
        (TIMESTAMP, [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), None]),
        (BOOLEAN, [True, False, None]),
        (BINARY, [b"", b"x", None]),
    ],
)
def test_keys_of_many_rows_are_found(kind: pa.DataType, values: list[object]) -> None:
    schema = pa.schema([("n", BIGINT), ("c", kind)])
    table = MemoryTable("t", schema)
    rows: list[Row] = [(number, values[number % len(values)]) for number in range(1000)]
    insert_all(table, [_batch(schema, rows)])
    table.set_indexes((IndexDefinition("i", (1,)),))

    check(table.snapshot(), (1,), [(value,) for value in values])


SCHEMA = pa.schema([("k", BIGINT), ("c", BIGINT), ("s", STRING)])


def numbers(first: int, last: int) -> pa.RecordBatch:
    return _batch(SCHEMA, [(number, number % 10, f"s{number % 3}") for number in range(first, last)])


def indexed_table(*columns: tuple[int, ...]) -> MemoryTable:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 7))
    insert_all(table, [numbers(0, 1000)])
    table.set_indexes(tuple(IndexDefinition(f"i{place}", by) for place, by in enumerate(columns)))
    return table


def test_an_index_is_kept_for_rows_that_stay() -> None:
    table = indexed_table((1,))
    [segment] = table.snapshot().segments
    insert_all(table, [numbers(1000, 1001)])
    table.replace_rows(table.snapshot(), {0: np.array([5], np.int64)}, [numbers(1001, 1002)])

    assert table.snapshot().segments[0].indexes[0] is segment.indexes[0]
    check(table.snapshot(), (1,), [(number,) for number in range(11)])


def test_overwritten_rows_are_indexed() -> None:
    table = indexed_table((1,))
    insert_all(table, [numbers(0, 30)], overwrite=True)

    check(table.snapshot(), (1,), [(number,) for number in range(11)])


def test_indexes_are_those_of_the_version() -> None:
    table = indexed_table((1,), (2,))
    before = table.snapshot()
    table.set_indexes(before.indexes[1:])
    after = table.snapshot()

    assert after.version == before.version + 1
    assert (before.keys, after.keys) == (((0,), (1,), (2,)), ((0,), (2,)))
    assert after.row_path((1,), (0,)) is None
    check(before, (1,), [(3,)])
    check(after, (2,), [("s1",)])


def test_an_index_of_a_large_segment_is_there_when_the_version_is() -> None:
    table = MemoryTable("t", SCHEMA)
    table.set_indexes((IndexDefinition("i", (2, 1)),))
    insert_all(table, [numbers(0, 5000)])
    [segment] = table.snapshot().segments

    assert segment.indexes[0].size == 8 * 5000


def test_rows_that_only_have_the_hash_of_a_key_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "hash_columns", lambda columns, length: np.zeros(length, np.int32))
    table = indexed_table((1, 2))
    [segment] = table.snapshot().segments

    rows = segment.indexes[0].find(0, (4, "s1"))
    assert sorted(segment.batch.column(0)[row].as_py() for row in rows) == list(range(4, 1000, 30))
    assert list(segment.indexes[0].find(1, (4, "s1"))) == []


def test_a_table_without_rows_has_its_indexes() -> None:
    table = MemoryTable("t", SCHEMA)
    table.set_indexes((IndexDefinition("i", (1,)),))

    check(table.snapshot(), (1,), [(1,)])


def test_readers_find_all_rows_while_rows_and_indexes_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_FEW_INDEXED", 100)
    table = indexed_table((1,))
    done, wrong = threading.Event(), list[object]()

    def look() -> None:
        while not done.is_set():
            snapshot = table.snapshot()
            path = snapshot.row_path((1,), (0,))
            expected = Counter(row["k"] for row in read(snapshot, (0, 1)) if row["c"] == 3)
            if path is not None and Counter(number for (number,) in path.find([(3,)])[0]) != expected:
                wrong.append(snapshot.version)

    readers = [threading.Thread(target=look) for _ in range(8)]
    for reader in readers:
        reader.start()
    for turn in range(60):
        snapshot = table.snapshot()
        if turn % 3 == 0:
            table.set_indexes(() if snapshot.indexes else (IndexDefinition("i", (1,)),))
        else:
            rows = snapshot.segments[0].live_rows()[:7]
            table.replace_rows(snapshot, {0: rows}, [numbers(1000 * turn, 1000 * turn + 7)])
    done.set()
    for reader in readers:
        reader.join()
    assert wrong == []
