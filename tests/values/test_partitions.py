"""Partition ids are Spark's, on both paths."""

import json

import numpy as np
import pyarrow as pa
import pytest

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.partitioning.partitions import hash_columns, key_hasher, partition_ids
from sqlfront_values.types import physical
from tests.oracle.spark import SparkOracle
from tests.sampling import sampled
from tests.values.hash_cases import CASES, ROWS, STORED, Digest, ask_spark, column, digest

SPARK = {case: Digest(**entry) for case, entry in json.loads(STORED.read_text()).items()}


def travelling(name: str, *, dictionary: bool = False) -> pa.Array:
    """A case's column in physical form, cut out of a longer one so that its offset isn't zero."""
    array = column(name)
    array = array.cast(physical(array.type))
    if dictionary and pa.types.is_string(array.type):
        array = array.dictionary_encode()
    return pa.concat_arrays([array.slice(ROWS - 3), array]).slice(3)


@pytest.mark.parametrize("case", CASES)
def test_vector_path_is_spark_s(case: str) -> None:
    assert digest(hash_columns([travelling(name) for name in CASES[case]], ROWS)) == SPARK[case]


@pytest.mark.parametrize("case", [case for case, names in CASES.items() if "string" in names])
def test_dictionary_strings_hash_as_plain_ones(case: str) -> None:
    columns = [travelling(name, dictionary=True) for name in CASES[case]]

    assert digest(hash_columns(columns, ROWS)) == SPARK[case]


@pytest.mark.parametrize("case", CASES)
def test_logical_decimals_hash_as_physical_ones(case: str) -> None:
    assert digest(hash_columns([column(name) for name in CASES[case]], ROWS)) == SPARK[case]


@pytest.mark.parametrize("case", CASES)
def test_scalar_path_is_spark_s(case: str) -> None:
    columns = [column(name) for name in CASES[case]]
    hash_key = key_hasher([array.type for array in columns])
    keys = zip(*(array.to_pylist() for array in columns), strict=True)

    assert digest([hash_key(key) for key in keys]) == SPARK[case]


@pytest.mark.spark
@pytest.mark.parametrize("case", sampled(CASES, 6))
def test_stored_hashes_are_live_spark_s(case: str, spark: SparkOracle) -> None:
    assert digest(ask_spark(spark, CASES[case])) == SPARK[case]


def test_partition_ids_are_positive_remainders() -> None:
    hashes = hash_columns([travelling("bigint")], ROWS).astype(np.int64)

    assert partition_ids([travelling("bigint")], ROWS, 271).tolist() == (hashes % 271).tolist()


def test_a_dictionary_with_a_null_value_hashes_it_as_null() -> None:
    codes = pa.array([0, 1, None], pa.int32())
    array = pa.DictionaryArray.from_arrays(codes, pa.array(["a", None]))
    plain = pa.array(["a", None, None])
    first = pa.array([7, 7, 7])

    assert hash_columns([array], 3).tolist() == hash_columns([plain], 3).tolist()
    assert hash_columns([first, array], 3).tolist() == hash_columns([first, plain], 3).tolist()


def test_no_columns_and_no_rows() -> None:
    assert hash_columns([], 2).tolist() == [42, 42]
    assert hash_columns([pa.array([], pa.string())], 0).tolist() == []
    assert hash_columns([pa.nulls(2), pa.array([None, None], pa.string())], 2).tolist() == [42, 42]


def test_empty_strings_without_a_data_buffer() -> None:
    empty = pa.array(["", None])

    assert hash_columns([empty], 2).tolist() == [key_hasher([pa.string()])([""]), 42]


def test_structs_chain_their_fields() -> None:
    fields = [pa.field("a", pa.int32()), pa.field("b", pa.string())]
    array = pa.StructArray.from_arrays([pa.array([1, None], pa.int32()), pa.array(["x", "y"])], fields=fields)
    flat = [pa.array([1, None], pa.int32()), pa.array(["x", "y"])]

    assert hash_columns([array], 2).tolist() == hash_columns(flat, 2).tolist()


def test_maps_are_refused_by_name() -> None:
    with pytest.raises(NotSupportedError, match="map<string,int>"):
        key_hasher([pa.map_(pa.string(), pa.int32())])


def test_int_and_bigint_hash_differently() -> None:
    assert key_hasher([pa.int32()])([1]) != key_hasher([pa.int64()])([1])
