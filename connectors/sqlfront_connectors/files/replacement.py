"""The replacement of a whole folder's contents, in one step.

The files of the new contents, called parts, are written first. Then :meth:`Replacement.commit` makes all of
them appear and the old contents vanish, by one of two methods:

* :class:`FolderSwap` builds a new folder beside the old one and exchanges the two. Every program, also one
  that knows nothing of sqlfront's locks, finds either the old or the new contents at the path, even if the
  writer dies at any moment.
* :class:`ReplacementInPlace` moves the parts into the old folder by the notes of
  :mod:`~sqlfront_connectors.files.commits`. Readers of sqlfront see either the old or the new contents; other
  programs may list the folder while files are being moved. If the writer dies meanwhile, the next writer
  completes the replacement.

INSERT INTO a table always uses notes: most files of the table stay, and readers of this process may go on
reading replaced files. A replaced folder, in contrast, is mostly read by other programs, so the exchange is
preferred. Notes are used where an exchange isn't possible: on other systems than Linux; in a file system
without the exchange; for a folder that is a mount point, that holds the current directory of the process, or
whose parent may not be changed; and for a folder of a lower layer of an overlay file system (of a container's
image), which can't be moved as a whole.
"""

import errno
import os
import shutil
import stat
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from typing import Final, Protocol

from sqlfront_connectors.files.commits import FolderWrite, complete_dead
from sqlfront_connectors.files.exchange import exchange
from sqlfront_connectors.files.writers import FOLDER, MODE, NEW, PREFIX, WriterFolder, check_name, locked
from sqlfront_engine.file_access import FileAccess
from sqlfront_values.errors import Error

#: The name of the new folder in the writer's hidden folder; after the exchange, that of the old one.
_BUILT: Final = "built"
#: The name of an empty folder that is exchanged with the new one and back, to see whether that is possible.
_PROBE: Final = "probe"
#: Errors of a parent folder that may not be changed.
_CLOSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)
#: Errors of a folder that can't be exchanged although others there can: a folder of a lower layer of an
#: overlay, a mount made meanwhile.
_FIXED: Final = (errno.EBUSY, errno.EINVAL, errno.ENOSYS, errno.EXDEV)
#: Errors of the move of a folder to a name that has been taken meanwhile.
_TAKEN: Final = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)


class Replacement(Protocol):
    """The new contents of a folder, while they are written. Parts may be written by several threads. The
    methods raise OSError of the system; OperationalError if another process keeps the folder's lock."""

    def part(self, name: str) -> str:
        """Begin the file ``name`` of the new contents, and return the path at which to write the file now; an
        empty file exists there. Raises FileExistsError if the part exists."""

    def commit(self) -> None:
        """Replace the contents of the folder by the files that :meth:`part` has begun. To be called once. If
        an error is raised, the old contents stay; call :meth:`abort` then."""

    def abort(self) -> None:
        """Discard the parts; do nothing after :meth:`commit`."""


def begin_replacement(folder: str, access: FileAccess) -> Replacement:
    """Begin to replace the contents of ``folder``, which need not exist; missing parent folders are made now.
    As in Spark, a file at this path is replaced as well, and so is a link, whose target stays as it is.
    Raises ProgrammingError if access to the folder is denied, OSError if the folder can't be written to."""
    check_name(folder)
    access.check(folder)
    above, name = os.path.split(os.path.abspath(folder))
    os.makedirs(above, exist_ok=True)
    parent = os.path.realpath(above)
    place = os.path.join(parent, name)
    if _may_change(parent, access) and _may_be_exchanged(place):
        try:
            return FolderSwap(parent, name, access)
        except NoExchangeError:
            pass
    return ReplacementInPlace(place, access)


class NoExchangeError(Exception):
    """The error of a folder that can't be exchanged with another one; the caller then replaces the folder's
    contents by :class:`ReplacementInPlace`."""


