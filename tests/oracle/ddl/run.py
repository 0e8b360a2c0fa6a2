"""Have a live Spark and sqlfront answer the same sequences of DDL, each in an empty catalog.

    python -m tests.oracle.ddl.run --count 100 --seed 1 [--length 40] [--only 7]

Prints each answer that differs, with the statements before it; exit status 1 if one did. A sequence
ends where one engine alone has an error, since the two states may differ from there on.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from tests.oracle.answers import Answer, Failure, Outcome, difference
from tests.oracle.ddl.documented import FILES, MEMORY, comparable
from tests.oracle.ddl.statements import PROVIDERS, Author
from tests.oracle.spark import SparkOracle, SparkSubject
from tests.oracle.subject import Subject


@dataclass
class Report:
    """How the statements of some sequences ended, and where the engines differ."""

    endings: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)


def compare(spark: SparkOracle, sequence: Iterator[str], report: Report) -> None:
    """Have both answer the statements of a sequence, until their states may differ."""
    past: list[str] = []
    with Subject() as subject:
        session = in_default_schema(spark)
        for sql in sequence:
            past.append(sql)
            expected = session.answer(sql.replace(MEMORY, FILES))
            got = subject.answer(sql)
            report.endings[_ending(expected, got)] += 1
            differs = difference(comparable(expected), comparable(got), ordered=not sql.startswith("SELECT"))
            if differs is not None:
                report.differences.append("\n".join([*past, differs]))
            if isinstance(expected, Failure) != isinstance(got, Failure):
                return


def in_default_schema(spark: SparkOracle) -> SparkSubject:
    """A new session of Spark's in the schema ``default``, where sqlfront has its relations, without any."""
    subject = spark.begin_file()
    subject.session.sql("USE default")
    empty(subject.session)
    return subject


def empty(session: SparkSession) -> None:
    """Drop all that is in the schema ``default``, with its comment."""
    for table in session.catalog.listTables("default"):
        if not table.isTemporary:
            session.sql(f"DROP TABLE default.`{table.name}`")
    session.catalog.clearCache()
    session.sql("COMMENT ON SCHEMA default IS 'default database'")


def _ending(expected: Outcome, got: Outcome) -> str:
    if isinstance(expected, Answer):
        return "rows" if expected.columns else "done"
    return f"{expected.condition}"


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="sequences")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=40, help="statements of a sequence")
    parser.add_argument("--only", type=int, help="the number of the one sequence to run")
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else (options.only,)
    report = Report()
    with SparkOracle() as spark:
        for number in numbers:
            author = Author(f"{options.seed} {number}", PROVIDERS[number % len(PROVIDERS)])
            before = len(report.differences)
            compare(spark, author.sequence(options.length), report)
            for text in report.differences[before:]:
                print(f"---- sequence {number}\n{text}", flush=True)
    print(
        f"{report.endings.total()} statements, {len(report.differences)} differences: {dict(report.endings)}"
    )
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main())
