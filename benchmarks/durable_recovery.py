"""A job whose process is killed at nine tenths of its work, beside an undisturbed run, and beside Spark.

``python -m benchmarks.durable_recovery [--scale 1] [--at 0.9] [--rounds 3] [--tasks 32] [--no-spark]`` runs
a join of ``lineitem`` and ``orders`` with an aggregation as a durable job, and kills its process by SIGKILL
after the given part of the job's tasks; a second session, which stands by, takes the job over. Spark's
``local[2]`` runs the same query in a process that is killed after the same part of its own undisturbed time,
and that is started again. Seconds (medians) from the begin of the query, sessions being open: undisturbed,
killed, and for the durable job from the kill until the successor has the job.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlfront
from tests.tpch.data import tpch_folder

QUERY = """
    SELECT o_orderpriority, l_shipmode, count(*) AS n, sum(l_extendedprice * (1 - l_discount)) AS revenue
    FROM lineitem JOIN orders ON l_orderkey = o_orderkey
    WHERE l_comment NOT LIKE '%special%requests%'
    GROUP BY o_orderpriority, l_shipmode ORDER BY o_orderpriority, l_shipmode
"""
NAME = "revenue"
#: Seconds between two looks at the job's log, which cost the machine some time.
LOOK = 0.05
TABLES = ("lineitem", "orders")


def open_session(store: str, folder: Path, *, recovers: bool = False) -> sqlfront.Connection:
    """A session on the store that knows the tables."""
    connection = sqlfront.connect(job_store=store, job_recovery=recovers, workers=2)
    for table in TABLES:
        connection.execute(f"CREATE TABLE {table} USING parquet LOCATION '{folder}/{table}.parquet'")
    return connection


def run_job(store: str, folder: Path, tasks: int) -> None:
    """Run the job to its end in this process."""
    with open_session(store, folder) as connection:
        print("begun", flush=True)
        job = connection.session.submit_job(QUERY, name=NAME, options={"parallelism": str(tasks)})
        print(job.wait().tasks, flush=True)


def run_spark(folder: Path) -> None:
    """Run the query by Spark in this process."""
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    for table in TABLES:
        spark.read.parquet(f"{folder}/{table}.parquet").createOrReplaceTempView(table)
    print("begun", flush=True)
    print(len(spark.sql(QUERY).collect()), flush=True)


@contextmanager
def program(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Another process with a part of this module, from the begin of its query."""
    command = [sys.executable, "-m", "benchmarks.durable_recovery", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "begun\n", "the program has not begun its query"
        try:
            yield started
        finally:
            started.kill()


def undisturbed(*arguments: str) -> tuple[float, int]:
    """Seconds of the query in another process, and the number of its tasks (of a job) or rows (of Spark)."""
    with program(*arguments) as started:
        began = time.perf_counter()
        assert started.stdout is not None
        count = int(started.stdout.readline())
        return time.perf_counter() - began, count


def killed_job(store: str, folder: Path, tasks: int, finished: float) -> tuple[float, float, str]:
    """Run the job in a process that is killed when ``finished`` tasks are finished. Return the
    seconds of the whole job, those from the kill to the takeover, and what was kept, in words."""
    with open_session(store, folder, recovers=True) as successor:
        service = successor.session.context.jobs
        assert service is not None
        with program("--job", store, str(folder), str(tasks)) as started:
            began = time.perf_counter()
            while (job := service.find(NAME)) is None or job.status().tasks_done < finished:
                time.sleep(LOOK)
            started.kill()
            killed = time.perf_counter()
        while job.status().epoch < 2:
            assert not job.status().has_ended, "the job ended before the kill"
            time.sleep(LOOK)
        taken = time.perf_counter()
        status = job.wait()
        ended = time.perf_counter()
        successor.execute(f"DROP JOB {NAME}")
        kept = f"killed after {killed - began:.2f} s, {status.restored} of {status.tasks} tasks kept"
        return ended - began, taken - killed, kept


def killed_spark(folder: Path, after: float) -> float:
    """Run the query by a Spark that is killed ``after`` so many seconds, and by another one from its
    beginning; return the seconds of both."""
    began = time.perf_counter()
    with program("--spark", str(folder)):
        begun = time.perf_counter()
        time.sleep(after)
    seconds = time.perf_counter() - begun
    began = time.perf_counter()
    undisturbed("--spark", str(folder))
    return seconds + time.perf_counter() - began


def measure(options: argparse.Namespace, folder: Path, store: str) -> None:
    """Measure job and Spark, and print the medians."""
    base, killed, takeovers, sparks, restarted = [], [], [], [], []
    for number in range(options.rounds):
        place = f"{store}/{number}"
        seconds, tasks = undisturbed("--job", f"{place}/base", str(folder), str(options.tasks))
        total, takeover, kept = killed_job(f"{place}/killed", folder, options.tasks, options.at * tasks)
        base.append(seconds)
        killed.append(total)
        takeovers.append(takeover)
        print(f"round {number}: {base[-1]:.2f} s; {total:.2f} s, {kept}", flush=True)
        if options.with_spark:
            sparks.append(undisturbed("--spark", str(folder))[0])
            restarted.append(killed_spark(folder, options.at * sparks[-1]))
    whole, again, found = map(statistics.median, (base, killed, takeovers))
    print("\n| | undisturbed s | killed s | of it takeover s | ratio without takeover |")
    print("|---|---|---|---|---|")
    print(f"| durable job | {whole:.2f} | {again:.2f} | {found:.2f} | {(again - found) / whole:.2f} |")
    if options.with_spark:
        whole, again = map(statistics.median, (sparks, restarted))
        print(f"| Spark local[2], started again | {whole:.2f} | {again:.2f} | | {again / whole:.2f} |")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--at", type=float, default=0.9)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=32)
    parser.add_argument("--no-spark", dest="with_spark", action="store_false")
    parser.add_argument("--store", help="directory for the stores; default: that for temporary files")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--spark", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        run_job(options.job[0], Path(options.job[1]), int(options.job[2]))
    elif options.spark:
        run_spark(Path(options.spark))
    else:
        with tempfile.TemporaryDirectory(dir=options.store) as store:
            measure(options, tpch_folder(options.scale), store)


if __name__ == "__main__":
    main()
