"""An object storage whose objects are files below a directory, for tests with several processes: what is
created is whole or absent, and of several creations of an object one succeeds.

It takes the place of s3fs, in this process and in processes that inherit the environment.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from fsspec.registry import _registry

_ROOT = "SQLFRONT_TEST_BUCKETS"
#: What pip would write for a package that brings an implementation of ``s3``.
_ENTRY = "[fsspec.specs]\ns3 = tests.engine.storage.buckets:BucketStorage\n"


class _NewObject:
    """An object that is open for writing."""

    closed = False

    def __init__(self, place: Path) -> None:
        self._place = place
        descriptor, name = tempfile.mkstemp(dir=os.environ[_ROOT], prefix=".part")
        self._part, self._file = Path(name), os.fdopen(descriptor, "wb")

    def write(self, data: bytes) -> int:
        return self._file.write(data)

    def close(self) -> None:
        self._file.close()
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._part.rename(self._place)
        self.closed = True

    def discard(self) -> None:
        self._file.close()
        self._part.unlink()


class BucketStorage:
    """The methods of fsspec's file systems that sqlfront calls. A bucket is a directory below the root."""

    def __init__(self, **options: object) -> None:
        self.root = Path(os.environ[_ROOT])

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> None:
        place = self._writable(path)
        with tempfile.NamedTemporaryFile(dir=self.root, prefix=".part") as part:
            part.write(value)
            part.flush()
            os.link(part.name, place)

    def _writable(self, path: str) -> Path:
        if not self.exists(path.split("/", maxsplit=1)[0]):
            raise FileNotFoundError("The specified bucket does not exist")
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def cat_file(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def open(self, path: str, mode: str, block_size: int, cache_type: str = "") -> BinaryIO:
        if mode == "wb":
            self._writable(path)
            return _NewObject(self.root / path)  # type: ignore[return-value]
        return open(self.root / path, "rb")

    def ls(self, path: str, detail: bool) -> list[dict[str, Any]]:
        found = [one for one in (self.root / path).iterdir() if one.is_file() or any(one.rglob("*.*"))]
        if not found:
            raise FileNotFoundError(path)
        return [
            {
                "name": str(one.relative_to(self.root)),
                "size": one.stat().st_size,
                "type": "file" if one.is_file() else "directory",
            }
            for one in found
        ]

    def modified(self, path: str) -> datetime:
        return datetime.fromtimestamp((self.root / path).stat().st_mtime, UTC)

    def exists(self, path: str) -> bool:
        return (self.root / path).exists()

    def rm_file(self, path: str) -> None:
        (self.root / path).unlink()

    def rm(self, path: str, recursive: bool) -> None:
        shutil.rmtree(self.root / path)

    def invalidate_cache(self, path: str | None = None) -> None:
        pass


@contextmanager
def buckets(root: Path) -> Iterator[Path]:
    """An object storage with the bucket ``bucket`` that ``s3://`` leads to within the block; its objects are
    below the directory that the block gets."""
    place = root / "storage"
    (place / "bucket").mkdir(parents=True)
    package = root / "package" / "buckets-1.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: buckets\nVersion: 1\n")
    (package / "entry_points.txt").write_text(_ENTRY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_ROOT, str(place))
        patch.syspath_prepend(str(package.parent))
        patch.setitem(_registry, "s3", BucketStorage)
        yield place


def objects(place: Path) -> list[str]:
    """The paths of the objects in the bucket. Parts of objects that were never complete are no objects."""
    bucket = place / "bucket"
    return sorted(str(one.relative_to(bucket)) for one in bucket.rglob("*") if one.is_file())
