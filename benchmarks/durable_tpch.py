"""TPC-H as durable jobs against light jobs, in one run.

``python -m benchmarks.durable_tpch [--scale 1] [--members 3] [--rounds 3] [--queries q1 q6]`` runs each query
over Parquet files as a light job and as a durable job, in turn: seconds (medians), the ratio, and the
geometric mean of the ratios. The members are processes on this machine; the store is in a new directory below
``--store``.
"""

import argparse
import math
import statistics
import tempfile
import time
from collections.abc import Callable

import sqlfront
from tests.tpch.answers import NAMES, query
from tests.tpch.data import TABLES, tpch_folder


def seconds(function: Callable[[], object]) -> float:
    """Seconds of one call."""
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def measure(connection: sqlfront.Connection, sql: str, rounds: int) -> tuple[float, float]:
    """The medians of the seconds that the query takes as a light job, and as a durable one."""
    session = connection.session

    def durable() -> None:
        job = session.submit_job(sql, name="query")
        job.result().toArrow()

    light, slow = [], []
    for _ in range(rounds):
        light.append(seconds(lambda: session.execute(sql).toArrow()))
        slow.append(seconds(durable))
        connection.execute("DROP JOB query")
    return statistics.median(light), statistics.median(slow)


def main() -> None:
    """Measure the queries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", default="1")
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", nargs="+", default=NAMES)
    parser.add_argument("--store", help="directory for the store; default: that for temporary files")
    options = parser.parse_args()
    folder = tpch_folder(options.scale)
    ratios = []
    with tempfile.TemporaryDirectory(dir=options.store) as store:
        launcher = "local" if options.members > 1 else "embedded"
        with sqlfront.connect(job_store=store, members=options.members, launcher=launcher) as connection:
            for table in TABLES:
                connection.execute(f"CREATE TABLE {table} USING parquet LOCATION '{folder}/{table}.parquet'")
            print("| query | light s | durable s | ratio |\n|---|---|---|---|")
            for name in options.queries:
                light, durable = measure(connection, query(name), options.rounds)
                ratios.append(durable / light)
                print(f"| {name} | {light:.3f} | {durable:.3f} | {durable / light:.2f} |", flush=True)
    print(f"geometric mean of the ratios: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}")


if __name__ == "__main__":
    main()
