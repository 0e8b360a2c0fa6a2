"""Functions that take lambdas, over arrays in memory, beside DuckDB's, in turns.

    python -m benchmarks.lambdas [--rows 200000] [--length 10] [--turns 5]

A table has an array of up to ``2 * length`` integers and a number in each row; both engines answer the
same query, whose result is one row. Printed as Markdown: millions of rows per second of processor time, all
threads together, and the ratio to DuckDB's. DuckDB has one thread.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

import sqlfront

#: A call that runs a query and returns its rows.
Ask = Callable[[], list[Any]]
#: Each work: its name, the query in Spark's SQL, and the query in DuckDB's.
WORKS: Final = (
    (
        "transform",
        "SELECT sum(size(transform(a, x -> x * 2 + 1))) FROM t",
        "SELECT sum(len(list_transform(a, lambda x: x * 2 + 1))) FROM t",
    ),
    (
        "transform, with a captured column",
        "SELECT sum(size(transform(a, x -> x * b + 1))) FROM t",
        "SELECT sum(len(list_transform(a, lambda x: x * b + 1))) FROM t",
    ),
    (
        "transform of transform",
        "SELECT sum(size(transform(transform(a, x -> x + 1), x -> x * b))) FROM t",
        "SELECT sum(len(list_transform(list_transform(a, lambda x: x + 1), lambda x: x * b))) FROM t",
    ),
    (
        "filter",
        "SELECT sum(size(filter(a, x -> x > 500))) FROM t",
        "SELECT sum(len(list_filter(a, lambda x: x > 500))) FROM t",
    ),
    (
        "exists",
        "SELECT count_if(exists(a, x -> x = b)) FROM t",
        "SELECT count_if(list_bool_or(list_transform(a, lambda x: x = b))) FROM t",
    ),
    (
        "aggregate",
        "SELECT sum(aggregate(a, 0L, (s, x) -> s + x)) FROM t",
        "SELECT sum(list_reduce(a, lambda s, x: s + x, 0::BIGINT)) FROM t",
    ),
    (
        "zip_with",
        "SELECT sum(size(zip_with(a, a, (x, y) -> x + y))) FROM t",
        "SELECT sum(len(list_transform(list_zip(a, a), lambda z: z[1] + z[2]))) FROM t",
    ),
)


def main() -> None:
    """Make the table, measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    data = table(options.rows, options.length)
    with sqlfront.connect() as ours, duckdb.connect(config={"threads": 1}) as theirs:
        ours.register("given", data)
        ours.execute("CREATE TABLE t USING memory AS SELECT * FROM given")
        theirs.register("given", data)
        theirs.execute("CREATE TABLE t AS SELECT * FROM given")
        print(f"{options.rows} rows, arrays of {options.length} on average, load {os.getloadavg()[0]:.1f}.\n")
        print("| M rows/s of CPU | sqlfront | duckdb | ratio |\n|---|---|---|---|")
        for name, spark_sql, duckdb_sql in WORKS:
            subjects: list[Ask] = [
                lambda: ours.execute(spark_sql).fetchall(),  # noqa: B023 - called within the loop
                lambda: theirs.execute(duckdb_sql).fetchall(),  # noqa: B023
            ]
            first, second = (subject() for subject in subjects)
            assert [tuple(row) for row in first] == second, name
            mine, peer = measured(subjects, options.turns)
            rows = options.rows / 1e6
            print(f"| {name} | {rows / mine:.2f} | {rows / peer:.2f} | {peer / mine:.2f} |")


def table(rows: int, length: int) -> pa.Table:
    """The table of both engines; the same at every call."""
    source = np.random.default_rng(1)
    offsets = np.zeros(rows + 1, np.int32)
    np.cumsum(source.integers(0, 2 * length + 1, rows), out=offsets[1:])
    elements = pa.array(source.integers(0, 1000, int(offsets[-1])).astype(np.int32))
    arrays = pa.ListArray.from_arrays(pa.array(offsets), elements)
    return pa.table({"a": arrays, "b": pa.array(source.integers(0, 1000, rows).astype(np.int32))})


def measured(subjects: list[Ask], turns: int) -> list[float]:
    """The medians of the subjects' processor seconds, run in turns."""
    times: list[list[float]] = [[] for _ in subjects]
    for _ in range(turns):
        for place, subject in enumerate(subjects):
            start = time.process_time()
            subject()
            times[place].append(time.process_time() - start)
    return [statistics.median(samples) for samples in times]


if __name__ == "__main__":
    main()
