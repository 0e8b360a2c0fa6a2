"""Folders of a store: the contract by which the logs reach a disk or an object storage.

:class:`~sqlfront_engine.durable.event_store.local_folder.LocalFolder` is a directory;
:class:`~sqlfront_engine.durable.event_store.object_folder.ObjectFolder` is a prefix of an object storage. All
methods raise OSError of the system or of the storage.
"""

from typing import Protocol


class LogFile(Protocol):
    """A new file of a log, with one writer."""

    @property
    def size(self) -> int:
        """The bytes written so far."""

    @property
    def takes_more(self) -> bool:
        """Whether another :meth:`commit` may follow; an object is written once."""

    def commit(self, data: bytes) -> None:
        """Append the bytes; they are durable on return. After an error the file must not be used again."""

    def close(self) -> None:
        """Give the file up; what was not committed is not made durable."""


class Folder(Protocol):
    """A folder of files with simple names."""

    @property
    def address(self) -> str:
        """The path or URL, for messages."""

    def folder(self, name: str) -> "Folder":
        """Return the folder of that name inside."""

    def names(self) -> list[str]:
        """The names inside, sorted; none if the folder doesn't exist."""

    def exists(self, name: str) -> bool:
        """Whether a file of that name exists now."""

    def read(self, name: str) -> bytes:
        """The bytes of a file."""

    def make_durable(self, name: str, offset: int, data: bytes) -> None:
        """Make bytes durable that were read at the offset of a file, whoever wrote them. Bytes that can be
        read may be in memory only, if their writer died before the sync, or if the sync failed."""

    def make_names_durable(self) -> None:
        """Make the entries of the folder durable, whoever created them."""

    def create(self, name: str, data: bytes) -> None:
        """Create a file with these bytes, durably, and the folder if necessary. Raises FileExistsError if the
        file exists; of several callers at the same time, one succeeds."""

    def new_file(self, name: str) -> LogFile:
        """Return a new file, and create the folder if necessary. Raises FileExistsError like
        :meth:`create`, at the latest in the first commit."""

    def remove(self) -> None:
        """Remove the folder with all that is in it; no error if it doesn't exist."""

    def remove_file(self, name: str) -> None:
        """Remove one file; no error if it doesn't exist."""
