"""Ways of :mod:`benchmarks.exchange`, each in a separate process, with their Spark session and cluster."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

import sqlfront
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.cluster.service import TableService
from sqlfront.spark.attached import AttachedSession
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.base import Partitioning, insert_all
from sqlfront_connectors.memory.spread.table import SpreadTable
from sqlfront_connectors.spark.transfer.loading import load
from sqlfront_connectors.spark.types import logical_schema, physical_batch
from sqlfront_planner.catalog import TableEntry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE: Final = "lineitem"
KEY: Final = "l_orderkey"
PARTITIONS: Final = 271
SECRET: Final = "the benchmark's"
#: Seconds that pandas may block this process, which keeps the member list.
HELD_UP: Final = 300.0
#: Rows of a batch sent to members: pandas gives all rows in one batch.
MOST_ROWS: Final = 65_536
SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.files.maxPartitionBytes": "32m",
    "spark.driver.memory": "6g",
    "spark.driver.maxResultSize": "0",  # the naive ways exceed the default
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def service() -> TableService:
    """The members' service for tables: replaced versions are freed at once."""
    return TableService(grace=0.0)


def megabytes(file: Path) -> float:
    """The size of the table as Arrow data, in megabytes."""
    with pq.ParquetFile(file) as rows:
        sample = next(rows.iter_batches(65_536))
        columns = [each.cast(pa.string()) if each.type == pa.string_view() else each for each in sample]
        return sum(each.nbytes for each in columns) / sample.num_rows * rows.metadata.num_rows / 1e6


def serve(name: str, file: str, master: str, asked: Connection) -> None:
    """Prepare the way; then run it once for each message."""
    place = f"{__name__}:{service.__name__}"
    with (
        tempfile.TemporaryDirectory() as work,
        _spark(master, work) as spark,
        LocalCluster(
            2, workers=1, tcp=True, service=place, secret=SECRET.encode(), silence_limit=HELD_UP
        ) as cluster,
        sqlfront.connect(
            f"sqlfront://{cluster.address}", secret=SECRET, workers=1, spark=spark
        ) as connection,
    ):
        house = House(spark, connection, file, Path(work))
        if name in WAYS_OUT:
            house.direct()
        asked.send(None)
        while True:
            try:
                asked.recv()
            except EOFError:
                return
            WAYS[name](house)
            asked.send(None)


@contextmanager
def _spark(master: str, work: str) -> "Iterator[SparkSession]":
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_WORKER_DIR=work, SPARK_LOCAL_DIRS=work)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


class House:
    """Spark and the members, and the ways between them."""

    def __init__(
        self, spark: "SparkSession", connection: sqlfront.Connection, file: str, place: Path
    ) -> None:
        members = connection.session.cluster
        assert isinstance(members, ProcessMembers)
        self.members, self.connection, self.place, self.spark = members, connection, place, spark
        self.frame: DataFrame = spark.read.parquet(file)
        self.schema = logical_schema(self.frame.schema)
        placed = Partitioning((self.schema.get_field_index(KEY),), PARTITIONS)
        self.table: SpreadTable = self.members.table("direct", self.schema, placed)

    # ---- in

    def direct(self) -> None:
        """Tasks hash keys and push rows to members; Spark's partitions stay as they are."""
        load(self.frame, self.table, self.members.door)

    def shuffled(self) -> None:
        """Spark groups the rows by the table's partitions, then tasks push the rows."""
        load(self.frame.repartition(PARTITIONS, KEY), self.table, self.members.door)

    def shuffled_less(self) -> None:
        """Shuffle as :meth:`shuffled`, but into as many tasks as without a shuffle."""
        load(self.frame.repartition(8, KEY), self.table, self.members.door)

    def arrow(self) -> None:
        """Collect all rows in the driver, which distributes them over the members."""
        self._insert(self.frame.toArrow())

    def pandas(self) -> None:
        """Do as :meth:`arrow`, through pandas."""
        form = pa.schema([(field.name, field.type) for field in self.schema])
        self._insert(pa.Table.from_pandas(self.frame.toPandas(), form, preserve_index=False))

    def _insert(self, rows: pa.Table) -> None:
        batches = (physical_batch(batch, self.schema) for batch in rows.to_batches(MOST_ROWS))
        insert_all(self.table, batches, overwrite=True)

    def files(self) -> None:
        """Spark writes Parquet, and members read the files."""
        path = self.place / "in"
        self.frame.write.mode("overwrite").parquet(str(path))
        self.connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW f AS SELECT * FROM parquet.`{path}`")
        self.connection.execute(f"CACHE TABLE f CLUSTERED BY ({KEY})")
        self.connection.execute("DROP VIEW f")

    # ---- out

    def read(self) -> None:
        """Tasks fetch the rows from members."""
        self._use_result("SELECT * FROM direct")

    def computed(self) -> None:
        """Members compute and store rows, and tasks fetch them."""
        columns = [f"lower({name}) AS {name}" if name == "l_comment" else name for name in self.schema.names]
        self._use_result(f"SELECT {', '.join(columns)} FROM direct")

    def _use_result(self, text: str) -> None:
        session = self.connection.session
        assert isinstance(session, AttachedSession)
        self._name_table()
        with session.sql(text) as frame:
            _use(frame.to_spark())

    def created(self) -> None:
        """Collect all rows in the driver, and create a DataFrame."""
        _use(self.spark.createDataFrame(self._rows(), self.frame.schema))

    def created_from_pandas(self) -> None:
        """Do as :meth:`created`, through pandas."""
        _use(self.spark.createDataFrame(self._rows().to_pandas(), self.frame.schema))

    def written(self) -> None:
        """Collect all rows in the driver, which writes Parquet."""
        path = self.place / "out.parquet"
        pq.write_table(self._rows(), path)
        _use(self.spark.read.schema(self.frame.schema).parquet(str(path)))

    def _name_table(self) -> None:
        self.connection.session.context.catalog.add(
            TableEntry("direct", self.table, temporary=True), replace=True
        )

    def _rows(self) -> pa.Table:
        names = ", ".join(self.schema.names)
        self._name_table()
        return self.connection.execute(f"SELECT {names} FROM direct").fetch_arrow_table()


def _use(frame: "DataFrame") -> None:
    """Have Spark compute all rows."""
    frame.write.format("noop").mode("overwrite").save()


Way = Callable[[House], None]
WAYS_IN: Final[dict[str, Way]] = {
    "tasks push into members": House.direct,
    "into members, shuffled before into 8": House.shuffled_less,
    "into members, shuffled before into 271": House.shuffled,
    "toArrow, then into members": House.arrow,
    "Parquet by Spark, then into members": House.files,
    "toPandas, then into members": House.pandas,
}
WAYS_OUT: Final[dict[str, Way]] = {
    "tasks read from members": House.read,
    "members compute and store, then tasks read": House.computed,
    "from members, then createDataFrame": House.created,
    "from members, then Parquet for Spark": House.written,
    "from members, then pandas, createDataFrame": House.created_from_pandas,
}
WAYS: Final = {**WAYS_IN, **WAYS_OUT}
