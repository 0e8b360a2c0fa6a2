"""Spool files on an object storage, and what a storage must and must not do."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from sqlfront_engine.durable.files import remove_others, sizes_of
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.spool.reading import SpoolDamaged, read_spool
from sqlfront_engine.spool.spool_file import SpoolFile, SpoolSettings, SpoolWriter
from sqlfront_engine.storage.addresses import located, open_folder
from sqlfront_engine.storage.object_folder import ObjectFolder
from sqlfront_engine.testing import CountingMemory
from sqlfront_engine.testing.rows import rows_of
from sqlfront_values.errors import OperationalError, ProgrammingError
from tests.engine.durable.objects import MemoryStorage, memory_folder
from tests.engine.storage.buckets import BucketStorage, buckets, objects

FOLDER = "s3://bucket/jobs/spool/job-1"
URL = f"{FOLDER}/0.0.0-1.1.arrow"
SCHEMA = pa.schema([("n", pa.int64())])
#: Many record batches, so that readers jump.
SMALL = SpoolSettings(compression=None, buffer_size=3000)


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Path]:
    with buckets(tmp_path) as place:
        yield place


def batch(first: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": [*range(first, first + 100)]})


def written(url: str = URL) -> SpoolFile:
    """A file of 4,000 rows in four buckets."""
    with SpoolWriter(url, SCHEMA, 4, memory=CountingMemory(), settings=SMALL) as writer:
        for number in range(40):
            writer.write(batch(100 * number), number % 4)
        return writer.finish()


def test_buckets_of_rows_are_read_back(bucket: Path) -> None:
    file = written()

    assert objects(bucket) == ["jobs/spool/job-1/0.0.0-1.1.arrow"]
    assert sizes_of(FOLDER) == {URL.rpartition("/")[2]: file.bytes}
    assert sorted(rows_of([*read_spool(file)])) == [(n,) for n in range(4000)]
    assert sorted(rows_of([*read_spool(file, range(1, 3))])) == [
        (n,) for n in range(4000) if n // 100 % 4 in (1, 2)
    ]


def test_a_writer_that_ends_early_leaves_no_object(bucket: Path) -> None:
    with SpoolWriter(URL, SCHEMA, 1, memory=CountingMemory(), settings=SMALL) as writer:
        for number in range(100):
            writer.write(batch(number), 0)
        assert objects(bucket) == []
    del writer
    gc.collect()

    assert objects(bucket) == []
    assert not list(bucket.glob(".part*"))


def test_a_missing_or_changed_object_is_damaged(bucket: Path) -> None:
    file = written()
    place = bucket / URL.removeprefix("s3://")
    place.write_bytes(place.read_bytes()[:-1])
    with pytest.raises(SpoolDamaged, match=rf"{URL} has {file.bytes - 1} bytes, but was written with"):
        [*read_spool(file)]

    place.unlink()
    with pytest.raises(SpoolDamaged, match=f"{URL} is missing"):
        [*read_spool(file)]
    assert sizes_of(FOLDER) == {}


def test_a_storage_that_does_not_answer_is_no_damage(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that reads is tried again, not the one that wrote."""
    file = written()

    class Broken:
        def __init__(self, real: object) -> None:
            self.real = real
            self.reads = 0

        def read(self, size: int) -> bytes:
            self.reads += 1
            if self.reads > 2:
                raise RuntimeError("connection reset")
            data: bytes = self.real.read(size)  # type: ignore[attr-defined]
            return data

        def __getattr__(self, name: str) -> object:
            return getattr(self.real, name)

        def __enter__(self) -> "Broken":
            return self

        def __exit__(self, *_: object) -> None:
            self.real.close()  # type: ignore[attr-defined]

    real = BucketStorage.open
    monkeypatch.setattr(
        BucketStorage, "open", lambda *arguments, **options: Broken(real(*arguments, **options))
    )
    with pytest.raises(
        OperationalError, match=f"{URL} can't be read now: RuntimeError: connection reset"
    ) as it:
        rows_of([*read_spool(file)])
    assert not isinstance(it.value, SpoolDamaged)

    monkeypatch.setattr(BucketStorage, "ls", lambda *arguments, **options: 1 / 0)
    with pytest.raises(OperationalError, match=f"the files of the job in {FOLDER} can't be listed"):
        sizes_of(FOLDER)


