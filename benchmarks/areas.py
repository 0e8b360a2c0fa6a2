"""Rows per second by area of SQL, beside DuckDB in one run; beside Spark where DuckDB lacks the function.

    python -m benchmarks.areas [--rows 200000] [--turns 5] [--areas json windows] [--spark]

Each case (:mod:`benchmarks.area_cases`) is a query over tables in memory whose result is one row. The
engines answer in turns, one thread each, and their answers are compared. Printed as Markdown: thousands of
rows of the case's table per second of processor time, and the ratio to the peer's. A Spark session
(``--spark``, local[1]) runs in a process of its own, whose processor time counts.
"""

import argparse
import math
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import sqlfront
from benchmarks.area_cases import CASES, Case
from benchmarks.area_tables import tables
from benchmarks.loading import spark_tables
from benchmarks.processes import children_cpu


class Engine(Protocol):
    """An engine with the tables in memory."""

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        """Run a statement and return its rows."""


class _Sqlfront:
    def __init__(self, connection: sqlfront.Connection) -> None:
        self._connection = connection

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        cursor = self._connection.execute(sql)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []


class _DuckDB:
    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        return self._connection.execute(sql).fetchall()


class _Spark:
    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self._spark = spark_tables(folder, names, "4g", threads=1)

    def ask(self, sql: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self._spark.sql(sql).collect()]


def main() -> None:
    """Make the tables, measure each case and print the table."""
    options = _options()
    cases = [case for case in CASES if not options.areas or case.area in options.areas]
    data = tables(options.rows)
    with _engines(data, with_spark=options.spark) as (ours, peer, spark):
        print(f"{options.rows:,} rows, medians of {options.turns} turns, load {os.getloadavg()[0]:.1f}.\n")
        print(
            "| area | case | rows | sqlfront, k rows/s | peer, k rows/s | ratio |\n|---|---|---|---|---|---|"
        )
        for case in cases:
            rows = options.rows if case.table == "documents" else len(data[case.table])
            print(_line(case, rows, ours, peer, spark, options.turns), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--areas", nargs="+", choices=sorted({case.area for case in CASES}))
    parser.add_argument("--spark", action="store_true", help="measure Spark where DuckDB lacks the function")
    return parser.parse_args()


@contextmanager
def _engines(
    data: dict[str, pa.Table], *, with_spark: bool
) -> Iterator[tuple[Engine, Engine, Engine | None]]:
    """The engines with the tables, and with the documents of ``texts`` as variants (DuckDB: JSON)."""
    with ExitStack() as stack:
        ours = stack.enter_context(sqlfront.connect())
        theirs = stack.enter_context(duckdb.connect(config={"threads": 1}))
        theirs.execute("SET TimeZone = 'UTC'")
        for name, table in data.items():
            ours.register("given", table)
            ours.execute(f"CREATE TABLE {name} USING memory AS SELECT * FROM given")
            theirs.register("given", table)
            theirs.execute(f"CREATE TABLE {name} AS SELECT * FROM given")
        ours.execute("CREATE TABLE documents USING memory AS SELECT parse_json(j) AS v FROM texts")
        theirs.execute("CREATE TABLE documents AS SELECT j::JSON AS v FROM texts")
        spark = None
        if with_spark:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            for name, table in data.items():
                pq.write_table(table, folder / f"{name}.parquet")
            spark = _Spark(folder, list(data))
        yield _Sqlfront(ours), _DuckDB(theirs), spark


def _line(case: Case, rows: int, ours: Engine, duck: Engine, spark: Engine | None, turns: int) -> str:
    """Measure a case and return its line of the table."""
    subjects = [(ours, case.spark_sql)]
    if case.duckdb_sql is not None:
        subjects.append((duck, case.duckdb_sql))
    elif spark is not None:
        subjects.append((spark, case.spark_sql))
    answers = [_turn(case, engine, sql)[1] for engine, sql in subjects]
    for answer in answers[1:]:
        assert agree(answers[0], answer, exact=case.exact), (case.name, answers)
    times: list[list[float]] = [[] for _ in subjects]
    for _ in range(turns):
        for place, (engine, sql) in enumerate(subjects):
            times[place].append(_turn(case, engine, sql)[0])
    rates = [rows / statistics.median(samples) / 1000 for samples in times]
    peer = "-" if len(rates) == 1 else f"{rates[1]:,.0f}{' (Spark)' if case.duckdb_sql is None else ''}"
    ratio = "-" if len(rates) == 1 else f"{rates[0] / rates[1]:.2f}"
    return f"| {case.area} | {case.name} | {rows:,} | {rates[0]:,.0f} | {peer} | {ratio} |"


def _turn(case: Case, engine: Engine, sql: str) -> tuple[float, list[tuple[object, ...]]]:
    """Run a case once; return the seconds of processor time of this process and its children, and the
    answer."""
    for statement in case.before:
        engine.ask(statement)
    children, start = children_cpu(os.getpid()), time.process_time()
    answer = engine.ask(sql)
    seconds = time.process_time() - start + children_cpu(os.getpid()) - children
    return seconds, engine.ask(case.after) if case.after else answer


def agree(left: list[tuple[object, ...]], right: list[tuple[object, ...]], *, exact: bool) -> bool:
    """Return whether two answers are equal, numbers to 1e-9 relatively, or to a seventh if not ``exact``.

    >>> agree([(1.0, "a")], [(1, "a")], exact=True), agree([(100,)], [(103,)], exact=False)
    (True, True)
    """
    tolerance = 1e-9 if exact else 0.15
    return len(left) == len(right) and all(
        len(mine) == len(other) and all(map(lambda a, b: _equal(a, b, tolerance), mine, other))
        for mine, other in zip(left, right, strict=True)
    )


def _equal(left: object, right: object, tolerance: float) -> bool:
    if isinstance(left, int | float) and isinstance(right, int | float):
        return math.isclose(left, right, rel_tol=tolerance)
    return left == right


if __name__ == "__main__":
    main()
