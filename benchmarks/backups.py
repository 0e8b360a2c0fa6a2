"""What backups of memory tables cost, and what they give: on members in processes of their own.

    python -m benchmarks.backups [--rows 500000] [--loads 5] [--count 200] [--kills 5] [--size 3]

In one run, tables without, with one and with two backups take turns, one statement each: loads of all rows,
writes of one row by key, and reads. The figures are medians; the ratios are those of the bounds of the best
tenths, which other work on the machine hardly changes. Then one member of a new cluster after another is
killed by SIGKILL: the time until the first right sum of all rows and the first right row of a key of the lost
member, and until all missing backups are made anew.
"""

import argparse
import itertools
import os
import secrets
import signal
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Final

import sqlfront
from sqlfront_cluster.launchers.local import LocalCluster

Task = Callable[[], object]

SERVICE: Final = "sqlfront.cluster.service:service"
COUNTS: Final = (0, 1, 2)
#: Seconds after which a silent member is removed; a killed process is noticed by the end of its connections.
SILENCE: Final = 5.0
SUM: Final = "SELECT count(*), sum(v) FROM t"


def opened(cluster: LocalCluster, secret: str) -> sqlfront.Connection:
    """A session of the cluster."""
    return sqlfront.connect(f"sqlfront://{cluster.address.removeprefix('unix:')}", secret=secret, workers=1)


def in_turns(tasks: Mapping[int, Task], count: int) -> dict[int, list[float]]:
    """The milliseconds of each run of each task, sorted; before, each has run once. The tasks take turns,
    each time in another order."""
    times: dict[int, list[float]] = {name: [] for name in tasks}
    names = list(tasks)
    for number in range(count + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            began = time.perf_counter()
            tasks[name]()
            if number:
                times[name].append(1000 * (time.perf_counter() - began))
    return {name: sorted(each) for name, each in times.items()}


def show(what: str, found: Mapping[int, list[float]]) -> None:
    """Print a row of the table."""
    figures = [f"{statistics.median(found[count]):,.2f}" for count in COUNTS]
    best = {count: times[len(times) // 10] for count, times in found.items()}
    ratios = [f"{best[count] / best[0]:.2f}" for count in COUNTS[1:]]
    print(f"| {what} | {' | '.join([*figures, *ratios])} |", flush=True)


def costs(connection: sqlfront.Connection, rows: int, loads: int, count: int) -> None:
    """Print what statements take with each number of backups."""
    numbers = itertools.count()

    def each(text: str, *, reads: bool = False) -> dict[int, Task]:
        def task(name: str) -> Task:
            def run() -> object:
                values = [next(numbers) * 997 % rows] if "?" in text else []
                cursor = connection.execute(text.format(t=name), values)
                return cursor.fetchall() if reads else cursor.rowcount

            return run

        return {count: task(f"t{count}") for count in COUNTS}

    for name in COUNTS:
        connection.execute(
            f"CREATE TABLE t{name} (k BIGINT, v BIGINT, s STRING) USING memory CLUSTERED BY (k)"
            f" OPTIONS (backups {name})"
        )
    filled = f"SELECT id, id * 10, concat('row ', id) FROM range({rows})"
    print("| ms | no backup | 1 | 2 | 1 / none | 2 / none |\n|---|---|---|---|---|---|")
    show(f"load of {rows:,} rows", in_turns(each(f"INSERT OVERWRITE {{t}} {filled}"), loads))
    show("UPDATE of one row by key", in_turns(each("UPDATE {t} SET v = v + 1 WHERE k = ?"), count))
    show("DELETE of one row by key", in_turns(each("DELETE FROM {t} WHERE k = ?"), count))
    show("INSERT of one row", in_turns(each("INSERT INTO {t} VALUES (?, 1, 'new')"), count))
    show("lookup by key", in_turns(each("SELECT v FROM {t} WHERE k = ?", reads=True), 10 * count))
    show("sum of all rows", in_turns(each("SELECT sum(v) FROM {t}", reads=True), count))


def first_right(connection: sqlfront.Connection, sql: str, expected: tuple[object, ...]) -> float:
    """Repeat the query until it has an answer, and return the time then. Errors are those of a lost member;
    a wrong answer ends the benchmark."""
    while True:
        try:
            found = connection.execute(sql).fetchall()
        except sqlfront.OperationalError as error:
            if error.sqlstate not in ("08006", "40001"):
                raise
        else:
            assert [tuple(row) for row in found] == [expected], (sql, found)
            return time.perf_counter()


def killed(size: int, rows: int) -> tuple[float, float, float]:
    """Kill a member of a new cluster, and return the seconds until the first right sum, the first right row
    of a key of the lost member, and until the backups are complete again."""
    secret = secrets.token_hex(8)
    with (
        LocalCluster(
            size, workers=1, service=SERVICE, secret=secret.encode(), silence_limit=SILENCE
        ) as cluster,
        opened(cluster, secret) as connection,
        opened(cluster, secret) as other,
    ):
        connection.execute(
            f"CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, 1L AS v FROM range({rows})"
        )
        victim = f"local-{size - 1}"
        owned = "SELECT k FROM t JOIN sys.partitions ON partition = pmod(hash(k), 271) WHERE member = ?"
        [(key,)] = connection.execute(f"{owned} LIMIT 1", [victim]).fetchall()
        first_right(other, SUM, (rows, rows))
        began = time.perf_counter()
        os.kill(cluster.processes[victim].pid, signal.SIGKILL)
        total = first_right(connection, SUM, (rows, rows))
        row = first_right(other, f"SELECT v FROM t WHERE k = {key}", (1,))
        states = "SELECT DISTINCT state, size(backups) FROM sys.shares"
        while [tuple(each) for each in connection.execute(states).fetchall()] != [("complete", 1)]:
            time.sleep(0.005)
        return total - began, row - began, time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--size", type=int, default=3)
    options = parser.parse_args()
    print(f"Load at the beginning: {os.getloadavg()[0]:.1f} runnable processes on {os.cpu_count()} cores.\n")
    secret = secrets.token_hex(8)
    with (
        LocalCluster(options.size, workers=1, service=SERVICE, secret=secret.encode()) as cluster,
        opened(cluster, secret) as connection,
    ):
        costs(connection, options.rows, options.loads, options.count)
    print(
        f"\nA member killed by SIGKILL, one backup, {options.rows:,} rows, silence limit {SILENCE:.0f} s:\n"
    )
    print("| s until | best | median | worst |\n|---|---|---|---|")
    found = [killed(options.size, options.rows) for _ in range(options.kills)]
    names = ("the first right sum", "the first right row of the lost member", "all backups are there again")
    for name, times in zip(names, zip(*found, strict=True), strict=True):
        print(f"| {name} | {min(times):.3f} | {statistics.median(times):.3f} | {max(times):.3f} |")
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
