"""What a text costs that no plan is there for, and a change by key: of several source trees, in turns.

    python -m benchmarks.first_sight [--trees . /tmp/base] [--turns 7]

Each tree has a process of its own. Every text of a first sight has an alias of its own, so that its plan
can't be there; an UPDATE by key has other literals each time. Printed as Markdown: medians of the turns'
medians in microseconds, and the ratio of the first tree to the last. All texts of a line begin alike, so what
is known of such beginnings counts.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

#: The measured statements; ``{n}`` counts.
STATEMENTS: Final = {
    "lookup, first sight": "SELECT s, n AS n_{n} FROM t WHERE k = {n}",
    "join, first sight": "SELECT a.s, b.n n_{n} FROM t a JOIN t b ON a.k = b.n WHERE a.k = {n} AND b.s > 'x'",
    "lookup, other literal": "SELECT s, n FROM t WHERE k = {n}",
    "UPDATE by key": "UPDATE t SET n = {n} WHERE k = {n}",
}
_ROWS: Final = 20_000
_RUNS: Final = 300
_PARTS: Final = ("", "engine", "planner", "connectors")


def main() -> None:
    """Measure and print; with ``--work`` run as one of the measured processes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", nargs="+", default=["."])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work()
        return
    workers = [worker(Path(tree).resolve()) for tree in options.trees]
    print(f"| us | {' | '.join(options.trees)} | first / last |")
    print(f"|---{'|---' * (len(workers) + 1)}|")
    for place, name in enumerate(STATEMENTS):
        turns = [[asked(process, place) for process in workers] for _ in range(options.turns)]
        medians = [statistics.median(times) for times in zip(*turns, strict=True)]
        ratio = statistics.median(turn[0] / turn[-1] for turn in turns)
        print(f"| {name} | {' | '.join(f'{median:,.0f}' for median in medians)} | {ratio:.2f} |", flush=True)
    for process in workers:
        process.kill()
        process.wait()


def worker(tree: Path) -> "subprocess.Popen[str]":
    """A process that measures with the sources of a tree."""
    path = os.pathsep.join(str(tree / part) for part in _PARTS)
    return subprocess.Popen(
        [sys.executable, "-P", __file__, "--work"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def asked(process: "subprocess.Popen[str]", place: int) -> float:
    """The median of a turn."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(place, file=process.stdin, flush=True)
    return float(process.stdout.readline())


def work() -> None:
    """Read numbers of statements from stdin; answer each with the statement's median."""
    import sqlfront

    cursor = sqlfront.connect().cursor()
    cursor.execute(f"CREATE TABLE t AS SELECT id AS k, concat('s', id) AS s, id AS n FROM range({_ROWS})")
    cursor.execute("CREATE INDEX t_k ON t (k)")
    texts, count = list(STATEMENTS.values()), 0
    for line in sys.stdin:
        times = []
        for _ in range(_RUNS):
            count += 1
            text = texts[int(line)].replace("{n}", str(count))
            began = time.perf_counter()
            cursor.execute(text)
            if cursor.description:
                cursor.fetchall()
            times.append(time.perf_counter() - began)
        print(statistics.median(times) * 1e6, flush=True)


if __name__ == "__main__":
    main()
