"""A notebook on its way through sqlfront, statement by statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sqlfront import InternalError
from tests.oracle import slt
from tests.oracle.answers import Failure, Outcome
from tests.oracle.complete import differs_from, files
from tests.oracle.slt import Record
from tests.oracle.subject import Subject

FOLDER = Path(__file__).parent
NOTEBOOKS = {path.name: slt.read(path) for path in files([FOLDER])}

_REFUSAL = "NotSupportedError: "
_POSITION = re.compile(r"\s+(?:LINE \d+:|HINT:).*", re.DOTALL)
_SQLSTATE = re.compile(r"\.?\s*SQLSTATE: \w+\s*$")


class Verdict(Enum):
    """How sqlfront did with a statement."""

    NATIVE = "the outcome is Spark's"
    REFUSED = "a NotSupportedError names what isn't built"
    FOLLOWS = "another outcome, after a statement that made or changed something was refused"
    DIFFERENT = "another outcome"


@dataclass(frozen=True)
class Statement:
    """A statement of a notebook: its number among those that sqlfront runs, from 1, and what came of it.

    `detail`: the refusal's text without its place, or how the outcome differs; empty for a native one.
    """

    record: Record
    number: int
    verdict: Verdict
    detail: str

    @property
    def line(self) -> int:
        """The line of the SQL in the file."""
        return self.record.line


def run(records: list[Record], subject: Subject) -> Iterator[Statement]:
    """Run a notebook's statements in order; those that only Spark runs are left out."""
    broken = False
    own = [record for record in records if record.only != slt.SPARK]
    for number, record in enumerate(own, 1):
        outcome = _outcome(record, subject)
        verdict, detail = _judged(record, outcome, broken)
        broken |= verdict is not Verdict.NATIVE and not record.is_query
        yield Statement(record, number, verdict, detail)


def _outcome(record: Record, subject: Subject) -> Outcome:
    """The subject's outcome; its own fault, too, is one, so that a report comes to its end."""
    try:
        return subject.answer(record.sql)
    except InternalError as error:
        return Failure("INTERNAL_ERROR", None, f"InternalError: {error}")


def _judged(record: Record, outcome: Outcome, broken: bool) -> tuple[Verdict, str]:
    differs = differs_from(record, outcome)
    if differs is None:
        return Verdict.NATIVE, ""
    if isinstance(outcome, Failure) and outcome.message.startswith(_REFUSAL):
        return Verdict.REFUSED, refusal(outcome.message)
    return (Verdict.FOLLOWS if broken else Verdict.DIFFERENT), differs


def refusal(message: str) -> str:
    """What a refusal says, on one line and without place and SQLSTATE.

    >>> refusal("NotSupportedError: The function explode is not supported. SQLSTATE: 0A000")
    'The function explode is not supported'
    """
    text = _POSITION.sub("", message.removeprefix(_REFUSAL))
    return " ".join(_SQLSTATE.sub("", text).split()).rstrip(".")
