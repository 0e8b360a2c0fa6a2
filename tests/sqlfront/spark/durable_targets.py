"""Tables of Spark that durable jobs fill, for tests in several processes."""

from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

#: The table that jobs fill; its columns are in another order than those of the jobs' queries.
SINK: Final = "sink"
#: The row that the table has at first.
FIRST: Final = ("none", -1, None)


#: The name of a file in the folder that says that the table has partitions.
PARTITIONED: Final = "partitioned"


def make_table(spark: SparkSession, folder: Path) -> None:
    """Enter the table into the catalog of a session, over its files in the folder; the first call makes the
    files."""
    is_new = not (folder / SINK).exists()
    spark.sql(f"DROP TABLE IF EXISTS {SINK}")
    partitions = "PARTITIONED BY (n)" if (folder / PARTITIONED).exists() else ""
    spark.sql(
        f"CREATE TABLE {SINK} (Name STRING, k INT, n DECIMAL(10,2)) USING parquet {partitions}"
        f" LOCATION '{folder}/{SINK}'"
    )
    if is_new:
        spark.sql(f"INSERT INTO {SINK} VALUES ('none', -1, NULL)")
