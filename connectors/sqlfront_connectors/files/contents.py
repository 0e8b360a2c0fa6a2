"""The bytes of text files, decompressed by the ending of the file's name, and charged to a memory account."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from sqlfront_connectors.files.compression import is_packed, unpacked
from sqlfront_connectors.files.failures import reading
from sqlfront_engine.file_access import FileAccess
from sqlfront_values.room import NO_LIMIT, Account, check

__all__ = ["Charges", "EXPANSION", "PIECE", "content_of", "counted", "is_packed", "pieces"]

#: Bytes in memory for a byte of a text or Parquet file, about: reading is charged by it.
EXPANSION: Final = 3
#: Bytes of a text that are cut into lines at a time: bounds the memory, and the time between two checks
#: whether the query should stop.
PIECE: Final = 4 << 20


class Charges:
    """A count of the bytes charged to a memory account, so that all charges can be released together."""

    def __init__(self, memory: Account) -> None:
        self._memory = memory
        #: The number of charged bytes.
        self.held = 0

    def charge(self, size: int, maker: str = "") -> None:
        """Charge ``size`` more bytes to the account. ``maker``: the name of the operation or value that needs
        the bytes, for the error's message. Raises OperationalError if the account's limit would be exceeded.
        """
        self._memory.charge(size, maker)
        self.held += size

    def release(self, size: int) -> None:
        """Release ``size`` of the bytes that were charged before."""
        self._memory.release(size)
        self.held -= size

    def give_back(self) -> None:
        """Release all remaining charges."""
        self._memory.release(self.held)
        self.held = 0


@contextmanager
def counted(memory: Account) -> Iterator[Charges]:
    """Return a context manager whose value is a :class:`Charges` on ``memory``; at the end of the block all
    its charges are released."""
    charges = Charges(memory)
    try:
        yield charges
    finally:
        charges.give_back()


def content_of(path: str, access: FileAccess, memory: Account, most: int = NO_LIMIT) -> bytes:
    """Return the unpacked content of the file; with ``most``, reading stops after about ``most`` unpacked
    bytes. :data:`EXPANSION` times the size of the result stays charged to ``memory``.

    Raises OperationalError for a file that can't be read or is too large, or once the query is to stop;
    NotSupportedError for codecs that Spark supports and :mod:`~sqlfront_connectors.files.compression`
    doesn't.
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
    """Cut the content into pieces of at least ``size`` bytes (None = :data:`PIECE`), each up to and including
    the next line end ``end``; the last piece is the rest. Raises StoppedError between two pieces if the query
    is to stop.

    >>> list(pieces(b"a" * 5_000_000 + b"\\nb"))[1:]
    [b'b']
    """
    start, size = 0, PIECE if size is None else size
    # If ends can overlap, the position of an end depends on all bytes before it, so nothing is cut.
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
