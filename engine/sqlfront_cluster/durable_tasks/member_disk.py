"""The directory on a member's own disk in which the member keeps outputs of durable jobs' tasks.

The directory is made in the system's temporary directory (the variable ``TMPDIR``) with the first job that
needs it, and removed when the member ends in good order. A member that is killed leaves its directory to the
next member that makes one in the same place. A lock that the system releases tells whether a directory's
member lives.
"""

import logging
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import Lock
from typing import Final
from urllib.parse import quote

import pyarrow as pa

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.event_store.ownership import FileLock, Owner, lock_owner
from sqlfront_engine.file_access import EVERYWHERE, FileAccess
from sqlfront_engine.spool.places import ON_MEMBER
from sqlfront_engine.storage.local_folder import LocalFolder
from sqlfront_values.errors import OperationalError

logger: Final = logging.getLogger(__name__)

#: The beginnings of the names of members' directories, and of those that are being made.
_PREFIX: Final = "sqlfront-outputs-"
_NEW: Final = "sqlfront-new-outputs-"
#: The names of jobs' folders and of files in them: never hidden ones, nor those of another folder.
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


class OutputFolder(LocalFolder):
    """The folder of one job's outputs on this member's disk. The folder is never made anew after its removal,
    and the process may open its files whatever files the jobs of the cluster may open."""

    def make(self) -> None:
        """Do nothing: the folder exists as long as the job is known here."""

    @contextmanager
    def opened(self, name: str, access: FileAccess) -> Iterator[pa.NativeFile]:
        """Return a context manager whose block gets a file of the folder, open for reading."""
        with super().opened(name, EVERYWHERE) as file:
            yield file

    def remove(self) -> None:
        """Remove the folder with everything in it, as far as that is possible now."""
        shutil.rmtree(self.address, ignore_errors=True)


class MemberDisk(ClosingContext):
    """The outputs on the disk of the member ``member``, in a directory of their own. ``base``: where that
    directory is made, None = the system's temporary directory. ``incarnation``: the id of the member's
    process, None = a new one. Safe to use from several threads."""

    def __init__(self, member: str, base: str | None = None, incarnation: str | None = None) -> None:
        #: The id of this process of the member, by which files of an earlier process are recognised.
        self.incarnation = incarnation or secrets.token_hex(8)
        #: The beginning of the URLs of all files in the directory.
        self.url = f"{ON_MEMBER}{quote(member, safe='')}/{self.incarnation}/"
        self._member, self._base = member, base
        self._numbers = count(1)
        self._lock = Lock()
        # Guarded by the lock: the path of the directory, and the lock file that says that the member lives.
        self._path: str | None = None
        self._alive: FileLock | None = None

    def begin(self, job: str) -> OutputFolder:
        """Make the folder for a job with the id ``job``, and return it. Two folders never have the same name.
        Raises OperationalError for an id that is no name of a folder, and if the folder can't be made."""
        name = f"{job}.{next(self._numbers)}"
        if not _NAME.fullmatch(name):
            raise OperationalError(f"{job!r} is no id of a job")
        try:
            path = os.path.join(self._made(), name)
            os.mkdir(path, 0o700)
        except OSError as error:
            raise OperationalError(
                f"member {self._member} can't make a directory for outputs in {self._place}: {error.strerror}"
            ) from error
        return OutputFolder(path)

    @property
    def _place(self) -> str:
        return self._base or tempfile.gettempdir()

    def _made(self) -> str:
        with self._lock:
            if self._path is None:
                remove_leftovers(self._place)
                # Others look at the directory once it is locked and has its name.
                made = tempfile.mkdtemp(prefix=_NEW, dir=self._place)
                self._alive = FileLock(LocalFolder(made), Owner(self.incarnation, self._member))
                path = os.path.join(self._place, f"{_PREFIX}{self.incarnation}")
                os.rename(made, path)
                self._path = path
            return self._path

    def folder(self, job: str) -> OutputFolder | None:
        """Return the folder with the name ``job`` that :meth:`begin` has made; None if there is none, for
        example since it was removed."""
        if self._path is None or not _NAME.fullmatch(job):
            return None
        path = os.path.join(self._path, job)
        return OutputFolder(path) if os.path.isdir(path) else None

    def close(self) -> None:
        """Remove the directory with everything in it; a second call does nothing."""
        with self._lock:
            if self._path is not None:
                shutil.rmtree(self._path, ignore_errors=True)
            if self._alive is not None:
                self._alive.release()
            self._path = self._alive = None


def is_output_name(name: str) -> bool:
    """Return whether ``name`` can be that of an output's file: no path, and no hidden file.

    >>> is_output_name("0.1.0-1.2.arrow"), is_output_name("../secret"), is_output_name(".x.spool-tmp")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def remove_leftovers(place: str) -> None:
    """Remove the directories of members that were killed from the directory ``place``. Directories of other
    users, and those that can't be removed, stay."""
    with suppress(OSError):
        names = [name for name in os.listdir(place) if name.startswith(_PREFIX)]
        for name in names:
            with suppress(OSError, OperationalError):
                _remove_leftover(os.path.join(place, name))


def _remove_leftover(path: str) -> None:
    """Remove the directory at ``path`` if it is this user's and its member is gone. Raises OperationalError
    if another process is about to remove it."""
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or lock_owner(LocalFolder(path)):
        return
    lock = FileLock(LocalFolder(path), Owner("", ""))
    try:
        shutil.rmtree(path)
        logger.info("removed %s, the outputs of a member that was killed", path)
    finally:
        lock.release()
