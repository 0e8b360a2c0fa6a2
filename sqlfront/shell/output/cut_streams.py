"""Streams of bytes that an error cuts off: the end of a file stands behind complete rows only."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


class CutStream:
    """A stream that knows its position, which a pipe doesn't, and that may be cut off. Made by
    :func:`cut_at_error`."""

    closed = False

    def __init__(self, out: BinaryIO) -> None:
        self._out: BinaryIO | None = out
        self._position = 0

    def cut(self) -> None:
        """Write no further bytes."""
        self._out = None

    def write(self, data: bytes) -> int:
        """Write the bytes, and count them."""
        if self._out is not None:
            self._out.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """The number of bytes written."""
        return self._position

    def writable(self) -> bool:
        """Whether bytes can be written: always."""
        return True

    def flush(self) -> None:
        """Flush the stream below."""
        if self._out is not None:
            self._out.flush()


@contextmanager
def cut_at_error(out: BinaryIO) -> Iterator[CutStream]:
    """A stream to ``out`` that an error of the block cuts off: a writer of Arrow's that is closed or freed
    after the error would write the end of a complete file."""
    stream = CutStream(out)
    try:
        yield stream
    except BaseException:
        stream.cut()
        raise
