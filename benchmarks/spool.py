"""Rows per second into a spool file and out of it, beside a bare Arrow IPC file of the same rows.

python -m benchmarks.spool --rows 2000000 --buckets 16 --rounds 5 --folder .

The columns are those of TPC-H's lineitem that a shuffle carries: numbers, decimals as scaled integers, dates,
strings of few values with a dictionary, and a comment. The ways take turns; of each way the median of the
rounds and the median of its ratio to the bare file of the same round are printed. The folder decides on the
disk; nothing is synced unless asked.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple
from unittest.mock import patch

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_engine.processors.spool.spool_write import SpoolWrite
from sqlfront_engine.spool.reading import read_spool
from sqlfront_engine.spool.spool_file import SpoolFile, SpoolSettings, SpoolWriter
from sqlfront_engine.storage import growing_file
from sqlfront_engine.testing import CountingMemory, lone_context, run_processor
from sqlfront_values.columns.batches import split_batch
from sqlfront_values.partitioning.partitions import DEFAULT_PARTITIONS, partition_ids
from sqlfront_values.types import BIGINT, DATE, DICTIONARY_STRING, INT, STRING

BATCH_ROWS = 65_536
SCHEMA = pa.schema(
    [
        ("orderkey", BIGINT),
        ("partkey", BIGINT),
        ("linenumber", INT),
        ("quantity", pa.decimal64(12, 2)),
        ("price", pa.decimal64(12, 2)),
        ("returnflag", STRING),
        ("shipmode", STRING),
        ("shipdate", DATE),
        ("comment", STRING),
    ]
)
WORDS = np.array(["carefully", "final", "deposits", "sleep", "furiously", "quickly", "ironic", "accounts"])


def lineitem(rows: int) -> list[pa.RecordBatch]:
    """Batches of so many rows, in physical form."""
    random = np.random.default_rng(1)
    return [batch(random, start, min(BATCH_ROWS, rows - start)) for start in range(0, rows, BATCH_ROWS)]


def batch(random: np.random.Generator, start: int, rows: int) -> pa.RecordBatch:
    """One batch; the order keys go up as in the table."""
    orders = start // 4 + np.sort(random.integers(0, rows, rows)) // 4
    comments = [" ".join(words) for words in random.choice(WORDS, (997, 4))]
    columns = [
        pa.array(orders),
        pa.array(random.integers(0, 200_000, rows)),
        pa.array(random.integers(1, 8, rows).astype(np.int32)),
        decimals(random.integers(100, 5001, rows)),
        decimals(random.integers(90_000, 10_500_000, rows)),
        coded(random.integers(0, 3, rows), ["A", "N", "R"]),
        coded(random.integers(0, 7, rows), ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]),
        pa.array(random.integers(8000, 10_500, rows).astype(np.int32)).cast(DATE),
        coded(random.integers(0, len(comments), rows), comments).cast(STRING),
    ]
    return pa.RecordBatch.from_arrays(columns, names=SCHEMA.names)


def decimals(values: np.ndarray) -> pa.Array:
    """Scaled integers as decimals."""
    return pa.Array.from_buffers(pa.decimal64(12, 2), len(values), [None, pa.py_buffer(values)])


def coded(codes: np.ndarray, words: list[str]) -> pa.Array:
    """Words by their numbers."""
    column = pa.DictionaryArray.from_arrays(codes.astype(np.int32), pa.array(words))
    assert column.type == DICTIONARY_STRING
    return column


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without dictionaries."""
    columns = [
        column.cast(STRING) if column.type == DICTIONARY_STRING else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def drain(batches: Iterator[pa.RecordBatch]) -> None:
    """Read the batches, one after the other; none is kept."""
    for _ in batches:
        pass


class Ways:
    """The ways to write the rows and to read them again, in a folder."""

    def __init__(self, folder: str, rows: int, buckets: int, settings: SpoolSettings) -> None:
        self._folder = folder
        self._coded = lineitem(rows)
        self._plain = [plain(batch) for batch in self._coded]
        self._buckets = buckets
        self._settings = settings
        self._options = pa.ipc.IpcWriteOptions(compression=settings.compression, use_threads=False)
        self._bare = os.path.join(folder, "bare.arrow")
        self._one: SpoolFile
        self._many: SpoolFile

    def writing(self) -> dict[str, Callable[[], object]]:
        """The ways to write, the bare file first."""
        return {
            "bare Arrow file": self._write_bare,
            "spool file, without checksums": self._write_unchecked,
            "spool file, one bucket": lambda: self._write_one(self._plain),
            "  of dictionaries": lambda: self._write_one(self._coded),
            f"SpoolWrite, {self._buckets} buckets by key": self._write_many,
            "  the split alone": self._split,
        }

    def reading(self) -> dict[str, Callable[[], object]]:
        """The ways to read what was written, the bare file first."""
        part = range(1)
        return {
            "bare Arrow file": self._read_bare,
            "spool file, one bucket": lambda: drain(read_spool(self._one)),
            f"spool file, all of {self._buckets} buckets": lambda: drain(read_spool(self._many)),
            f"  one of {self._buckets} buckets": lambda: drain(read_spool(self._many, part)),
        }

    def _write_bare(self) -> None:
        with (
            pa.OSFile(self._bare, "wb") as file,
            pa.ipc.new_file(file, self._plain[0].schema, options=self._options) as writer,
        ):
            for batch in self._plain:
                writer.write_batch(batch)

    def _write_one(self, batches: list[pa.RecordBatch]) -> None:
        path = os.path.join(self._folder, "one.arrow")
        with SpoolWriter(path, SCHEMA, 1, memory=CountingMemory(), settings=self._settings) as writer:
            for batch in batches:
                writer.write(batch, 0)
            self._one = writer.finish()

    def _write_unchecked(self) -> None:
        with patch.object(growing_file, "crc32", lambda data, checksum: 0):
            self._write_one(self._plain)

    def _write_many(self) -> None:
        found: list[SpoolFile] = []
        context = msgspec.structs.replace(lone_context(), resources={"report": found})
        path = os.path.join(self._folder, "many.arrow")
        sink = SpoolWrite(path, (0,), self._buckets, "report", self._settings)
        run_processor(sink, [self._coded], context=context)
        (self._many,) = found

    def _split(self) -> None:
        targets = np.arange(DEFAULT_PARTITIONS) * self._buckets // DEFAULT_PARTITIONS
        for batch in self._coded:
            ids = partition_ids([batch.column(0)], batch.num_rows, DEFAULT_PARTITIONS)
            split_batch(batch, targets[ids], self._buckets)

    def _read_bare(self) -> None:
        with pa.OSFile(self._bare) as file:
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(use_threads=False))
            for place in range(reader.num_record_batches):
                reader.get_batch(place)


