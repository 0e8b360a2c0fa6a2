"""Prefixes of an object storage as folders of a store, through fsspec.

An object is written at once and never changed; each commit of a log makes a new object. All rests on one
operation: *create an object only if it is absent*. Who has it (looked up 2026-11-28):

* **fsspec** has ``pipe_file(..., mode="create")``. s3fs sends ``If-None-Match: *``, also for small objects
  since 2025.7 (its pull requests 917 and 974); gcsfs sends ``ifGenerationMatch=0``; adlfs sends
  ``overwrite=False``. The storage decides: Amazon S3, Google Cloud Storage and Azure do; of the servers that
  speak S3's protocol some ignore the header, which :meth:`ObjectFolder.check_exclusive_creation` notices.
* fsspec's other implementations look for the object first and write then: two writers may both succeed. They
  are refused.
* **pyarrow.fs** has no such operation: its ``open_output_stream`` replaces what is there, on S3 too (Arrow's
  issues 28274 and 44281). So its file systems can't hold a log.

Tests run on fsspec's ``memory`` with a lock around its creation; no test here has asked S3, Google or Azure.
"""

import uuid
from collections.abc import Mapping
from importlib import import_module
from typing import Final, Protocol

from sqlfront_values.errors import OperationalError

#: The protocols of URLs whose implementation creates an object only if it is absent.
EXCLUSIVE: Final = frozenset(["s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"])


class ObjectStorage(Protocol):
    """The part of fsspec's ``AbstractFileSystem`` that a store uses."""

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite") -> object:
        """Write an object. With ``mode="create"``, raise FileExistsError if the object exists."""

    def cat_file(self, path: str) -> bytes:
        """Return the bytes of an object."""

    def ls(self, path: str, detail: bool) -> list[str]:
        """Return the paths of the objects and prefixes directly below a prefix."""

    def exists(self, path: str) -> bool:
        """Return whether the object exists."""

    def rm_file(self, path: str) -> object:
        """Remove an object."""

    def rm(self, path: str, recursive: bool) -> object:
        """Remove all objects below a prefix."""

    def invalidate_cache(self, path: str | None = None) -> None:
        """Forget the listings that the file system has cached, of one path or of all."""


class ObjectFile:
    """An object of a log, which is created by its only commit; its contract is
    :class:`~sqlfront_engine.durable.event_store.folders.LogFile`."""

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


class ObjectFolder:
    """A prefix of an object storage as a folder of a store; its contract is
    :class:`~sqlfront_engine.durable.event_store.folders.Folder`. ``path``: the bucket and the prefix, without
    the protocol."""

    def __init__(self, storage: ObjectStorage, protocol: str, path: str) -> None:
        self._storage = storage
        self._protocol = protocol
        self._path = path.rstrip("/")

    @classmethod
    def open(cls, url: str, options: Mapping[str, object]) -> "ObjectFolder":
        """Return the folder at a URL; ``options`` are passed to fsspec. Raises OperationalError if the URL's
        protocol can't create an object only if it is absent, or if the protocol's library is not
        installed."""
        protocol, _, path = url.partition("://")
        if protocol not in EXCLUSIVE:
            raise OperationalError(
                f"a job store can't be at {url}: with {protocol}:// two coordinators may write the same"
                f" object; the store needs a directory or one of {', '.join(sorted(EXCLUSIVE))}"
            )
        try:
            fsspec = import_module("fsspec")
            storage = fsspec.filesystem(protocol, **options)
        except ImportError as error:
            raise OperationalError(f"a job store at {url} needs another library: {error}") from error
        return cls(storage, protocol, path)

    @property
    def address(self) -> str:
        """The URL of the prefix, for messages."""
        return f"{self._protocol}://{self._path}"

    def folder(self, name: str) -> "ObjectFolder":
        """Return the folder at the prefix ``name`` below this prefix."""
        return ObjectFolder(self._storage, self._protocol, self.path(name))

    def path(self, name: str) -> str:
        """Return the storage's path of the object ``name`` below the prefix."""
        return f"{self._path}/{name}"

    def names(self) -> list[str]:
        """Return the names directly below the prefix, sorted; an empty list if there are none."""
        self._storage.invalidate_cache(self._path)
        try:
            paths = self._storage.ls(self._path, detail=False)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise _as_oserror(error, self.address) from error
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def exists(self, name: str) -> bool:
        """Return whether the object exists now, by a fresh request."""
        self._storage.invalidate_cache(self._path)
        try:
            return self._storage.exists(self.path(name))
        except Exception as error:
            raise _as_oserror(error, self.path(name)) from error

    def read(self, name: str) -> bytes:
        """Return the bytes of an object."""
        try:
            return self._storage.cat_file(self.path(name))
        except Exception as error:
            raise _as_oserror(error, self.path(name)) from error

    def make_durable(self, name: str, offset: int, data: bytes) -> None:
        """Do nothing: an object is durable before anybody can read it."""

    def make_names_durable(self) -> None:
        """Do nothing: a prefix has no directory entries that could be lost."""

    def create(self, name: str, data: bytes) -> None:
        """Create an object with these bytes. Raises FileExistsError if the object exists."""
        try:
            self._storage.pipe_file(self.path(name), data, mode="create")
        except Exception as error:
            raise _as_oserror(error, self.path(name)) from error

    def new_file(self, name: str) -> ObjectFile:
        """Return a file whose object is created by its only commit, which raises FileExistsError if the
        object exists."""
        return ObjectFile(self, name)

    def remove(self) -> None:
        """Remove all objects below the prefix; do nothing if there are none."""
        try:
            self._storage.rm(self._path, recursive=True)
        except FileNotFoundError:
            return
        except Exception as error:
            raise _as_oserror(error, self.address) from error

    def remove_file(self, name: str) -> None:
        """Remove one object; do nothing if it doesn't exist."""
        try:
            self._storage.rm_file(self.path(name))
        except FileNotFoundError:
            return
        except Exception as error:
            raise _as_oserror(error, self.path(name)) from error

    def check_exclusive_creation(self) -> None:
        """Check that the storage refuses to create an object that exists. Creates an object twice, and
        raises OperationalError if the second creation succeeds, as with servers and older libraries that
        ignore the condition."""
        name = f"probe.{uuid.uuid4().hex}"
        self.create(name, b"first")
        try:
            self.create(name, b"second")
        except FileExistsError:
            return
        finally:
            self.remove_file(name)
        raise OperationalError(
            f"the job store {self.address} can't be written: the storage or its library replaces an object"
            " that was to be created only if absent"
        )


def _as_oserror(error: Exception, path: str) -> OSError:
    """Return the error as an OSError: an OSError as it is, and an error of a library behind fsspec
    wrapped."""
    return error if isinstance(error, OSError) else OSError(f"{path}: {type(error).__name__}: {error}")
