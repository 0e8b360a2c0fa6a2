"""The cost of what operators see: a lookup and a small job, observed and not, in turns within one process.

    python -m benchmarks.observation [--turns 15] [--runs 400]

Each session has the same table; the sessions take turns, so that a busy machine slows all of them. Printed as
Markdown: the median of a statement's time in microseconds, and its ratio to that without an observer. The
spans of ``tracing`` go to a provider without exporter, as an application's own cost is not sqlfront's.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

import sqlfront
from sqlfront import Config

#: The configurations, by name; the first one is the reference.
CONFIGS = {
    "off": Config(),
    "history": Config(query_history=100),
    "log": Config(slow_query=60.0),
    "metrics": Config(metrics="127.0.0.1:0"),
    "tracing": Config(tracing=True),
    "all": Config(query_history=100, slow_query=60.0, metrics="127.0.0.1:0", tracing=True),
}

#: A call that runs one statement of a given number and reads its rows.
Ask = Callable[[int], object]


def asks(connection: sqlfront.Connection) -> dict[str, Ask]:
    """The statements to measure on a connection."""
    connection.execute(
        "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id * 2 AS v FROM range(100000)"
    )
    cursor, lookup = connection.cursor(), connection.prepare("SELECT v FROM t WHERE k = ?")
    return {
        "lookup, prepared": lambda number: cursor.execute(lookup, [number]).fetchall(),
        "lookup, new text": lambda number: cursor.execute(f"SELECT v FROM t WHERE k = {number}").fetchall(),
        "small job": lambda number: cursor.execute(
            "SELECT sum(v) FROM t WHERE k BETWEEN ? AND ?", [number, number + 5000]
        ).fetchall(),
    }


def seconds(ask: Ask, runs: int) -> list[float]:
    """The times of the runs."""
    found = []
    for number in range(runs):
        began = time.perf_counter()
        ask(number)
        found.append(time.perf_counter() - began)
    return found


def main() -> int:
    options = _options()
    trace.set_tracer_provider(TracerProvider())
    times: dict[tuple[str, str], list[float]] = {}
    with ExitStack() as open_connections:
        subjects = {
            name: asks(open_connections.enter_context(sqlfront.connect(config=config)))
            for name, config in CONFIGS.items()
        }
        statements = tuple(subjects["off"])
        for turn in range(options.turns + 1):
            for statement in statements:
                runs = options.runs // 10 if statement == "small job" else options.runs
                for name, each in subjects.items():
                    measured = statistics.median(seconds(each[statement], runs))
                    if turn:
                        times.setdefault((statement, name), []).append(measured)
    print(f"{options.turns} turns of {options.runs} runs, load {os.getloadavg()[0]:.1f} at the end.\n")
    for line in report(statements, times):
        print(line)
    return 0


def report(statements: Sequence[str], times: dict[tuple[str, str], list[float]]) -> list[str]:
    """The lines of the table: medians over the turns, and the medians of the turns' ratios."""
    lines = [f"| | {' | '.join(CONFIGS)} |", f"|---|{'---|' * len(CONFIGS)}"]
    for statement in statements:
        cells = []
        for name in CONFIGS:
            median = statistics.median(times[statement, name]) * 1e6
            pairs = zip(times[statement, name], times[statement, "off"], strict=True)
            cells.append(f"{median:.1f} us ({statistics.median(one / off for one, off in pairs):.2f})")
        lines.append(f"| {statement} | {' | '.join(cells)} |")
    return lines


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--runs", type=int, default=400)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
