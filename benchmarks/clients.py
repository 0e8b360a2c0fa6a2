"""What queries cost in a session that is a lite member, and in one without a place in the member list.

    python -m benchmarks.clients [--rows 100000] [--count 300]

Three members in processes of their own hold two tables. The two sessions of one process ask in turns: a
lookup by key, a join of one key, and a small aggregation over all members. Printed as Markdown: medians, and
the ratio of ``lite=False`` to ``lite=True``.
"""

import argparse
import secrets
import statistics
import time
from typing import Final

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront_cluster.launchers.local import LocalCluster

QUERIES: Final = {
    "lookup by key": "SELECT v FROM t WHERE k = ?",
    "join of one key": "SELECT t.v, u.v FROM t JOIN u ON t.k = u.k WHERE t.k = ?",
    "group of all members": "SELECT g, sum(v) FROM t WHERE k >= ? GROUP BY g",
}
#: Queries that one session asks before it is the other's turn.
BLOCK: Final = 20
#: Unmeasured queries at the start, which load code and make plans.
WARM: Final = 20


def measure(connection: sqlfront.Connection, sql: str, count: int) -> list[float]:
    """Microseconds of ``count`` runs of the query."""
    times = []
    for number in range(count):
        began = time.perf_counter_ns()
        connection.execute(sql, [number * 7]).fetchall()
        times.append((time.perf_counter_ns() - began) / 1000)
    return times


def compare(
    lite: sqlfront.Connection, client: sqlfront.Connection, sql: str, count: int
) -> tuple[float, float]:
    """The medians of both sessions in microseconds, measured in turns."""
    found: tuple[list[float], list[float]] = [], []
    for connection in (lite, client):
        measure(connection, sql, WARM)
    for _ in range(max(1, count // BLOCK)):
        for connection, times in zip((lite, client), found, strict=True):
            times += measure(connection, sql, BLOCK)
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--count", type=int, default=300)
    options = parser.parse_args()
    secret = secrets.token_hex(8)
    with LocalCluster(3, workers=1, service=SERVICE, secret=secret.encode()) as cluster:
        address = f"sqlfront://{cluster.address.removeprefix('unix:')}"
        with (
            sqlfront.connect(address, secret=secret, workers=1) as lite,
            sqlfront.connect(address, secret=secret, workers=1, lite=False) as client,
        ):
            for table in ("t", "u"):
                lite.execute(
                    f"CREATE TABLE {table} USING memory CLUSTERED BY (k) AS"
                    f" SELECT id AS k, id % 10 AS g, id * 2 AS v FROM range({options.rows})"
                )
            print("| query | lite=True (us) | lite=False (us) | ratio |")
            print("|---|---:|---:|---:|")
            for name, sql in QUERIES.items():
                first, second = compare(lite, client, sql, options.count)
                print(f"| {name} | {first:.0f} | {second:.0f} | {second / first:.2f} |")


if __name__ == "__main__":
    main()