class FolderSwap:
    """A replacement of a folder by a new one, which is built in a hidden folder beside the old folder and
    then exchanged with it."""

    def __init__(self, parent: str, name: str, access: FileAccess) -> None:
        """Make the hidden folder. ``parent``: the existing folder in which the replaced folder is; ``name``:
        the replaced folder's name. Raises NoExchangeError if the parent may not be changed, or its file
        system can't exchange folders."""
        self._path, self._name, self._access = parent, name, access
        self._held = ExitStack()
        self._has_ended = False
        self._names: list[str] = []
        try:
            with locked(parent, access) as place:
                complete_dead(place)
                self._writer = WriterFolder(place)
                self._held.callback(self._writer.close)
                # Opened anew: a duplicate would keep the lock.
                self._parent = self._hold(os.curdir, place)
        except OSError as error:
            if error.errno in _CLOSED:
                raise NoExchangeError from error
            raise
        try:
            self._begin(self._writer.descriptor)
        except BaseException:
            self.abort()
            raise

    def _begin(self, writer: int) -> None:
        os.mkdir(_BUILT, dir_fd=writer)
        self._built = self._hold(_BUILT, writer)
        os.mkdir(_PROBE, dir_fd=writer)
        try:
            for _ in range(2):
                exchange((writer, _BUILT), (writer, _PROBE))
        except OSError as error:
            raise NoExchangeError from error
        os.rmdir(_PROBE, dir_fd=writer)

    def _hold(self, name: str, folder: int) -> int:
        """Open the folder ``name`` in the open folder ``folder`` and return its descriptor, which stays open
        until the end of the replacement."""
        descriptor = os.open(name, FOLDER, dir_fd=folder)
        self._held.callback(os.close, descriptor)
        return descriptor

    def part(self, name: str) -> str:
        """Begin the file ``name`` of the new folder, and return the path at which to write the file now.
        Raises FileExistsError if the part exists."""
        check_name(name)
        os.close(os.open(name, NEW, MODE, dir_fd=self._built))
        self._names.append(name)
        if self._access.is_limited:  # where another user might replace a folder of the path by a link
            return os.path.join(f"/dev/fd/{self._built}", name)
        return os.path.join(self._path, self._writer.name, _BUILT, name)

    def commit(self) -> None:
        """Exchange the new folder with the old one, and remove the old contents. If the system refuses the
        exchange now, move the parts into the old folder by :class:`ReplacementInPlace`."""
        try:
            while not (self._exchanged() if _is_there(self._name, self._parent) else self._moved()):
                pass  # another process has made or removed the folder meanwhile
        except OSError as error:
            if error.errno not in _FIXED:
                raise
            self._put_into_old()
        self._end()

    def _put_into_old(self) -> None:
        into = ReplacementInPlace(os.path.join(self._path, self._name), self._access)
        try:
            for name in self._names:
                os.rename(name, into.part(name), src_dir_fd=self._built)
            into.commit()
        except BaseException:
            into.abort()
            raise

    def _exchanged(self) -> bool:
        """Exchange the new folder with the folder, file or link that has its name, and remove the old one.
        Return False, without an exchange, if nothing has the name any more. The exchange waits for the lock
        of the old folder, so that no reader lists and no writer changes it meanwhile. A writer that waits for
        this lock then finds that its hidden folder is gone."""
        try:
            with self._locked_old() as old:
                if old is not None:
                    os.fchmod(self._built, stat.S_IMODE(os.fstat(old).st_mode))
                exchange((self._writer.descriptor, _BUILT), (self._parent, self._name))
                shutil.rmtree(_BUILT, ignore_errors=True, dir_fd=self._writer.descriptor)
        except FileNotFoundError:
            if not _is_there(_BUILT, self._writer.descriptor):
                raise
            return False
        return True

    def _locked_old(self) -> AbstractContextManager[int | None]:
        """Return a context manager that locks the old folder; its value is the folder's descriptor. For a
        file or a link, which has no lock, its value is None."""
        found = os.stat(self._name, dir_fd=self._parent, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            return locked(os.path.join(self._path, self._name), self._access)
        return nullcontext()

    def _moved(self) -> bool:
        """Rename the new folder to its final name; return False, without a change, if a file or a folder has
        that name by now."""
        try:
            os.rename(_BUILT, self._name, src_dir_fd=self._writer.descriptor, dst_dir_fd=self._parent)
        except OSError as error:
            if error.errno in _TAKEN:
                return False
            raise
        return True

    def abort(self) -> None:
        """Discard the parts; do nothing after :meth:`commit`."""
        self._end()

    def _end(self) -> None:
        """Remove the hidden folder with its remaining contents, and close all descriptors; do nothing the
        second time."""
        with self._held:
            if not self._has_ended:
                shutil.rmtree(self._writer.name, ignore_errors=True, dir_fd=self._parent)
            self._has_ended = True


class ReplacementInPlace:
    """A replacement of a folder's contents in the folder itself: the parts are moved into it, and all other
    files are removed."""

    def __init__(self, folder: str, access: FileAccess) -> None:
        """Begin to replace the contents of ``folder``, which is made if it doesn't exist."""
        self._write = FolderWrite(folder, access)
        self._names: set[str] = set()

    def part(self, name: str) -> str:
        """Begin the file ``name`` of the new contents, and return the path at which to write the file now.
        Raises FileExistsError if the part exists."""
        self._names.add(name)
        return self._write.part(name)

    def commit(self) -> None:
        """Move the parts into the folder, and remove all its other files and its empty folders."""
        folder = self._write.folder
        with self._write.alone():
            kept = {os.path.join(folder, name) for name in self._names}
            old = [path for path in _files_below(folder) if path not in kept]
            self._write.commit(old)
        self._write.remove_when_unread([(_Unread(), path) for path in old])
        _remove_empty(folder)

    def abort(self) -> None:
        """Discard the parts; do nothing after :meth:`commit`."""
        self._write.abort()


class _Unread:
    """An object that stands for the readers of a replaced file and is forgotten at once, so that the file is
    removed at once."""


def _is_there(name: str, folder: int) -> bool:
    """Return whether a file, folder or link ``name`` exists in the folder; ``folder`` is a descriptor."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _may_change(folder: str, access: FileAccess) -> bool:
    try:
        access.check(folder)
    except Error:
        return False
    return True


def _may_be_exchanged(folder: str) -> bool:
    """Return whether the folder can be exchanged: it doesn't exist, or it is neither a mount point nor holds
    the current directory."""
    with suppress(FileNotFoundError):  # the current directory was removed
        if os.path.commonpath([folder, os.path.realpath(os.curdir)]) == folder:
            return False
    try:
        return os.path.islink(folder) or _mount(folder) == _mount(os.path.dirname(folder))
    except (FileNotFoundError, NotADirectoryError):
        return True


def _mount(folder: str) -> tuple[int, str]:
    """Return the device of the folder, and Linux's text of the mount's number (``mnt_id``), empty if the
    system doesn't state it. Folders of the same mount give equal results."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        device, number = os.fstat(descriptor).st_dev, ""
        with suppress(FileNotFoundError), open(f"/proc/self/fdinfo/{descriptor}", encoding="ascii") as told:
            number = next((line for line in told if line.startswith("mnt_id:")), "")
        return device, number
    finally:
        os.close(descriptor)


def _files_below(folder: str) -> list[str]:
    """Return the paths of all files and links below the folder, also of hidden ones, but without the files in
    writers' hidden folders. Links are not followed."""
    found = []
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(PREFIX)]
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        found += [os.path.join(place, name) for name in (*files, *links)]
    return found


def _remove_empty(folder: str) -> None:
    """Remove the empty folders below the folder, from the innermost outwards."""
    for place, _, _ in os.walk(folder, topdown=False):
        if place != folder:
            with suppress(OSError):
                os.rmdir(place)
