"""Spark's progress with a statement, in the terminal's last line."""

import threading
import time
from collections.abc import Callable
from typing import Final, TextIO

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import Error

#: Seconds until the progress of a statement is shown, so that quick statements show none, and between
#: updates, so that a reader sees the numbers move.
PATIENCE: Final = 0.5
INTERVAL: Final = 0.2
#: Seconds to wait at the end for an answer of Spark's that is no longer needed; the wait delays the prompt.
_ANSWER: Final = 1.0


class ProgressLine(ClosingContext):
    """A line in the terminal with the progress that ``progress`` returns (None: nothing to show), updated
    from ``patience`` seconds after the start until :meth:`close`, which clears the line."""

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
            except Error:  # the statement itself raises the error
                return
            if found is not None and not self._ended.is_set():
                self._draw(f"spark: {found}, {time.perf_counter() - self._began:.1f} s")

    def _draw(self, text: str) -> None:
        """Overwrite the text in the terminal's last line."""
        self._out.write(f"\r{text}{' ' * (self._width - len(text))}")
        self._out.flush()
        self._width = len(text)

    def close(self) -> None:
        """End the updates, and clear the line."""
        self._ended.set()
        self._thread.join(_ANSWER)
        if self._width:
            self._out.write(f"\r{' ' * self._width}\r")
            self._out.flush()
