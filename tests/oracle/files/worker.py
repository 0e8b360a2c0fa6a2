"""sqlfront as a reader in a process of its own: a file that ends the process, or keeps it for a minute, is
a failure that equals none of Spark's, and the next statements have a new process."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Final, Self

from tests.oracle.answers import Failure, Outcome
from tests.oracle.subject import Subject

#: The conditions of what is no answer at all: another error than sqlfront's, and no process any more.
RAISED: Final = "RAISED"
DIED: Final = "DIED"
#: Seconds after which a process counts as dead.
PATIENCE: Final = 60.0


class FrontReader:
    """A context manager that owns the process. An error outside sqlfront's hierarchy, and an InternalError,
    has the condition RAISED; the end of the process DIED. ``serve`` is what the process runs."""

    def __init__(self, patience: float = PATIENCE, serve: Callable[[Connection], None] | None = None) -> None:
        self._patience = patience
        self._serve = serve or serve_subject
        self._turn = threading.Lock()
        self._context = multiprocessing.get_context("spawn")

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def answer(self, statements: Sequence[str], farewell: Sequence[str] = ()) -> Outcome:
        """What the last statement answers, or the first failure. Nobody else's statements come between, as
        these may end the process and with it what the first ones have made."""
        with self._turn:
            return last_answer(self._answer, statements, farewell)

    def _answer(self, sql: str) -> Outcome:
        try:
            self._pipe.send(sql)
            if self._pipe.poll(self._patience):
                outcome: Outcome = self._pipe.recv()
                return outcome
            words = f"no answer after {self._patience:g} s"
        except (EOFError, OSError):
            self._process.join(self._patience)
            words = f"the process ended with {_status(self._process.exitcode)}"
        self._stop()
        self._start()
        return Failure(DIED, None, f"{DIED}: {words}")

    def _start(self) -> None:
        self._pipe, far = self._context.Pipe()
        self._process = self._context.Process(target=self._serve, args=(far,), daemon=True)
        self._process.start()
        far.close()

    def _stop(self) -> None:
        self._pipe.close()
        self._process.kill()
        self._process.join()


def _status(code: int | None) -> str:
    return f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"status {code}"


def serve_subject(pipe: Connection) -> None:
    """Answer statements until the other end is closed."""
    with Subject() as subject:
        while True:
            try:
                sql = pipe.recv()
            except EOFError:
                return
            pipe.send(_answer(subject, sql))


def _answer(subject: Subject, sql: str) -> Outcome:
    try:
        return subject.answer(sql)
    except Exception as error:  # noqa: BLE001 -- the oracle reports any error and goes on
        return Failure(RAISED, None, f"{RAISED} {type(error).__name__}: {error}")


def last_answer(
    answer: Callable[[str], Outcome], statements: Sequence[str], farewell: Sequence[str]
) -> Outcome:
    """What the last statement answers, or the first failure; then the statements that tidy up."""
    try:
        for statement in statements:
            outcome = answer(statement)
            if isinstance(outcome, Failure):
                break
        return outcome
    finally:
        for statement in farewell:
            answer(statement)
