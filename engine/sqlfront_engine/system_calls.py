"""The calls of the operating system that make files durable.

Durable means: the file is synced after the write, and the directory is synced after the file was created or
renamed. Exclusive creation is the system's ``O_EXCL``, which NFS has since version 3.
"""

import os
import sys
from typing import Final

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC


class SystemCalls:
    """The calls of the operating system for files and directories. Tests replace this object by one whose
    calls fail. All methods raise OSError."""

    def create(self, path: str) -> int:
        """Create a file, and return a descriptor that appends to it. Raises FileExistsError if the file
        exists."""
        return os.open(path, _NEW_FILE, _PRIVATE_FILE)

    def open_again(self, path: str) -> int:
        """Open an existing file, and return a descriptor whose writes overwrite the file's bytes, beginning
        with the first byte."""
        return os.open(path, os.O_WRONLY | os.O_CLOEXEC)

    def write(self, descriptor: int, data: memoryview) -> int:
        """Write some of the bytes; return how many were written."""
        return os.write(descriptor, data)

    def sync(self, descriptor: int) -> None:
        """Return when the file's contents and size are on stable storage."""
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415 - not needed on Linux

            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        else:
            os.fsync(descriptor)

    def rename(self, path: str, new_path: str) -> None:
        """Rename the file ``path`` to ``new_path`` in the same directory, atomically; a file of the new name
        is replaced."""
        os.replace(path, new_path)

    def sync_folder(self, path: str) -> None:
        """Return when the directory's entries (names of files) are on stable storage."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_all(calls: SystemCalls, descriptor: int, data: memoryview) -> None:
    """Write all bytes of ``data``, by as many calls as that takes."""
    while data:
        data = data[calls.write(descriptor, data) :]


def make_folder(path: str, calls: SystemCalls) -> None:
    """Create the directory and its parents durably, unless they exist."""
    missing = path
    created: list[str] = []
    while not os.path.isdir(missing):
        created.append(missing)
        missing = os.path.dirname(missing)
    os.makedirs(path, mode=_PRIVATE_FOLDER, exist_ok=True)
    for one in reversed(created):
        calls.sync_folder(os.path.dirname(one))
