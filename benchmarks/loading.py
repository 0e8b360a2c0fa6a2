"""Loading of TPC-H's tables into the memory of engines that several benchmarks compare.

An engine is imported only in the process that runs it.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datafusion
    from pyspark.sql import SparkSession


def datafusion_tables(folder: Path, tables: Iterable[str]) -> "datafusion.SessionContext":
    """DataFusion with ``<table>.parquet`` of each table as Arrow data."""
    import datafusion
    import pyarrow.parquet as pq

    context = datafusion.SessionContext()
    for table in tables:
        context.register_record_batches(table, [pq.read_table(folder / f"{table}.parquet").to_batches()])
    return context


def spark_tables(folder: Path, tables: Iterable[str], memory: str, threads: int = 2) -> "SparkSession":
    """Spark local with so many ``threads`` and the given ``memory``; ``<table>.parquet`` of each table is
    cached."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(f"local[{threads}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(threads))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.driver.memory", memory)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    for table in tables:
        spark.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)
        spark.sql(f"CACHE TABLE {table}")
    return spark
