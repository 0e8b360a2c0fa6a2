"""The hidden folders of writers, and the locks by which processes that write to one folder notice each other.

A writer keeps its parts (unfinished files) in a hidden folder ``.sqlfront-<id>``, which has a file ``lock``;
the system releases the lock on this file when the writer's process ends. Names in the table's folder are
changed and listed only under a lock on the folder itself. On file systems without such locks (some network
file systems) there must be only one writer at a time.
"""

import errno
import fcntl
import os
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from sqlfront_engine.file_access import FileAccess
from sqlfront_values.errors import OperationalError

#: The prefix of the names of writers' folders.
PREFIX: Final = ".sqlfront-"
_LOCK: Final = "lock"
#: Seconds to wait for the folder's lock, and the first and longest pause between two attempts: a commit takes
#: milliseconds, so that the pauses begin short, and a long commit is not disturbed often.
PATIENCE: Final = 60.0
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.05
#: The errors of a file system without locks for folders.
_NO_LOCKS: Final = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
#: SQLSTATE of a lock that can't be acquired.
_LOCKED: Final = "55P03"
#: Flags of ``os.open``: open no link, and don't wait for the other end of a pipe.
AS_IT_IS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
#: Flags of ``os.open`` for a new file.
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: The mode of all files of a writer: other users who may write to the table have to see that the writer is
#: alive.
MODE: Final = 0o666
#: Flags of ``os.open`` for a folder that is no link.
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class WriterFolder:
    """The hidden folder of a writer in this process. ``name``: the hidden folder's name. ``descriptor``: the
    descriptor of the open hidden folder."""

    def __init__(self, table: int) -> None:
        """Make the hidden folder. ``table``: the descriptor of the folder in which to make it; the caller
        holds the lock of that folder."""
        self.name = f"{PREFIX}{uuid.uuid4().hex}"
        os.mkdir(self.name, dir_fd=table)
        self.descriptor = os.open(self.name, FOLDER, dir_fd=table)
        self._alive = os.open(_LOCK, NEW, MODE, dir_fd=self.descriptor)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(self._alive, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Close the hidden folder, and release the lock that shows that its writer is alive: from now on
        another writer may complete or remove what is left in the folder. This method removes nothing."""
        os.close(self.descriptor)
        os.close(self._alive)


@contextmanager
def locked(folder: str, access: FileAccess, *, shared: bool = False) -> Iterator[int]:
    """Return a context manager that locks the folder; its value is the folder's descriptor. ``shared``: take
    a lock that several readers may hold at the same time. Raises OSError if the folder can't be opened,
    OperationalError if another process keeps the lock for more than :data:`PATIENCE` seconds."""
    while True:
        with access.folder(folder) as descriptor:
            _take(descriptor, fcntl.LOCK_SH if shared else fcntl.LOCK_EX, folder)
            # A writer may have put another folder in this one's place while the lock was awaited.
            if os.path.samestat(os.fstat(descriptor), os.stat(folder)):
                yield descriptor
                return


def is_alive(writer: int) -> bool:
    """Return whether the process of a writer is alive; True if that is unknown. ``writer``: the descriptor of
    the writer's hidden folder."""
    try:
        lock = os.open(_LOCK, os.O_RDONLY | AS_IT_IS, dir_fd=writer)
    except FileNotFoundError:
        return False  # a writer makes its lock before its folder is visible to others
    except OSError:
        return True  # unknown
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # also where there are no locks
        return True
    finally:
        os.close(lock)
    return False


def writers(table: int) -> list[str]:
    """Return the names of the writers' hidden folders in a table's folder. ``table``: the folder's
    descriptor. In a folder with the sticky bit, like ``/tmp``, hidden folders count only if they belong to
    this user or to the folder's owner."""
    found = os.fstat(table)
    trusted = (found.st_uid, os.getuid()) if found.st_mode & stat.S_ISVTX else None
    names = []
    for name in os.listdir(table):
        if name.startswith(PREFIX):
            with suppress(FileNotFoundError):
                writer = os.stat(name, dir_fd=table, follow_symlinks=False)
                if stat.S_ISDIR(writer.st_mode) and (trusted is None or writer.st_uid in trusted):
                    names.append(name)
    return names


@contextmanager
def opened(name: str, table: int) -> Iterator[int | None]:
    """Return a context manager that opens a writer's hidden folder; its value is the descriptor, None if the
    hidden folder is gone. ``name``: the hidden folder's name. ``table``: the descriptor of the folder in
    which it is."""
    try:
        descriptor = os.open(name, FOLDER, dir_fd=table)
    except FileNotFoundError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def check_name(path: str) -> None:
    """Raise OSError if no file can have the path (because of NUL, or characters that can't be encoded);
    :mod:`os` itself would raise ValueError or UnicodeEncodeError."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "no name of a file", path) from None
    if b"\0" in encoded:
        raise OSError(errno.EINVAL, "no name of a file", path)


def _take(descriptor: int, how: int, folder: str) -> None:
    """Take the lock of an open folder. ``descriptor``: the folder; ``how``: LOCK_SH or LOCK_EX; ``folder``:
    the folder's path, for the error. Waits up to :data:`PATIENCE` seconds for the lock, then raises
    OperationalError. On a file system without locks, returns at once without a lock."""
    deadline, pause = time.monotonic() + PATIENCE, _FIRST_PAUSE
    while True:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise OperationalError(
                    f"another process has been writing to {folder} for more than {PATIENCE:g} s",
                    sqlstate=_LOCKED,
                ) from None
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return
            raise
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
