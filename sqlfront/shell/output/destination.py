"""The place that results are written to: standard output, or a file that appears when it is complete."""

import os
import signal
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import BinaryIO, NoReturn


class OutputError(Exception):
    """An error that names the output, and the reason for which the output can't be written."""


class Terminated(BaseException):
    """SIGTERM or SIGHUP arrived: the process ends after it has removed its unfinished file."""


@contextmanager
def opened(path: str | None) -> Iterator[BinaryIO]:
    """The stream of bytes to the file at ``path`` (None: standard output).

    The rows go to a file of another name beside, which gets its name when the block has ended without an
    error: no half file is ever seen under the name. The file keeps its access rights; a symbolic link stays
    one. A device, a pipe, and a file that is standard output (``/dev/stdout``) are written as they are.
    Raises OutputError if the file can't be opened, or finished.
    """
    if path is None:
        yield sys.stdout.buffer
        return
    with _signals_raise():
        try:
            stream, target = _opened(path)
        except OSError as error:
            raise failure(path, error) from error
        with _unlinked(stream.name if target else None):
            with _closed(stream, path):
                yield stream
            if target:
                _rename(stream.name, target, path)


def failure(path: str | None, error: OSError) -> OutputError:
    """The error for a failure of the system while writing to the output."""
    return OutputError(f"can't write {'the output' if path is None else path}: {error.strerror or error}")


def _opened(path: str) -> tuple[BinaryIO, str]:
    """The stream to write to, and the name that the stream's file gets in the end; empty for what isn't
    replaced: standard output or error under another name, a device, or a pipe."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return _part(path)
    for descriptor in (1, 2):
        with suppress(OSError):
            if os.path.samestat(found, os.fstat(descriptor)):
                return os.fdopen(os.dup(descriptor), "wb"), ""
    return _part(path) if stat.S_ISREG(found.st_mode) else (open(path, "wb"), "")


def _part(path: str) -> tuple[BinaryIO, str]:
    """A new file beside the target, and the target. Raises OSError if either can't be written."""
    target = os.path.realpath(path)
    try:
        os.close(os.open(target, os.O_WRONLY))
        rights = stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        rights = 0o666 & ~mask
    folder, name = os.path.split(target)
    # A file's name has 255 bytes at most, and a character has up to four.
    part = os.path.join(folder, f".{name[:50]}.{os.urandom(4).hex()}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights)
    os.fchmod(descriptor, rights)
    os.close(descriptor)
    return open(part, "wb"), target


@contextmanager
def _closed(stream: BinaryIO, path: str) -> Iterator[None]:
    """Close the stream at the end of the block. Raises OutputError if the last bytes can't be written after
    all others could."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            stream.close()
        raise
    try:
        stream.close()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise failure(path, error) from error


@contextmanager
def _unlinked(part: str | None) -> Iterator[None]:
    """Remove the file (None: no file) at the end of the block, unless it has been renamed."""
    try:
        yield
    finally:
        if part is not None:
            Path(part).unlink(missing_ok=True)


def _rename(part: str, target: str, path: str) -> None:
    try:
        os.replace(part, target)
    except OSError as error:
        raise failure(path, error) from error


@contextmanager
def _signals_raise() -> Iterator[None]:
    """Have SIGTERM and SIGHUP raise Terminated in the block, unless the process ignores them (``nohup``)."""

    def terminate(number: int, frame: FrameType | None) -> NoReturn:
        raise Terminated

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    heeded = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    for number in heeded:
        signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)
