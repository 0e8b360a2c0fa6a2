"""Memory tables: how rows lie, and how keys are found."""

import random
from datetime import date
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from sqlfront_connectors.base import Partitioning, ScanRequest, TableDefinition, insert_all
from sqlfront_connectors.memory import MemoryConnector, MemoryTable
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.partitioning.partitions import partition_ids
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DICTIONARY_STRING,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    decimal,
)
from tests.connectors.reading import read

SCHEMA = pa.schema([("k", BIGINT), ("s", STRING), ("price", decimal(12, 2))])


def clustered(rows: int = 1000, keys: int = 100, seed: int = 7) -> MemoryTable:
    """A table clustered by ``k`` with nulls among its keys."""
    randomness = random.Random(seed)
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 13))
    records = [
        {
            "k": None if randomness.random() < 0.05 else randomness.randrange(keys),
            "s": f"value {index % 7}",
            "price": Decimal(index) / 100,
        }
        for index in range(rows)
    ]
    insert_all(
        table, [batch.cast(_physical()) for batch in pa.Table.from_pylist(records, SCHEMA).to_batches(64)]
    )
    return table


def _physical() -> pa.Schema:
    return pa.schema([("k", BIGINT), ("s", STRING), ("price", pa.decimal64(12, 2))])


def test_rows_lie_by_partition_and_key_in_one_chunk() -> None:
    (segment,) = clustered().snapshot().segments
    keys = segment.batch.column(0)
    ids = partition_ids([keys], len(keys), 13)

    assert list(ids) == sorted(ids)
    assert segment.offsets is not None
    assert list(np.diff(segment.offsets)) == list(np.bincount(ids, minlength=13))
    for start, end in zip(segment.offsets[:-1], segment.offsets[1:], strict=True):
        values = [
            value for value in keys.slice(int(start), int(end - start)).to_pylist() if value is not None
        ]
        assert values == sorted(values)


def test_strings_of_few_values_and_short_decimals_are_stored_as_the_kernels_like_them() -> None:
    (segment,) = clustered().snapshot().segments

    assert segment.batch.schema.types == [BIGINT, DICTIONARY_STRING, pa.decimal64(12, 2)]


@pytest.mark.parametrize("key", [0, 17, 99, 100, -1, None])
def test_a_key_is_found_in_the_segments(key: int | None) -> None:
    snapshot = clustered().snapshot()

    found = read(snapshot, range(3), by=(0,), keys=((key,),))
    assert sorted(found, key=str) == sorted(
        (row for row in read(snapshot, range(3)) if row["k"] == key), key=str
    )
    assert snapshot.keys == ((0,),)
    plan = snapshot.scan(ScanRequest((0,), by=(0,), keys=((key,),)))
    assert plan.source.describe() == "MemoryScan: t, one key"


@pytest.mark.parametrize("instances", [1, 3])
def test_several_keys_are_found_at_once(instances: int) -> None:
    snapshot = clustered().snapshot()
    wanted: tuple[tuple[object], ...] = ((5,), (17,), (None,), (-1,), (99,))

    found = read(snapshot, range(3), by=(0,), keys=wanted, instances=instances)
    assert sorted(found, key=str) == sorted(
        (row for row in read(snapshot, range(3)) if (row["k"],) in wanted), key=str
    )
    assert read(snapshot, range(3), by=(0,), keys=(), instances=instances) == []
    assert len(read(snapshot, range(3), by=(0,), keys=wanted, limit=1, instances=instances)) == 1


def test_a_key_is_found_in_the_deltas_too() -> None:
    table = clustered()
    before = len(read(table.snapshot(), [0], by=(0,), keys=((5,),)))
    insert_all(table, [pa.RecordBatch.from_pydict({"k": [5], "s": ["new"], "price": [None]}, schema=SCHEMA)])

    assert len(table.snapshot().segments) == 2
    assert len(read(table.snapshot(), [0], by=(0,), keys=((5,),))) == before + 1


def test_null_is_part_of_a_compound_key() -> None:
    schema = pa.schema([("a", BIGINT), ("b", DOUBLE), ("c", BIGINT)])
    table = MemoryTable("t", schema, Partitioning((1, 0), 7))
    data = pa.table({"a": [1, 1, None, None], "b": [0.5, None, 0.5, None], "c": [1, 2, 3, 4]}, schema=schema)
    insert_all(table, data.to_batches())

    assert [row["c"] for row in read(table.snapshot(), [2], by=(1, 0), keys=((None, None),))] == [4]
    assert [row["c"] for row in read(table.snapshot(), [2], by=(1, 0), keys=((None, 1),))] == [2]
    assert [row["c"] for row in read(table.snapshot(), [2], by=(1, 0), keys=((0.5, None), (0.5, 1)))] == [
        3,
        1,
    ]