class Spent(NamedTuple):
    """Seconds: by the clock, and of processors."""

    time: float
    processor: float


def spent(way: Callable[[], object]) -> Spent:
    """The costs of one run."""
    began, processor = time.perf_counter(), time.process_time()
    way()
    return Spent(time.perf_counter() - began, time.process_time() - processor)


def measure(ways: dict[str, Callable[[], object]], rows: int, rounds: int) -> None:
    """Print the figures of the ways, which take turns; the first is the one that the others are compared
    with."""
    found: dict[str, list[Spent]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(spent(way))
    bare = found[next(iter(ways))]
    for name, costs in found.items():
        speed = rows / statistics.median(cost.time for cost in costs) / 1e6
        ratio = statistics.median(cost.time / base.time for cost, base in zip(costs, bare, strict=True))
        processor = statistics.median(
            cost.processor / base.processor for cost, base in zip(costs, bare, strict=True)
        )
        print(f"  {name:<34} {speed:7.2f} million rows/s  {ratio:6.2f} x time  {processor:6.2f} x processor")


def main() -> None:
    """Measure and print all ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--buckets", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--compression", choices=["lz4", "zstd", "none"], default="lz4")
    parser.add_argument("--fsync", action="store_true")
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    compression = None if options.compression == "none" else options.compression
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        settings = SpoolSettings(compression, fsync=options.fsync)
        ways = Ways(folder, options.rows, options.buckets, settings)
        print(f"{options.rows} rows written, medians of {options.rounds} rounds")
        measure(ways.writing(), options.rows, options.rounds)
        print("and read; a part counts as all rows")
        measure(ways.reading(), options.rows, options.rounds)


if __name__ == "__main__":
    main()
