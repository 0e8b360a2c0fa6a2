"""A case read by Spark and by sqlfront, and whether the two readings are the same."""

from __future__ import annotations

import shutil
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Protocol

from py4j.protocol import Py4JJavaError

from tests.oracle.answers import Answer, Failure, Outcome, difference
from tests.oracle.files.cases import FileCase
from tests.oracle.spark import SparkSubject
from tests.oracle.subject import Subject

_NOT_BUILT = "NotSupportedError"
#: The condition of what is no answer at all.
_RAISED = "RAISED"


class Verdict(Enum):
    """What comparing two readings says."""

    EQUAL = "equal"
    #: Spark and sqlfront refuse the files with the same condition.
    SAME_ERROR = "same error"
    #: sqlfront says by name that something isn't built.
    REFUSED = "refused"
    DIFFERENT = "DIFFERENT"


@dataclass(frozen=True)
class Comparison:
    """The verdict over one case; ``words`` say what differs, or what isn't built."""

    verdict: Verdict
    words: str = ""


class Reader(Protocol):
    """A subject: anything that answers SQL."""

    def answer(self, sql: str) -> Outcome:
        """Rows, or the error."""


class SparkReader:
    """Spark as a reader: errors of the JVM that carry no condition are failures, too."""

    def __init__(self, subject: SparkSubject) -> None:
        self._subject = subject

    def answer(self, sql: str) -> Outcome:
        """Spark's answer."""
        try:
            return self._subject.answer(sql)
        except Py4JJavaError as error:
            return Failure(None, None, str(error.java_exception)[:1000])


class FrontReader:
    """sqlfront as a reader: an error outside its hierarchy, and an InternalError, is a failure that equals
    none of Spark's. One statement at a time."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._turn = threading.Lock()

    def answer(self, sql: str) -> Outcome:
        """sqlfront's answer."""
        try:
            with self._turn:
                return self._subject.answer(sql)
        except Exception as error:  # noqa: BLE001 -- the oracle reports any error and goes on
            return Failure(_RAISED, None, f"{_RAISED} {type(error).__name__}: {error}")


def compare(case: FileCase, spark: Reader, front: Reader, folder: Path, name: str) -> Comparison:
    """Write the case below the folder, have both read it, remove the files."""
    try:
        case.write(folder)
        return judge(_read(case, spark, folder, name), _read(case, front, folder, name))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(case: FileCase, reader: Reader, folder: Path, name: str) -> Outcome:
    """What the last statement answers, or the first failure."""
    try:
        for statement in case.statements(folder, name):
            outcome = reader.answer(statement)
            if isinstance(outcome, Failure):
                break
        return outcome
    finally:
        for statement in case.farewell(name):
            reader.answer(statement)


def judge(expected: Outcome, got: Outcome) -> Comparison:
    """Compare two outcomes. A failure of Spark without a condition is any failure of ours.

    >>> judge(Failure("A", None), Failure("A", None)).verdict
    <Verdict.SAME_ERROR: 'same error'>
    """
    if isinstance(got, Failure) and got.message.startswith(_NOT_BUILT):
        return Comparison(Verdict.REFUSED, got.message.splitlines()[0])
    differs = difference(expected, got)
    match expected, got:
        case Failure(), Failure() if got.condition != _RAISED and (
            differs is None or expected.condition in (None, got.condition)
        ):
            return Comparison(Verdict.SAME_ERROR)
        case Answer(), Answer() if differs is None:
            return Comparison(Verdict.EQUAL)
        case _:
            return Comparison(Verdict.DIFFERENT, differs or "raised")
