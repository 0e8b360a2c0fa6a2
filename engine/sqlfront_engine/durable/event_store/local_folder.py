"""Directories as folders of a store, on a local or a shared file system.

Durable means: the file is synced after the write, and the directory is synced after the file was created.
Exclusive creation is the system's ``O_EXCL``, which NFS has since version 3.
"""

import os
import shutil
import sys
from typing import Final

from sqlfront_engine.forks import when_forgotten

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC


class SystemCalls:
    """The calls of the operating system that make a log durable. Tests replace them by ones that fail."""

    def create(self, path: str) -> int:
        """Create the file exclusively, and return a descriptor that appends."""
        return os.open(path, _NEW_FILE, _PRIVATE_FILE)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of the bytes; returns how many."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Return when the file's contents and size are on stable storage."""
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415 - not needed on Linux

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def sync_folder(self, path: str) -> None:
        """Return when the directory's entries are on stable storage."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LocalFile:
    """A file of a directory that is appended to; see
    :class:`~sqlfront_engine.durable.event_store.folders.LogFile`."""

    takes_more: Final = True

    def __init__(self, path: str, calls: SystemCalls) -> None:
        self._calls = calls
        self._descriptor = calls.create(path)
        self._close = when_forgotten(self, os.close, self._descriptor)
        self.size = 0
        calls.sync_folder(os.path.dirname(path))

    def commit(self, data: bytes) -> None:
        """See :meth:`LogFile.commit`."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._calls.write(self._descriptor, rest) :]
        self._calls.sync(self._descriptor)
        self.size += len(data)

    def close(self) -> None:
        """See :meth:`LogFile.close`."""
        self._close()


class LocalFolder:
    """A directory; see :class:`~sqlfront_engine.durable.event_store.folders.Folder`."""

    def __init__(self, path: str, calls: SystemCalls | None = None) -> None:
        self.address = os.path.abspath(path)
        self._calls = calls or SystemCalls()

    def folder(self, name: str) -> "LocalFolder":
        """See :meth:`Folder.folder`."""
        return LocalFolder(self.path(name), self._calls)

    def path(self, name: str) -> str:
        """The path of a file inside."""
        return os.path.join(self.address, name)

    def names(self) -> list[str]:
        """See :meth:`Folder.names`."""
        try:
            return sorted(os.listdir(self.address))
        except FileNotFoundError:
            return []

    def exists(self, name: str) -> bool:
        """See :meth:`Folder.exists`."""
        return os.path.lexists(self.path(name))

    def read(self, name: str) -> bytes:
        """See :meth:`Folder.read`."""
        with open(self.path(name), "rb") as file:
            return file.read()

    def create(self, name: str, data: bytes) -> None:
        """See :meth:`Folder.create`. After a crash in between the file may have a part of the bytes."""
        file = self.new_file(name)
        try:
            file.commit(data)
        finally:
            file.close()

    def new_file(self, name: str) -> LocalFile:
        """See :meth:`Folder.new_file`."""
        self.make()
        return LocalFile(self.path(name), self._calls)

    def make(self) -> None:
        """Create the directory durably, with those above it, unless it exists."""
        missing = self.address
        created: list[str] = []
        while not os.path.isdir(missing):
            created.append(missing)
            missing = os.path.dirname(missing)
        os.makedirs(self.address, mode=_PRIVATE_FOLDER, exist_ok=True)
        for path in reversed(created):
            self._calls.sync_folder(os.path.dirname(path))

    def remove(self) -> None:
        """See :meth:`Folder.remove`."""
        if os.path.isdir(self.address):
            shutil.rmtree(self.address)

    def remove_file(self, name: str) -> None:
        """See :meth:`Folder.remove_file`."""
        try:
            os.unlink(self.path(name))
        except FileNotFoundError:
            return
