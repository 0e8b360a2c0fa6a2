"""Folders: the contract by which logs and spool files reach a disk or an object storage.

:class:`~sqlfront_engine.storage.local_folder.LocalFolder` is a directory;
:class:`~sqlfront_engine.storage.object_folder.ObjectFolder` is a prefix of an object storage. All
methods raise OSError of the system or of the storage.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from sqlfront_engine.file_access import FileAccess
from sqlfront_engine.storage.growing_file import GrowingFile


class LogFile(Protocol):
    """A new file of a log, to which one writer appends."""

    @property
    def size(self) -> int:
        """The number of bytes written so far."""

    @property
    def takes_more(self) -> bool:
        """Whether :meth:`commit` may be called again: False for an object of an object storage after its
        only commit."""

    def commit(self, data: bytes) -> None:
        """Append the bytes; they are durable when the method returns. After an error the file must not be
        used again."""

    def close(self) -> None:
        """Close the file; bytes that were not committed are lost."""


class FileFolder(Protocol):
    """A folder as far as readers and writers of spool files need it."""

    def opened(self, name: str, access: FileAccess) -> AbstractContextManager[pa.NativeFile]:
        """Return a context manager whose block gets a file, open for reading at any offset. Raises
        ProgrammingError if ``access`` denies the file, FileNotFoundError if there is no such file."""

    def growing_file(self, name: str) -> GrowingFile:
        """Return a new file that appears under its name when it is published, and create the folder if
        necessary. A file of that name is replaced then."""

    def remove_files(self, names: Iterable[str]) -> None:
        """Remove files; names of files that don't exist are ignored."""


class Folder(FileFolder, Protocol):
    """A directory, or a prefix of an object storage. It holds files and other folders."""

    @property
    def address(self) -> str:
        """The path or URL of the folder, for messages."""

    def folder(self, name: str) -> "Folder":
        """Return the folder ``name`` inside this folder; it need not exist yet."""

    def path(self, name: str) -> str:
        """Return the path or URL of a file of this name in the folder."""

    def names(self) -> list[str]:
        """Return the names of the files and folders inside, sorted; an empty list if the folder doesn't
        exist."""

    def sizes(self) -> Mapping[str, int]:
        """Return the sizes in bytes of the files in the folder by their paths (:meth:`path`); empty if the
        folder doesn't exist."""

    def modified(self, name: str) -> float:
        """Return the time at which a file was last written, in seconds since 1970, by the clock of the system
        or of the storage."""

    def exists(self, name: str) -> bool:
        """Return whether the folder has a file of this name now. The file should be small: an object storage
        answers by reading it."""

    def read(self, name: str) -> bytes:
        """Return all bytes of a file. Raises FileNotFoundError if there is no such file."""

    def read_each(self, names: Sequence[str]) -> Iterator[bytes]:
        """Yield all bytes of each file, in the order of the names. The files have to be those of a log, which
        never lose or change a byte: an object storage may answer from its memory. Raises FileNotFoundError if
        a file is missing."""

    def make_durable(self, name: str, offset: int, data: bytes) -> None:
        """Make durable ``data``, bytes that a reader has found at ``offset`` of the file ``name``. Before,
        the bytes may be in the system's memory only, since their writer may have died before the sync, or the
        sync may have failed."""

    def make_names_durable(self) -> None:
        """Make the folder's list of files durable, so that a crash of the machine loses none of the files,
        whichever process created them."""

    def create(self, name: str, data: bytes) -> None:
        """Create a file with these bytes, durably, and the folder if necessary. Raises FileExistsError if the
        file exists; of several callers at the same time, one succeeds."""

    def new_file(self, name: str) -> LogFile:
        """Return a new empty file for records, and create the folder if necessary. If there is a file of this
        name, this method or the first :meth:`LogFile.commit` raises FileExistsError."""

    def remove(self) -> None:
        """Remove the folder with everything in it; do nothing if it doesn't exist."""

    def remove_if_empty(self) -> None:
        """Remove the folder if it has no files and folders; do nothing if it doesn't exist."""
