"""Engines that answer point queries: each loads five tables of TPC-H into memory, makes indexes, and turns
SQL text into Python tuples."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from benchmarks.loading import datafusion_tables, spark_tables

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from sqlfront import Connection

#: Each table and its lookup columns.
KEYS: Final = {
    "region": (),
    "nation": (),
    "customer": ("c_custkey",),
    "orders": ("o_orderkey", "o_custkey"),
    "lineitem": ("l_orderkey",),
}

Rows = Sequence[tuple[object, ...]]
#: Takes a text and parameters (None: the text has none), and returns rows. For one thread.
Ask = Callable[[str, Sequence[object] | None], Rows]


class PointSubject(Protocol):
    """An engine with the tables loaded."""

    def load(self, folder: Path) -> None:
        """Read ``<table>.parquet`` of every table into memory."""

    def client(self) -> Ask:
        """A function with which one thread asks; several threads may ask at once, each with its own
        function."""


class Sqlfront:
    """sqlfront, embedded unless a connection is given: tables clustered by their keys, an index on the
    orders' customers."""

    def __init__(self, connection: "Connection | None" = None) -> None:
        self._given = connection

    def load(self, folder: Path) -> None:
        import sqlfront

        self._connection = self._given or sqlfront.connect()
        for table, keys in KEYS.items():
            clustered = f"CLUSTERED BY ({keys[0]}) INTO 271 BUCKETS" if keys else ""
            self._connection.execute(
                f"CREATE TABLE {table} USING memory {clustered}"
                f" AS SELECT * FROM parquet.`{folder / table}.parquet`"
            )
            for key in keys[1:]:
                self._connection.execute(f"CREATE INDEX {table}_{key} ON {table} ({key})")

    def client(self) -> Ask:
        cursor, prepare = self._connection.cursor(), cache(self._connection.prepare)

        def ask(text: str, parameters: Sequence[object] | None) -> Rows:
            if parameters is None:
                return cursor.execute(text).fetchall()
            return cursor.execute(prepare(text), parameters).fetchall()

        return ask


class SQLite:
    """SQLite in memory, as shipped with Python; decimals are doubles and dates are texts there."""

    def load(self, folder: Path) -> None:
        import sqlite3

        import pyarrow.parquet as pq

        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        for table, keys in KEYS.items():
            file = pq.ParquetFile(folder / f"{table}.parquet")
            names = file.schema_arrow.names
            self._connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            insert = f"INSERT INTO {table} VALUES ({', '.join('?' * len(names))})"
            self._connection.executemany(insert, _plain_rows(file))
            for key in keys:
                self._connection.execute(f"CREATE INDEX {table}_{key} ON {table} ({key})")
        self._connection.commit()

    def client(self) -> Ask:
        cursor = self._connection.cursor()
        return lambda text, parameters: cursor.execute(text, parameters or ()).fetchall()


class DuckDB:
    """DuckDB in memory, with indexes and a given number of threads."""

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def load(self, folder: Path) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"threads": self._threads})
        for table, keys in KEYS.items():
            self._connection.execute(f"CREATE TABLE {table} AS SELECT * FROM '{folder / table}.parquet'")
            for key in keys:
                self._connection.execute(f"CREATE INDEX {table}_{key} ON {table} ({key})")

    def client(self) -> Ask:
        cursor = self._connection.cursor()
        return lambda text, parameters: cursor.execute(text, parameters).fetchall()


class Polars:
    """Polars' SQL over eager frames, without parameters."""

    def load(self, folder: Path) -> None:
        import polars

        frames = {table: polars.read_parquet(folder / f"{table}.parquet") for table in KEYS}
        self._context = polars.SQLContext(frames)

    def client(self) -> Ask:
        def ask(text: str, parameters: Sequence[object] | None) -> Rows:
            if parameters is not None:
                raise NotImplementedError("Polars' SQL has no parameters")
            return self._context.execute(text, eager=True).rows()

        return ask


class DataFusion:
    """DataFusion over Arrow tables in memory."""

    def load(self, folder: Path) -> None:
        self._context = datafusion_tables(folder, KEYS)

    def client(self) -> Ask:
        def ask(text: str, parameters: Sequence[object] | None) -> Rows:
            named = {f"p{place}": value for place, value in enumerate(parameters or ())}
            for name in named:
                text = text.replace("?", f"${name}", 1)
            rows: list[tuple[object, ...]] = []
            for batch in self._context.sql(text, param_values=named or None).collect():
                rows += zip(*[column.to_pylist() for column in batch.columns], strict=True)
            return rows

        return ask


class Spark:
    """Spark local[2] over cached tables."""

    def load(self, folder: Path) -> None:
        self._spark = spark_tables(folder, KEYS, "5g")

    def client(self) -> Ask:
        def ask(text: str, parameters: Sequence[object] | None) -> Rows:
            return self._spark.sql(text, args=None if parameters is None else list(parameters)).collect()

        return ask


def _plain_rows(file: "pq.ParquetFile") -> Iterator[tuple[object, ...]]:
    """The rows with decimals as floats and dates as texts."""
    import pyarrow as pa

    for batch in file.iter_batches(65_536):
        columns = []
        for column in batch.columns:
            if pa.types.is_decimal(column.type):
                column = column.cast(pa.float64())
            elif pa.types.is_date(column.type):
                column = column.cast(pa.string())
            columns.append(column.to_pylist())
        yield from zip(*columns, strict=True)


SUBJECTS: Final[dict[str, Callable[[], PointSubject]]] = {
    "sqlfront": Sqlfront,
    "sqlite": SQLite,
    "duckdb-1": lambda: DuckDB(1),
    "duckdb": lambda: DuckDB(os.cpu_count() or 1),
    "polars": Polars,
    "datafusion": DataFusion,
    "spark": Spark,
}
