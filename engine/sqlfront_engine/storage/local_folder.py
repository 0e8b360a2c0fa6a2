"""Directories as folders, on a local or a shared file system."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Final

import pyarrow as pa

from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.storage.growing_file import LocalGrowingFile
from sqlfront_engine.system_calls import SystemCalls, make_folder, write_all


class LocalFile:
    """A log's file in a directory, which grows with each commit."""

    takes_more: Final = True

    def __init__(self, path: str, calls: SystemCalls) -> None:
        self._calls = calls
        self._descriptor = calls.create(path)
        self._close = when_forgotten(self, os.close, self._descriptor)
        self.size = 0
        calls.sync_folder(os.path.dirname(path))

    def commit(self, data: bytes) -> None:
        """Append the bytes and sync the file, so that the bytes are durable when the method returns. After an
        error the file must not be used again."""
        write_all(self._calls, self._descriptor, memoryview(data))
        self._calls.sync(self._descriptor)
        self.size += len(data)

    def close(self) -> None:
        """Close the file's descriptor; a second call does nothing."""
        self._close()


class LocalFolder:
    """A directory in the form of a :class:`~sqlfront_engine.storage.folders.Folder`, the contract that object
    storages fulfil, too. ``calls``: the system's calls, which tests replace."""

    def __init__(self, path: str, calls: SystemCalls | None = None) -> None:
        self.address = os.path.abspath(path)
        self._calls = calls or SystemCalls()

    def folder(self, name: str) -> "LocalFolder":
        """Return the subdirectory ``name``; it need not exist yet."""
        return LocalFolder(self.path(name), self._calls)

    def path(self, name: str) -> str:
        """Return the path of a file of this name in the directory."""
        return os.path.join(self.address, name)

    def names(self) -> list[str]:
        """Return the names in the directory, sorted; an empty list if the directory doesn't exist."""
        try:
            return sorted(os.listdir(self.address))
        except FileNotFoundError:
            return []

    def sizes(self) -> Mapping[str, int]:
        """Return the sizes in bytes of the entries by their paths; empty if the directory doesn't exist."""
        sizes: dict[str, int] = {}
        for name in self.names():
            path = self.path(name)
            with suppress(FileNotFoundError):
                sizes[path] = os.path.getsize(path)
        return sizes

    def modified(self, name: str) -> float:
        """Return the time at which a file was last written, in seconds since 1970."""
        return os.path.getmtime(self.path(name))

    def exists(self, name: str) -> bool:
        """Return whether the directory has an entry of this name."""
        return os.path.lexists(self.path(name))

    def read(self, name: str) -> bytes:
        """Return all bytes of a file of the directory."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def read_each(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield all bytes of each file of the directory, in the order of the names."""
        return map(self.read, names)

    @contextmanager
    def opened(self, name: str, access: FileAccess) -> Iterator[pa.NativeFile]:
        """Return a context manager whose block gets a file of the directory, open for reading. Raises
        ProgrammingError if ``access`` denies the file, OperationalError for a pipe or a device, on which a
        reader might wait forever."""
        with access.reading(self.path(name)) as found, pa.OSFile(found.source) as file:
            yield file

    def make_durable(self, name: str, offset: int, data: bytes) -> None:
        """Write the bytes once more at the offset, and sync the file. A sync alone is not enough: after a
        failed sync the kernel takes the pages as clean, and the next sync reports success."""
        descriptor = self._calls.open_again(self.path(name))
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            write_all(self._calls, descriptor, memoryview(data))
            self._calls.sync(descriptor)
        finally:
            os.close(descriptor)

    def make_names_durable(self) -> None:
        """Sync the directory, so that its entries are durable."""
        self._calls.sync_folder(self.address)

    def create(self, name: str, data: bytes) -> None:
        """Create a file with these bytes and sync it. Raises FileExistsError if the file exists. After a
        crash during the call the file may have a part of the bytes."""
        file = self.new_file(name)
        try:
            file.commit(data)
        finally:
            file.close()

    def new_file(self, name: str) -> LocalFile:
        """Create an empty file, and the directory if necessary, and return the file. Raises FileExistsError
        if the file exists."""
        self.make()
        return LocalFile(self.path(name), self._calls)

    def growing_file(self, name: str) -> LocalGrowingFile:
        """Create a file under a temporary name, and the directory if necessary, and return the file, which
        appears under its name when it is published."""
        self.make()
        return LocalGrowingFile(self.path(name), self._calls)

    def make(self) -> None:
        """Create the directory and its parents durably, unless they exist."""
        make_folder(self.address, self._calls)

    def remove(self) -> None:
        """Remove the directory with everything in it; do nothing if it doesn't exist."""
        if os.path.isdir(self.address):
            shutil.rmtree(self.address)

    def remove_files(self, names: Iterable[str]) -> None:
        """Remove files of the directory; names of files that don't exist are ignored."""
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(self.path(name))

    def remove_if_empty(self) -> None:
        """Remove the directory if it has no entries; do nothing if it doesn't exist."""
        with suppress(FileNotFoundError):
            if not os.listdir(self.address):
                os.rmdir(self.address)
