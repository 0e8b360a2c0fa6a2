"""The line that shows how far a running statement is."""

import threading
import time
from typing import Final

from sqlfront.shell.interactive.display.footer import duration
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.display.visible import cut
from sqlfront.shell.progress import PATIENCE, RunningStatement, progress_text

_CLEAR: Final = "\r\x1b[K"


class RunLine:
    """A line in the terminal with a statement's progress. The line appears after a second; :meth:`close`,
    which any thread may call, clears it."""

    def __init__(self, screen: Screen, query: RunningStatement) -> None:
        self._screen, self._query = screen, query
        self._began = time.perf_counter()
        self._lock = threading.Lock()
        self._drawn = False
        self._closed = not screen.out.isatty()

    def tick(self) -> None:
        """Draw the line anew, if it is time."""
        seconds = time.perf_counter() - self._began
        if self._closed or seconds < PATIENCE:
            return
        text = f"{progress_text(self._query)}, {duration(seconds)} (Ctrl-C cancels)"
        with self._lock:
            if not self._closed:
                self._drawn = True  # before the line is there: Ctrl-C may end the next call
                self._screen.write(_CLEAR + cut(text, self._screen.size.columns - 1))

    def close(self) -> bool:
        """End the line, and clear it. Return whether there was a line."""
        with self._lock:
            drawn, self._drawn, self._closed = self._drawn, False, True
            if drawn:
                self._screen.write(_CLEAR)
        return drawn
