"""Tables of Spark that durable jobs read, for tests in several processes, and a program that begins such a
job in a session with a Spark of its own, and is killed at a step of :mod:`tests.sqlfront.jobs.killed`::

    python -m tests.sqlfront.spark.durable_sources FOLDER STATEMENT stage 0
"""

import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import sqlfront
from tests.sqlfront.jobs.killed import run_job
from tests.sqlfront.spark.killed_target import open_spark

#: The table that jobs read.
SOURCE: Final = "source"
#: A query of several stages, the first of which reads the table with several tasks.
QUERY: Final = (
    f"SELECT s.k, count(*) AS n, sum(r.id) AS total FROM {SOURCE} s JOIN range(20000) r ON s.id = r.id "
    "GROUP BY s.k"
)


def make_source(spark: SparkSession, folder: Path, rows: int = 20_000) -> None:
    """Enter the table into the catalog of a session, over its files in the folder; the first call makes the
    files."""
    is_new = not (folder / SOURCE).exists()
    spark.sql(f"DROP TABLE IF EXISTS {SOURCE}")
    spark.sql(f"CREATE TABLE {SOURCE} (id BIGINT, k INT) USING parquet LOCATION '{folder}/{SOURCE}'")
    if is_new:
        spark.sql(f"INSERT INTO {SOURCE} SELECT id, id % 7 FROM range({rows})")


def main() -> None:
    """Begin the job, and wait for the end."""
    folder, statement, step, number = sys.argv[1:]
    spark = open_spark(Path(folder))
    make_source(spark, Path(folder))
    with sqlfront.connect(
        spark=spark, job_store=f"{folder}/store", workers=2, collect_rows=100
    ) as connection:
        run_job(connection, statement, step, int(number))


if __name__ == "__main__":
    main()
