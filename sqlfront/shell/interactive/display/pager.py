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
    """Return the command that starts the pager: the option ``pager`` of the shell, else $PAGER, else ``less``
    if it is installed. None for no pager, which the option or $PAGER can ask for."""
    told = environment.get("PAGER") if option is None else option
    if told is None:
        return shutil.which("less")
    return None if told.strip() in OFF else told


def keeps_colours(command: str | None) -> bool:
    """Return whether the pager that ``command`` starts shows the terminal's codes for colours as colours.
    True for None, which is the screen without a pager.

    >>> keeps_colours(None), keeps_colours("/usr/bin/less -S"), keeps_colours("more")
    (True, True, False)
    """
    return command is None or PurePath(command.split()[0]).name in _COLOURED


class PagedOutput(ClosingContext):
    """An output of lines to the screen, by way of a pager if they don't fit the screen. Lines are collected
    as long as they fit; the first line too many starts the pager (``command``; None: no pager, lines are
    written at once), which gets all lines, and later lines as they come. :meth:`close` writes the collected
    lines, or waits until the user has left the pager; if the pager can't be run, it writes the first lines.
    Any thread may write. Once a KeyboardInterrupt has ended the context, further lines are dropped."""

    def __init__(
        self,
        screen: Screen,
        command: str | None,
        begin: Callable[[], object] = lambda: None,
        cancel: Callable[[], object] = lambda: None,
    ) -> None:
        """``begin`` is called each time before lines go to the screen or the pager. ``cancel`` is called
        after a KeyboardInterrupt, before the output waits for the end of the pager."""
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
        """Whether a pager was started, and has the screen."""
        return self._process is not None

    def write(self, lines: Sequence[str]) -> None:
        """Take the next lines, and show them or collect them. Lines are dropped once :attr:`left` is true,
        since nobody reads them: the user has left the pager."""
        if self._process is not None or self._direct:
            self._show(lines)
        elif not self.left:
            self._kept += lines
            if len(self._kept) > self._most:
                self._start()

    def _show(self, lines: Sequence[str]) -> None:
        """Write the lines to the pager if one runs, else to the screen; stop once :attr:`left` is true."""
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
        kept, self._kept = self._kept, self._kept[: self._most]
        self._show(kept)

    def _show_kept(self) -> None:
        kept, self._kept = self._kept, []
        if kept:
            self._begin()
            self._screen.write("".join(f"{line}\n" for line in kept))

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
        """Wait until the pager has ended, and return its exit code. Ctrl-C does not end the wait, since the
        pager gets it, too; other exceptions end the pager."""
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
        code = 0 if self._process is None else self._ended()
        if self._process is None or code in _NOT_RUN:
            self._show_kept()
        if code > 0 and not self.failure and not self._interrupted:
            name = PurePath(shlex.split(self.command or "")[0]).name
            self.failure = f"the pager `{name}` failed with exit code {code}"


def _texts(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines, each with a line break, joined to texts of about 8,192 characters, each of which is
    written at once."""
    part, size = list[str](), 0
    for line in lines:
        part.append(f"{line}\n")
        size += len(line)
        if size >= _AT_ONCE:
            yield "".join(part)
            part, size = [], 0
    if part:
        yield "".join(part)
