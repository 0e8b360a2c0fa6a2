"""The commit of an insert's files: all files appear at once, even if processes die meanwhile.

A writer keeps its parts (the files that it writes) in a hidden folder below the table's folder, see
:mod:`~sqlfront_connectors.files.writers`. To commit, the writer takes the lock of the table's folder and
writes a note, the file ``commit`` in its hidden folder: the note lists the parts to move into the table's
folder and the files to remove. The rename that gives the note its name is the moment of the commit. Then the
writer moves and removes the files, and removes the hidden folder. An insert of a single file that replaces
nothing needs no note: the rename of the file is the commit.

* Readers list the table's folder under a shared lock. If a writer died after it wrote its note, readers see
  the result that the note describes; if the writer died earlier, readers see nothing of the insert.
* The next writer completes or removes the remains of dead writers.
* Files that a reader of this process still has open are removed when the reader has ended; until then the
  note stays, so that no other process reads the files.
"""

import logging
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from threading import Lock
from typing import Final

import msgspec

from sqlfront_connectors.files.writers import (
    AS_IT_IS,
    FOLDER,
    MODE,
    NEW,
    WriterFolder,
    check_name,
    is_alive,
    locked,
    opened,
    writers,
)
from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.forks import when_forgotten
from sqlfront_values.errors import Error

#: The name of a note in a writer's folder.
_NOTE: Final = "commit"

logger = logging.getLogger(__name__)


class Note(msgspec.Struct, frozen=True):
    """The record of a commit, written into the writer's hidden folder so that another process can complete
    the commit. ``adds``: the files to move, as pairs of a file's name in the hidden folder and its future
    path below the table's folder. ``removes``: the files to remove, as paths below the table's folder."""

    adds: tuple[tuple[str, str], ...] = ()
    removes: tuple[str, ...] = ()


class Pending(msgspec.Struct, frozen=True):
    """The moves and removals that earlier commits have decided and not yet carried out; all paths are
    absolute. ``removed``: files that readers must ignore. ``moved``: for the future path of a file, the
    present path of the part that has the file's rows."""

    removed: frozenset[str] = frozenset()
    moved: dict[str, str] = {}


@contextmanager
def settled(folder: str, access: FileAccess) -> Iterator[Pending]:
    """Return a context manager that holds a shared lock on the folder, so that no writer changes the folder
    within the block. The context manager's value is the moves and removals of earlier commits that are still
    to be carried out. Raises OSError if the folder can't be opened, OperationalError if another process keeps
    the lock."""
    with locked(folder, access, shared=True) as descriptor:
        yield _pending(descriptor, folder)


def _pending(descriptor: int, folder: str) -> Pending:
    removed: set[str] = set()
    moved: dict[str, str] = {}
    for name in writers(descriptor):
        with opened(name, descriptor) as writer:
            note = None if writer is None else _note(writer)
            if writer is None or note is None:
                continue
            removed.update(os.path.join(folder, path) for path in note.removes)
            for part, path in note.adds:
                if _exists(part, writer):
                    moved[os.path.join(folder, path)] = os.path.join(folder, name, part)
    return Pending(frozenset(removed), moved)


class _WriteState(Enum):
    """The states of a write, in their order; an aborted write leaves out COMMITTED."""

    OPEN = "open"
    """Parts are written; no reader sees them."""
    COMMITTED = "committed"
    """Readers see the parts."""
    ENDED = "ended"
    """The writer's own folder is given up."""


