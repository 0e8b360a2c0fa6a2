"""The line that shows how far a running statement is."""

import threading
import time
from typing import Final

from sqlfront.shell.interactive.display.footer import duration
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.display.visible import cut
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.errors import Error

#: Seconds until the line appears.
_PATIENCE: Final = 1.0
_CLEAR: Final = "\r\x1b[K"


class RunLine:
    """A line in the terminal with a statement's progress: the stages and tasks of a job of Spark, or the rows
    that a job of the engine has read. The line appears after a second; :meth:`close`, which any thread may
    call, clears it."""

    def __init__(self, screen: Screen, query: QueryRun) -> None:
        self._screen, self._query = screen, query
        self._began = time.perf_counter()
        self._lock = threading.Lock()
        self._drawn = False
        self._closed = not screen.out.isatty()

    def tick(self) -> None:
        """Draw the line anew, if it is time."""
        seconds = time.perf_counter() - self._began
        if self._closed or seconds < _PATIENCE:
            return
        text = f"{self._progress()}, {duration(seconds)} (Ctrl-C cancels)"
        with self._lock:
            if not self._closed:
                self._screen.write(_CLEAR + cut(text, self._screen.size.columns - 1))
                self._drawn = True

    def _progress(self) -> str:
        try:
            elsewhere = self._query.progress()
        except Error:  # the statement itself raises the error
            elsewhere = None
        if elsewhere is not None:
            return f"spark: {elsewhere}"
        rows = self._query.rows_read()
        return f"{rows:,} row{'' if rows == 1 else 's'} read" if rows else "running"

    def close(self) -> bool:
        """End the line, and clear it. Return whether there was a line."""
        with self._lock:
            drawn, self._drawn, self._closed = self._drawn, False, True
            if drawn:
                self._screen.write(_CLEAR)
        return drawn
