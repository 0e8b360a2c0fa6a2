"""How far Spark is with a statement, in the terminal's last line."""

import threading
import time
from collections.abc import Callable
from typing import Final, TextIO

from sqlfront_engine.closing import Closing
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import Error

#: What takes longer is shown (s), and how often it is shown anew.
PATIENCE: Final = 0.5
INTERVAL: Final = 0.2
#: How long an answer of Spark's is waited for that nobody needs any more (s).
_ANSWER: Final = 1.0


class ProgressLine(Closing):
    """Shows what ``progress`` says, if it says something, from some time after the beginning of the block on
    until its end, and leaves no trace."""

    def __init__(
        self, progress: Callable[[], Progress | None], out: TextIO, patience: float = PATIENCE
    ) -> None:
        self._progress = progress
        self._out = out
        self._began = time.perf_counter()
        self._patience = patience
        self._ended = threading.Event()
        self._width = 0
        self._thread = threading.Thread(target=self._show, name="sqlfront-progress", daemon=True)
        self._thread.start()

    def _show(self) -> None:
        delay = self._patience
        while not self._ended.wait(delay):
            delay = INTERVAL
            try:
                found = self._progress()
            except Error:  # whoever waits for the statement is told
                return
            if found is not None and not self._ended.is_set():
                self._draw(f"spark: {found}, {time.perf_counter() - self._began:.1f} s")

    def _draw(self, text: str) -> None:
        """Write over what is there, and stay in its line."""
        self._out.write(f"\r{text}{' ' * (self._width - len(text))}")
        self._out.flush()
        self._width = len(text)

    def close(self) -> None:
        """Remove the line."""
        self._ended.set()
        self._thread.join(_ANSWER)
        if self._width:
            self._out.write(f"\r{' ' * self._width}\r")
            self._out.flush()
