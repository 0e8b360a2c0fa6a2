"""The line that shows the progress of a running statement."""

import threading
import time
from typing import Final

from sqlfront.shell.interactive.display.footer import duration
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.display.visible import cut
from sqlfront.shell.progress import PATIENCE, RunningStatement, progress_text

_CLEAR: Final = "\r\x1b[K"


class RunLine:
    """A line in the terminal with the progress of ``query``. The line appears after a second; :meth:`close`,
    which any thread may call, clears it. Without a terminal no line appears."""

    def __init__(self, screen: Screen, query: RunningStatement) -> None:
        self._screen, self._query = screen, query
        self._began = time.perf_counter()
        self._lock = threading.Lock()
        self._drawn = False
        self._closed = not screen.out.isatty()

    def tick(self) -> None:
        """Draw the line anew if the statement has run for a second and the line is not closed."""
        seconds = time.perf_counter() - self._began
        if self._closed or seconds < PATIENCE:
            return
        text = f"{progress_text(self._query)}, {duration(seconds)} (Ctrl-C cancels)"
        with self._lock:
            if not self._closed:
                self._drawn = True  # before the line is there: Ctrl-C may end the next call
                self._screen.write(_CLEAR + cut(text, self._screen.size.columns - 1))

    def close(self) -> bool:
        """Clear the line, and draw it no more. Return whether the line was on the screen."""
        with self._lock:
            drawn, self._drawn, self._closed = self._drawn, False, True
            if drawn:
                self._screen.write(_CLEAR)
        return drawn
