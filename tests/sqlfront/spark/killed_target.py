"""The program of :mod:`tests.sqlfront.jobs.killed`, in a session with a Spark of its own. The catalog of this
Spark, which ends with the process, has the table of the test, whose files are in the folder::

    python -m tests.sqlfront.spark.killed_target FOLDER STATEMENT written 1
"""

import os
import sys
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

import sqlfront
from tests.oracle.spark import SETTINGS
from tests.sqlfront.jobs.killed import run_job
from tests.sqlfront.spark.durable_targets import make_table

#: Variables by which a test over Spark Connect would make the session here one over Spark Connect, too.
_CONNECT: Final = ("SPARK_CONNECT_MODE_ENABLED", "SPARK_REMOTE", "SPARK_LOCAL_REMOTE")


def open_spark(folder: Path) -> SparkSession:
    """Start a Spark, and return its session, which has the table of the test."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for name in _CONNECT:
        os.environ.pop(name, None)
    builder = SparkSession.builder.master("local[1]")
    for key, value in {**SETTINGS, "spark.sql.warehouse.dir": f"{folder}/warehouse"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    make_table(spark, folder)
    return spark


def main() -> None:
    """Begin the job, and wait for the end."""
    folder, statement, step, number = sys.argv[1:]
    spark = open_spark(Path(folder))
    with sqlfront.connect(spark=spark, job_store=f"{folder}/store", workers=2) as connection:
        run_job(connection, statement, step, int(number))


if __name__ == "__main__":
    main()
