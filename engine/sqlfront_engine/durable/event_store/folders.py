"""Folders of a store: the contract by which the logs reach a disk or an object storage.

:class:`~sqlfront_engine.durable.event_store.local_folder.LocalFolder` is a directory;
:class:`~sqlfront_engine.durable.event_store.object_folder.ObjectFolder` is a prefix of an object storage. All
methods raise OSError of the system or of the storage.
"""

from typing import Protocol


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
        """Append the bytes; they are durable on return. After an error the file must not be used again."""

    def close(self) -> None:
        """Close the file; bytes that were not committed are lost."""


class Folder(Protocol):
    """A folder of a store: a directory, or a prefix of an object storage. It holds files and other
    folders."""

    @property
    def address(self) -> str:
        """The path or URL of the folder, for messages."""

    def folder(self, name: str) -> "Folder":
        """Return the folder ``name`` inside this folder; it need not exist yet."""

    def names(self) -> list[str]:
        """Return the names of the files and folders inside, sorted; an empty list if the folder doesn't
        exist."""

    def exists(self, name: str) -> bool:
        """Return whether a file of this name is in the folder now."""

    def read(self, name: str) -> bytes:
        """Return all bytes of a file. Raises FileNotFoundError if there is no such file."""

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
        """Return a new empty file for records, and create the folder if necessary. Raises FileExistsError if
        the file exists, here or in the first :meth:`LogFile.commit`."""

    def remove(self) -> None:
        """Remove the folder with everything in it; do nothing if it doesn't exist."""

    def remove_file(self, name: str) -> None:
        """Remove one file; do nothing if it doesn't exist."""
