"""Queries over tables of both sides: mixed, beside the same queries run by Spark as a whole.

    python -m benchmarks.mixed [--scale 0.1] [--theirs lineitem] [--runs 3]

Spark (``local[2]``) has one table of TPC-H as Parquet files, sqlfront holds the others in memory; the whole
queries read what sqlfront holds from files that it has handed over before. The queries that read the table
and others are asked in turns, each way once before. Printed as Markdown: the medians in milliseconds, and
their ratio.
"""

import argparse
import os
import sys
import time
from statistics import median

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.session import Session
from tests.tpch.answers import NAMES, query
from tests.tpch.data import TABLES, tpch_folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--theirs", default="lineitem", choices=TABLES)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.sql.session.timeZone", "UTC")
    for name, value in (("spark.ui.enabled", "false"), ("spark.ui.showConsoleProgress", "false")):
        builder = builder.config(name, value)
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    folder = tpch_folder(options.scale)
    with sqlfront.connect(spark=spark) as connection:
        session = connection.session
        for table in TABLES:
            path = str(folder / f"{table}.parquet")
            if table == options.theirs:
                spark.read.parquet(path).createOrReplaceTempView(table)
            else:
                session.register(table, pq.read_table(path))
        print("| query | Spark, whole | mixed | ratio |\n|---|---|---|---|")
        for name in NAMES:
            if _lane(session, name) == "mixed":
                _compare(session, name, options.runs)
    spark.stop()
    print(f"\nTPC-H scale {options.scale}, load {os.getloadavg()[0]:.1f} at the end.")


def _lane(session: Session, name: str) -> str:
    with session.execute(query(name)) as result:
        return result.stats.lane


def _compare(session: Session, name: str, runs: int) -> None:
    times: dict[str, list[float]] = {"spark": [], "auto": []}
    for number in range(runs + 1):
        for lane, found in times.items():
            session.execute(f"SET sqlfront.lane = {lane}")
            began = time.perf_counter()
            session.execute(query(name)).collect()
            if number:
                found.append((time.perf_counter() - began) * 1000)
    whole, mixed = median(times["spark"]), median(times["auto"])
    print(f"| {name} | {whole:,.0f} | {mixed:,.0f} | {whole / mixed:.1f} |", flush=True)


if __name__ == "__main__":
    main()
