"""The statements of a file, and the verdict on each statement."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from sqlfront.check.checker import CheckedLane, Checker, Verdict
from sqlfront.check.python_texts import PythonTexts, python_texts
from sqlfront_planner.script import placed_statements
from sqlfront_planner.statements.query_parser import lead
from sqlfront_values.errors import ProgrammingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Finding(msgspec.Struct, frozen=True):
    """The verdict on a statement of a file: the lane that would run the statement, or the error that it would
    end with. The statement begins in ``line``, counted from 1."""

    line: int
    verdict: Verdict


def check_file(path: Path, spark: "SparkSession | None" = None) -> Iterator[Finding]:
    """Check the statements of a file in their order, and yield a finding for each. The file is a Python
    program if its name ends with ``.py``, else a SQL script. ``spark``: the Spark session beside which the
    statements would run, None = unknown. Raises OSError if the file can't be read, ProgrammingError if it
    isn't UTF-8 text, or no valid program."""
    try:
        source = path.read_text(encoding="utf-8-sig")
        return _in_program(python_texts(source), spark) if path.suffix == ".py" else _in_script(source, spark)
    except UnicodeDecodeError as error:
        raise ProgrammingError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except SyntaxError as error:
        raise ProgrammingError(f"{path}:{error.lineno}: invalid Python: {error.msg}") from error


def _in_script(source: str, spark: "SparkSession | None") -> Iterator[Finding]:
    with Checker(spark=spark) as checker:
        for found in placed_statements(source):
            yield Finding(1 + source.count("\n", 0, found.start), checker.check(found.text))


def _in_program(found: PythonTexts, spark: "SparkSession | None") -> Iterator[Finding]:
    with Checker(found.registered, found.views, spark) as checker:
        for text in found.texts:
            if text.text is None:
                yield Finding(text.line, Verdict(CheckedLane.UNKNOWN, text.why))
            else:
                place = lead(text.text) if text.lines else None
                before = 0 if place is None else text.text.count("\n", 0, place[0])
                yield Finding(text.line + before, checker.check(text.text, text.arguments))
