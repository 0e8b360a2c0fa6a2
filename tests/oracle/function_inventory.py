"""Spark's own list of functions, answered by both: ``python -m tests.oracle.function_inventory``.

The command walks SHOW FUNCTIONS of a live Spark, takes the examples of DESCRIBE FUNCTION EXTENDED, and
runs each here and on Spark. It prints the examples that differ or are refused, the functions that are
missing here, and a table by Spark's groups. ``--only to_char,to_number`` asks for some functions;
``--quiet`` prints the differences and the totals alone. The exit status is 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from docs_build.functions import grouped
from sqlfront_planner.binder.functions.function_names import function_names
from tests.oracle.answers import Answer, Failure, Outcome, difference
from tests.oracle.function_texts import described
from tests.oracle.spark import SparkOracle, SparkSubject
from tests.oracle.subject import Subject

_EXAMPLE = re.compile(r"^\s*> (.*?);\s*$", re.MULTILINE | re.DOTALL)
#: Functions whose value is another at each call, or another here than on Spark: only names and types are
#: compared.
VOLATILE = frozenset(
    {
        "aes_encrypt",
        "current_date",
        "current_time",
        "current_timestamp",
        "curdate",
        "current_user",
        "localtime",
    }
    | {
        "localtimestamp",
        "now",
        "rand",
        "randn",
        "random",
        "session_user",
        "shuffle",
        "user",
        "uuid",
        "version",
    }
    | {"unix_timestamp", "current_database", "current_schema", "input_file_name"}
    | {"collect_set", "current_path"}
)


class Verdict(Enum):
    """What comes of one example."""

    SAME = "same"
    """Both give the same answer, or the same error."""
    REFUSED = "refused"
    """sqlfront raises NotSupportedError where Spark answers."""
    DIFFERENT = "different"
    """Anything else: a wrong answer, or another error."""


@dataclass(frozen=True)
class Judged:
    """An example with its verdict; ``words`` say what differs, empty if nothing does."""

    function: str
    sql: str
    verdict: Verdict
    words: str = ""


def examples(extended: str) -> list[str]:
    """The statements of a function's examples, in their order.

    >>> examples("\\n    Examples:\\n      > SELECT abs(-1);\\n       1\\n      > SELECT\\n abs(2);\\n")
    ['SELECT abs(-1)', 'SELECT\\n abs(2)']
    """
    return [match[1].strip() for match in _EXAMPLE.finditer(extended)]


def judged(function: str, statements: Iterable[str], here: Subject, spark: SparkSubject) -> Iterator[Judged]:
    """Run the statements on both sides, one after the other. What comes after a refused SET is refused, too:
    it would run here with other settings than on Spark."""
    refused = False
    for sql in statements:
        expected, got = spark.answer(sql), here.answer(sql)
        words = difference(expected, got, approximate=True)
        if words is not None and function in VOLATILE and _same_columns(expected, got):
            words = None
        if refused:
            yield Judged(function, sql, Verdict.REFUSED, "after a refused setting")
        elif words is None:
            yield Judged(function, sql, Verdict.SAME)
        elif isinstance(got, Failure) and got.message.startswith("NotSupportedError"):
            refused = sql.startswith("SET ")
            yield Judged(function, sql, Verdict.REFUSED, got.message.splitlines()[0])
        else:
            yield Judged(function, sql, Verdict.DIFFERENT, words)


def _same_columns(expected: Outcome, got: Outcome) -> bool:
    return isinstance(expected, Answer) and isinstance(got, Answer) and expected.columns == got.columns


def inventory(spark: SparkOracle, only: frozenset[str]) -> Iterator[Judged]:
    """Judge the examples of Spark's functions, of those named in ``only`` if any is."""
    for text in described(spark.new_session()):
        statements = examples(text.extended)
        if statements and (not only or text.name in only):
            # Examples may set settings and make tables: each function has sessions of its own on both sides.
            with Subject() as here:
                yield from judged(text.name, statements, here, spark.begin_file())


def table(results: Iterable[Judged]) -> str:
    """The counts by Spark's groups of functions, as a table in Markdown."""
    here = frozenset(function_names())
    verdicts: dict[str, Counter[Verdict]] = {}
    for result in results:
        verdicts.setdefault(result.function, Counter())[result.verdict] += 1
    lines = [
        "| area | functions | known | examples same | refused | different |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    groups = grouped()
    everything = [name for members in groups.values() for name in members]
    for group, names in [*groups.items(), ("all", everything)]:
        counts = sum((verdicts.get(name, Counter()) for name in names), Counter[Verdict]())
        numbers = [len(names), len(here.intersection(names)), *(counts[verdict] for verdict in Verdict)]
        lines.append(f"| {group} | {' | '.join(map(str, numbers))} |")
    return "\n".join(lines)


def main() -> None:
    """Ask a Spark of its own, and print what comes out."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.function_inventory", description=__doc__)
    parser.add_argument("--only", default="", help="names of functions, separated by commas")
    parser.add_argument("--quiet", action="store_true", help="print differences and totals alone")
    given = parser.parse_args()
    results = []
    with SparkOracle() as spark:
        for result in inventory(spark, frozenset(filter(None, given.only.split(",")))):
            results.append(result)
            if result.verdict is Verdict.DIFFERENT or (result.words and not given.quiet):
                print(
                    f"{result.verdict.value}: {result.function}: {result.sql}\n  {result.words}", flush=True
                )
    here = frozenset(function_names())
    if not given.quiet and not given.only:
        for group, names in grouped().items():
            missing = [name for name in names if name not in here]
            print(f"missing of {group}: {' '.join(missing)}" if missing else f"complete: {group}")
    print(table(results))
    sys.exit(any(result.verdict is Verdict.DIFFERENT for result in results))


if __name__ == "__main__":
    main()
