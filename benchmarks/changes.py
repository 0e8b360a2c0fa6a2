"""What a change of one row costs, and what it is to find rows by an index, beside DuckDB and SQLite.

    python -m benchmarks.changes [--rows 1500000] [--count 500]

All hold the same table in memory, with its key and another column indexed. SQL text with other literals each
time, from one thread; statements are confirmed one by one. Printed as Markdown: medians and p99 in
microseconds, and the ratio of DuckDB's median to sqlfront's.
"""

import argparse
import random
import sqlite3
import statistics
import time
from collections.abc import Callable
from typing import Final

import duckdb

import sqlfront

Execute = Callable[[str], object]

#: The measured statements as SQL; ``{k}`` is a key, ``{c}`` a value of the other column, ``{n}`` counts.
STATEMENTS: Final = {
    "lookup by key": "SELECT s, n FROM t WHERE k = {k}",
    "lookup by index (15 rows)": "SELECT k, s, n FROM t WHERE c = {c}",
    "UPDATE by key": "UPDATE t SET n = {n} WHERE k = {k}",
    "UPDATE by index (15 rows)": "UPDATE t SET n = n + 1 WHERE c = {c}",
    "DELETE by key": "DELETE FROM t WHERE k = {k}",
    "INSERT of a row": "INSERT INTO t VALUES ({n} + 100000000, {c}, 'new', 0)",
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--count", type=int, default=500)
    options = parser.parse_args()
    subjects = {
        "sqlfront": open_sqlfront(options.rows),
        "DuckDB": open_duckdb(options.rows),
        "SQLite": open_sqlite(options.rows),
    }
    titles = " | ".join(f"{name}, median | p99" for name in subjects)
    print(f"| {options.rows:,} rows | {titles} | DuckDB / sqlfront |")
    print(f"|---{'|---' * (2 * len(subjects) + 1)}|")
    for what, template in STATEMENTS.items():
        measured = {name: measure(execute, template, options) for name, execute in subjects.items()}
        cells = " | ".join(f"{median:,.0f} | {worst:,.0f}" for median, worst in measured.values())
        print(f"| {what} | {cells} | {measured['DuckDB'][0] / measured['sqlfront'][0]:.1f} |")


def measure(execute: Execute, template: str, options: argparse.Namespace) -> tuple[float, float]:
    """Median and p99 in microseconds; the first runs, a sixth of all, are for warming up."""
    chosen = random.Random(template)
    times = []
    for number in range(options.count * 6 // 5):
        text = template.format(
            k=chosen.randrange(options.rows), c=chosen.randrange(options.rows // 15), n=number
        )
        began = time.perf_counter()
        execute(text)
        times.append(1e6 * (time.perf_counter() - began))
    times = sorted(times[options.count // 5 :])
    return statistics.median(times), times[len(times) * 99 // 100]


def open_sqlfront(rows: int) -> Execute:
    """Open sqlfront with the table clustered by the key, and an index."""
    connection = sqlfront.connect()
    connection.execute(
        "CREATE TABLE t (k BIGINT, c BIGINT, s STRING, n BIGINT) USING memory CLUSTERED BY (k)"
    )
    connection.execute(
        f"INSERT INTO t SELECT id, id % {rows // 15}, concat('row ', id), id % 100 FROM range({rows})"
    )
    connection.execute("CREATE INDEX i ON t (c)")
    cursor = connection.cursor()

    def execute(text: str) -> object:
        cursor.execute(text)
        return cursor.fetchall() if cursor.description else None

    return execute


def open_duckdb(rows: int) -> Execute:
    """Open DuckDB with an index for each of the two columns."""
    connection = duckdb.connect(config={"threads": 2})
    connection.execute(
        f"CREATE TABLE t AS SELECT range AS k, range % {rows // 15} AS c, 'row ' || range AS s,"
        f" range % 100 AS n FROM range({rows})"
    )
    connection.execute("CREATE UNIQUE INDEX key ON t (k)")
    connection.execute("CREATE INDEX i ON t (c)")
    return lambda text: connection.execute(text).fetchall()


def open_sqlite(rows: int) -> Execute:
    """Open SQLite with an index for each of the two columns; each statement is a transaction."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, c INTEGER, s TEXT, n INTEGER)")
    connection.execute("BEGIN")
    values = ((number, number % (rows // 15), f"row {number}", number % 100) for number in range(rows))
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", values)
    connection.execute("CREATE INDEX i ON t (c)")
    connection.execute("COMMIT")
    return lambda text: connection.execute(text).fetchall()


if __name__ == "__main__":
    main()
