"""The command ``sqlfront check``, which tells for each statement of files whether sqlfront or Spark would run
it, and why."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from sqlfront.check.checker import CheckedLane
from sqlfront.check.files import check_file
from sqlfront.config import Config
from sqlfront.spark import start
from sqlfront.state.options import Options
from sqlfront_values.errors import OperationalError, ProgrammingError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class CheckExitCode(IntEnum):
    """The exit codes of ``sqlfront check``."""

    OK = 0
    """No statement is known to need Spark."""
    STATEMENT = 1
    """A statement would fail."""
    USAGE = 2
    """The arguments are wrong, or a file can't be read."""
    CONNECT = 3
    """The Spark session could not be started."""
    SPARK = 5
    """No statement would fail, but some need Spark."""


def main(arguments: Sequence[str]) -> int:
    """Run ``sqlfront check [--spark URL] FILE ...``; return a :class:`CheckExitCode`. For each statement in
    the files, print ``file:line: lane: reason`` to stdout; instead of a lane, print "error" for a statement
    that would fail, and "unknown" if only a run could tell the lane. At the end, print a line with the counts
    to stderr. No statement is run."""
    options = _parser().parse_args(arguments)
    ways: Counter[CheckedLane] = Counter()
    try:
        with _session(options.spark) as spark:
            for name in options.files:
                for found in check_file(Path(name), spark):
                    ways[found.verdict.way] += 1
                    print(f"{name}:{found.line}: {found.verdict.way}: {found.verdict.reason}", flush=True)
    except OSError as error:
        print(f"sqlfront: can't read {error.filename}: {error.strerror}", file=sys.stderr)
        return CheckExitCode.USAGE
    except ProgrammingError as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return CheckExitCode.USAGE
    except OperationalError as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return CheckExitCode.CONNECT
    count = ways.total()
    parts = "".join(f", {ways[way]} {way}" for way in CheckedLane if ways[way])
    print(f"{count} statement{'' if count == 1 else 's'}{parts}", file=sys.stderr)
    if ways[CheckedLane.ERROR]:
        return CheckExitCode.STATEMENT
    return CheckExitCode.SPARK if ways[CheckedLane.SPARK] or ways[CheckedLane.MIXED] else CheckExitCode.OK


@contextmanager
def _session(url: str | None) -> "Iterator[SparkSession | None]":
    """Return a context whose value is the Spark session at ``url``, the address of a Spark master or of a
    Spark Connect server; None without a ``url``. Raises OperationalError if the session can't be started."""
    if url is None:
        yield None
        return
    with start.SparkStart(url, Options(Config()).of_spark) as started:
        yield started.wait("statements are checked beside it").link.spark


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sqlfront check",
        description="Tell for each statement of scripts and Python programs (.py) which way it would go, and"
        " why. direct, light and command need no Spark, unknown can't be told before the program runs."
        " Nothing is run; what a statement creates is known to those behind it.",
        epilog="Exit codes: 0 no statement needs Spark, 1 one would fail, 2 usage, 3 no Spark session,"
        " 5 some need Spark.",
    )
    parser.add_argument(
        "--spark",
        metavar="URL",
        help="check them beside that Spark session, whose tables and views are known then: a master such as"
        " local[4], or sc://host for a server of Spark Connect",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a script, or a Python program (.py)")
    return parser
