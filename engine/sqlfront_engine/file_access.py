"""The files that a process may open for statements and jobs: all files, or the files below certain folders.

A member with a plan of another process checks each file before opening it, so the person who started the
member bounds the files that a plan can name. Links and ``..`` are resolved before the check, and the opened
file is checked again by its descriptor: a folder replaced by a link between the two checks is caught.

>>> FileAccess.of("all").is_limited, FileAccess.of("none").is_limited
(False, True)
"""

import os
import re
import stat
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec

from sqlfront_values.errors import OperationalError, ProgrammingError

#: Linux's folder of links from descriptors to files; and the folder in which a descriptor can be opened
#: again.
_DESCRIPTORS: Final = "/proc/self/fd"
_REOPENED: Final = "/dev/fd"
#: SQLSTATE "insufficient privilege".
DENIED: Final = "42501"
#: macOS's way from a descriptor to a path: a command of ``fcntl``, and the size of its buffer in bytes.
_GETPATH: Final = 50
_LONGEST_PATH: Final = 1024
_URL: Final = re.compile(r"\w+:/")
_OBJECT: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class OpenFile(msgspec.Struct, frozen=True):
    """A file that was checked, and may be read or written now. ``path``: the file's name for messages, and
    for its extension. ``source``: the path to open, which leads to the checked file even if folders are
    replaced meanwhile."""

    path: str
    source: str


class FileAccess(msgspec.Struct, frozen=True):
    """The files that a process may read and write. ``roots``: real paths of folders; the files below them may
    be opened; None = all files. ``elsewhere``: the folders below which the other members of a cluster may
    open files; None = the other members may open at least the files that this process may open."""

    roots: tuple[str, ...] | None = None
    elsewhere: tuple[str, ...] | None = None

    @classmethod
    def of(cls, said: str | Sequence[str]) -> "FileAccess":
        """Return the access that ``said``, the value of a setting, stands for: ``"all"``, ``"none"``, or a
        sequence of folders (a list, even for one folder). Raises ProgrammingError for another text, and for a
        folder that is no path. The empty text is refused, too: it may come from a variable that is not set,
        and would mean the current folder."""
        if said in ("all", "none"):
            return EVERYWHERE if said == "all" else NOWHERE
        if isinstance(said, str | bytes | os.PathLike) or not isinstance(said, Collection):
            hint = f"; one folder is [{said!r}]" if said and isinstance(said, str) else ""
            raise ProgrammingError(
                f"file_access must be 'all', 'none' or a sequence of folders, not {said!r}{hint}"
            )
        return cls(tuple(_real_folder(folder) for folder in said))

    @property
    def is_limited(self) -> bool:
        """Whether access is limited; False if all files may be opened."""
        return self.roots is not None

    def plus(self, folder: str) -> "FileAccess":
        """Return the access to the same files and to the files below ``folder``, a path, in addition."""
        real = os.path.realpath(folder)
        if self.roots is None or real in self.roots:
            return self
        return FileAccess((*self.roots, real), self.elsewhere)

    def beside(self, others: "FileAccess") -> "FileAccess":
        """Return the access of a client of a cluster: the client opens the files that ``self`` allows, the
        members open the files that ``others`` allows."""
        return FileAccess(self.roots, None if others.roots == self.roots else others.roots)

    def is_shared(self, paths: Iterable[str]) -> bool:
        """Return whether the other members of a cluster may open all these files, too."""
        if self.elsewhere is None:
            return True
        folders = {os.path.realpath(os.path.dirname(path)) for path in paths}
        return all(any(_is_below(folder, root) for root in self.elsewhere) for folder in folders)

    # ---- checking

    def check(self, path: str) -> None:
        """Raise ProgrammingError (SQLSTATE 42501) if the file or folder at ``path`` may not be opened. The
        answer doesn't depend on whether the file exists. With limited access no object at a URL may be
        opened."""
        if self.roots is not None:
            try:
                real = "" if _OBJECT.match(path) else os.path.realpath(path)
            except ValueError:  # no file can have such a path
                real = ""
            self._check_real(real, path)

    def _check_real(self, real: str, path: str) -> None:
        assert self.roots is not None
        if not any(_is_below(real, root) for root in self.roots):
            allowed = f"files below {', '.join(self.roots)} may" if self.roots else "no file may"
            raise ProgrammingError(
                f"{path} may not be read or written here; {allowed}. Whoever opens the session"
                " (Config(file_access=...)) or starts the cluster (--file-access) decides that.",
                sqlstate=DENIED,
            )

    def _check_descriptor(self, descriptor: int, path: str) -> None:
        self._check_real(_real_path(descriptor), path)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files and folders in ``folder``, sorted. Raises ProgrammingError if access
        to the folder is denied, OSError if it can't be listed."""
        if self.roots is None:
            return sorted(os.listdir(folder))
        self.check(folder)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self._check_descriptor(descriptor, folder)
            return sorted(os.listdir(descriptor))
        finally:
            os.close(descriptor)

    # ---- opening

    @contextmanager
    def reading(self, path: str) -> Iterator[OpenFile]:
        """Return a context manager whose block gets the file at ``path``, checked, to open it for reading.
        Raises ProgrammingError if access is denied; OSError if the file can't be opened; OperationalError for
        a pipe or a device, on which a reader might wait forever."""
        if self.roots is None:
            _check_file(os.stat(path), path)
            yield OpenFile(path, path)
            return
        self.check(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            self._check_descriptor(descriptor, path)
            _check_file(os.fstat(descriptor), path)
            yield OpenFile(path, f"{_REOPENED}/{descriptor}")
        finally:
            os.close(descriptor)

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """Return a context manager whose block gets an open descriptor of the folder at ``path``, through
        which the block may write files into the folder. Raises ProgrammingError if access is denied, OSError
        if the folder can't be opened."""
        self.check(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if self.roots is not None:
                self._check_descriptor(descriptor, path)
            yield descriptor
        finally:
            os.close(descriptor)


EVERYWHERE: Final = FileAccess()
NOWHERE: Final = FileAccess(())


def _check_file(found: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OperationalError(f"{path} is not a regular file")


def _real_folder(folder: object) -> str:
    if isinstance(folder, os.PathLike):
        folder = os.fspath(folder)
    if not isinstance(folder, str) or not folder or "\0" in folder or _URL.match(folder):
        raise ProgrammingError(f"file_access: {folder!r} is not the path of a folder")
    return os.path.realpath(folder)


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _real_path(descriptor: int) -> str:
    """Return the path at which an open file is now. Raises OperationalError if the system doesn't report the
    path."""
    try:
        if sys.platform == "darwin":
            import fcntl  # noqa: PLC0415 - not needed on Linux

            return os.fsdecode(fcntl.fcntl(descriptor, _GETPATH, bytes(_LONGEST_PATH)).rstrip(b"\0"))
        return os.readlink(f"{_DESCRIPTORS}/{descriptor}")
    except OSError as error:
        raise OperationalError(
            f"file_access needs a system that tells which file was opened: {error}"
        ) from error
