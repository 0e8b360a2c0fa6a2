"""Fill in or check the answers in `.slt` files with Spark.

    python -m tests.oracle.complete [PATH ...]             fill in the queries that have no answer yet python
    -m tests.oracle.complete --check [PATH ...]     change nothing; exit 1 where Spark answers otherwise
    python -m tests.oracle.complete --rewrite [PATH ...]   store Spark's answer wherever it differs

A path is a file or a folder; without one, `tests/slt`. An answer that is the same by the rules of `answers`
is never rewritten, so that free order makes no difference in review.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path

from tests.oracle import slt
from tests.oracle.answers import Failure, Outcome, difference
from tests.oracle.spark import SparkOracle

SLT_FOLDER = Path(__file__).parent.parent / "slt"


class Mode(Enum):
    """What to do with the stored answers."""

    FILL = "answer what has no answer"
    CHECK = "change nothing, report differences"
    REWRITE = "store what differs"


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 if something differs or a statement fails."""
    parser = argparse.ArgumentParser(prog="tests.oracle.complete", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, default=[SLT_FOLDER])
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", dest="mode", action="store_const", const=Mode.CHECK, default=Mode.FILL)
    group.add_argument("--rewrite", dest="mode", action="store_const", const=Mode.REWRITE)
    options = parser.parse_args(arguments)
    problems = 0
    with SparkOracle() as spark:
        for path in files(options.paths):
            for problem in complete(path, spark, options.mode):
                problems += 1
                print(problem, flush=True)
    return 1 if problems else 0


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """The `.slt` files among the paths and in the folders among them, in order of name."""
    for path in paths:
        yield from sorted(path.glob("**/*.slt")) if path.is_dir() else [path]


def complete(path: Path, spark: SparkOracle, mode: Mode) -> list[str]:
    """Run a file on Spark; give back the problems, and write the file if its answers changed."""
    spark.begin_file()
    problems: list[str] = []
    before = slt.blocks(path)
    after = [
        _completed(block, spark, mode, problems) if isinstance(block, slt.Record) else block
        for block in before
    ]
    if after != before:
        slt.write(path, after)
    return problems


def _completed(record: slt.Record, spark: SparkOracle, mode: Mode, problems: list[str]) -> slt.Record:
    if record.only == slt.SQLFRONT:
        return record
    if record.is_query and record.expected is not None and mode is Mode.FILL:
        return record
    got = spark.answer(record.sql)
    differs = differs_from(record, got)
    if differs is None:
        return record
    if record.is_query and (record.expected is None or mode is Mode.REWRITE) and mode is not Mode.CHECK:
        if isinstance(got, Failure) or got.columns:
            return record.answered(got)
        differs = "gives no rows: make it a statement"
    problems.append(f"{record.place}: {differs}\n{record.sql}")
    return record


def differs_from(record: slt.Record, got: Outcome) -> str | None:
    """How an outcome differs from what the record stores; None if it doesn't."""
    if record.is_query and record.expected is None:
        return "has no answer yet"
    if record.expected is None:
        return f"statement failed: {got.condition} {got.message}" if isinstance(got, Failure) else None
    return difference(record.expected, got, ordered=record.ordered, approximate=record.approximate)


if __name__ == "__main__":
    sys.exit(main())
