"""Folders for secrets and sockets that belong to one user alone.

The path to such a folder is opened step by step from the root by descriptors, as strict servers do: each step
checks the users who could have put another folder or a link into the path. Files in the folder are created
exclusively and opened relative to the folder's descriptor, so that later changes to the path can't redirect
them.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from sqlfront_engine.closing import ClosingContext
from sqlfront_values.errors import OperationalError

#: Modes of a private folder, and of the files in it.
FOLDER: Final = 0o700
FILE: Final = 0o600
#: Maximum number of symbolic links in the path: Linux's own limit (path_resolution(7)).
_MOST_LINKS: Final = 40
_ROOT: Final = 0
_FOLDER_FLAGS: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Flag for folders that are opened only to reach the next: needs no permission to read.
_ON_THE_WAY: Final = getattr(os, "O_PATH", os.O_RDONLY)


class PrivateFolder(ClosingContext):
    """A folder that only this user can change, at ``path``; missing folders of the path are made. ``strict``:
    other users may not even list or read the folder.

    Raises OperationalError if the folder belongs to another user, is a link, or gives other users too many
    permissions, or if other users could replace a folder of the path.
    """

    def __init__(self, path: Path, *, strict: bool = True) -> None:
        self.path = path
        self.descriptor = _opened(path)
        try:
            _check_own(os.fstat(self.descriptor), path, strict=strict)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the descriptor; the folder itself stays. Closing twice is no error."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    # ---- files

    def create(self, name: str, content: bytes = b"") -> None:
        """Create the file ``name`` with the ``content``; a file with the same name is replaced."""
        self.remove(name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(name, flags, FILE, dir_fd=self.descriptor), "wb") as file:
            file.write(content)

    def open(self, name: str, flags: int = os.O_RDONLY) -> int:
        """Open the file ``name`` of the folder, and return its file descriptor, which the caller closes.
        ``flags``: the flags of :func:`os.open`. A new file is readable by this user alone. Raises OSError if
        the file can't be opened, OperationalError if the file is a link, is no regular file, or belongs to
        another user."""
        try:
            descriptor = os.open(
                name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, FILE, dir_fd=self.descriptor
            )
        except OSError as error:
            if name in os.listdir(self.descriptor) and self._is_link(name):
                raise OperationalError(f"{self.path / name} is a symbolic link") from error
            raise
        found = os.fstat(descriptor)
        if found.st_uid != os.getuid() or not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise OperationalError(f"{self.path / name} is not a file of this user")
        return descriptor

    def _is_link(self, name: str) -> bool:
        found = os.stat(name, dir_fd=self.descriptor, follow_symlinks=False)
        return stat.S_ISLNK(found.st_mode)

    def read(self, name: str) -> bytes:
        """Return the content of the file ``name``. Raises OSError if the file can't be read, OperationalError
        if it is a link, is no regular file, or belongs to another user."""
        with os.fdopen(self.open(name), "rb") as file:
            return file.read()

    def rename(self, name: str, new_name: str) -> None:
        """Give the file ``name`` another name; a file with the new name is replaced."""
        os.replace(name, new_name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        """Remove the file ``name``, if the file exists. Of a link the link itself is removed, not its
        target."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.descriptor)


def _opened(path: Path) -> int:
    """Return an open descriptor of the folder at ``path``, after making the folders of the path that are
    missing. Raises OperationalError if the path leads through a folder or a link that another user could have
    changed, or can't be opened."""
    here, walked, links = os.open(os.sep, os.O_DIRECTORY | os.O_CLOEXEC | _ON_THE_WAY), Path(os.sep), 0
    ahead = [*reversed(Path(os.path.abspath(path)).parts[1:])]
    try:
        while ahead:
            name = ahead.pop()
            _check_way(os.fstat(here), walked)
            _make(name, here)
            target = _link_at(name, here, walked / name, last=not ahead)
            if target is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OperationalError(f"the path {path} has too many symbolic links")
                ahead += [*reversed(Path(os.path.abspath(walked / target)).parts[1:])]
                name, walked = os.sep, Path(os.sep)
            else:
                walked /= name
            flags = _FOLDER_FLAGS | (_ON_THE_WAY if ahead else os.O_RDONLY)
            there = os.open(name, flags, dir_fd=here)
            os.close(here)
            here = there
    except OSError as error:
        os.close(here)
        raise OperationalError(f"{walked} can't be used: {error.strerror}") from error
    except BaseException:
        os.close(here)
        raise
    return here


def _make(name: str, parent: int) -> None:
    with suppress(FileExistsError):
        os.mkdir(name, FOLDER, dir_fd=parent)


def _link_at(name: str, parent: int, path: Path, *, last: bool) -> str | None:
    """Return the target of the link ``name`` in the folder ``parent`` (a descriptor); None if ``name`` is no
    link. ``path``: the link's path, for messages. ``last``: whether the name is the last of the path, that of
    the private folder itself. Raises OperationalError for a link that belongs neither to this user nor to
    root, and for any link at the last name."""
    found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        return None
    if last or found.st_uid not in (_ROOT, os.getuid()):
        raise OperationalError(f"{path} is a symbolic link{'' if last else ' of another user'}")
    return os.readlink(name, dir_fd=parent)


def _check_way(found: os.stat_result, path: Path) -> None:
    """Raise OperationalError if a user other than this user and root may replace entries of the folder at
    ``path``. ``found``: the result of :func:`os.fstat` for the folder."""
    if found.st_uid not in (_ROOT, os.getuid()):
        raise OperationalError(f"{path} belongs to another user")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not found.st_mode & stat.S_ISVTX:
        raise OperationalError(f"other users may write to {path}; take away their permission")


def _check_own(found: os.stat_result, path: Path, *, strict: bool) -> None:
    if found.st_uid != os.getuid():
        raise OperationalError(f"{path} belongs to another user")
    others = stat.S_IRWXG | stat.S_IRWXO if strict else stat.S_IWGRP | stat.S_IWOTH
    if found.st_mode & others:
        mode = stat.S_IMODE(found.st_mode)
        raise OperationalError(f"{path} is open to other users (mode {mode:o}); its mode must be {FOLDER:o}")
