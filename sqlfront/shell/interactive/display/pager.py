"""Output that goes on in a pager once it is longer than the screen."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from types import TracebackType
from typing import Final

from sqlfront.shell.interactive.display.screen import Screen
from sqlfront_engine.closing import ClosingContext

#: Values of the option that mean no pager.
OFF: Final = ("", "off", "none", "cat")
#: Settings of less: show colours, cut long lines, leave the screen as it was drawn.
_LESS: Final = "RSX"
#: Pagers that show colours.
_COLOURED: Final = ("less", "bat", "most", "moar", "ov")
#: Exit codes of a shell that could not run its command.
_NOT_RUN: Final = (126, 127)


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
    lines that were kept, or waits until the user has left the pager."""

    def __init__(self, screen: Screen, command: str | None) -> None:
        self._screen = screen
        #: The command of the pager; None for no pager.
        self.command = command
        self._most = screen.size.lines - 2
        self._kept: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._direct = command is None or not screen.out.isatty()
        #: Whether the user has left the pager, so that further lines are for nobody.
        self.left = False
        #: The failure of the pager in words; empty if there is none.
        self.failure = ""

    @property
    def is_paging(self) -> bool:
        """Whether the screen is the pager's."""
        return self._process is not None

    def write(self, lines: Sequence[str]) -> None:
        """Take the next lines. Once :attr:`left` is true, lines are dropped."""
        if self.left:
            return
        if self._process is not None:
            self._page(lines)
        elif self._direct:
            self._screen.write("".join(f"{line}\n" for line in lines))
        else:
            self._kept += lines
            if len(self._kept) > self._most:
                self._start()

    def _start(self) -> None:
        assert self.command is not None
        self._process = subprocess.Popen(
            self.command,
            shell=True,
            stdin=subprocess.PIPE,
            env={"LESS": _LESS, **os.environ},
            encoding="utf-8",
            errors="replace",
        )
        kept, self._kept = self._kept, []
        self._page(kept)
        if self.left and self._ended() in _NOT_RUN:  # show at least the beginning
            self._screen.write("".join(f"{line}\n" for line in kept[: self._most]))

    def _page(self, lines: Sequence[str]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("".join(f"{line}\n" for line in lines))
            self._process.stdin.flush()
        except OSError:  # a broken pipe
            self.left = True

    def _ended(self) -> int:
        """Wait for the pager's end; return its exit code. Ctrl-C is for the pager, not for the shell."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        while True:
            try:
                return self._process.wait()
            except KeyboardInterrupt:
                continue
            except BaseException:  # the shell ends
                self._process.terminate()
                raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_end = error is not None and not isinstance(error, Exception | KeyboardInterrupt)
        if is_end and self._process is not None:
            self._process.terminate()
        self.close()

    def close(self) -> None:
        if self._process is None:
            kept, self._kept = self._kept, []
            if kept:
                self._screen.write("".join(f"{line}\n" for line in kept))
            return
        code = self._ended()
        if code > 0 and not self.failure:
            name = PurePath(shlex.split(self.command or "")[0]).name
            self.failure = f"the pager `{name}` failed with exit code {code}"
