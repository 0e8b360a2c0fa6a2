"""The line that shows how far the statements of a script are."""

import io
import threading

import pytest

from sqlfront.shell.progress import ProgressLine
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import OperationalError

SPARKS = Progress(stages=2, stages_done=1, tasks=10, tasks_done=7)


class AskedRun:
    """A statement that says this of its progress, and notes that it was asked."""

    def __init__(self, progress: Progress | Exception | None = None, rows: int = 0) -> None:
        self.asked = threading.Semaphore(0)
        self._said, self._rows = progress, rows

    def progress(self) -> Progress | None:
        self.asked.release()
        if isinstance(self._said, Exception):
            raise self._said
        return self._said

    def rows_read(self) -> int:
        return self._rows


def shown(*runs: AskedRun, patience: float = 0.0) -> str:
    """What a terminal gets while the statements run one after the other, until each was asked twice."""
    out = io.StringIO()
    with ProgressLine(out, patience, interval=0.001) as line:
        for run in runs:
            with line.during(run):
                assert run.asked.acquire(timeout=60)
                assert run.asked.acquire(timeout=60)
    return out.getvalue()


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (AskedRun(SPARKS, rows=5), "spark: 1 of 2 stages, 7 of 10 tasks, 0."),
        (AskedRun(rows=1234567), "1,234,567 rows read, 0."),
        (AskedRun(rows=1), "1 row read, 0."),
        (AskedRun(), "running, 0."),
        (AskedRun(OperationalError("the JVM has died")), "running, 0."),
    ],
)
def test_a_line_is_drawn_over_itself_and_removed(run: AskedRun, text: str) -> None:
    written = shown(run)

    *drawn, blanks, end = written.removeprefix("\r").split("\r")
    assert all(each.startswith(text) for each in drawn)
    assert (blanks, end) == (" " * len(drawn[-1]), "")
    assert "\n" not in written


def test_one_line_serves_all_statements() -> None:
    written = shown(AskedRun(SPARKS), AskedRun(rows=2))

    assert written.index("spark: 1 of 2 stages") < written.index("2 rows read")


def test_nothing_is_drawn_for_a_quick_statement() -> None:
    out = io.StringIO()
    with ProgressLine(out, 3600.0, interval=0.001) as line, line.during(AskedRun(SPARKS)):
        pass
    assert out.getvalue() == ""


def test_a_terminal_that_is_gone_ends_no_statement() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(5, "Input/output error")

    run = AskedRun(SPARKS)
    with ProgressLine(Gone(), 0.0, interval=0.001) as line, line.during(run):
        assert run.asked.acquire(timeout=60)
        assert run.asked.acquire(timeout=60)
