"""The progress of statements in the terminal's last line, while a script runs."""

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
    """A statement that tells how far it is; a :class:`~sqlfront_engine.jobs.query_run.QueryRun` is one."""

    def progress(self) -> Progress | None:
        """The progress of the job outside of the engine; None without such a job."""

    def rows_read(self) -> int:
        """The rows that the engine's jobs have read so far."""


def progress_text(query: RunningStatement) -> str:
    """Progress of a statement: the stages and tasks of a job of Spark, or the rows that a job of the engine
    has read."""
    try:
        elsewhere = query.progress()
    except Error:  # the statement itself raises the error
        elsewhere = None
    if elsewhere is not None:
        return f"spark: {elsewhere}"
    rows = query.rows_read()
    return f"{rows:,} row{'' if rows == 1 else 's'} read" if rows else "running"


class ProgressLine(ClosingContext):
    """A line in the terminal with the progress of the statement that runs, if the statement takes longer than
    ``patience`` seconds. One thread serves all statements of a script, so that a short one costs nothing."""

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
        """A context in which the line shows the progress of ``query``; the line is clear behind it."""
        with self.showing(partial(progress_text, query)):
            yield

    @contextmanager
    def showing(self, text: Callable[[], str]) -> Iterator[None]:
        """A context in which the line shows what ``text`` gives at the time; the line is clear behind it."""
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
        """Overwrite the text in the terminal's last line. A terminal that is gone ends no statement."""
        if text or self._width:
            with suppress(OSError):
                blanks = self._width - len(text)
                self._out.write(f"\r{text}{' ' * blanks}" + ("" if text else "\r"))
                self._out.flush()
            self._width = len(text)

    def close(self) -> None:
        """End the updates."""
        self._ended.set()


def _columns(out: TextIO) -> int:
    """The columns of the terminal; 80 if the terminal doesn't tell."""
    try:
        return os.get_terminal_size(out.fileno()).columns or 80
    except OSError:
        return 80
