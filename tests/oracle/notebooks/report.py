"""Run the notebooks on sqlfront and count: how many statements are native, refused (by what), different.

    python -m tests.oracle.notebooks.report              counts, refusals by construct, each difference
    python -m tests.oracle.notebooks.report --write      the same, and `gaps.txt` is written anew
    python -m tests.oracle.notebooks.report --only 12    one notebook, with every statement's verdict

Exit status 1 if a statement's outcome is different.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from tests.oracle.notebooks import gaps
from tests.oracle.notebooks.runs import NOTEBOOKS, Statement, Verdict, run
from tests.oracle.subject import Subject


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 if a statement's outcome is different."""
    parser = argparse.ArgumentParser(prog="tests.oracle.notebooks.report")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--write", action="store_true", help="write gaps.txt anew")
    group.add_argument("--only", default="", help="the beginning of a notebook's name")
    options = parser.parse_args(arguments)
    statements: list[Statement] = []
    for name, records in NOTEBOOKS.items():
        if name.startswith(options.only):
            with Subject() as subject:
                statements += run(records, subject)
    if options.only:
        for each in statements:
            print(f"{each.record.place} {each.verdict.name.lower()} {each.detail}".rstrip())
    print(summary(statements))
    if options.write:
        gaps.write(statements)
    return 1 if any(each.verdict is Verdict.DIFFERENT for each in statements) else 0


def summary(statements: list[Statement]) -> str:
    """Differences in full, refusals by what they say, then the counts."""
    lines = []
    for each in statements:
        if each.verdict is Verdict.DIFFERENT:
            lines += [f"DIFFERENT {each.record.place}", each.record.sql, each.detail, ""]
    refusals = Counter(each.detail for each in statements if each.verdict is Verdict.REFUSED)
    lines += [f"{count:5} refused: {detail}" for detail, count in refusals.most_common()]
    verdicts = Counter(each.verdict for each in statements)
    counts = ", ".join(f"{verdicts[verdict]} {verdict.name.lower()}" for verdict in Verdict)
    notebooks = {each.record.file for each in statements}
    whole = notebooks - {each.record.file for each in statements if each.verdict is not Verdict.NATIVE}
    total = f"{len(statements)} statements of {len(notebooks)} notebooks"
    lines.append(f"{total}: {counts}; notebooks that are native as a whole: {len(whole)}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
