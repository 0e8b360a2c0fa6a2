"""Values of every type come back from spool files, in whatever form and slice they were written."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.spool.spool_file import Compression, SpoolSettings
from sqlfront_engine.spool.stored_form import stored_type
from sqlfront_engine.testing.rows import rows_of
from sqlfront_values.types import DICTIONARY_STRING, is_day_time
from tests.cluster.codec.values import LOGICAL, PHYSICAL, values
from tests.engine.spool.files import COMPRESSIONS, NAME, one_bucket, stored_rows, write_spool

NESTED_DICTIONARIES = [
    pa.list_(DICTIONARY_STRING),
    pa.map_(DICTIONARY_STRING, DICTIONARY_STRING),
    pa.struct([("a", pa.list_(pa.struct([pa.field("b", DICTIONARY_STRING, nullable=False)])))]),
    pa.dictionary(pa.int8(), pa.list_(pa.int32())),
]
FOREIGN = [pa.string_view(), pa.binary_view(), pa.list_(pa.string_view()), pa.large_string(), pa.uint8()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spool")


def one_column(column: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column], names=["c"])


def values_of(data_type: pa.DataType) -> st.SearchStrategy[object]:
    """Values of the type; no durations that are too long for pyarrow's conversion, though not for Python."""
    if data_type == pa.duration("us") or is_day_time(data_type):
        longest = 2**62
        return st.none() | st.integers(-longest, longest).map(lambda micros: timedelta(microseconds=micros))
    return values(data_type)


@pytest.mark.parametrize("data_type", [*LOGICAL, *PHYSICAL], ids=str)
@settings(max_examples=25)
@given(st.data())
def test_slices_of_each_type_come_back(folder: Path, data_type: pa.DataType, data: st.DataObject) -> None:
    given_values = data.draw(st.lists(values_of(data_type), max_size=12))
    batch = one_column(pa.array(given_values, data_type))
    cuts = data.draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=5))
    slices = [batch.slice(min(start, len(given_values)), length) for start, length in cuts]
    compression = data.draw(st.sampled_from(COMPRESSIONS))
    quick = SpoolSettings(compression, data.draw(st.sampled_from([1, 3000, 2**20])), fsync=False)

    file = write_spool(folder, one_bucket(slices), schema=batch.schema, settings=quick)

    back = list(read_spool(file))
    assert all(one.schema.field(0).type == stored_type(data_type) for one in back)
    assert repr(rows_of(back)) == repr(rows_of(slices))


@pytest.mark.parametrize("data_type", [*NESTED_DICTIONARIES, *FOREIGN], ids=str)
def test_nested_dictionaries_views_and_other_types_of_arrow_come_back(
    tmp_path: Path, data_type: pa.DataType
) -> None:
    batches = [one_column(pa.nulls(3, data_type)), filled(data_type), filled(data_type).slice(1, 1)]

    assert stored_rows(write_spool(tmp_path, one_bucket(batches))) == rows_of(batches)


def filled(data_type: pa.DataType) -> pa.RecordBatch:
    """A batch of the type with one null and two values."""
    if pa.types.is_dictionary(data_type):
        entries = pa.array([[1, 2], [3]], data_type.value_type)
        codes = pa.array([0, None, 1], data_type.index_type)
        return one_column(pa.DictionaryArray.from_arrays(codes, entries))
    plain = stored_type(data_type)
    examples: dict[pa.DataType, Sequence[object]] = {
        pa.string(): ["a", None, "longer than a view"],
        pa.binary(): [b"a", None, b"longer than a view"],
        pa.large_string(): ["a", None, "b"],
        pa.uint8(): [1, None, 255],
        pa.list_(pa.string()): [["a", "b"], None, ["longer than a view", None]],
        pa.map_(pa.string(), pa.string()): [[("a", "b")], None, [("b", None), ("c", "a")]],
        pa.struct([("a", pa.list_(pa.struct([("b", pa.string())])))]): [
            {"a": [{"b": "x"}]},
            None,
            {"a": [{"b": "y"}, {"b": "x"}]},
        ],
    }
    return one_column(pa.array(examples[plain], plain).cast(data_type))


def test_each_batch_may_bring_its_own_dictionary(tmp_path: Path) -> None:
    words = [["a", "b", None], ["c"], ["b", "a", "a"], [None]]
    batches = [one_column(pa.array(part, pa.string()).dictionary_encode()) for part in words]
    batches.insert(2, one_column(pa.array(["plain"])))

    file = write_spool(tmp_path, one_bucket(batches))

    assert [word for (word,) in stored_rows(file)] == ["a", "b", None, "c", "plain", "b", "a", "a", None]


def test_a_dictionary_with_a_null_among_its_values_comes_back(tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int32()), pa.array(["a", None]))

    assert stored_rows(write_spool(tmp_path, one_bucket([one_column(column)]))) == [("a",), (None,), (None,)]


def test_rows_without_columns_are_counted(tmp_path: Path) -> None:
    three = one_column(pa.nulls(3)).select([])

    file = write_spool(tmp_path, [(three, 0), (three.slice(0, 1), 1), (three, 0)], 2)

    assert file.bucket_rows == (6, 1)
    assert [batch.num_rows for batch in read_spool(file)] == [6, 1]


def test_two_columns_may_have_one_name(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array(["a"])], names=["c", "c"])

    assert stored_rows(write_spool(tmp_path, one_bucket([batch]))) == [(1, "a")]


def test_all_forms_of_a_column_give_one_schema(tmp_path: Path) -> None:
    column = pa.array(["a"])
    schemas = [
        pa.schema([pa.field("c", column.type, nullable=False, metadata={"k": "v"})], metadata={"k": "v"}),
        one_column(column.dictionary_encode()).schema,
        one_column(column.cast(pa.string_view())).schema,
    ]

    hashes = {write_spool(tmp_path, [], schema=schema).schema_hash for schema in schemas}

    assert len(hashes) == 1


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize(
    "data_type", [pa.int64(), pa.string(), pa.string_view(), pa.list_(pa.string())], ids=str
)
def test_only_the_slice_is_written(tmp_path: Path, data_type: pa.DataType, compression: Compression) -> None:
    value: object = ["a" * 50] if pa.types.is_list(data_type) else "a" * 50
    column = pa.array([7 if data_type == pa.int64() else value] * 10_000, data_type)

    file = write_spool(
        tmp_path, one_bucket([one_column(column).slice(5000, 2)]), settings=SpoolSettings(compression)
    )

    assert file.bytes == (tmp_path / NAME).stat().st_size < 1500


def test_a_batch_larger_than_the_buffer_passes_in_parts(tmp_path: Path) -> None:
    large = one_column(pa.array(range(100_000)))
    small = large.slice(0, 10)

    file = write_spool(tmp_path, one_bucket([small, large, small]), settings=SpoolSettings(buffer_size=4096))

    batches = [*read_spool(file)]
    assert [n for batch in batches for n in batch.column(0).to_pylist()] == [
        *range(10),
        *range(100_000),
        *range(10),
    ]
    assert max(batch.nbytes for batch in batches) <= 4096
