"""The progress of statements on the terminal's last line, while the command runs a script."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, Protocol, TextIO

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import Error

#: Seconds until the progress of a statement is shown, so that quick statements show none, and between
#: updates, so that a reader sees the numbers move.
PATIENCE: Final = 1.0
INTERVAL: Final = 0.2


class RunningStatement(Protocol):
    """A statement that reports its progress, such as a :class:`~sqlfront_engine.jobs.query_run.QueryRun`."""

    def progress(self) -> Progress | None:
        """Return the progress of the statement's job on Spark; None without such a job."""

    def rows_read(self) -> int:
        """Return the number of rows that the statement's light jobs have read so far."""


def progress_text(query: RunningStatement) -> str:
    """Return the text about the progress of a statement: the stages and tasks of its job on Spark, or else
    the number of rows that its light jobs have read, or ``running``."""
    try:
        elsewhere = query.progress()
    except Error:  # the statement itself raises the error
        elsewhere = None
    if elsewhere is not None:
        return f"spark: {elsewhere}"
    rows = query.rows_read()
    return f"{rows:,} row{'' if rows == 1 else 's'} read" if rows else "running"


class ProgressLine(ClosingContext):
    """A line in the terminal with the progress of the running statement. The line appears when the statement
    has run for ``patience`` seconds, and is drawn anew every ``interval`` seconds. One thread serves all
    statements of a script, so that a short statement costs nothing."""

    def __init__(self, out: TextIO, patience: float = PATIENCE, interval: float = INTERVAL) -> None:
        self._out = out
        self._patience, self._interval = patience, interval
        self._lock = threading.Lock()
        # Guarded by the lock: the progress of the statement that runs, the time of its begin, and the
        # characters in the line.
        self._text: Callable[[], str] | None = None
        self._began = 0.0
        self._width = 0
        self._ended = threading.Event()
        threading.Thread(target=self._show, name="sqlfront-progress", daemon=True).start()

    @contextmanager
    def during(self, query: RunningStatement) -> Iterator[None]:
        """Return a context in which the line shows the progress of ``query``; at the end, the line is
        cleared."""
        with self.showing(partial(progress_text, query)):
            yield

    @contextmanager
    def showing(self, text: Callable[[], str]) -> Iterator[None]:
        """Return a context in which the line shows the text that ``text`` returns, and the seconds since the
        context began. ``text`` is called for each update, on another thread. At the end, the line is
        cleared."""
        with self._lock:
            self._text, self._began = text, time.perf_counter()
        try:
            yield
        finally:
            with self._lock:
                self._text = None
                self._draw("")

    def _show(self) -> None:
        while not self._ended.wait(self._interval):
            with self._lock:
                shown, seconds = self._text, time.perf_counter() - self._began
            if shown is None or seconds < self._patience:
                continue
            text = f"{shown()}, {seconds:.1f} s"
            with self._lock:
                if self._text is shown:
                    self._draw(text[: _columns(self._out) - 1])

    def _draw(self, text: str) -> None:
        """Overwrite the terminal's last line with the text. Errors of the terminal are ignored, so that they
        fail no statement."""
        if text or self._width:
            with suppress(OSError):
                blanks = self._width - len(text)
                self._out.write(f"\r{text}{' ' * blanks}" + ("" if text else "\r"))
                self._out.flush()
            self._width = len(text)

    def close(self) -> None:
        """End the thread that updates the line."""
        self._ended.set()


def _columns(out: TextIO) -> int:
    """Return the number of columns of the terminal; 80 if it is unknown."""
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except OSError:
        return 80
