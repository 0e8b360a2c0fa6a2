"""The program of :mod:`tests.sqlfront.jobs.killed`, in a session with a Spark of its own. The catalog of this
Spark, which ends with the process, has the table of the test, whose files are in the folder::

    python -m tests.sqlfront.spark.killed_target FOLDER STATEMENT written 1
"""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sqlfront
from tests.oracle.spark import SETTINGS
from tests.sqlfront.jobs.killed import run_job
from tests.sqlfront.spark.durable_targets import make_table


def main() -> None:
    """Begin the job, and wait for the end."""
    folder, statement, step, number = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[1]")
    for key, value in {**SETTINGS, "spark.sql.warehouse.dir": f"{folder}/warehouse"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    make_table(spark, Path(folder))
    with sqlfront.connect(spark=spark, job_store=f"{folder}/store", workers=2) as connection:
        run_job(connection, statement, step, int(number))


if __name__ == "__main__":
    main()
