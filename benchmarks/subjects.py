"""Engines under comparison: each loads the TPC-H tables into memory and answers a query with Arrow data in
Python."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.loading import datafusion_tables, spark_tables

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")


class Subject(Protocol):
    """An engine with the tables loaded."""

    def load(self, folder: Path) -> None:
        """Read ``<table>.parquet`` of every table into memory."""

    def query(self, text: str) -> int:
        """Run a query to its last row, as Arrow data; return the number of rows."""


class Sqlfront:
    """sqlfront, embedded, with tables in memory."""

    def load(self, folder: Path) -> None:
        import sqlfront

        self._connection = sqlfront.connect()
        for table in TABLES:
            path = folder / f"{table}.parquet"
            self._connection.execute(f"CREATE TABLE {table} USING memory AS SELECT * FROM parquet.`{path}`")

    def query(self, text: str) -> int:
        return self._connection.execute(text).fetch_arrow_table().num_rows


class DuckDB:
    """DuckDB in memory, with a given number of threads."""

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: Path) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": self._threads})
        for table in TABLES:
            path = folder / f"{table}.parquet"
            self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{path}'")

    def query(self, text: str) -> int:
        return self._connection.sql(text).to_arrow_table().num_rows


class Polars:
    """Polars' SQL over eager frames."""

    def load(self, folder: Path) -> None:
        import polars

        frames = {table: polars.read_parquet(folder / f"{table}.parquet") for table in TABLES}
        self._context = polars.SQLContext(frames)

    def query(self, text: str) -> int:
        return self._context.execute(text, eager=True).height


class DataFusion:
    """DataFusion over Arrow tables in memory."""

    def load(self, folder: Path) -> None:
        self._context = datafusion_tables(folder, TABLES)

    def query(self, text: str) -> int:
        return sum(batch.num_rows for batch in self._context.sql(text).collect())


class Spark:
    """Spark local[2] over cached tables; the answer as ``toArrow()``."""

    def load(self, folder: Path) -> None:
        self._spark = spark_tables(folder, TABLES, "6g")

    def query(self, text: str) -> int:
        return self._spark.sql(text).toArrow().num_rows


@dataclass(frozen=True)
class Entry:
    """A subject's name on the command line, and its factory."""

    name: str
    make: Callable[[], Subject]


SUBJECTS = {
    entry.name: entry
    for entry in (
        Entry("sqlfront", Sqlfront),
        Entry("duckdb-1", lambda: DuckDB(1)),
        Entry("duckdb", lambda: DuckDB(os.cpu_count() or 1)),
        Entry("polars", Polars),
        Entry("datafusion", DataFusion),
        Entry("spark", Spark),
    )
}
