"""``sqlfront check``: which way each statement of some files would go."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path

from sqlfront.check.checker import Way
from sqlfront.check.files import check_file
from sqlfront_engine.errors import ProgrammingError


class ExitCode(IntEnum):
    """What the process ends with."""

    OK = 0
    """No statement needs Spark, as far as that can be told."""
    STATEMENT = 1
    """A statement would fail."""
    USAGE = 2
    """The arguments are wrong, or a file can't be read."""
    SPARK = 5
    """None would fail, but some need Spark."""


def main(arguments: Sequence[str]) -> int:
    """Run ``sqlfront check FILE ...``; returns the exit code. A line for each statement to stdout,
    ``file:line: way: reason``, and one that counts them to stderr."""
    options = _parser().parse_args(arguments)
    ways: Counter[Way] = Counter()
    try:
        for name in options.files:
            for found in check_file(Path(name)):
                ways[found.verdict.way] += 1
                print(f"{name}:{found.line}: {found.verdict.way}: {found.verdict.reason}", flush=True)
    except OSError as error:
        print(f"sqlfront: can't read {error.filename}: {error.strerror}", file=sys.stderr)
        return ExitCode.USAGE
    except ProgrammingError as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return ExitCode.USAGE
    count = ways.total()
    parts = "".join(f", {ways[way]} {way}" for way in Way if ways[way])
    print(f"{count} statement{'' if count == 1 else 's'}{parts}", file=sys.stderr)
    if ways[Way.ERROR]:
        return ExitCode.STATEMENT
    return ExitCode.SPARK if ways[Way.SPARK] else ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sqlfront check",
        description="Tell for each statement of scripts and Python programs (.py) which way it would go, and"
        " why. direct, light and command need no Spark, unknown can't be told before the program runs."
        " Nothing is run; what a statement creates is known to those behind it.",
        epilog="Exit codes: 0 no statement needs Spark, 1 one would fail, 2 usage, 5 some need Spark.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="a script, or a Python program (.py)")
    return parser
