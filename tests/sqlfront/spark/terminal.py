"""A real terminal with a program in it."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Self

#: How long anything may take on a busy machine (s).
LONG = 240.0
#: A program that leads its session gets the terminal that it opens.
TAKE = "import os, sys; os.open(os.ttyname(0), os.O_RDWR); os.execv(sys.argv[1], sys.argv[1:])"
#: Never ends by itself; sqlfront has no PIVOT by an array.
ENDLESS = (
    "SELECT * FROM (SELECT array(id % 2) AS k FROM range(0, 1000000000000, 1, 4) WHERE sin(id) > 2) "
    "PIVOT (count(*) FOR k IN (array(0L), array(1L)))"
)
#: A query that only Spark knows, with a row.
PIVOT = "SELECT * FROM (SELECT array(1) AS a) PIVOT (count(*) FOR a IN (array(1), array(2)))"


class Terminal:
    """Runs a program whose terminal this is, as a window of a desktop is one: it reads what is typed, and
    Ctrl-C interrupts it and its children."""

    def __init__(self, command: Sequence[str]) -> None:
        self._ours, theirs = pty.openpty()
        self._read = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", TAKE, *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env=os.environ | {"PYTHON_BASIC_REPL": "1", "TERM": "dumb"},
        )
        os.close(theirs)

    def await_text(self, text: str) -> str:
        """Wait until the program has written a text; what it has written until then, since the last call."""
        deadline = time.monotonic() + LONG
        while text not in self._read:
            assert time.monotonic() < deadline, self._read
            if select.select([self._ours], [], [], 1.0)[0]:
                try:
                    self._read += os.read(self._ours, 65_536).decode(errors="replace")
                except OSError:  # the program has ended
                    assert text in self._read, self._read
        before, _, self._read = self._read.partition(text)
        return before

    def type(self, line: str) -> None:
        """Type a line."""
        os.write(self._ours, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        os.write(self._ours, b"\x03")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)
