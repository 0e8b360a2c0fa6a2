"""What it costs to look at the columns of many tables: information_schema, beside DuckDB's, in turns.

    python -m benchmarks.information_schema [--tables 1000] [--turns 5]

Each turn starts a process for each subject, which makes the tables and looks: at the columns of all tables
for the first time, again, again after one more table was made, and at those of one table, by another name
each time. Printed as Markdown: medians of the turns in milliseconds, wall and processor time of all threads,
and the ratio to DuckDB's.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

#: The looks, in their order; ``{n}`` is the table's number.
LOOKS: Final = ("first look", "again", "after a table was made", "at one table")
SUBJECTS: Final = ("sqlfront", "duckdb")
#: Looks of one kind in a process, but for the first look; the median counts.
_RUNS: Final = 9
_ALL: Final = "SELECT table_name, column_name, data_type FROM information_schema.columns"
_MADE: Final = "CREATE TABLE t{n} (k BIGINT, name {text}, price DECIMAL(10, 2), day DATE, size INT)"

#: A call that runs one statement and reads its rows.
Ask = Callable[[str], object]


def main() -> None:
    """Measure and print; with ``--work`` run as one of the measured processes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--work", choices=SUBJECTS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work, options.tables)
        return
    turns = [{name: worked(name, options.tables) for name in SUBJECTS} for _ in range(options.turns)]
    print(f"{options.tables} tables, {options.turns} turns, load {os.getloadavg()[0]:.1f} at the end.\n")
    print(f"| ms, wall / CPU | {' | '.join(SUBJECTS)} | ratio |\n|---|---|---|---|")
    for place, look in enumerate(LOOKS):
        print(f"| {look} | {row(turns, place)} |")


def row(turns: list[dict[str, list[tuple[float, float]]]], place: int) -> str:
    """The cells of a look."""
    cells = []
    for name in SUBJECTS:
        wall, cpu = (
            statistics.median(times) for times in zip(*(turn[name][place] for turn in turns), strict=True)
        )
        cells.append(f"{wall * 1e3:.1f} / {cpu * 1e3:.1f}")
    ours, peers = SUBJECTS
    ratios = (
        statistics.median(turn[ours][place][kind] / turn[peers][place][kind] for turn in turns)
        for kind in (0, 1)
    )
    return " | ".join([*cells, " / ".join(f"{ratio:.2f}" for ratio in ratios)])


def worked(subject: str, tables: int) -> list[tuple[float, float]]:
    """The wall and processor seconds of each look, by a process of the subject's own."""
    command = [sys.executable, "-m", __spec__.name, "--work", subject, "--tables", str(tables)]
    printed = subprocess.check_output(command, text=True).split()
    return [(float(wall), float(cpu)) for wall, cpu in zip(printed[::2], printed[1::2], strict=True)]


def work(subject: str, tables: int) -> None:
    """Make the tables, look, and print the seconds of each look."""
    ask = asks(subject)
    made = _MADE.replace("{text}", "STRING" if subject == "sqlfront" else "VARCHAR")
    for number in range(tables):
        ask(made.replace("{n}", str(number)))
    for wall, cpu in looks(ask, made, tables):
        print(wall, cpu)


def looks(ask: Ask, made: str, tables: int) -> Iterator[tuple[float, float]]:
    """The seconds of each look of :data:`LOOKS`."""
    yield timed(ask, _ALL)
    yield middle([timed(ask, _ALL) for _ in range(_RUNS)])
    after = []
    for number in range(tables, tables + _RUNS):
        ask(made.replace("{n}", str(number)))
        after.append(timed(ask, _ALL))
    yield middle(after)
    yield middle([timed(ask, f"{_ALL} WHERE table_name = 't{number}'") for number in range(_RUNS)])


def asks(subject: str) -> Ask:
    """The call of a subject: SQL text in, Python tuples out."""
    if subject == "duckdb":
        import duckdb

        peer = duckdb.connect()
        return lambda text: peer.execute(text).fetchall()
    import sqlfront

    cursor = sqlfront.connect().cursor()

    def ask(text: str) -> object:
        cursor.execute(text)
        return cursor.fetchall() if cursor.description else None

    return ask


def timed(ask: Ask, text: str) -> tuple[float, float]:
    """The wall and processor seconds of a statement."""
    began, used = time.perf_counter(), time.process_time()
    ask(text)
    return time.perf_counter() - began, time.process_time() - used


def middle(times: list[tuple[float, float]]) -> tuple[float, float]:
    """The medians of both times."""
    walls, cpus = zip(*times, strict=True)
    return statistics.median(walls), statistics.median(cpus)


if __name__ == "__main__":
    main()
