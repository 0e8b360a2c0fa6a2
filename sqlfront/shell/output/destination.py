"""The output that results are written to: standard output, or a file that appears when it is complete."""

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
    """An error because the output can't be written; the message names the output and the reason."""


class Terminated(BaseException):
    """The exception that SIGTERM and SIGHUP raise while a file is written, so that the unfinished file is
    removed before the process ends."""


@contextmanager
def opened(path: str | None) -> Iterator[BinaryIO]:
    """Return a context with the stream of bytes to the file at ``path`` (None: standard output).

    The rows go to a temporary file in the same folder, which is renamed to ``path`` when the context has
    ended without an error: no incomplete file is ever seen at ``path``. A file that is replaced passes on its
    access rights; a symbolic link stays, and its target is replaced. A device, a pipe, and a file that is
    standard output (``/dev/stdout``) are written directly.

    Raises OutputError if the file can't be opened, closed or renamed. SIGTERM and SIGHUP raise Terminated in
    the context.
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
    """Return the OutputError for an error of the system while writing to ``path`` (None: standard output)."""
    return OutputError(f"can't write {'the output' if path is None else path}: {error.strerror or error}")


def _opened(path: str) -> tuple[BinaryIO, str]:
    """Return the stream to write to, and the name to which its file is renamed in the end. The name is empty
    for a file that is written directly: a device, a pipe, or a file that is standard output or error."""
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
    """Create a temporary file in the folder of ``path``. Return the file, and the path to which it is renamed
    in the end, where symbolic links are followed. Raises OSError if one of the files can't be written."""
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
    """Return a context that closes the stream at its end. Raises OutputError if closing fails, since the last
    bytes are written then."""
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
    """Return a context at whose end the file at ``part`` is removed, unless it has been renamed. None: no
    file."""
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
    """Return a context in which SIGTERM and SIGHUP raise Terminated; a signal that the process ignores
    (``nohup``) stays ignored."""

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
