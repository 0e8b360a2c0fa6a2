"""Files that are not as they were written: missing, cut, replaced, with flipped bits."""

import os
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest

from sqlfront_engine.file_access import NOWHERE, FileAccess
from sqlfront_engine.spool import reading
from sqlfront_engine.spool.reading import SpoolDamaged, read_spool
from sqlfront_engine.spool.spool_file import Compression, SpoolFile, SpoolSettings
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.engine.spool.files import COMPRESSIONS, NAME, write_spool

QUICK = SpoolSettings(fsync=False)
ROWS = pa.RecordBatch.from_pydict(
    {
        "n": [1, None, 3] * 40,
        "s": ["a", "bc", None] * 40,
        "l": [[1, 2], None, [3]] * 40,
    }
)


def read_all(file: SpoolFile) -> list[pa.RecordBatch]:
    return list(read_spool(file))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_arrow_refuses_every_part_of_a_file(tmp_path: Path, compression: Compression) -> None:
    """The description says the size of the part, so that only the format tells."""
    batches = [(ROWS.slice(place, 1), place) for place in range(2)]
    file = write_spool(tmp_path, batches, 2, settings=SpoolSettings(compression, fsync=False))
    whole = (tmp_path / NAME).read_bytes()

    for size in range(len(whole) - 1, -1, -1):
        os.truncate(tmp_path / NAME, size)
        with pytest.raises(SpoolDamaged):
            read_all(msgspec.structs.replace(file, bytes=size))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_no_flipped_bit_changes_rows(tmp_path: Path, compression: Compression) -> None:
    """A flip is found, unless it is in bytes that no reader needs, such as paddings."""
    choose = random.Random(7)
    file = write_spool(tmp_path, [(ROWS, 0)], settings=SpoolSettings(compression, fsync=False))
    whole = (tmp_path / NAME).read_bytes()
    last, right = file.offsets[-1], read_all(file)

    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << choose.randrange(8)
        (tmp_path / NAME).write_bytes(damaged)
        if place < last:
            with pytest.raises(SpoolDamaged, match="as the checksum of batch 0"):
                read_all(file)
        else:
            with suppress(SpoolDamaged):
                assert read_all(file) == right


def test_a_missing_file_is_damage(tmp_path: Path) -> None:
    file = write_spool(tmp_path, [(ROWS, 0)], settings=QUICK)
    os.unlink(file.path)

    with pytest.raises(SpoolDamaged, match=f"the spool file {file.path} is missing") as caught:
        next(read_spool(file))
    assert caught.value.path == file.path


def test_a_file_of_another_size_is_damage(tmp_path: Path) -> None:
    file = write_spool(tmp_path, [(ROWS, 0)], settings=QUICK)
    with open(file.path, "ab") as longer:
        longer.write(b"x")

    with pytest.raises(SpoolDamaged, match=f"has {file.bytes + 1} bytes, but was written with {file.bytes}"):
        next(read_spool(file))


def replaced(tmp_path: Path, other: pa.RecordBatch) -> SpoolFile:
    """The description of a file of three rows that is now a file of other rows, but of equal size."""
    file = write_spool(tmp_path, [(pa.RecordBatch.from_pydict({"n": [1, 2, 3]}), 0)], settings=QUICK)
    new = write_spool(tmp_path, [(other, 0)], settings=QUICK)
    assert new.bytes == file.bytes
    return file


def test_a_file_with_other_values_of_the_same_size_is_damage(tmp_path: Path) -> None:
    file = replaced(tmp_path, pa.RecordBatch.from_pydict({"n": [1, 2, 4]}))

    with pytest.raises(SpoolDamaged, match="as the checksum of batch 0"):
        read_all(file)


def test_a_file_with_other_columns_of_the_same_size_is_damage(tmp_path: Path) -> None:
    file = replaced(tmp_path, pa.RecordBatch.from_pydict({"m": [1, 2, 3]}))

    with pytest.raises(SpoolDamaged, match="as the hash of the schema"):
        next(read_spool(file))


WRONG: list[tuple[Callable[[SpoolFile], SpoolFile], str]] = [
    (lambda file: msgspec.structs.replace(file, bucket_rows=(119,)), "has 120 rows in bucket 0"),
    (lambda file: msgspec.structs.replace(file, bucket_rows=(120, 1)), "has 0 rows in bucket 1"),
    (lambda file: msgspec.structs.replace(file, buckets=(0, 0)), "has 1 record batches"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_file_with_other_numbers_is_damage(
    tmp_path: Path, change: Callable[[SpoolFile], SpoolFile], message: str
) -> None:
    file = write_spool(tmp_path, [(ROWS, 0)], settings=QUICK)

    with pytest.raises(SpoolDamaged, match=message):
        read_all(change(file))


def test_damage_between_two_batches_is_found_where_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_GROUP", 0)
    file = write_spool(tmp_path, [(ROWS, 0), (ROWS, 1)], 2, settings=QUICK)
    batches = read_spool(file)
    next(batches)
    os.truncate(file.path, 100)

    with pytest.raises(SpoolDamaged, match="as the checksum of batch 1"):
        next(batches)


def test_a_file_below_the_allowed_folders_is_read(tmp_path: Path) -> None:
    file = write_spool(tmp_path, [(ROWS, 0)], settings=QUICK)

    (batch,) = read_spool(file, access=FileAccess.of([str(tmp_path)]))

    assert batch.num_rows == ROWS.num_rows


def test_what_is_no_file_or_may_not_be_read_is_no_damage(tmp_path: Path) -> None:
    """The producer must not run again for it."""
    file = write_spool(tmp_path, [(ROWS, 0)], settings=QUICK)

    with pytest.raises(ProgrammingError, match="may not be read"):
        next(read_spool(file, access=NOWHERE))
    os.unlink(file.path)
    os.mkfifo(file.path)
    with pytest.raises(OperationalError, match="not a regular file") as caught:
        next(read_spool(file))
    assert not isinstance(caught.value, SpoolDamaged)
