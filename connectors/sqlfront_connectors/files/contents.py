"""The bytes of text files, unpacked as their names say, and counted."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from sqlfront_connectors.files.compression import is_packed, unpacked
from sqlfront_connectors.files.failures import reading
from sqlfront_engine.file_access import FileAccess
from sqlfront_values.room import NO_LIMIT, Account, check

__all__ = ["Charges", "EXPANSION", "PIECE", "content_of", "counted", "is_packed", "pieces"]

#: A byte of a text or Parquet file is about that many in memory.
EXPANSION: Final = 3
#: Bytes of a text that are cut into lines at a time.
PIECE: Final = 4 << 20


class Charges:
    """Charges to an account that are given back together."""

    def __init__(self, memory: Account) -> None:
        self._memory = memory
        #: Bytes that are charged.
        self.held = 0

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes, or raise OperationalError."""
        self._memory.charge(size, maker)
        self.held += size

    def release(self, size: int) -> None:
        """Give back ``size`` bytes charged before."""
        self._memory.release(size)
        self.held -= size

    def give_back(self) -> None:
        """Give back all that is still charged."""
        self._memory.release(self.held)
        self.held = 0


@contextmanager
def counted(memory: Account) -> Iterator[Charges]:
    """Charges that are given back at the end."""
    charges = Charges(memory)
    try:
        yield charges
    finally:
        charges.give_back()


def content_of(path: str, access: FileAccess, memory: Account, most: int = NO_LIMIT) -> bytes:
    """What the file holds, or about its first ``most`` bytes; :data:`EXPANSION` times that stays charged to
    ``memory``.

    Errors: OperationalError for a file that can't be read or is too large, or once the query is to stop;
    NotSupportedError for kinds of compression that Spark knows and this doesn't.
    """
    content = BytesIO()
    with reading(path), access.reading(path) as file, open(file.source, "rb") as opened:
        for part in unpacked(path, opened):
            check()
            memory.charge(len(part) * EXPANSION)
            content.write(part)
            if content.tell() >= most:
                break
    return content.getvalue()


def pieces(content: bytes, end: bytes = b"\n", size: int | None = None) -> Iterator[bytes]:
    """The content cut behind line ends into pieces of about ``size`` bytes (None = :data:`PIECE`).
    StoppedError between two of them if the query is to stop.

    >>> list(pieces(b"a" * 5_000_000 + b"\\nb"))[1:]
    [b'b']
    """
    start, size = 0, PIECE if size is None else size
    # Which bytes are an end that may overlap another one depends on all bytes before it.
    overlaps = any(end.startswith(end[place:]) for place in range(1, len(end)))
    while not overlaps and len(content) - start > size:
        place = content.find(end, start + size)
        if place < 0 and end == b"\n":
            place = content.find(b"\r", start + size)  # no line feed follows it
        if place < 0:
            break
        yield content[start : place + len(end)]
        check()
        start = place + len(end)
    if start < len(content):
        yield content[start:]
