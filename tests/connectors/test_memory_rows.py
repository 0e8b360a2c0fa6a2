"""Rows found by key and read as Python values, against Arrow's own way."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront_connectors.base import Partitioning, insert_all
from sqlfront_connectors.memory import MemoryTable
from sqlfront_connectors.memory.segments.row_paths import batch_of, segment_of
from sqlfront_connectors.memory.segments.segment import build_segment
from sqlfront_values.arrow.arrays import from_values, to_python
from sqlfront_values.columns.reading import value_reader
from sqlfront_values.types import physical

_VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-128, 127),
    pa.int32(): st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
    pa.decimal128(12, 2): st.decimals(-99999, 99999, places=2),
    pa.decimal128(38, 3): st.decimals(-99999, 99999, places=3),
    pa.string(): st.text(max_size=3),
    pa.binary(): st.binary(max_size=3),
    pa.date32(): st.dates(),
    pa.timestamp("us", tz="UTC"): st.datetimes(timezones=st.just(datetime.UTC)),
    pa.timestamp("us"): st.datetimes(),
}
_TYPES = st.sampled_from(list(_VALUES))


@st.composite
def _columns(draw: st.DrawFn) -> tuple[tuple[pa.DataType, ...], list[tuple[object, ...]]]:
    types = tuple(draw(st.lists(_TYPES, min_size=1, max_size=2)))
    row = st.tuples(*(st.none() | _VALUES[kind] for kind in types))
    few = draw(st.lists(row, min_size=1, max_size=6))
    return types, draw(st.lists(st.sampled_from(few) | row, max_size=40))


@given(_columns(), st.integers(1, 3), st.booleans())
def test_the_rows_of_every_key_are_found(
    columns: tuple[tuple[pa.DataType, ...], list[tuple[object, ...]]], inserts: int, encoded: bool
) -> None:
    types, rows = columns
    schema = pa.schema([*((f"k{place}", kind) for place, kind in enumerate(types)), ("n", pa.int64())])
    key = tuple(range(len(types)))
    table = MemoryTable("t", schema, Partitioning(key, 7))
    numbered = [(*row, number) for number, row in enumerate(rows)]
    for part in range(inserts):
        insert_all(table, [_batch(schema, numbered[part::inserts], encoded=encoded)])
    snapshot = table.snapshot()
    path = snapshot.row_path(key, (*key, len(types)))
    assert path is not None
    wanted = list(dict.fromkeys(rows))
    found = path.find([*wanted, (None,) * len(types)])
    for asked, some in zip(wanted, found, strict=False):
        assert sorted(some, key=_number) == [row for row in numbered if row[:-1] == asked]
    assert sorted(found[-1], key=_number) == [row for row in numbered if set(row[:-1]) == {None}]
    assert sorted(snapshot.small_rows((*key, len(types)), 40) or (), key=_number) == numbered
    assert snapshot.small_rows(key, len(rows) - 1) is None


@given(st.data(), _TYPES, st.integers(0, 3))
def test_single_values_are_those_of_the_array(data: st.DataObject, kind: pa.DataType, skipped: int) -> None:
    values = data.draw(st.lists(st.none() | _VALUES[kind], max_size=20))
    array = from_values(values, physical(kind)).slice(skipped)
    read = value_reader(array)
    assert [read(row) for row in range(len(array))] == to_python(array)
    assert [read(row) for row in range(len(array))] == values[skipped:]


def test_float_keys_are_found_in_all_their_forms() -> None:
    nan = float("nan")
    table = MemoryTable("t", pa.schema([("k", pa.float64())]), Partitioning((0,), 7))
    insert_all(table, [pa.record_batch({"k": [0.0, nan, -0.0, None, 1.5]})])
    path = table.snapshot().row_path((0,), (0,))
    assert path is not None
    assert [len(rows) for rows in path.find([(0.0,), (-0.0,), (nan,), (None,), (2.0,)])] == [2, 2, 1, 1, 0]


def test_other_columns_have_no_path() -> None:
    table = MemoryTable("t", pa.schema([("k", pa.int64()), ("n", pa.int64())]), Partitioning((0,), 7))
    assert table.snapshot().row_path((1,), (0,)) is None


def test_a_date_beyond_pythons_years_is_an_error_when_read() -> None:
    read = value_reader(pa.array([4_000_000], pa.int32()).view(pa.date32()))
    with pytest.raises((OverflowError, ValueError)):
        read(0)


def _batch(schema: pa.Schema, rows: list[tuple[object, ...]], *, encoded: bool) -> pa.RecordBatch:
    arrays = []
    for place, field in enumerate(schema):
        array = from_values([row[place] for row in rows], physical(field.type))
        arrays.append(array.dictionary_encode() if encoded and field.type == pa.string() else array)
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _number(row: tuple[object, ...]) -> Decimal:
    return Decimal(str(row[-1]))


@given(_columns())
def test_the_segment_of_one_row_is_that_of_its_batch(
    columns: tuple[tuple[pa.DataType, ...], list[tuple[object, ...]]],
) -> None:
    types, rows = columns
    schema = pa.schema([*((f"k{place}", kind) for place, kind in enumerate(types)), ("n", pa.int64())])
    placed = Partitioning(tuple(range(len(types))), 7)
    for number, row in enumerate(rows):
        made = segment_of((*row, number), schema, placed)
        built = build_segment([batch_of([(*row, number)], schema)], schema, placed)
        assert made.batch.equals(built.batch)
        assert made.offsets is not None
        assert built.offsets is not None
        assert made.offsets.tolist() == built.offsets.tolist()
