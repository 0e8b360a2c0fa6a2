"""Worker process of the point queries: one subject, which measures itself, since a question from another
process would cost more than its answer."""

import math
import multiprocessing
import threading
import time
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import cycle, islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from benchmarks.point_subjects import SUBJECTS, Ask, PointSubject, Rows

#: A text and its parameters (None: the text has none).
Question = tuple[str, tuple[object, ...] | None]


class Worker:
    """A process that holds one subject with its tables. An error in the process is raised here as a
    RuntimeError."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(name, str(folder), theirs), daemon=False)
        self._process.start()
        self._receive()  # loaded

    def answer(self, question: Question) -> Rows:
        """The rows that answer a question."""
        rows = self._request("answer", question)
        assert isinstance(rows, list)
        return rows

    def times(self, questions: Sequence[Question]) -> list[float]:
        """Microseconds of each question, asked one after the other."""
        times = self._request("times", questions)
        assert isinstance(times, list)
        return times

    def rate(self, questions: Sequence[Question], threads: int, seconds: float) -> float:
        """Questions per second that ``threads`` threads ask together."""
        rate = self._request("rate", questions, threads, seconds)
        assert isinstance(rate, float)
        return rate

    def close(self) -> None:
        """End the process."""
        self._connection.close()
        self._process.join(20)
        if self._process.is_alive():
            self._process.kill()

    def _request(self, *request: object) -> object:
        self._connection.send(request)
        return self._receive()

    def _receive(self) -> object:
        answer, failure = self._connection.recv()
        if failure:
            raise RuntimeError(f"{self.name}: {failure}")
        return answer


def _serve(name: str, folder: str, connection: Connection) -> None:
    """Load the tables, then serve requests."""
    subject = SUBJECTS[name]()
    connection.send(_try(lambda: subject.load(Path(folder))))
    while True:
        try:
            what, *arguments = connection.recv()
        except EOFError:
            return
        connection.send(_try(lambda: _WORK[what](subject, *arguments)))  # noqa: B023 - called at once


def _answer(subject: PointSubject, question: Question) -> list[tuple[object, ...]]:
    return [tuple(row) for row in subject.client()(*question)]


def _times(subject: PointSubject, questions: Sequence[Question]) -> list[float]:
    ask, now, times = subject.client(), time.perf_counter_ns, []
    for text, parameters in questions:
        began = now()
        ask(text, parameters)
        times.append((now() - began) / 1000)
    return times


def _rate(subject: PointSubject, questions: Sequence[Question], threads: int, seconds: float) -> float:
    counts = [0] * threads
    end = time.perf_counter() + seconds

    def work(place: int, ask: Ask) -> None:
        mine = islice(cycle(questions), place * len(questions) // threads, None)
        while time.perf_counter() < end:
            text, parameters = next(mine)
            ask(text, parameters)
            counts[place] += 1

    began = time.perf_counter()
    running = [threading.Thread(target=work, args=(place, subject.client())) for place in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


_WORK: Final[dict[str, Callable[..., object]]] = {"answer": _answer, "times": _times, "rate": _rate}


def _try(work: Callable[[], object]) -> tuple[object, str]:
    try:
        return work(), ""
    except Exception as error:  # noqa: BLE001 - reported to the other process
        return None, f"{type(error).__name__}: {str(error)[:500]}"


def same_rows(ours: Rows, theirs: Rows) -> bool:
    """Whether two answers hold the same rows in any order; SQLite has doubles for decimals and texts for
    dates."""
    one, other = sorted(map(_plain, ours)), sorted(map(_plain, theirs))
    return len(one) == len(other) and all(map(_same_row, one, other))


def _plain(row: Sequence[object]) -> tuple[object, ...]:
    return tuple(
        float(value) if isinstance(value, int | float | Decimal) else str(value).rstrip() for value in row
    )


def _same_row(ours: tuple[object, ...], theirs: tuple[object, ...]) -> bool:
    return len(ours) == len(theirs) and all(
        math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b
        for a, b in zip(ours, theirs, strict=True)
    )
