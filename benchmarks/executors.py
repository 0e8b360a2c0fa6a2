"""Small queries beside Spark: by spark.sql on its cached tables, and by members on the same executors.

    python -m benchmarks.executors [--scale 0.1] [--runs 200] [--master 'local-cluster[3,2,1024]']

One Spark session with real executors holds five tables of TPC-H twice: cached by Spark, and spread over
members, one on each executor. Both are asked the six queries of :mod:`benchmarks.point_queries`, in turns,
SQL text in, Python tuples out, with new literals in the text each time and with parameters; answers are
compared once. Then rows are looked up while Spark works on something large. Printed as Markdown: median and
p95 in microseconds, and the ratio of the medians.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from pyspark.sql import SparkSession

from benchmarks.point_queries import QUERIES, Query, Way, sample_keys
from benchmarks.point_subjects import KEYS, Ask, Sqlfront
from benchmarks.point_workers import same_rows
from sqlfront.cluster.processes import Client
from sqlfront.config import Config, Launcher
from sqlfront.connection import Connection
from sqlfront.session import Session
from tests.tpch.data import tpch_folder

TURNS: Final = 4
#: Divisor of the number of Spark's runs.
FEWER: Final = 10
#: The query that keeps Spark busy for minutes, and the tag of its job.
LARGE: Final = "SELECT count(*) FROM range(0, 1000000000000, 1, 64) WHERE hash(id) = 7"
TAG: Final = "beside-the-lookups"
#: Seconds until a started query certainly runs.
STARTING: Final = 3.0

Keys = Mapping[str, Sequence[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--master", default="local-cluster[3,2,1024]")
    options = parser.parse_args()
    folder = tpch_folder(options.scale)
    with tempfile.TemporaryDirectory() as work:
        spark = _spark(options.master, folder, work)
        try:
            with _members(spark) as connection:
                members = Sqlfront(connection)
                members.load(folder)
                keys = sample_keys(folder)
                _compare(members.client(), _asking(spark), keys, options.runs)
                _beside(spark, members.client(), keys, options.runs)
        finally:
            spark.stop()
    print(f"\nTPC-H scale {options.scale}, {options.runs} runs, load {os.getloadavg()[0]:.1f} at the end.")


def _spark(master: str, folder: Path, work: str) -> SparkSession:
    """The Spark session, with the tables cached."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_WORKER_DIR=work)
    builder = SparkSession.builder.master(master).config("spark.sql.session.timeZone", "UTC")
    for name, value in (("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false")):
        builder = builder.config(name, value)
    spark = builder.config("spark.sql.shuffle.partitions", "6").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    for table in KEYS:
        spark.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)
        spark.sql(f"CACHE TABLE {table}")
    return spark


def _members(spark: SparkSession) -> Connection:
    """A connection to a session whose members live on the executors; the session doesn't see Spark's tables
    with the same names."""
    began = time.perf_counter()
    config = Config(launcher=Launcher.SPARK, workers=1)
    connection = Connection(Session(config, Client(config, spark)))
    print(f"members were started in {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return connection


def _asking(spark: SparkSession) -> Ask:
    def ask(text: str, parameters: Sequence[object] | None) -> Sequence[tuple[object, ...]]:
        return spark.sql(text, args=None if parameters is None else list(parameters)).collect()

    return ask


def _compare(ours: Ask, theirs: Ask, keys: Keys, runs: int) -> None:
    """Print the figures of all queries."""
    print("| query | asked | spark.sql | sqlfront | ratio |\n|---|---|---|---|---|")
    for name, query in QUERIES.items():
        for way in (Way.TEXT, Way.PARAMETERS):
            question = query.question(way, keys, 0)
            assert same_rows(ours(*question), theirs(*question)), name
            mine: list[float] = []
            other: list[float] = []
            for _ in range(TURNS):
                other += _times(theirs, query, way, keys, max(3, runs // TURNS // FEWER))
                mine += _times(ours, query, way, keys, runs // TURNS)
            ratio = median(other) / median(mine)
            print(
                f"| {name} | {way.value} | {_figures(other)} | {_figures(mine)} | {ratio:,.0f} |", flush=True
            )


def _beside(spark: SparkSession, ours: Ask, keys: Keys, runs: int) -> None:
    """Print the time of a lookup while Spark works."""
    idle: list[float] = []
    busy: list[float] = []
    for _ in range(TURNS):
        idle += _times(ours, QUERIES["lookup"], Way.PARAMETERS, keys, runs // TURNS)
        with _working(spark):
            busy += _times(ours, QUERIES["lookup"], Way.PARAMETERS, keys, runs // TURNS)
    ratio = median(busy) / median(idle)
    print(f"\nA lookup takes {_figures(idle)}; while Spark works {_figures(busy)} ({ratio:.1f}).")


@contextmanager
def _working(spark: SparkSession) -> Iterator[None]:
    """A context in which Spark is busy on all remaining slots."""

    def work() -> None:
        spark.sparkContext.addJobTag(TAG)
        try:
            spark.sql(LARGE).collect()
        except Exception as error:
            if TAG not in str(error):  # not the error of the cancellation
                raise

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(STARTING)
    try:
        yield
    finally:
        assert thread.is_alive()
        spark.sparkContext.cancelJobsWithTag(TAG)
        thread.join()


def _times(ask: Ask, query: Query, way: Way, keys: Keys, count: int) -> list[float]:
    """Microseconds of ``count`` runs."""
    times = []
    for number in range(count):
        question = query.question(way, keys, number)
        began = time.perf_counter_ns()
        ask(*question)
        times.append((time.perf_counter_ns() - began) / 1000)
    return times


def _figures(times: Sequence[float]) -> str:
    return f"{median(times):,.0f} / {quantiles(times, n=20)[-1]:,.0f}"


if __name__ == "__main__":
    main()