class FolderWrite:
    """A write of several files into a folder, all of which appear at once. The folder is made if it doesn't
    exist.

    First write each file (a part) at the path that :meth:`part` returns, then call :meth:`commit` in a block
    of :meth:`alone`, or :meth:`abort` to remove all parts. The methods raise OSError of the system;
    OperationalError if another process keeps the folder's lock.
    """

    def __init__(self, folder: str, access: FileAccess) -> None:
        self.folder = os.path.abspath(folder)
        self._access = access
        self._parts: list[tuple[str, str]] = []
        self._lock = Lock()  # removals come from finalizers, on any thread
        self._unread = 0
        self._state = _WriteState.OPEN
        self._all_removed = True
        check_name(folder)
        access.check(folder)
        os.makedirs(folder, exist_ok=True)
        with locked(self.folder, access) as table:
            self._writer = WriterFolder(table)

    def part(self, path: str) -> str:
        """Begin a part, a file that will appear at ``path`` below the folder. Return the path at which to
        write the file now; an empty file exists there, in the writer's hidden folder."""
        check_name(path)
        name = f"{len(self._parts)}-{os.path.basename(path)}"
        os.close(os.open(name, NEW, MODE, dir_fd=self._writer.descriptor))
        self._parts.append((name, path))
        # By the descriptor, where another user might replace a folder of the path by a link.
        own = (
            f"/dev/fd/{self._writer.descriptor}"
            if self._access.is_limited
            else os.path.join(self.folder, self._writer.name)
        )
        return os.path.join(own, name)

    @contextmanager
    def alone(self) -> Iterator[Pending]:
        """Return a context manager that holds an exclusive lock on the folder: within the block no other
        process lists, adds or removes files. At the beginning of the block, the unfinished commits of dead
        writers (processes that have ended) are completed, and all other files that dead writers left are
        removed. The context manager's value is the moves and removals that living writers have still to carry
        out."""
        with locked(self.folder, self._access) as table:
            complete_dead(table, self._writer.name)
            yield _pending(table, self.folder)

    def commit(self, removes: Sequence[str] = ()) -> None:
        """Let all parts (the files begun by :meth:`part`) appear at once. From the same moment readers ignore
        the files at the paths ``removes`` (in the folder); call :meth:`remove_when_unread` to remove these
        files. To be called only in a block of :meth:`alone`. Raises OSError, without any change of rows, if a
        part is missing or a file is behind a link."""
        note = Note(tuple(self._parts), tuple(os.path.relpath(path, self.folder) for path in removes))
        with self._access.folder(self.folder) as table:
            for part, _ in note.adds:
                os.stat(part, dir_fd=self._writer.descriptor, follow_symlinks=False)
            for path in note.removes:
                os.close(_folder_of(path, table))
            for _, path in note.adds:
                os.close(_folder_of(path, table, make=True))
            if len(note.adds) > 1 or note.removes:
                self._write_note(note)
                self._state = _WriteState.COMMITTED
                try:
                    _move(note, self._writer.descriptor, table)
                except OSError as error:  # already committed: readers follow the note
                    logger.warning("parts of %s are not in their places yet: %s", self.folder, error)
                    self._close()
                    return
            else:
                _move(note, self._writer.descriptor, table)
                self._state = _WriteState.COMMITTED
        if not note.removes:
            self._end()

    def _write_note(self, note: Note) -> None:
        draft = f"{_NOTE}.new"
        with os.fdopen(os.open(draft, NEW, MODE, dir_fd=self._writer.descriptor), "wb") as file:
            file.write(msgspec.json.encode(note))
        os.rename(draft, _NOTE, src_dir_fd=self._writer.descriptor, dst_dir_fd=self._writer.descriptor)

    def remove_when_unread(self, files: Sequence[tuple[object, str]]) -> None:
        """Remove the files that the commit has replaced, each as soon as no reader in this process needs it.
        ``files``: pairs of an object and a path; readers of the file at the path hold references to the
        object, and the file is removed once there is no such reference."""
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
        with self._lock:
            self._unread -= 1
            self._all_removed &= removed
            last = not self._unread
        if last and self._all_removed:
            self._end()
        elif last:
            self._close()  # the note still excludes the files

    def abort(self) -> None:
        """Discard the parts (the files begun by :meth:`part`) of an uncommitted write; do nothing after
        :meth:`commit`."""
        if self._state is _WriteState.OPEN:
            self._end()

    def _end(self) -> None:
        """Remove the writer's hidden folder with its contents, and close it; do nothing the second time."""
        if self._state is _WriteState.ENDED:
            return
        with suppress(OSError, Error), self._access.folder(self.folder) as table:
            shutil.rmtree(self._writer.name, ignore_errors=True, dir_fd=table)
        self._close()

    def _close(self) -> None:
        """Close the descriptors of the writer's folder. The next writer completes or removes what is left in
        it."""
        self._state = _WriteState.ENDED
        self._writer.close()


def finish_dead(folder: str, access: FileAccess) -> None:
    """Complete the unfinished commits of dead writers (processes that have ended) in the folder, and remove
    all other files that dead writers left. Raises OSError of the system; OperationalError if another process
    keeps the folder's lock."""
    with locked(folder, access) as table:
        complete_dead(table)


def drop_when_unread(folder: str, access: FileAccess, files: Sequence[tuple[object, str]]) -> None:
    """Remove files below the folder, each as soon as no reader in this process needs it, and then the folders
    that become empty, including the folder itself. ``files``: pairs of an object and a path; readers of the
    file at the path hold references to the object, and the file is removed once there is no such reference.
    Files that may not be opened, or are behind a link, stay."""
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


def complete_dead(table: int, own: str = "") -> None:
    """Complete the unfinished commits of dead writers (processes that have ended) in a table's folder, and
    remove all other files that dead writers left. ``table``: the folder's descriptor; the caller holds the
    folder's lock. ``own``: the name of the caller's own hidden folder, which stays."""
    for name in writers(table):
        if name == own:
            continue
        with opened(name, table) as writer:
            if writer is None or is_alive(writer):
                continue
            note = _note(writer)
            if note is not None:
                _move(note, writer, table)
                for path in note.removes:
                    _unlink(path, table)
        shutil.rmtree(name, ignore_errors=True, dir_fd=table)


def _note(writer: int) -> Note | None:
    """Return the note of a writer's commit. ``writer``: the descriptor of the writer's folder. None if the
    writer hasn't committed, or the note is malformed or names paths outside of the folder."""
    try:
        descriptor = os.open(_NOTE, os.O_RDONLY | AS_IT_IS, dir_fd=writer)
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
    """Move the note's parts from the writer's hidden folder to their final paths below the table's folder;
    skip parts that were moved before. ``writer`` and ``table``: the descriptors of the two folders."""
    for part, path in note.adds:
        folder = _folder_of(path, table, make=True)
        try:
            os.rename(part, os.path.basename(path), src_dir_fd=writer, dst_dir_fd=folder)
        except FileNotFoundError:
            pass
        finally:
            os.close(folder)


def _unlink(path: str, table: int) -> None:
    """Remove the file at ``path`` below the table's folder, and the checksum file ``.<name>.crc`` that Spark
    may have made for it; missing files are no error. ``table``: the descriptor of the table's folder."""
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
    """Open the folder of the file ``path`` and return its descriptor. ``path``: relative to the table's
    folder; no link is followed. ``table``: the descriptor of the table's folder. ``make``: make missing
    folders; otherwise FileNotFoundError is raised for them. Raises NotADirectoryError for a link."""
    here = os.dup(table)
    try:
        for name in path.split(os.sep)[:-1]:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=here)
            try:
                there = os.open(name, FOLDER, dir_fd=here)
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


def _exists(name: str, folder: int) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
