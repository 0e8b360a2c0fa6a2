"""Exploded rows per second: sqlfront's generators beside DuckDB's ``unnest``, in one run and one process.

    python -m benchmarks.generators --rows 200000

Both read the same Arrow table, kept in memory before; each query is run in turn by both, and its answer is
one row, so that no time goes into results."""

import argparse
import statistics
import time
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa

import sqlfront

#: For each question sqlfront's query and DuckDB's.
QUERIES = {
    "explode, sum": (
        "SELECT sum(x) FROM t LATERAL VIEW explode(a) e AS x",
        "SELECT sum(x) FROM (SELECT unnest(a) AS x FROM t)",
    ),
    "explode beside an id, group by it": (
        "SELECT count(*) FROM (SELECT id, sum(x) FROM t LATERAL VIEW explode(a) e AS x GROUP BY id)",
        "SELECT count(*) FROM (SELECT id, sum(x) FROM (SELECT id, unnest(a) AS x FROM t) GROUP BY id)",
    ),
    "explode strings, group by them": (
        (
            "SELECT count(*), max(n) FROM "
            "(SELECT x, count(*) AS n FROM t LATERAL VIEW explode(w) e AS x GROUP BY x)"
        ),
        (
            "SELECT count(*), max(n) FROM "
            "(SELECT x, count(*) AS n FROM (SELECT unnest(w) AS x FROM t) GROUP BY x)"
        ),
    ),
    "inline structs, filter": (
        "SELECT count(*), sum(p) FROM (SELECT inline(s) FROM t) WHERE p > 500",
        "SELECT count(*), sum(s.p) FROM (SELECT unnest(s) AS s FROM t) WHERE s.p > 500",
    ),
    "posexplode": (
        "SELECT sum(pos * col) FROM (SELECT posexplode(a) FROM t)",
        "SELECT sum(p * x) FROM (SELECT unnest(a) AS x, unnest(range(len(a))) AS p FROM t)",
    ),
    "stack of three columns": (
        "SELECT k, sum(v) FROM (SELECT stack(3, 1, id, 2, id + 1, 3, id + 2) AS (k, v) FROM t) GROUP BY k",
        (
            "SELECT k, sum(v) FROM "
            "(SELECT unnest([1, 2, 3]) AS k, unnest([id, id + 1, id + 2]) AS v FROM t) GROUP BY k"
        ),
    ),
}


def table(rows: int, mean: int = 10) -> pa.Table:
    """A table of ``rows`` rows with arrays of integers, strings and structs, of ``mean`` elements on
    average."""
    random = np.random.default_rng(1)
    lengths = random.integers(0, 2 * mean + 1, rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    numbers = pa.array(random.integers(0, 1000, int(lengths.sum())))
    words = pa.array([f"word {n}" for n in range(1000)]).take(numbers)
    structs = pa.StructArray.from_arrays([numbers, words], names=["p", "q"])
    columns = [pa.ListArray.from_arrays(offsets, elements) for elements in (numbers, words, structs)]
    return pa.table([pa.array(np.arange(rows)), *columns], names=["id", "a", "w", "s"])


def _median(run: Callable[[], object], runs: int) -> float:
    run()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print a table: per question the rows made per second by both, in millions, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    data = table(options.rows)
    made = len(data["a"].combine_chunks().flatten())
    with sqlfront.connect() as session, duckdb.connect(config={"threads": 2}) as duck:
        session.register("t", data)
        duck.register("given", data)
        duck.execute("CREATE TABLE t AS SELECT * FROM given")
        print(f"{made:,} elements of {options.rows:,} rows, medians of {options.runs} runs\n")
        print("| question | sqlfront, M rows/s | DuckDB, M rows/s | ratio |\n|---|---|---|---|")
        for question, (ours, theirs) in QUERIES.items():
            count = 3 * options.rows if question.startswith("stack") else made
            mine = count / _median(lambda sql=ours: session.execute(sql).fetchall(), options.runs) / 1e6  # type: ignore[misc]
            other = count / _median(lambda sql=theirs: duck.execute(sql).fetchall(), options.runs) / 1e6  # type: ignore[misc]
            print(f"| {question} | {mine:.1f} | {other:.1f} | {mine / other:.2f} |")


if __name__ == "__main__":
    main()