@pytest.mark.parametrize(
    ("kind", "values", "wanted"),
    [
        (STRING, ["b", "", None, "a", "b", "é"], "b"),
        (STRING, ["b", "", None, "a", "b", "é"], ""),
        (decimal(10, 1), [Decimal("1.5"), None, Decimal("-1.5"), Decimal("1.5")], Decimal("1.5")),
        (decimal(38, 1), [Decimal("1.5"), None, Decimal("-1.5")], Decimal("-1.5")),
        (INT, [3, None, -3, 3], -3),
        (BOOLEAN, [True, None, False, True], True),
        (DATE, [date(2024, 2, 29), None, date(1969, 1, 1)], date(1969, 1, 1)),
        (BINARY, [b"b", b"", None, b"a", b"b"], b"b"),
    ],
)
def test_keys_of_every_kind_are_found(kind: pa.DataType, values: list[object], wanted: object) -> None:
    table = MemoryTable("t", pa.schema([("k", kind)]), Partitioning((0,), 5))
    insert_all(table, [pa.RecordBatch.from_arrays([pa.array(values, kind)], names=["k"])])

    for key in (wanted, None):
        found = read(table.snapshot(), [0], by=(0,), keys=((key,),))
        assert [row["k"] for row in found] == [value for value in values if value == key]


@pytest.mark.parametrize("kind", [FLOAT, DOUBLE])
def test_nan_finds_nan_and_zero_finds_negative_zero(kind: pa.DataType) -> None:
    nan = float("nan")
    values = [0.0, 1.5, nan, None, -0.0, -1.5, nan, 0.0, -nan]
    schema = pa.schema([("k", kind), ("n", INT)])
    rows = pa.table({"k": values * 2, "n": [0] * 9 + [1] * 9}, schema=schema)

    alone = MemoryTable("t", schema, Partitioning((0,), 2))
    insert_all(alone, rows.to_batches())
    for key, count in [(nan, 6), (0.0, 6), (1.5, 2), (None, 2), (7.0, 0)]:
        assert len(read(alone.snapshot(), [0], by=(0,), keys=((key,),))) == count

    compound = MemoryTable("t", schema, Partitioning((0, 1), 2))
    insert_all(compound, rows.to_batches())
    for key, count in [(nan, 3), (0.0, 3), (1.5, 1), (None, 1), (7.0, 0)]:
        assert len(read(compound.snapshot(), [0], by=(0, 1), keys=((key, 1),))) == count


def test_only_the_required_partitions_are_read() -> None:
    table = clustered()
    snapshot = table.snapshot()
    (segment,) = snapshot.segments
    assert segment.offsets is not None
    wanted = (2, 3, 7)
    expected = sum(int(segment.offsets[p + 1] - segment.offsets[p]) for p in wanted)

    assert len(read(snapshot, [0], partitions=wanted)) == expected
    assert list(segment.ranges((2, 3))) == [(int(segment.offsets[2]), int(segment.offsets[4]))]
    assert read(snapshot, [0], partitions=()) == []


def test_many_deltas_are_merged() -> None:
    table = clustered(rows=100)
    for number in range(30):
        row = pa.RecordBatch.from_pydict({"k": [number], "s": ["x"], "price": [None]}, schema=SCHEMA)
        insert_all(table, [row])

    assert len(table.snapshot().segments) <= 9
    assert table.snapshot().statistics.rows == 130


def test_statistics_are_exact_where_they_can_be() -> None:
    statistics = clustered(rows=1000, keys=50).snapshot().statistics

    assert statistics.rows == 1000
    assert statistics.columns["s"].distinct == 7
    assert (statistics.columns["k"].minimum, statistics.columns["k"].maximum) == (0, 49)
    assert statistics.columns["k"].distinct == 50
    assert statistics.columns["price"].maximum == Decimal("9.99")


def test_an_empty_table_reads_as_empty() -> None:
    table = MemoryTable("t", SCHEMA, Partitioning((0,), 5))

    assert read(table.snapshot(), range(3)) == []
    assert table.snapshot().statistics.rows == 0


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (TableDefinition("t"), "needs columns"),
        (TableDefinition("t", SCHEMA, location="x"), "no LOCATION"),
        (TableDefinition("t", SCHEMA, options={"a": "b"}), "no option a"),
        (TableDefinition("t", SCHEMA, partitioned_by=("k",)), "CLUSTERED BY"),
        (TableDefinition("t", SCHEMA, clustered_by=("nope",)), "k, s, price"),
        (TableDefinition("t", pa.schema([("l", pa.list_(INT))]), clustered_by=("l",)), "`l` can't be"),
    ],
)
def test_definitions_that_make_no_sense_are_refused(definition: TableDefinition, message: str) -> None:
    with pytest.raises(ProgrammingError, match=message):
        MemoryConnector().create(definition)


def test_dates_beyond_pythons_have_no_bounds() -> None:
    made = MemoryTable("t", pa.schema([("d", DATE)]))
    insert_all(
        made, [pa.RecordBatch.from_arrays([pa.array([0, 5_000_000], pa.int32()).view(DATE)], names=["d"])]
    )
    known = made.snapshot().statistics.columns["d"]

    assert (known.nulls, known.minimum, known.maximum) == (0, None, None)