def test_files_that_are_not_kept_are_removed(bucket: Path) -> None:
    for epoch in (1, 2):
        for task in range(3):
            written(f"{FOLDER}/0.{task}.0-{epoch}.1.arrow")

    remove_others(FOLDER, {f"{FOLDER}/0.0.0-1.1.arrow"}, epoch=1)
    assert [name.rpartition("/")[2] for name in objects(bucket)] == [
        "0.0.0-1.1.arrow",
        "0.0.0-2.1.arrow",
        "0.1.0-2.1.arrow",
        "0.2.0-2.1.arrow",
    ]
    remove_others(FOLDER, set())
    assert objects(bucket) == []
    remove_others(FOLDER, set())
    open_folder(FOLDER).remove()


def test_limited_access_denies_objects(bucket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a directory of this name exists."""
    file = written()
    monkeypatch.chdir(bucket)
    access = FileAccess.of([str(bucket)])
    with pytest.raises(ProgrammingError, match="may not be read or written here"):
        next(read_spool(file, access=access))


def test_a_log_object_is_fetched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryStorage()
    folder = memory_folder(storage)
    names = [f"events.{number}" for number in range(50)]
    for name in names:
        folder.create(name, name.encode())
    fetched: list[str] = []
    cat_file = storage.cat_file

    def noted(path: str) -> object:
        fetched.append(path)
        return cat_file(path)

    monkeypatch.setattr(storage, "cat_file", noted)

    for _ in range(3):
        assert [*folder.read_each(names)] == [name.encode() for name in names]
    assert len(fetched) == 50
    assert folder.read(names[0]) == b"events.0"
    assert len(fetched) == 51


def test_objects_in_memory_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlfront_engine.storage.object_folder._KEPT", 100)
    folder = memory_folder()
    for number in range(20):
        folder.create(f"events.{number}", bytes(10))
    assert len([*folder.read_each(folder.names())]) == 20
    assert folder._kept._bytes <= 100


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("s3://", "the URL has no bucket"),
        ("s3:///", "the URL has no bucket"),
        ("s3://bucket/jobs*", "the path has one of"),
        ("ftp://host/jobs", "two coordinators may write the same object"),
        ("hdfs://host/jobs", "two coordinators may write the same object"),
    ],
)
def test_urls_that_are_no_folders_are_refused(url: str, problem: str) -> None:
    with pytest.raises(OperationalError, match=f"a job store can't be at .*{problem}"):
        open_folder(url)


def test_a_bucket_that_does_not_exist_is_no_empty_folder(bucket: Path) -> None:
    with pytest.raises(OSError, match="there is no bucket other, or it may not be listed"):
        open_folder("s3://other/jobs").names()
    assert open_folder("s3://bucket/jobs").names() == []


def test_a_failed_answer_is_no_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coordinator must not take a request that fails for the absence of its successor's claim."""
    storage = MemoryStorage()
    folder = memory_folder(storage)
    assert not folder.exists("epoch.000002")
    monkeypatch.setattr(storage, "cat_file", lambda path: 1 / 0)

    with pytest.raises(OSError, match="ZeroDivisionError"):
        folder.exists("epoch.000002")


class Answered(Exception):
    """An error of botocore's form."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.response = {"Error": {"Code": code}}


class Answering(MemoryStorage):
    """A storage that answers the first creations with codes, as s3fs passes them on."""

    codes: list[str]

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        if self.codes:
            code = self.codes.pop(0)
            raise OSError(22, code) from Answered(code)
        super().pipe_file(path, value, mode=mode)


def test_a_refusal_that_does_not_name_the_condition_is_understood() -> None:
    storage = Answering()
    storage.codes = ["PreconditionFailed", "ServiceUnavailable"]
    folder = memory_folder(storage)
    with pytest.raises(FileExistsError):
        folder.create("epoch.000001", b"")
    with pytest.raises(OSError, match="ServiceUnavailable"):
        folder.create("epoch.000001", b"")


def test_creations_at_the_same_moment_are_tried_again() -> None:
    storage = Answering()
    storage.codes = ["ConditionalRequestConflict"] * 2
    folder = memory_folder(storage)
    folder.create("epoch.000001", b"a")
    assert folder.read("epoch.000001") == b"a"

    storage.codes = ["ConditionalRequestConflict"] * 5
    with pytest.raises(OSError, match="ConditionalRequestConflict"):
        folder.create("epoch.000002", b"a")


def test_paths_are_located(tmp_path: Path) -> None:
    folder, name = located(str(tmp_path / "a.arrow"))
    assert (folder.address, name, folder.path(name)) == (str(tmp_path), "a.arrow", str(tmp_path / "a.arrow"))


def test_urls_are_located(bucket: Path) -> None:
    folder, name = located(URL)
    assert isinstance(folder, ObjectFolder)
    assert (folder.address, name, folder.path(name)) == (FOLDER, "0.0.0-1.1.arrow", URL)
