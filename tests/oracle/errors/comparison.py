"""The words of sqlfront's errors beside Spark's.

python -m tests.oracle.errors.comparison            each difference, and the counts
python -m tests.oracle.errors.comparison --write    the same, and `gaps.txt` is written anew
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.oracle.answers import Failure
from tests.oracle.errors import stored
from tests.oracle.gaps import Key, key
from tests.oracle.slt import SPARK, Record
from tests.oracle.subject import Subject

#: The records whose words differ still.
GAPS: Final = Path(__file__).parent / "gaps.txt"


def compare() -> tuple[dict[Key, str], Counter[str]]:
    """The records whose words differ, each with both texts, and how many records of each condition have
    Spark's words. Records with another condition than Spark's are known gaps of ``tests/slt``."""
    expected, different, same = stored.read(), {}, Counter[str]()
    for record, failure in _failures():
        theirs, ours = expected.get(key(record)), stored.words(failure.message)
        if theirs is None or record.expected != failure:
            continue
        if ours == theirs:
            same[str(failure.condition)] += 1
        else:
            different[key(record)] = f"Spark:    {theirs}\nsqlfront: {ours}"
    return different, same


def _failures() -> Iterator[tuple[Record, Failure]]:
    """The failing records, with the errors that sqlfront raises for them."""
    for _, records in stored.records():
        with Subject() as subject:
            for record in records:
                if record.only == SPARK or (record.is_query and not stored.fails(record)):
                    continue
                outcome = subject.answer(record.sql)
                if record.is_query and isinstance(outcome, Failure):
                    yield record, outcome


def shown(record: Key) -> str:
    """The line of a record in gaps.txt."""
    return f"{record.file}: {record.sql}"


def main(arguments: list[str] | None = None) -> None:
    """Print the differences."""
    parser = argparse.ArgumentParser(prog="tests.oracle.errors.comparison")
    parser.add_argument("--write", action="store_true", help="write gaps.txt anew")
    options = parser.parse_args(arguments)
    different, same = compare()
    for record, texts in different.items():
        print(f"{shown(record)}\n{texts}\n")
    print(f"{same.total()} errors of {len(same)} conditions with Spark's words, {len(different)} with others")
    if options.write:
        GAPS.write_text("".join(f"{shown(record)}\n" for record in different), encoding="utf-8")


if __name__ == "__main__":
    main()
