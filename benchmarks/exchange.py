"""Rows of a Spark table into members and back: between Spark's tasks and members, and the naive ways.

    python -m benchmarks.exchange --scale 1

Lineitem is cached in Spark (local[2]); two members are processes with one worker thread each. Every way is
run in turn, once and then ``--runs`` times more, which count. MB are those of the table as Arrow; ``cpu`` is
that of all processes, the JVM, its Python workers and the members included; ``driver`` is by how much the
driver's process (not its JVM) has grown at most.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

import sqlfront
from benchmarks.loading import spark_tables
from benchmarks.processes import children_cpu, status
from sqlfront.cluster.processes import ProcessMembers
from sqlfront_connectors.base import Partitioning, insert_all
from sqlfront_connectors.memory.spread import SpreadTable
from sqlfront_connectors.spark.loading import SpreadFrame, load
from sqlfront_connectors.spark.types import logical_schema, physical_batch
from sqlfront_planner.catalog import TableEntry
from tests.tpch.data import tpch_folder

TABLE, KEY = "lineitem", "l_orderkey"
Way = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", default="1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help="ways whose names hold this text")
    parser.add_argument("--folder", type=Path, help="has lineitem.parquet (default: generated)")
    options = parser.parse_args()
    folder = options.folder or tpch_folder(options.scale)
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    with sqlfront.connect(members=2, launcher="local", workers=1) as connection, _temporary() as place:
        bench = Bench(folder, connection, place)
        try:
            for title, ways in ("into members", bench.ways_in()), ("from members", bench.ways_out()):
                chosen = {name: way for name, way in ways.items() if options.only in name}
                bench.report(title, chosen, options.runs)
        finally:
            bench.spark.stop()
    print(f"load {os.getloadavg()[0]:.1f} at the end")


@contextmanager
def _temporary() -> Iterator[Path]:
    place = tempfile.mkdtemp(prefix="sqlfront-exchange-")
    try:
        yield Path(place)
    finally:
        shutil.rmtree(place)


class Bench:
    """The two sides, and the ways between them."""

    def __init__(self, folder: Path, connection: sqlfront.Connection, place: Path) -> None:
        members = connection.session.cluster
        assert isinstance(members, ProcessMembers)
        self.members, self.connection, self.place = members, connection, place
        self.spark = spark_tables(folder, [TABLE], "4g")
        self.frame = self.spark.table(TABLE)
        self.schema = logical_schema(self.frame.schema)
        self.rows = self.frame.count()
        sample = self.frame.limit(100_000).toArrow()
        self.megabytes = sample.nbytes / sample.num_rows * self.rows / 1e6
        self.table = self._table("direct")

    def _table(self, name: str) -> SpreadTable:
        placed = Partitioning((self.schema.get_field_index(KEY),), 271)
        return self.members.table(name, self.schema, placed)

    def ways_in(self) -> dict[str, Way]:
        return {
            "tasks to members": lambda: load(self.frame, self.table, self.members.door),
            "the same, shuffled by Spark before": self.shuffled,
            "by the driver: toArrow, then to members": self.by_driver,
            "members read Parquet that Spark writes": self.by_files,
        }

    def shuffled(self) -> None:
        load(self.frame.repartition(8, KEY), self._table("shuffled"), self.members.door)

    def by_driver(self) -> None:
        batches = (physical_batch(batch, self.schema) for batch in self.frame.toArrow().to_batches())
        insert_all(self._table("by_driver"), batches, overwrite=True)

    def by_files(self) -> None:
        path = self.place / "in"
        self.frame.write.mode("overwrite").parquet(str(path))
        self.connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW f AS SELECT * FROM parquet.`{path}`")
        self.connection.execute(f"CACHE TABLE f CLUSTERED BY ({KEY})")
        self.connection.execute("DROP VIEW f")

    def ways_out(self) -> dict[str, Way]:
        return {
            "tasks from members": self.read,
            "toArrow, then createDataFrame": self.created,
            "toArrow, then Parquet that Spark reads": self.written,
        }

    def read(self) -> None:
        with SpreadFrame(self.spark, self.table.snapshot(), self.members.door) as frame:
            frame.data.write.format("noop").mode("overwrite").save()

    def _rows(self) -> pa.Table:
        names = ", ".join(self.schema.names)
        self.connection.session.catalog.add(TableEntry("direct", self.table, temporary=True), replace=True)
        return self.connection.execute(f"SELECT {names} FROM direct").fetch_arrow_table()

    def created(self) -> None:
        frame = self.spark.createDataFrame(self._rows(), self.frame.schema)
        frame.write.format("noop").mode("overwrite").save()

    def written(self) -> None:
        import pyarrow.parquet as pq

        path = self.place / "out.parquet"
        pq.write_table(self._rows(), path)
        frame = self.spark.read.schema(self.frame.schema).parquet(str(path))
        frame.write.format("noop").mode("overwrite").save()

    def report(self, title: str, ways: dict[str, Way], runs: int) -> None:
        """Run the ways in turn, and print what they took."""
        taken: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ways}
        for number in range(runs + 1):
            for name, way in ways.items():
                measured = _measured(way)
                if number:
                    taken[name].append(measured)
        print(f"\n{title}: {self.rows} rows, {self.megabytes:.0f} MB")
        print(f"{'':40} {'s':>7} {'MB/s':>7} {'cpu s':>7} {'MB/cpu s':>8} {'driver MB':>9}")
        for name, found in taken.items():
            wall, cpu, memory = (statistics.median(values) for values in zip(*found, strict=True))
            speeds = f"{self.megabytes / wall:7.0f} {cpu:7.1f} {self.megabytes / cpu:8.0f}"
            print(f"{name:40} {wall:7.2f} {speeds} {memory:9.0f}")


def _measured(way: Way) -> tuple[float, float, float]:
    """Seconds, CPU seconds of all processes, and MB by which this one has grown at most."""
    own = os.getpid()
    Path("/proc/self/clear_refs").write_text("5")
    before = status(own, "VmRSS")
    cpu, began = time.process_time() + children_cpu(own), time.perf_counter()
    way()
    wall, after = time.perf_counter() - began, time.process_time() + children_cpu(own)
    return wall, after - cpu, max(0, status(own, "VmHWM") - before) / 1e6


if __name__ == "__main__":
    main()
