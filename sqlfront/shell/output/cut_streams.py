"""A stream of bytes that writes nothing after an error, so that an incomplete file has no end mark."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO


class CutStream:
    """A stream to ``out`` for Arrow's writers, made by :func:`cut_at_error`. The stream counts its bytes,
    since a pipe has no position. It can be cut: later bytes are dropped, so that a writer adds no end mark to
    an incomplete output."""

    closed = False

    def __init__(self, out: BinaryIO) -> None:
        self._out: BinaryIO | None = out
        self._position = 0

    def cut(self) -> None:
        """Drop all bytes that are written from now on."""
        self._out = None

    def write(self, data: bytes) -> int:
        """Write the bytes, or drop them after :meth:`cut`; return their number."""
        if self._out is not None:
            self._out.write(data)
        self._position += len(data)
        return len(data)

    def tell(self) -> int:
        """Return the number of bytes that were written, dropped bytes included."""
        return self._position

    def writable(self) -> bool:
        """Return True: Arrow's writers ask whether the stream can be written."""
        return True

    def flush(self) -> None:
        """Flush the stream ``out``; do nothing after :meth:`cut`."""
        if self._out is not None:
            self._out.flush()


@contextmanager
def cut_at_error(out: BinaryIO) -> Iterator[CutStream]:
    """Return a context with a stream to ``out``; an error in the context cuts the stream. Otherwise a writer
    of Arrow's that is closed or freed after the error would write the end mark of a complete file."""
    stream = CutStream(out)
    try:
        yield stream
    except BaseException:
        stream.cut()
        raise
