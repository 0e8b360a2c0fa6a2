"""How the files of an insert appear together, whatever dies on the way.

A writer keeps its parts in a hidden folder of its own below the table's, ``.sqlfront-<id>``, with a file
``lock`` in it that the system lets go when the writer's process ends. To commit, it takes the lock of the
table's folder, writes down which parts are to be moved into place and which files to be removed (``commit``,
renamed into being: that is the moment of the commit), moves and removes them, and removes its own folder. An
insert of a single file that replaces nothing needs no such note: its rename is the commit.

* Readers list under the folder's lock, shared. Of a writer that died after its note they see what the note
  says, of one that died before it nothing.
* The next writer completes or removes what dead ones have left. Who holds its ``lock`` is alive.
* Files that a reader of this process still has open are removed when that has ended; until then the note
  stays, so that nobody else reads them.

On file systems without such locks (some network ones) two writers must not meet.
"""

import errno
import fcntl
import logging
import os
import shutil
import stat
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Final

import msgspec

from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.forks import when_forgotten
from sqlfront_values.errors import Error, OperationalError

#: How the names of writers' folders begin.
PREFIX: Final = ".sqlfront-"
_LOCK: Final = "lock"
_NOTE: Final = "commit"
#: Seconds that a reader or writer waits for those who have the folder's lock, and between two tries.
PATIENCE: Final = 60.0
_FIRST_PAUSE: Final = 0.001
_LONGEST_PAUSE: Final = 0.05
#: What a file system says that has no locks for folders.
_NO_LOCKS: Final = (errno.EBADF, errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
#: SQLSTATE of a lock that isn't to be had.
_LOCKED: Final = "55P03"
#: Neither through a link nor, for a pipe, waiting for somebody.
_AS_IT_IS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: Of all files of a writer: other users who may write to the table have to see who is alive.
_MODE: Final = 0o666
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


logger = logging.getLogger(__name__)


class Note(msgspec.Struct, frozen=True):
    """The moves and removals of a commit. ``adds``: names of parts in the writer's folder, each with the path
    below the table's folder that the part gets. ``removes``: paths below the table's folder."""

    adds: tuple[tuple[str, str], ...] = ()
    removes: tuple[str, ...] = ()


class Pending(msgspec.Struct, frozen=True):
    """Moves and removals of commits that aren't done yet, by absolute paths. ``removed``: files that count no
    more; ``moved``: from the path of a file that isn't in its place yet to the part that has its rows."""

    removed: frozenset[str] = frozenset()
    moved: dict[str, str] = {}


@contextmanager
def settled(folder: str, access: FileAccess) -> Iterator[Pending]:
    """The folder, to be listed while this lasts: no writer changes it. OSError if it can't be opened."""
    with access.folder(folder) as descriptor:
        _take(descriptor, fcntl.LOCK_SH, folder)
        yield _pending(descriptor, folder)


def _pending(descriptor: int, folder: str) -> Pending:
    removed: set[str] = set()
    moved: dict[str, str] = {}
    for name in _writers(descriptor):
        with _opened(name, descriptor) as writer:
            note = None if writer is None else _note(writer)
            if writer is None or note is None:
                continue
            removed.update(os.path.join(folder, path) for path in note.removes)
            for part, path in note.adds:
                if _exists(part, writer):
                    moved[os.path.join(folder, path)] = os.path.join(folder, name, part)
    return Pending(frozenset(removed), moved)


class FolderWrite:
    """Files on their way into a folder, which is made if it isn't there.

    Parts are written first (:meth:`part`); all appear at once (:meth:`commit`, in a block of :meth:`alone`).
    :meth:`abort` leaves nothing of what isn't committed. OSError as the system says; OperationalError if
    others keep the folder's lock.
    """

    def __init__(self, folder: str, access: FileAccess) -> None:
        self.folder = os.path.abspath(folder)
        self._access = access
        self._parts: list[tuple[str, str]] = []
        self._state = Lock()  # removals come from finalizers, on any thread
        self._unread = 0
        self._committed = self._ended = False
        self._all_removed = True
        _check_name(folder)
        access.check(folder)
        os.makedirs(folder, exist_ok=True)
        self._name = f"{PREFIX}{uuid.uuid4().hex}"
        with self._locked() as table:
            os.mkdir(self._name, dir_fd=table)
            self._own = os.open(self._name, _FOLDER, dir_fd=table)
            self._alive = os.open(_LOCK, _NEW, _MODE, dir_fd=self._own)
            with suppress(OSError):  # there are no locks here
                fcntl.flock(self._alive, fcntl.LOCK_EX | fcntl.LOCK_NB)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """The descriptor of the table's folder, while nobody else reads or changes its names."""
        with self._access.folder(self.folder) as table:
            _take(table, fcntl.LOCK_EX, self.folder)
            yield table

    def part(self, path: str) -> str:
        """Where to write the file that is to be at ``path`` below the folder."""
        _check_name(path)
        name = f"{len(self._parts)}-{os.path.basename(path)}"
        os.close(os.open(name, _NEW, _MODE, dir_fd=self._own))
        self._parts.append((name, path))
        # By the descriptor, where somebody might make the way to it a link.
        own = f"/dev/fd/{self._own}" if self._access.is_limited else os.path.join(self.folder, self._name)
        return os.path.join(own, name)

    @contextmanager
    def alone(self) -> Iterator[Pending]:
        """Nobody else reads or changes the folder's names while this lasts; what dead writers have left is
        done."""
        with self._locked() as table:
            _finish_dead(table, self._name)
            yield _pending(table, self.folder)

    def commit(self, removes: Sequence[str] = ()) -> None:
        """Have all parts appear, and the files at these paths (below the folder) count no more; they are
        removed by :meth:`remove_when_unread`. Only in a block of :meth:`alone`. No row has changed if it
        raises OSError: a part has gone, or a file is behind a link."""
        note = Note(tuple(self._parts), tuple(os.path.relpath(path, self.folder) for path in removes))
        with self._access.folder(self.folder) as table:
            for part, _ in note.adds:
                os.stat(part, dir_fd=self._own, follow_symlinks=False)
            for path in note.removes:
                os.close(_folder_of(path, table))
            for _, path in note.adds:
                os.close(_folder_of(path, table, make=True))
            if len(note.adds) > 1 or note.removes:
                self._write_note(note)
                self._committed = True
                try:
                    _move(note, self._own, table)
                except OSError as error:  # it is committed: readers see what the note says
                    logger.warning("parts of %s are not in their places yet: %s", self.folder, error)
                    self._close()
                    return
            else:
                _move(note, self._own, table)
                self._committed = True
        if not note.removes:
            self._end()

    def _write_note(self, note: Note) -> None:
        draft = f"{_NOTE}.new"
        with os.fdopen(os.open(draft, _NEW, _MODE, dir_fd=self._own), "wb") as file:
            file.write(msgspec.json.encode(note))
        os.rename(draft, _NOTE, src_dir_fd=self._own, dst_dir_fd=self._own)

    def remove_when_unread(self, files: Sequence[tuple[object, str]]) -> None:
        """Remove the files that the commit has replaced: each path once nobody in this process holds the
        object with it."""
        self._unread = len(files)
        for held, path in files:
            when_forgotten(held, self._remove, os.path.relpath(path, self.folder))

    def _remove(self, path: str) -> None:
        removed = True
        try:
            with self._access.folder(self.folder) as table:
                _unlink(path, table)
        except FileNotFoundError:  # the whole folder has gone
            pass
        except (OSError, Error) as error:
            removed = False
            logger.warning("%s was replaced, but can't be removed: %s", path, str(error))
        with self._state:
            self._unread -= 1
            self._all_removed &= removed
            last = not self._unread
        if last and self._all_removed:
            self._end()
        elif last:
            self._close()  # the note goes on saying which files don't count

    def abort(self) -> None:
        """Forget the parts, unless they are committed."""
        if not self._committed:
            self._end()

    def _end(self) -> None:
        """Remove the writer's own folder."""
        if self._ended:
            return
        with suppress(OSError, Error), self._access.folder(self.folder) as table:
            shutil.rmtree(self._name, ignore_errors=True, dir_fd=table)
        self._close()

    def _close(self) -> None:
        """Let go; what is still there is for the next writer."""
        self._ended = True
        os.close(self._own)
        os.close(self._alive)


def finish_dead(folder: str, access: FileAccess) -> None:
    """Do or undo what dead writers have left in the folder."""
    with access.folder(folder) as table:
        _take(table, fcntl.LOCK_EX, folder)
        _finish_dead(table)


def drop_when_unread(folder: str, access: FileAccess, files: Sequence[tuple[object, str]]) -> None:
    """Remove files below the folder: each path once nobody in this process holds the object with it; and
    folders that are empty then, this one included. What may not be opened, or is behind a link, stays."""
    place = os.path.abspath(folder)
    for held, path in files:
        when_forgotten(held, _drop, place, access, os.path.relpath(path, place))


def _drop(folder: str, access: FileAccess, path: str) -> None:
    if not _stays_below(path):
        return
    with suppress(OSError, Error), access.folder(folder) as table:
        _unlink(path, table)
        while path := os.path.dirname(path):
            parent = _folder_of(path, table)
            try:
                os.rmdir(os.path.basename(path), dir_fd=parent)
            finally:
                os.close(parent)
        os.rmdir(folder)


def _finish_dead(table: int, own: str = "") -> None:
    for name in _writers(table):
        if name == own:
            continue
        with _opened(name, table) as writer:
            if writer is None or _is_alive(writer):
                continue
            note = _note(writer)
            if note is not None:
                _move(note, writer, table)
                for path in note.removes:
                    _unlink(path, table)
        shutil.rmtree(name, ignore_errors=True, dir_fd=table)


def _is_alive(writer: int) -> bool:
    try:
        lock = os.open(_LOCK, os.O_RDONLY | _AS_IT_IS, dir_fd=writer)
    except FileNotFoundError:
        return False  # whoever makes its lock does so before anybody can look
    except OSError:
        return True  # nobody can tell
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # also where there are no locks
        return True
    finally:
        os.close(lock)
    return False


def _writers(table: int) -> list[str]:
    """The names of writers' folders. In one like ``/tmp``, where nobody can remove the others' files, only
    those count whose owner has the folder or is this user."""
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
def _opened(name: str, table: int) -> Iterator[int | None]:
    """The descriptor of a writer's folder; None if it has gone."""
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=table)
    except FileNotFoundError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _note(writer: int) -> Note | None:
    """The note of a writer's commit; None if the writer hasn't committed."""
    try:
        descriptor = os.open(_NOTE, os.O_RDONLY | _AS_IT_IS, dir_fd=writer)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        try:
            note = msgspec.json.decode(file.read(), type=Note)
        except msgspec.DecodeError:
            return None
    names = [*(path for pair in note.adds for path in pair), *note.removes]
    return note if all(map(_stays_below, names)) else None


