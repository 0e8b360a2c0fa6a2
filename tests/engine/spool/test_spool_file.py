"""Spool files: the rows that come back, and when a file is there."""

from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_engine.spool.spool_file import SpoolSettings, SpoolWriter
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.errors import InternalError
from tests.engine.spool.files import NAME, names, one_bucket, stored_rows, write_spool


def numbers(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": pa.array(values, pa.int64())})


# ---- rows


def test_the_rows_come_back(tmp_path: Path) -> None:
    file = write_spool(tmp_path, one_bucket([numbers(1, 2), numbers(3)]))

    assert stored_rows(file) == [(1,), (2,), (3,)]


def test_a_bucket_keeps_its_order(tmp_path: Path) -> None:
    batches = [(numbers(place), place % 3) for place in range(50)]

    file = write_spool(tmp_path, batches, 3, settings=SpoolSettings(buffer_size=5000))

    assert len(file.buckets) > 3
    for bucket in range(3):
        assert stored_rows(file, range(bucket, bucket + 1)) == [(place,) for place in range(bucket, 50, 3)]


def test_a_range_of_buckets_is_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    file = write_spool(tmp_path, [(numbers(place), place) for place in (3, 2, 0, 1)], 4)

    assert stored_rows(file, range(1, 3)) == [(1,), (2,)]
    assert stored_rows(file, range(0)) == []
    assert stored_rows(file) == [(0,), (1,), (2,), (3,)]


def test_the_description_counts_rows_and_bytes_per_bucket(tmp_path: Path) -> None:
    file = write_spool(tmp_path, [(numbers(1, 2), 1), (numbers(3), 3)], 4)

    assert file.rows == 3
    assert file.buckets == (1, 3)
    assert file.bucket_rows == (0, 2, 0, 1)
    assert file.bucket_bytes == (0, 16, 0, 8)
    assert file.bytes == (tmp_path / NAME).stat().st_size


def test_an_output_without_rows_has_a_file_with_its_schema(tmp_path: Path) -> None:
    file = write_spool(tmp_path, [], 2, schema=numbers().schema)

    assert stored_rows(file) == []
    assert file.bucket_rows == (0, 0)
    assert pa.ipc.open_file(tmp_path / NAME).schema == numbers().schema


def test_a_batch_of_another_type_is_a_bug(tmp_path: Path) -> None:
    batches = [numbers(1), pa.RecordBatch.from_pydict({"n": ["a"]})]

    with pytest.raises(InternalError, match="column 'n' of a spool file is int64, but a batch has string"):
        write_spool(tmp_path, one_bucket(batches))
    assert names(tmp_path) == []


# ---- files


def test_the_file_gets_its_name_at_the_end(tmp_path: Path) -> None:
    path = str(tmp_path / NAME)
    with SpoolWriter(path, numbers().schema, 1, memory=CountingMemory()) as writer:
        writer.write(numbers(1), 0)
        assert NAME not in names(tmp_path)
        writer.finish()
        assert names(tmp_path) == [NAME]
    assert names(tmp_path) == [NAME]


def test_a_block_left_without_finish_leaves_nothing(tmp_path: Path) -> None:
    memory = CountingMemory()
    with SpoolWriter(str(tmp_path / NAME), numbers().schema, 1, memory=memory) as writer:
        writer.write(numbers(1), 0)

    assert names(tmp_path) == []
    assert memory.held == 0


def test_missing_folders_are_created(tmp_path: Path) -> None:
    folder = tmp_path / "job" / "stage-0"

    write_spool(folder, one_bucket([numbers(1)]))

    assert names(folder) == [NAME]
