"""What a lookup by key costs while the members work on something large.

    python -m benchmarks.lookups [--scale 0.1] [--queries 1 9 18] [--count 300]

Three members in processes of their own, one worker thread each, hold the TPC-H tables. A client looks up
orders by key: with SQL text each time, and with a plan made once. Meanwhile another client, a process of its
own, runs one TPC-H query again and again. Printed as Markdown: median and p99 without it and with it, in
turns, and the ratios.
"""

import argparse
import os
import random
import secrets
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import sqlfront
from benchmarks.light_jobs import Timing, timing
from sqlfront.cluster.processes import SERVICE
from sqlfront.lanes.jobs import plan_job
from sqlfront.lanes.light import run_plan
from sqlfront.session import Session
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_planner.binder import Arguments
from sqlfront_planner.statement import parse
from sqlfront_planner.statements.structs import Query
from tests.tpch.data import TABLES, tpch_folder

QUERIES: Final = Path(__file__).parent.parent / "tests" / "tpch" / "queries"
LOOKUP: Final = "SELECT o_custkey, o_totalprice FROM orders WHERE o_orderkey = ?"
TURNS: Final = 3
#: Seconds until a started query certainly runs.
STARTING: Final = 3.0

Lookup = Callable[[int], object]


def load(connection: "sqlfront.Connection", folder: Path) -> list[int]:
    """Create the tables; return the keys of the orders."""
    for table, key in TABLES.items():
        connection.execute(
            f"CREATE TABLE {table} USING memory CLUSTERED BY ({key}) INTO 271 BUCKETS"
            f" AS SELECT * FROM parquet.`{folder / table}.parquet`"
        )
    rows = connection.execute("SELECT o_orderkey FROM orders LIMIT 20000").fetch_arrow_table()
    keys: list[int] = rows.column(0).to_pylist()
    return keys


def with_text(session: Session) -> Lookup:
    """A lookup whose text is parsed and planned each time."""
    return lambda key: session.execute(LOOKUP, [key]).collect()


def planned_once(session: Session) -> Lookup:
    """A lookup with a plan made once, in which only the key is new."""
    query = parse(LOOKUP)
    assert isinstance(query, Query)
    zone = session.settings.time_zone
    plan = plan_job(session.context, query, Arguments.of([1], zone))
    return lambda key: run_plan(session.context, plan, Arguments.of([key], zone).values).collect()


def measure(lookup: Lookup, keys: list[int], count: int) -> list[float]:
    """Microseconds of ``count`` lookups, a millisecond apart."""
    times = []
    for key in random.choices(keys, k=count):
        began = time.perf_counter_ns()
        lookup(key)
        times.append((time.perf_counter_ns() - began) / 1000)
        time.sleep(0.001)
    return times


@contextmanager
def running(query: int, address: str, secret: str) -> Iterator[None]:
    """A context in which another client runs the query again and again."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.lookups", "--repeat", str(query), "--address", address],
        stdin=subprocess.PIPE,
        env={**os.environ, "SQLFRONT_SECRET": secret},
    )
    try:
        time.sleep(STARTING)
        yield
        assert process.poll() is None, "the other client has failed"
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def repeat(query: int, address: str) -> None:
    """Run the query as the other client, until the input ends."""
    text = (QUERIES / f"q{query}.sql").read_text().rstrip().rstrip(";")
    with sqlfront.connect(address) as connection:
        while not select.select([sys.stdin], [], [], 0)[0]:
            connection.execute(text).fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--queries", nargs="+", type=int, default=[1, 9, 18])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--repeat", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.repeat is not None:
        repeat(options.repeat, options.address)
        return
    secret = secrets.token_hex(16)
    with LocalCluster(3, workers=1, tcp=True, secret=secret.encode(), service=SERVICE) as cluster:
        address = f"sqlfront://{cluster.address}"
        with sqlfront.connect(address, secret=secret) as connection:
            keys = load(connection, tpch_folder(options.scale))
            session = connection.session
            lookups = {"planned once": planned_once(session), "SQL text": with_text(session)}
            print(f"Load at the beginning: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n")
            print("| lookup | beside | median us | p99 us | ratio of medians | of p99 |")
            print("|---|---|---|---|---|---|")
            for query in options.queries:
                compare(lookups, query, keys, options.count, (address, secret))


def compare(
    lookups: dict[str, Lookup], query: int, keys: list[int], count: int, cluster: tuple[str, str]
) -> None:
    """Print the lines of one query."""
    idle: dict[str, list[float]] = {name: [] for name in lookups}
    busy: dict[str, list[float]] = {name: [] for name in lookups}
    for _ in range(TURNS):
        for name, lookup in lookups.items():
            idle[name] += measure(lookup, keys, count)
        with running(query, *cluster):
            for name, lookup in lookups.items():
                busy[name] += measure(lookup, keys, count)
    for name in lookups:
        before, after = timing(idle[name], 0), timing(busy[name], 0)
        print(f"| {name} | nothing | {before.median:,.0f} | {before.p99:,.0f} | | |")
        print(f"| {name} | Q{query} | {_figures(before, after)} |", flush=True)


def _figures(before: Timing, after: Timing) -> str:
    ratios = after.median / before.median, after.p99 / before.p99
    return f"{after.median:,.0f} | {after.p99:,.0f} | {ratios[0]:.1f} | {ratios[1]:.1f}"


if __name__ == "__main__":
    main()
