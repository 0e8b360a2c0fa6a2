"""Scripts of the command: statements of -c, files and standard input, one after the other."""

import codecs
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from typing import BinaryIO, Final

import msgspec

from sqlfront_planner.script import ScriptSplitter

#: Bytes that are read at once.
_CHUNK: Final = 1 << 16
_DECODER: Final = codecs.getincrementaldecoder("utf-8")
#: Beginnings of a file that tell its encoding; the longer mark comes first.
_MARKS: Final = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


class ScriptError(Exception):
    """An error because a script can't be read; the message names the script and the reason."""


class Script(msgspec.Struct, frozen=True):
    """A source of statements: the ``text`` of the option -c, or the file at ``path`` (``-``: standard
    input)."""

    text: str = ""
    path: str = ""


def check(scripts: Sequence[Script]) -> None:
    """Read all files of the scripts once, so that an unreadable file is found before any statement runs.
    Pipes are not checked, since they can be read only once. Raises ScriptError."""
    for script in scripts:
        if script.path not in ("", "-"):
            with _open(script.path) as stream:
                if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                    for _ in _texts(stream, script.path):
                        pass


def statements(scripts: Sequence[Script]) -> Iterator[str]:
    """Yield the statements of all scripts in order. A file or pipe is read only as far as the next statement
    needs. Raises ScriptError if a script can't be read."""
    for script in scripts:
        splitter = ScriptSplitter()
        for text in _texts_of(script):
            yield from (statement.text for statement in splitter.feed(text))
        yield from (statement.text for statement in splitter.end())


def _texts_of(script: Script) -> Iterator[str]:
    if not script.path:
        yield script.text
    elif script.path == "-":
        yield from _texts(sys.stdin.buffer, "standard input")
    else:
        with _open(script.path) as stream:
            yield from _texts(stream, script.path)


def _open(path: str) -> BinaryIO:
    try:
        return open(path, "rb")
    except OSError as error:
        raise ScriptError(f"can't read {path}: {error.strerror}") from error


def _texts(stream: BinaryIO, name: str) -> Iterator[str]:
    """Yield the text of a stream of UTF-8 in pieces, each as soon as its bytes arrive; a byte order mark is
    left out. Raises ScriptError, which names the stream ``name``, if it can't be read or is not UTF-8."""
    decoder, place, first = _DECODER(), 0, True
    while True:
        try:
            data = stream.read1(_CHUNK)  # type: ignore[attr-defined]
        except OSError as error:
            raise ScriptError(f"can't read {name}: {error.strerror}") from error
        if first:
            _check_mark(data, name)
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            # The decoder keeps the begin of a character that the next piece completes.
            at = place + len(data) - len(error.object) + error.start
            byte = error.object[error.start]
            raise ScriptError(
                f"can't read {name}: not UTF-8 text: byte {at + 1} is 0x{byte:02X} ({error.reason})"
            ) from error
        yield text.removeprefix("\ufeff") if first else text
        if not data:
            return
        place, first = place + len(data), False


def _check_mark(data: bytes, name: str) -> None:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            raise ScriptError(f"can't read {name}: {encoding} text, as its first bytes tell; expected UTF-8")
