"""A terminal with a program in it: what a person types goes in, what a person sees comes out."""

import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pexpect
import pyte
from wcwidth import wcswidth

#: Seconds until a text has to be on the screen; a loaded machine is slow.
PATIENCE = 30.0
PROMPT = "sqlfront> "


class Terminal:
    """A program in a pseudo-terminal, and the screen that its output draws."""

    def __init__(
        self,
        *arguments: str,
        folder: Path,
        lines: int = 40,
        columns: int = 100,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = (sys.executable, "-m", "sqlfront"),
        patience: float | None = None,
    ) -> None:
        """Start ``program`` with the ``arguments`` in ``folder``, which is its home, too. ``patience``:
        seconds until what is waited for has to be there, None = :data:`PATIENCE`."""
        self._patience = PATIENCE if patience is None else patience
        inherited = {
            name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "PAGER", "LESS")
        }
        own = {"TERM": "xterm-256color", "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state")}
        own |= {"XDG_CONFIG_HOME": str(folder / "config"), "LC_ALL": "C.UTF-8", "PROMPT_TOOLKIT_NO_CPR": "1"}
        self.screen = pyte.HistoryScreen(columns, lines, history=5_000)
        self._stream = pyte.ByteStream(self.screen)
        #: All bytes that the program has written.
        self.written = b""
        self._child = pexpect.spawn(
            program[0],
            [*program[1:], *arguments],
            cwd=str(folder),
            env={**inherited, **own, **(environment or {})},
            dimensions=(lines, columns),
            timeout=self._patience,
        )
        self._child.delaybeforesend = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close(force=True)

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._child.pid)

    def send(self, text: str) -> None:
        """Type a text."""
        self._child.send(text)

    def enter(self, text: str) -> None:
        """Type a text and Enter."""
        self.send(f"{text}\r")

    def resize(self, lines: int, columns: int) -> None:
        """Change the window's size."""
        self._child.setwinsize(lines, columns)
        self.screen.resize(lines, columns)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self._child.kill(number)

    def pump(self, seconds: float = 0.2) -> bool:
        """Take the output that has come, or comes within some seconds; return whether there was any."""
        try:
            found = self._child.read_nonblocking(65536, seconds)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return False
        self.written += found
        self._stream.feed(found)
        return True

    def drain(self, count: int = 0, until: bytes = b"") -> bytes:
        """Take the output without drawing the screen, which takes longer than most programs: at least
        ``count`` bytes, and up to the text ``until``. Return the output; what follows ``until`` is drawn."""
        deadline, found = time.monotonic() + self._patience, b""
        while len(found) < count or until not in found:
            assert time.monotonic() < deadline, found[-1000:]
            try:
                found += self._child.read_nonblocking(65536, 0.2)
            except pexpect.TIMEOUT:
                continue
        self.written += found
        self._stream.feed(found[found.rfind(until) if until else len(found) :])
        return found

    def text(self) -> str:
        """The lines on the screen, without blanks at their ends."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip()

    def wait(self, what: str | Callable[[str], bool], *, gone: bool = False) -> str:
        """Wait until a text is on the screen (``gone``: no longer), or a condition holds for it; return the
        screen. AssertionError, with the screen, if that doesn't happen."""
        holds = what if callable(what) else (lambda text: (what in text) is not gone)
        deadline = time.monotonic() + self._patience
        changed = True
        while time.monotonic() < deadline:
            if changed and holds(text := self.text()):
                return text
            changed = self.pump()
        raise AssertionError(f"{what!r} did not come:\n{self.text()}")

    def wait_for_prompt(self) -> str:
        """Wait until the screen ends with an empty prompt."""
        return self.wait(lambda text: text.endswith(PROMPT.rstrip()))

    def run(self, text: str) -> str:
        """Clear the screen, type a statement or command and Enter, and return the screen with the answer, up
        to the next prompt."""
        self.clear()
        return self.run_on(text)

    def clear(self) -> None:
        """Wait for an empty prompt, and clear the screen above it."""
        self.wait_for_prompt()
        self.send("\x0c")
        self.wait(lambda shown: shown == PROMPT.rstrip())

    def run_on(self, text: str) -> str:
        """Type the rest of a statement and Enter, and return the screen up to the next prompt."""
        prompt = PROMPT.rstrip()
        self.enter(text)
        shown = self.wait(lambda shown: shown.count(prompt) > 1 and shown.endswith(f"\n{prompt}"))
        return shown.removesuffix(prompt).rstrip()

    def echoes(self) -> bool:
        """Whether the terminal shows typed letters by itself, as it does when no editor is at work."""
        return bool(self._child.getecho())

    @staticmethod
    def cells(text: str) -> int:
        """The cells that a line of the screen takes: each wide letter is followed by an empty cell there."""
        return wcswidth(text)

    def ended(self) -> int | None:
        """Wait for the program's end, and take its last output; return its exit code, or the negative number
        of the signal that ended it."""
        deadline = time.monotonic() + self._patience
        while self._child.isalive() and time.monotonic() < deadline:
            self.pump()
        assert not self._child.isalive(), self.text()
        while self.pump():
            pass
        return self._child.exitstatus if self._child.signalstatus is None else -self._child.signalstatus
