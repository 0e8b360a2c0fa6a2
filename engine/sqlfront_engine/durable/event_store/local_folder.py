"""Directories as folders of a store, on a local or a shared file system."""

import os
import shutil
from typing import Final

from sqlfront_engine.forks import when_forgotten
from sqlfront_engine.system_calls import SystemCalls, make_folder, write_all


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
        write_all(self._calls, self._descriptor, memoryview(data))
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

    def make_durable(self, name: str, offset: int, data: bytes) -> None:
        """See :meth:`Folder.make_durable`. The bytes are written once more: a sync alone would report success
        for pages that the kernel took as clean after a sync that failed."""
        descriptor = self._calls.open_again(self.path(name))
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            write_all(self._calls, descriptor, memoryview(data))
            self._calls.sync(descriptor)
        finally:
            os.close(descriptor)

    def make_names_durable(self) -> None:
        """See :meth:`Folder.make_names_durable`."""
        self._calls.sync_folder(self.address)

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
        make_folder(self.address, self._calls)

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
