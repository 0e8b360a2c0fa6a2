"""Prefixes of an object storage as folders, through fsspec.

An object is written at once and never changed; each commit of a log makes a new object. All rests on one
operation: *create an object only if it is absent*. The libraries and storages that have this operation
(looked up 2026-11-28):

* **fsspec** has ``pipe_file(..., mode="create")``. s3fs sends ``If-None-Match: *``, also for small objects
  since 2025.7 (its pull requests 917 and 974); gcsfs sends ``ifGenerationMatch=0``; adlfs sends
  ``overwrite=False``. The storage decides: Amazon S3, Google Cloud Storage and Azure do; of the servers that
  speak S3's protocol some ignore the header, which the lease on a store notices.
* fsspec's other implementations look for the object first and write then: two writers may both succeed. They
  are refused.
* **pyarrow.fs** has no such operation: its ``open_output_stream`` replaces what is there, on S3 too (Arrow's
  issues 28274 and 44281). So its file systems can't hold a log.

Credentials, the address of a server other than the provider's, and the like come from where the library finds
them: the environment (``AWS_ENDPOINT_URL`` and its like), the provider's files, or fsspec's configuration.
Members of a cluster thus need only the URL.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib import import_module
from itertools import count
from threading import Lock
from typing import BinaryIO, Final, Protocol

import pyarrow as pa

from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.storage.growing_file import GrowingFile
from sqlfront_engine.storage.requests import at_once
from sqlfront_values.errors import OperationalError

#: The protocols of URLs whose implementation creates an object only if it is absent, each with the package
#: that has the implementation.
EXCLUSIVE: Final = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "abfss": "adlfs",
    "az": "adlfs",
}
#: Characters that fsspec takes as patterns.
_PATTERNS: Final = "*?[]"
#: Bytes that are collected for one part of an upload; S3 takes at least 5 MiB, and at most 10,000 parts. The
#: libraries send a smaller object as a whole.
_PART: Final = 8 * 2**20
#: Bytes that a reader requests beyond those that it needs: neighbouring buckets are small.
_READ_AHEAD: Final = 2**20
#: Bytes of objects of logs that a folder and its subfolders keep in memory.
_KEPT: Final = 32 * 2**20

#: Attempts to create an object that another process creates at the same moment: S3 answers both that they
#: should try again. Seconds before the second attempt.
_CONFLICTS: Final = 5
_PAUSE: Final = 0.05


class WritableObject(Protocol):
    """The part of fsspec's ``AbstractBufferedFile``, open for writing, that a folder uses."""

    closed: bool

    def write(self, data: bytes | memoryview) -> int:
        """Append the bytes to the object; some are kept in memory."""

    def close(self) -> None:
        """Write what is in memory; the object exists then."""

    def discard(self) -> None:
        """Stop writing the object, so that it never exists."""


class ObjectStorage(Protocol):
    """The part of fsspec's ``AbstractFileSystem`` that a folder uses."""

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> object:
        """Write an object. With ``mode="create"``, raise FileExistsError if the object exists."""

    def cat_file(self, path: str) -> bytes:
        """Return the bytes of an object."""

    def open(self, path: str, mode: str, block_size: int, **options: object) -> BinaryIO:
        """Open an object: with ``mode="rb"`` for reading at any offset, with ``mode="wb"`` as a
        :class:`WritableObject`."""

    def ls(self, path: str, detail: bool) -> list[Mapping[str, object]]:
        """Return the names, sizes and types of the objects and prefixes directly below a prefix."""

    def modified(self, path: str) -> datetime:
        """Return the time at which an object was written."""

    def exists(self, path: str) -> bool:
        """Return whether the bucket ``path`` exists."""

    def rm_file(self, path: str) -> object:
        """Remove an object. The result means nothing."""

    def rm(self, path: str, recursive: bool) -> object:
        """Remove the objects below the prefix ``path``: with ``recursive``, which callers always give, also
        those below further prefixes. The result means nothing."""

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget the listings that the file system has cached: those of ``path``, or all if it is None."""


class ObjectFile:
    """An object that holds records of a log. Its only commit creates it, since objects can't grow."""

    def __init__(self, folder: "ObjectFolder", name: str) -> None:
        self._folder = folder
        self._name = name
        self.size = 0

    @property
    def takes_more(self) -> bool:
        """Whether the object has not been written yet: only one commit is possible."""
        return self.size == 0

    def commit(self, data: bytes) -> None:
        """Create the object with these bytes. Raises FileExistsError if the object exists."""
        self._folder.create(self._name, data)
        self.size = len(data)

    def close(self) -> None:
        """Do nothing: the object was complete with its commit."""


