"""Output that goes on in a pager once it is longer than the screen."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from types import TracebackType
from typing import Final

from sqlfront.shell.interactive.display.screen import Screen
from sqlfront_engine.closing import ClosingContext

#: Values of the option that mean no pager.
OFF: Final = ("", "off", "none", "cat")
#: Settings of less: show colours, cut long lines, leave the screen as it was drawn, end at Ctrl-C.
_LESS: Final = "RSXK"
#: Pagers that show colours.
_COLOURED: Final = ("less", "bat", "most", "moar", "ov")
#: Exit codes of a shell that could not run its command.
_NOT_RUN: Final = (126, 127)
#: Characters that are written at once: between two writes Ctrl-C may end the output.
_AT_ONCE: Final = 8_192


def pager_command(option: str | None, environment: Mapping[str, str]) -> str | None:
    """The command of the pager: the shell's option, else $PAGER, else less if there is one; None for no
    pager."""
    told = environment.get("PAGER") if option is None else option
    if told is None:
        return shutil.which("less")
    return None if told.strip() in OFF else told


def keeps_colours(command: str | None) -> bool:
    """Whether a pager's command shows the terminal's codes for colours as colours; the screen itself
    (None) does.

    >>> keeps_colours(None), keeps_colours("/usr/bin/less -S"), keeps_colours("more")
    (True, True, False)
    """
    return command is None or PurePath(command.split()[0]).name in _COLOURED


class PagedOutput(ClosingContext):
    """Lines for the screen. As long as they fit the screen they are kept; the first line too many starts the
    pager (``command``; None: no pager), which gets all lines from then on as they come. :meth:`close` writes
    lines that were kept, or waits until the user has left the pager. Any thread may write. Once a
    KeyboardInterrupt has ended the context, further lines are dropped."""

    def __init__(
        self,
        screen: Screen,
        command: str | None,
        begin: Callable[[], object] = lambda: None,
        cancel: Callable[[], object] = lambda: None,
    ) -> None:
        """``begin`` is called before the screen, or the pager, gets lines, and ``cancel`` after a
        KeyboardInterrupt, before the pager's end is waited for."""
        self._screen, self._begin, self._cancel = screen, begin, cancel
        #: The command of the pager; None for no pager.
        self.command = command
        self._most = screen.size.lines - 2
        self._kept: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._direct = command is None or not screen.out.isatty()
        #: Whether the user has left the pager, or has had enough, so that further lines are for nobody.
        self.left = False
        self._interrupted = False
        #: The failure of the pager in words; empty if there is none.
        self.failure = ""

    @property
    def is_paging(self) -> bool:
        """Whether the screen is the pager's."""
        return self._process is not None

    def write(self, lines: Sequence[str]) -> None:
        """Take the next lines. Once :attr:`left` is true, lines are dropped."""
        if self._process is not None or self._direct:
            self._show(lines)
        elif not self.left:
            self._kept += lines
            if len(self._kept) > self._most:
                self._start()

    def _show(self, lines: Sequence[str]) -> None:
        """Write the lines to the pager or the screen, as long as somebody wants them."""
        self._begin()
        put = self._screen.write if self._process is None else self._page
        for text in _texts(lines):
            if self.left:
                return
            put(text)

    def _start(self) -> None:
        assert self.command is not None
        self._begin()
        # Without a buffer, which would have to be written out before the pager could be left.
        self._process = subprocess.Popen(
            self.command, shell=True, stdin=subprocess.PIPE, bufsize=0, env={"LESS": _LESS, **os.environ}
        )
        kept, self._kept = self._kept, []
        self._show(kept)
        if self.left and self._ended() in _NOT_RUN:  # show at least the beginning
            self._screen.write("".join(f"{line}\n" for line in kept[: self._most]))

    def _page(self, text: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        rest = memoryview(text.encode("utf-8", "replace"))
        try:
            while rest:
                rest = rest[self._process.stdin.write(rest) :]
        except (OSError, ValueError):  # a broken pipe, or one that the main thread has closed
            self.left = True

    def _ended(self) -> int:
        """Wait for the pager's end; return its exit code. Ctrl-C is for the pager, not for the shell."""
        assert self._process is not None
        assert self._process.stdin is not None
        while True:
            try:
                with suppress(OSError):
                    self._process.stdin.close()
                return self._process.wait()
            except KeyboardInterrupt:
                self._interrupted = True
            except BaseException:  # the shell ends
                self._process.terminate()
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.left = self._interrupted = True
            self._cancel()
        elif error is not None and not isinstance(error, Exception) and self._process is not None:
            self._process.terminate()
        self.close()

    def close(self) -> None:
        if self._process is None:
            kept, self._kept = self._kept, []
            if kept:
                self._begin()
                self._screen.write("".join(f"{line}\n" for line in kept))
            return
        code = self._ended()
        if code > 0 and not self.failure and not self._interrupted:
            name = PurePath(shlex.split(self.command or "")[0]).name
            self.failure = f"the pager `{name}` failed with exit code {code}"


def _texts(lines: Sequence[str]) -> Iterator[str]:
    """The lines, joined to texts that are written at once."""
    part, size = list[str](), 0
    for line in lines:
        part.append(f"{line}\n")
        size += len(line)
        if size >= _AT_ONCE:
            yield "".join(part)
            part, size = [], 0
    if part:
        yield "".join(part)
