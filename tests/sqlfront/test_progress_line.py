"""The line that shows how far Spark is."""

import io
import threading

from sqlfront.shell.progress import ProgressLine
from sqlfront_engine.jobs.query_run import Progress
from sqlfront_values.errors import OperationalError


def shown(progress: Progress | None) -> str:
    """What a terminal gets while a statement runs that says this, twice."""
    asked, out = threading.Semaphore(0), io.StringIO()

    def say() -> Progress | None:
        asked.release()
        return progress

    with ProgressLine(say, out, 0.0):
        assert asked.acquire(timeout=60)
        assert asked.acquire(timeout=60)
    return out.getvalue()


def test_a_line_is_drawn_over_itself_and_removed() -> None:
    written = shown(Progress(stages=2, stages_done=1, tasks=10, tasks_done=7))

    first, _, rest = written.removeprefix("\r").partition("\r")
    assert first.startswith("spark: 1 of 2 stages, 7 of 10 tasks, 0.")
    assert written.endswith("\r" + " " * len(rest.rstrip("\r").strip() or first) + "\r")
    assert "\n" not in written


def test_nothing_is_drawn_for_a_statement_that_is_not_sparks() -> None:
    assert shown(None) == ""


def test_nothing_is_drawn_for_a_quick_statement() -> None:
    out = io.StringIO()
    with ProgressLine(Progress, out):
        pass
    assert out.getvalue() == ""


def test_an_error_is_left_to_whoever_waits_for_the_statement() -> None:
    asked, out = threading.Event(), io.StringIO()

    def fail() -> Progress | None:
        asked.set()
        raise OperationalError("the JVM has died")

    with ProgressLine(fail, out, 0.0):
        assert asked.wait(60)
    assert out.getvalue() == ""
