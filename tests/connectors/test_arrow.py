"""Arrow data as tables: forms that the engine has to bring into its own."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy
import pandas
import polars
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from sqlfront_connectors.arrow import ArrowSource, ArrowTable
from sqlfront_connectors.base import ScanRequest
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_values.errors import DataError, ProgrammingError
from tests.connectors.reading import read


def column(array: pa.Array) -> list[object]:
    made = ArrowTable("t", pa.table({"c": array}))
    return [row["c"] for row in read(made.snapshot(), [0])]


def test_null_as_a_value_of_a_dictionary_becomes_a_null_index() -> None:
    indices = pa.array([0, 1, 0, 2, None], pa.int32())
    made = ArrowTable(
        "t", pa.table({"c": pa.DictionaryArray.from_arrays(indices, pa.array(["a", None, "b"]))})
    )

    plan = made.snapshot().scan(ScanRequest((0,)))
    share = plan.resources[plan.source.resource]  # type: ignore[attr-defined]
    assert isinstance(share, TableShare)
    stored = share.segments[0].batch.column(0)
    assert stored.to_pylist() == ["a", None, "a", "b", None]
    assert stored.null_count == 2
    assert stored.dictionary.null_count == 0


def test_nanoseconds_are_cut_off() -> None:
    assert column(pa.array([1_500, 2_999], pa.duration("ns"))) == [
        datetime.timedelta(microseconds=1),
        datetime.timedelta(microseconds=2),
    ]


def test_two_tables_never_share_a_resource() -> None:
    tables = [ArrowTable("t", pa.table({"c": [number]})) for number in (1, 2)]
    keys = {key for made in tables for key in made.snapshot().scan(ScanRequest((0,))).resources}

    assert len(keys) == 2


class OneArray:
    """An object that exports one Arrow C array and no stream."""

    def __init__(self, array: pa.Array) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        capsules: tuple[object, object] = self._array.__arrow_c_array__(requested_schema)
        return capsules


def _broken() -> Iterator[pa.RecordBatch]:
    yield pa.record_batch({"c": [1]})
    raise ValueError("the source broke off")


def _dataset(folder: Path) -> ds.Dataset:
    pq.write_table(pa.table({"c": [1, 2]}), folder / "rows.parquet")
    return ds.dataset(folder)


@pytest.mark.parametrize(
    "source",
    [
        pa.table({"c": [1, 2]}),
        pa.table({"c": [1, 2]}).to_reader(),
        pa.record_batch({"c": [1, 2]}),
        pa.array([{"c": 1}, {"c": 2}]),
        OneArray(pa.record_batch({"c": [1, 2]})),
        pandas.DataFrame({"c": [1, 2]}),
        polars.DataFrame({"c": [1, 2]}),
        polars.LazyFrame({"c": [1, 2]}),
        duckdb.sql("SELECT * FROM (VALUES (1::BIGINT), (2)) v(c)"),
    ],
    ids=lambda source: type(source).__name__,
)
def test_whatever_speaks_arrow_is_a_table(source: ArrowSource) -> None:
    assert [row["c"] for row in read(ArrowTable("t", source).snapshot(), [0])] == [1, 2]


@pytest.mark.parametrize("scanner", [False, True])
def test_a_dataset_is_a_table(tmp_path: Path, scanner: bool) -> None:
    dataset = _dataset(tmp_path)
    made = ArrowTable("t", dataset.scanner() if scanner else dataset)
    assert [row["c"] for row in read(made.snapshot(), [0])] == [1, 2]


@pytest.mark.parametrize("source", [5, None, [1, 2], {"c": [1]}, numpy.zeros(3), pandas.Series([1])])
def test_other_objects_are_refused_by_their_class(source: object) -> None:
    with pytest.raises(ProgrammingError, match=f"a {type(source).__name__} is not Arrow data"):
        ArrowTable("t", source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source, reason",
    [
        (pa.chunked_array([[1]]), "non-struct type"),
        (polars.Series("c", [1]), "non-struct type"),
        (OneArray(pa.array([{"c": 1}, None])), "non-zero null count"),
        (pandas.DataFrame({"c": [1, "x"]}), "Could not convert 'x'"),
        (
            pa.RecordBatchReader.from_batches(pa.schema([("c", pa.int64())]), _broken()),
            "the source broke off",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_source_that_cannot_be_read_is_a_data_error_of_one_line(source: ArrowSource, reason: str) -> None:
    with pytest.raises(DataError, match=reason) as raised:
        ArrowTable("t", source)
    assert "\n" not in raised.value.message


def test_strings_that_are_no_utf_8_are_refused_at_the_door() -> None:
    broken = pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())
    with pytest.raises(DataError, match=r"t\.s holds values that are not valid Arrow data: Invalid UTF8"):
        ArrowTable("t", pa.table({"s": broken}))
