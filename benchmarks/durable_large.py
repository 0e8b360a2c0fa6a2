"""Durable jobs over tables that are larger than the memory they may use, and Spark's answer beside theirs.

``python -m benchmarks.durable_large [--scale 10] [--memory-limit 1.0] [--queries NAME ...] [--kill-at 0.5]
[--no-spark]`` runs each query of :data:`QUERIES` as a durable job in a process whose ``memory_limit`` is the
given number of GiB. The process is killed by SIGKILL after the given part of the job's tasks, and a second
process with the same limit goes on; ``--kill-at 0`` kills none. For each query: seconds of the job, the peak
of the two processes' resident memory in MB, the tasks, how many of these were kept and run again, and whether
the rows are those of Spark.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias

import sqlfront
from benchmarks.processes import status
from tests.tpch.data import tpch_folder

QUERIES: Final = {
    "few groups": """
        SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS price,
            avg(l_discount) AS discount, count(*) AS n
        FROM lineitem GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus
    """,
    "a group per order": """
        SELECT count(*) AS orders, sum(n) AS n, max(quantity) AS largest, sum(price) AS price FROM (
            SELECT l_orderkey, count(*) AS n, sum(l_quantity) AS quantity, max(l_extendedprice) AS price
            FROM lineitem GROUP BY l_orderkey
        )
    """,
    "join": """
        SELECT o_orderpriority, l_shipmode, count(*) AS n, sum(l_extendedprice * (1 - l_discount)) AS revenue
        FROM lineitem JOIN orders ON l_orderkey = o_orderkey
        GROUP BY o_orderpriority, l_shipmode ORDER BY o_orderpriority, l_shipmode
    """,
}
TABLES: Final = ("lineitem", "orders")
JOB: Final = "large"

Rows: TypeAlias = list[tuple[object, ...]]


def open_session(store: str, folder: Path, memory_limit: int | None) -> sqlfront.Connection:
    """A session on the store that knows the tables."""
    connection = sqlfront.connect(job_store=store, workers=2, memory_limit=memory_limit)
    for table in TABLES:
        connection.execute(f"CREATE TABLE {table} USING parquet LOCATION '{folder}/{table}.parquet'")
    return connection


def run(store: str, folder: Path, memory_limit: int, query: str | None) -> None:
    """Run a query as a job in this process, or resume the store's job, up to the job's end. The last line
    that the process writes has the peak of its resident memory in bytes."""
    with open_session(store, folder, memory_limit) as connection:
        if query is None:
            connection.execute(f"RESUME JOB {JOB}")
            service = connection.session.context.jobs
            assert service is not None
            job = service.find(JOB)
            assert job is not None
        else:
            job = connection.session.submit_job(QUERIES[query], name=JOB)
        job.wait()
        print(status(os.getpid(), "VmHWM"), flush=True)


def program(*arguments: str) -> subprocess.Popen[str]:
    """Another process with :func:`run`."""
    command = [sys.executable, "-m", "benchmarks.durable_large", "--run", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def peak_after(started: subprocess.Popen[str], store: str, part: float) -> int:
    """Wait until the process has finished the given part of its job's tasks, and kill the process; 0 lets the
    process end. Return the peak of its resident memory in bytes."""
    if not part:
        assert started.stdout is not None
        words = started.stdout.read().split()
        assert started.wait() == 0, "the job failed"
        return int(words[-1])
    peak = 0
    with sqlfront.connect(job_store=store) as watcher:
        reached = (
            f"SELECT 1 FROM sys.jobs WHERE name = '{JOB}' AND tasks > 0 AND tasks_done >= {part} * tasks"
        )
        while not watcher.execute(reached).fetchall():
            assert started.poll() is None, "the job ended before the kill"
            peak = status(started.pid, "VmHWM")
            time.sleep(0.2)
        started.kill()
        started.wait()
    return peak


def measure(name: str, options: argparse.Namespace, folder: Path, store: str) -> tuple[str, Rows]:
    """Run a query as a job; return the facts as cells of a table, and the rows."""
    limit = str(int(options.memory_limit * 2**30))
    began = time.perf_counter()
    peaks = [peak_after(program(store, str(folder), limit, name), store, options.kill_at)]
    if options.kill_at:
        peaks.append(peak_after(program(store, str(folder), limit), store, 0))
    seconds = time.perf_counter() - began
    with sqlfront.connect(job_store=store) as reader:
        rows = reader.execute(f"SELECT * FROM job.`{JOB}`").fetchall()
        facts = "SELECT state, tasks, tasks_restored, tasks_rerun FROM sys.jobs"
        ((state, tasks, kept, again),) = reader.execute(facts).fetchall()
        assert state == "finished", state
        reader.execute(f"DROP JOB {JOB}")
    peak = max(peaks) / 1e6
    return f"| {name} | {seconds:.1f} | {peak:,.0f} | {tasks} | {kept} | {again} |", rows


def answers_of_spark(folder: Path, names: list[str]) -> dict[str, Rows]:
    """The rows of the queries by Spark's ``local[2]``."""
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    for table in TABLES:
        spark.read.parquet(f"{folder}/{table}.parquet").createOrReplaceTempView(table)
    found = {name: [tuple(row) for row in spark.sql(QUERIES[name]).collect()] for name in names}
    spark.stop()
    return found


def same(left: Rows, right: Rows) -> bool:
    """Whether the rows are equal; decimals by value, and no float is among them."""
    assert not any(isinstance(value, float) for row in (*left, *right) for value in row)
    return [[*map(_plain, row)] for row in left] == [[*map(_plain, row)] for row in right]


def _plain(value: object) -> object:
    return str(value.normalize()) if isinstance(value, Decimal) else value


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="10")
    parser.add_argument("--memory-limit", type=float, default=1.0, help="in GiB")
    parser.add_argument("--queries", nargs="+", choices=QUERIES, default=list(QUERIES))
    parser.add_argument("--kill-at", type=float, default=0.5)
    parser.add_argument("--no-spark", dest="with_spark", action="store_false")
    parser.add_argument("--store", help="directory for the store; default: that for temporary files")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        store, folder, limit, *query = options.run
        run(store, Path(folder), int(limit), query[0] if query else None)
        return
    folder = tpch_folder(options.scale)
    expected = answers_of_spark(folder, options.queries) if options.with_spark else {}
    print(f"scale {options.scale}, memory_limit {options.memory_limit:g} GiB, killed at {options.kill_at:g}")
    print("| query | s | peak MB | tasks | kept | run again |\n|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(dir=options.store) as store:
        for name in options.queries:
            line, rows = measure(name, options, folder, store)
            print(line, flush=True)
            if expected:
                assert same(rows, expected[name]), (rows, expected[name])
    print("all rows are those of Spark" if expected else "not compared with Spark")


if __name__ == "__main__":
    main()