def _stays_below(path: str) -> bool:
    return bool(path) and not os.path.isabs(path) and os.pardir not in path.split(os.sep)


def _move(note: Note, writer: int, table: int) -> None:
    """Parts into their places, as far as they aren't there."""
    for part, path in note.adds:
        folder = _folder_of(path, table, make=True)
        try:
            os.rename(part, os.path.basename(path), src_dir_fd=writer, dst_dir_fd=folder)
        except FileNotFoundError:
            pass
        finally:
            os.close(folder)


def _unlink(path: str, table: int) -> None:
    """Remove a file below the table's folder, and its checksum if Spark has made one."""
    try:
        folder = _folder_of(path, table)
    except FileNotFoundError:
        return
    name = os.path.basename(path)
    try:
        for each in (name, f".{name}.crc"):
            with suppress(FileNotFoundError):
                os.unlink(each, dir_fd=folder)
    finally:
        os.close(folder)


def _folder_of(path: str, table: int, *, make: bool = False) -> int:
    """The descriptor of the folder that the path is in, reached through no link."""
    here = os.dup(table)
    try:
        for name in path.split(os.sep)[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=here)
            try:
                there = os.open(name, _FOLDER, dir_fd=here)
            except NotADirectoryError as error:
                raise NotADirectoryError(
                    error.errno, "not a directory, or a link, which no writer follows", path
                ) from error
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise
    return here


def _check_name(path: str) -> None:
    """OSError if no file can have that path, for which :mod:`os` has other exceptions."""
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "no name of a file", path) from None
    if b"\0" in encoded:
        raise OSError(errno.EINVAL, "no name of a file", path)


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _take(descriptor: int, how: int, folder: str) -> None:
    """Wait for the folder's lock; there is none on some file systems."""
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