class GrowingObject(GrowingFile):
    """An object that is sent in parts, and exists when it is published. ``path``: for messages. If the
    process is killed, the storage keeps the parts, which nobody can read, until its rule for incomplete
    uploads removes them."""

    def __init__(self, target: WritableObject, path: str) -> None:
        super().__init__()
        self._target = target
        self._path = path

    @property
    def closed(self) -> bool:
        """Whether the object was published or discarded, so that no more bytes can be written."""
        return self._target.closed

    def _put(self, data: memoryview) -> None:
        with _storage_errors(self._path):
            self._target.write(data)

    def publish(self, *, sync: bool) -> None:
        """Send the bytes that are still in memory, and complete the object. The object is durable then,
        whatever ``sync`` says."""
        self.flush()
        with _storage_errors(self._path):
            self._target.close()

    def discard(self) -> None:
        """Give up the upload of the object; do nothing if the object was published."""
        if not self._target.closed:
            with _storage_errors(self._path):
                try:
                    self._target.discard()
                finally:
                    # Else fsspec completes the object when it collects the file.
                    self._target.closed = True


class _ReadableObject:
    """An object that Arrow reads. Arrow passes the errors on: FileNotFoundError if the object is gone,
    OperationalError if it can't be read now."""

    closed = False

    def __init__(self, source: BinaryIO, path: str) -> None:
        self._source = source
        self._path = path

    def readable(self) -> bool:
        """Return True; Arrow asks for it."""
        return True

    def seekable(self) -> bool:
        """Return True; Arrow asks for it."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes, fewer than ``size`` only at the end of the object."""
        try:
            return self._source.read(size)
        except FileNotFoundError:
            raise
        except Exception as error:
            raise OperationalError(f"{self._path} can't be read now: {_problem(error)}") from error

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to an offset, and return it."""
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        """Return the present offset."""
        return self._source.tell()

    def flush(self) -> None:
        """Do nothing; Arrow calls it."""

    def close(self) -> None:
        """Close the object."""
        self.closed = True
        self._source.close()


class _KeptObjects:
    """The last objects that were read, in memory, at most :data:`_KEPT` bytes. Safe to use from several
    threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._objects: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, path: str, read: Callable[[], bytes]) -> bytes:
        """Return the bytes of the object at ``path``. If they are not in memory, call ``read`` for them."""
        with self._lock:
            if path in self._objects:
                self._objects.move_to_end(path)
                return self._objects[path]
        data = read()
        with self._lock:
            if path not in self._objects:
                self._objects[path] = data
                self._bytes += len(data)
            while self._bytes > _KEPT:
                _, dropped = self._objects.popitem(last=False)
                self._bytes -= len(dropped)
        return data


