"""A case read by Spark and by sqlfront, and whether the two readings are the same."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Protocol

from py4j.protocol import Py4JJavaError

from tests.oracle.answers import Answer, Failure, Outcome, difference
from tests.oracle.files.cases import FileCase
from tests.oracle.files.worker import DIED, PATIENCE, RAISED, last_answer
from tests.oracle.spark import SparkSubject

_NOT_BUILT = "NotSupportedError"
#: What the conditions FAILED_READ_FILE say of a file.
_BROKEN = re.compile(r"while reading file (?P<path>\S+)\. ")
_SILENT = "SILENT"


class Verdict(Enum):
    """What comparing two readings says."""

    EQUAL = "equal"
    #: Spark and sqlfront refuse the files with the same condition.
    SAME_ERROR = "same error"
    #: sqlfront says by name that something isn't built.
    REFUSED = "refused"
    #: Spark is silent: its reader of ORC turns in a circle over some damaged files.
    SILENT = "silent"
    DIFFERENT = "DIFFERENT"
    #: The files have ended sqlfront's process, or kept it too long.
    DEATH = "DEATH"

    @property
    def is_fault(self) -> bool:
        """Whether something has to be mended."""
        return self in (Verdict.DIFFERENT, Verdict.DEATH)


@dataclass(frozen=True)
class Comparison:
    """The verdict over one case; ``words`` say what differs, or what isn't built."""

    verdict: Verdict
    words: str = ""


class Reader(Protocol):
    """Anything that answers SQL."""

    def answer(self, statements: Sequence[str], farewell: Sequence[str] = ()) -> Outcome:
        """What the last statement answers, or the first failure; then the statements that tidy up."""


class SparkReader:
    """Spark as a reader: errors of the JVM that carry no condition are failures, too; so is silence, of the
    condition SILENT."""

    def __init__(self, subject: SparkSubject, patience: float = PATIENCE) -> None:
        self._subject = subject
        self._patience = patience

    def answer(self, statements: Sequence[str], farewell: Sequence[str] = ()) -> Outcome:
        """Spark's answer."""
        return last_answer(self._answer, statements, farewell)

    def _answer(self, sql: str) -> Outcome:
        # In a thread that nobody waits for at the end: no interrupt reaches some of Spark's loops.
        answers: SimpleQueue[Outcome | BaseException] = SimpleQueue()
        threading.Thread(target=self._put_answer, args=(sql, answers), daemon=True).start()
        try:
            found = answers.get(timeout=self._patience)
        except Empty:
            return Failure(_SILENT, None, f"no answer after {self._patience:g} s")
        if isinstance(found, BaseException):
            raise found
        return found

    def _put_answer(self, sql: str, answers: SimpleQueue[Outcome | BaseException]) -> None:
        try:
            answers.put(self._spark_answer(sql))
        except BaseException as error:  # noqa: BLE001 -- raised where the answer is waited for
            answers.put(error)

    def _spark_answer(self, sql: str) -> Outcome:
        try:
            return self._subject.answer(sql)
        except Py4JJavaError as error:
            return Failure(None, None, str(error.java_exception)[:1000])


def compare(case: FileCase, spark: Reader, front: Reader, folder: Path, name: str) -> Comparison:
    """Write the case below the folder, have both read it, remove the files."""
    try:
        case.write(folder)
        if case.preparation:
            spark.answer([case.preparation.format(folder=folder)])
        statements, farewell = case.statements(folder, name), case.farewell(name)
        return judge(spark.answer(statements, farewell), front.answer(statements, farewell))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def judge(expected: Outcome, got: Outcome) -> Comparison:
    """Compare two outcomes. A failure of Spark without a condition is any failure of ours.

    >>> judge(Failure("A", None), Failure("A", None)).verdict
    <Verdict.SAME_ERROR: 'same error'>
    """
    if isinstance(got, Failure) and got.message.startswith(_NOT_BUILT):
        return Comparison(Verdict.REFUSED, got.message.splitlines()[0])
    if isinstance(got, Failure) and got.condition == DIED:
        return Comparison(Verdict.DEATH, got.message)
    if isinstance(expected, Failure) and expected.condition == _SILENT:
        return Comparison(Verdict.SILENT, expected.message)
    differs = difference(expected, got)
    match expected, got:
        case Failure(), Failure() if got.condition != RAISED and (
            differs is None or expected.condition in (None, got.condition) or _are_two_files(expected, got)
        ):
            return Comparison(Verdict.SAME_ERROR)
        case Answer(), Answer() if differs is None:
            return Comparison(Verdict.EQUAL)
        case _:
            return Comparison(Verdict.DIFFERENT, differs or "raised")


def _are_two_files(expected: Failure, got: Failure) -> bool:
    """Whether the failures are of two files, of which each engine tells the one that it has come to: Spark
    reads small files at once, and which of them fails first is chance."""
    found = [_BROKEN.search(failure.message) for failure in (expected, got)]
    names = [match and os.path.basename(match["path"]) for match in found]
    return None not in names and names[0] != names[1]
