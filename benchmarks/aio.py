"""Lookups per second of sqlfront's threads and asyncio tasks, and of DuckDB's threads, in one run.

python -m benchmarks.aio --rows 100000 --seconds 2 --rounds 3

Each way asks lookups by key of a table in memory, each of another key; the ways take turns, and the median of
the rounds is printed. `--tasks` says how many tasks or threads ask at once.
"""

import argparse
import asyncio
import statistics
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import count

import duckdb

import sqlfront
from sqlfront.aio import AsyncConnection

QUERY = "SELECT v FROM t WHERE k = ?"


def threads_rate(ask: Callable[[], Callable[[int], object]], askers: int, rows: int, seconds: float) -> float:
    """Lookups per second of so many threads; ``ask`` makes each thread's own function."""
    end = time.perf_counter() + seconds
    counts = [0] * askers

    def run(place: int) -> None:
        one, done = ask(), 0
        while time.perf_counter() < end:
            one((place * 7919 + done) % rows)
            done += 1
        counts[place] = done

    threads = [threading.Thread(target=run, args=(place,)) for place in range(askers)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - began)


def tasks_rate(connection: AsyncConnection, askers: int, rows: int, seconds: float) -> float:
    """Lookups per second of so many tasks."""

    async def run(place: int, end: float) -> int:
        cursor = connection.cursor()
        for done in count():
            if time.perf_counter() >= end:
                return done
            await cursor.execute(QUERY, [(place * 7919 + done) % rows])
            await cursor.fetchall()
        raise AssertionError

    async def main() -> float:
        began = time.perf_counter()
        counts = await asyncio.gather(*(run(place, began + seconds) for place in range(askers)))
        return sum(counts) / (time.perf_counter() - began)

    return asyncio.run(main())


def main() -> None:
    """Measure and print all ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, nargs="*", default=[1, 4, 200])
    options = parser.parse_args()

    connection = sqlfront.connect()
    connection.execute(
        "CREATE TABLE t USING memory CLUSTERED BY (k)"
        f" AS SELECT id AS k, concat('v', id) AS v FROM range({options.rows})"
    )
    peer = duckdb.connect()
    peer.execute(f"CREATE TABLE t AS SELECT i AS k, 'v' || i AS v FROM range({options.rows}) AS r(i)")
    peer.execute("CREATE INDEX i ON t (k)")
    tasks = AsyncConnection(connection)

    def ours() -> Callable[[int], object]:
        cursor = connection.cursor()
        return lambda key: cursor.execute(QUERY, [key]).fetchall()

    def theirs() -> Callable[[int], object]:
        cursor = peer.cursor()
        return lambda key: cursor.execute(QUERY, [key]).fetchall()

    for askers in options.tasks:
        ways: dict[str, Callable[[], float]] = {
            "sqlfront threads": partial(threads_rate, ours, askers, options.rows, options.seconds),
            "sqlfront.aio tasks": partial(tasks_rate, tasks, askers, options.rows, options.seconds),
            "duckdb threads": partial(threads_rate, theirs, askers, options.rows, options.seconds),
        }
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(options.rounds):
            for name, way in ways.items():
                rates[name].append(way())
        for name, found in rates.items():
            print(f"{askers:4} {name:20} {statistics.median(found):10,.0f} lookups/s")
    asyncio.run(tasks.close())
    peer.close()


if __name__ == "__main__":
    main()