class ObjectFolder:
    """A prefix of an object storage in the form of a :class:`~sqlfront_engine.storage.folders.Folder`, the
    contract that directories fulfil, too. ``storage``: the storage, by fsspec. ``protocol``: the beginning of
    URLs, such as ``s3``. ``path``: the bucket and the prefix. ``kept``: the objects that are in memory."""

    def __init__(
        self, storage: ObjectStorage, protocol: str, path: str, kept: _KeptObjects | None = None
    ) -> None:
        self._storage = storage
        self._protocol = protocol
        self._path = path.rstrip("/")
        self._kept = kept or _KeptObjects()

    @classmethod
    def open(cls, url: str) -> "ObjectFolder":
        """Return the folder at a URL; no request is sent. Raises OperationalError if the URL's protocol can't
        create an object only if it is absent, if the protocol's library is not installed or can't be set up,
        and if the URL has no bucket or a character that the libraries take as a pattern."""
        protocol, _, path = url.partition("://")
        if protocol not in EXCLUSIVE:
            raise OperationalError(
                f"a job store can't be at {url}: with {protocol}:// two coordinators may write the same"
                f" object; the store needs a directory or one of {', '.join(sorted(EXCLUSIVE))}"
            )
        if not path.strip("/"):
            raise OperationalError(f"a job store can't be at {url}: the URL has no bucket")
        if any(character in path for character in _PATTERNS):
            raise OperationalError(f"a job store can't be at {url}: the path has one of {_PATTERNS}")
        try:
            storage = import_module("fsspec").filesystem(protocol)
        except ImportError as error:
            raise OperationalError(
                f"a job store at {url} needs another library: pip install {EXCLUSIVE[protocol]} ({error})"
            ) from error
        except Exception as error:
            raise OperationalError(f"a job store can't be at {url}: {_problem(error)}") from error
        return cls(storage, protocol, path)

    @property
    def address(self) -> str:
        """The URL of the prefix."""
        return f"{self._protocol}://{self._path}"

    def folder(self, name: str) -> "ObjectFolder":
        """Return the folder at the prefix ``name`` below this prefix."""
        return ObjectFolder(self._storage, self._protocol, self._object(name), self._kept)

    def path(self, name: str) -> str:
        """Return the URL of the object ``name`` below the prefix."""
        return f"{self.address}/{name}"

    def _object(self, name: str) -> str:
        """Return the storage's path of the object ``name`` below the prefix."""
        return f"{self._path}/{name}"

    # ---- listing

    def names(self) -> list[str]:
        """Return the names directly below the prefix, sorted; an empty list if there are none. Raises OSError
        if the bucket doesn't exist."""
        return sorted(_name(found) for found in self._listed())

    def sizes(self) -> Mapping[str, int]:
        """Return the sizes in bytes of the objects directly below the prefix by their URLs."""
        return {
            self.path(_name(found)): int(str(found["size"]))
            for found in self._listed()
            if found["type"] == "file"
        }

    def _listed(self) -> list[Mapping[str, object]]:
        self._storage.invalidate_cache(self._path)
        with _storage_errors(self.address):
            try:
                return self._storage.ls(self._path, detail=True)
            except FileNotFoundError:
                bucket = self._path.partition("/")[0]
                if not self._storage.exists(bucket):
                    raise OSError(f"there is no bucket {bucket}, or it may not be listed") from None
                return []

    def modified(self, name: str) -> float:
        """Return the time at which an object was written, in seconds since 1970, by the storage's clock."""
        with _storage_errors(self.path(name)):
            return self._storage.modified(self._object(name)).timestamp()

    def exists(self, name: str) -> bool:
        """Return whether the object exists now. The method reads the object, since that is one request;
        s3fs's own method makes two requests for an absent object."""
        try:
            self.read(name)
        except FileNotFoundError:
            return False
        return True

    # ---- reading

    def read(self, name: str) -> bytes:
        """Return the bytes of an object."""
        with _storage_errors(self.path(name)):
            return self._storage.cat_file(self._object(name))

    def read_each(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield the bytes of each object, in the order of the names: by several requests at a time, and only
        for objects that are not in memory."""
        return iter(at_once(lambda name: self._kept.get(self._object(name), lambda: self.read(name)), names))

    @contextmanager
    def opened(self, name: str, access: FileAccess) -> Iterator[pa.NativeFile]:
        """Return a context manager whose block gets an object, open for reading at any offset, by requests
        for ranges of bytes. Raises ProgrammingError if ``access`` denies the object."""
        access.check(self.path(name))
        with _storage_errors(self.path(name)):
            source = self._storage.open(
                self._object(name), "rb", block_size=_READ_AHEAD, cache_type="readahead"
            )
        with source, pa.PythonFile(_ReadableObject(source, self.path(name)), mode="r") as file:
            yield file

    def make_durable(self, name: str, offset: int, data: bytes) -> None:
        """Do nothing: an object is durable before anybody can read it."""

    def make_names_durable(self) -> None:
        """Do nothing: a prefix has no directory entries that could be lost."""

    # ---- writing

    def create(self, name: str, data: bytes) -> None:
        """Create an object with these bytes. Raises FileExistsError if the object exists."""
        for attempt in count(1):
            try:
                with _storage_errors(self.path(name)):
                    self._storage.pipe_file(self._object(name), data, mode="create")
                return
            except OSError as error:
                match _code(error):
                    case "PreconditionFailed":
                        raise FileExistsError(f"{self.path(name)} exists") from error
                    case "ConditionalRequestConflict" if attempt < _CONFLICTS:
                        time.sleep(_PAUSE * attempt)
                    case _:
                        raise

    def new_file(self, name: str) -> ObjectFile:
        """Return a file whose object is created by its only commit, which raises FileExistsError if the
        object exists."""
        return ObjectFile(self, name)

    def growing_file(self, name: str) -> GrowingObject:
        """Return a new object, which exists once it is published."""
        with _storage_errors(self.path(name)):
            target: WritableObject = self._storage.open(self._object(name), "wb", block_size=_PART)  # type: ignore[assignment]
        return GrowingObject(target, self.path(name))

    # ---- removing

    def remove(self) -> None:
        """Remove all objects below the prefix; do nothing if there are none."""
        self._storage.invalidate_cache(self._path)
        with _storage_errors(self.address), suppress(FileNotFoundError):
            self._storage.rm(self._path, recursive=True)

    def remove_files(self, names: Iterable[str]) -> None:
        """Remove objects, by several requests at a time; names of objects that don't exist are ignored."""
        at_once(self._remove_file, list(names))

    def _remove_file(self, name: str) -> None:
        with _storage_errors(self.path(name)), suppress(FileNotFoundError):
            self._storage.rm_file(self._object(name))

    def remove_if_empty(self) -> None:
        """Do nothing: a prefix without objects doesn't exist."""


def _code(error: OSError) -> str | None:
    """Return the code of S3's answer behind an error, None for other errors. s3fs has FileExistsError only
    for answers that name the condition, which not all servers do."""
    answer = getattr(error.__cause__, "response", None)
    return answer["Error"].get("Code") if isinstance(answer, dict) and "Error" in answer else None


def _name(found: Mapping[str, object]) -> str:
    return str(found["name"]).rstrip("/").rpartition("/")[2]


@contextmanager
def _storage_errors(path: str) -> Iterator[None]:
    """Return a context manager that converts errors inside the block that are no OSErrors to OSErrors: the
    libraries behind fsspec have errors of their own. ``path``: the path or URL for the message."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{path}: {_problem(error)}") from error


def _problem(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
