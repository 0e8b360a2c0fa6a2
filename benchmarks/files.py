"""Costs of reading files, beside DuckDB.

    python -m benchmarks.files [--rows 300000] [--only csv json]

Nanoseconds of CPU per row, the median of five reads in turns: the schema of a file is inferred, and
``SELECT count(column), ...`` reads all columns. DuckDB has one thread; it reads text as a CSV of one column,
and can't read ORC.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pyarrow as pa
import pyarrow.csv as pc_csv
import pyarrow.orc as orc
import pyarrow.parquet as pq

import sqlfront

ROUNDS = 5
Read = Callable[[], object]
#: Name, file extension, the writer of a table to a path, and DuckDB's expression for the relation, with {}
#: for the path.
FILES: list[tuple[str, str, Callable[[pa.Table, Path], object], str | None]] = [
    ("plain", "csv", lambda table, path: path.write_text(separated(table)), "read_csv('{}', header = true)"),
    ("strings-quoted", "csv", pc_csv.write_csv, "read_csv('{}', header = true)"),
    (
        "separators",
        "csv",
        lambda table, path: path.write_text(separated(table, '"', ", x")),
        "read_csv('{}', header = true)",
    ),
    ("flat", "json", lambda table, path: path.write_text(lines(table)), "read_json('{}')"),
    ("mixed", "json", lambda table, path: path.write_text(lines(table, mixed=True)), "read_json('{}')"),
    ("flat", "parquet", pq.write_table, "read_parquet('{}')"),
    ("flat", "orc", orc.write_table, None),
    (
        "lines",
        "text",
        lambda table, path: path.write_text(lines(table)),
        "read_csv('{}', header = false, sep = '\x01')",
    ),
]


def made(rows: int) -> pa.Table:
    """A table of integers, doubles, dates as text, and strings, some of them null."""
    numbers = range(rows)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "price": [number / 7 for number in numbers],
            "day": [f"20{number % 30 + 10}-0{number % 9 + 1}-1{number % 10}" for number in numbers],
            "name": [None if number % 11 == 0 else f"name {number % 997}" for number in numbers],
        }
    )


def separated(table: pa.Table, quote: str = "", end: str = "") -> str:
    """CSV text whose names are in ``quote`` and end with ``end``."""
    rows = (
        f"{row['id']},{row['price']},{row['day']},{quote}{row['name'] or ''}{end}{quote}\n"
        for row in table.to_pylist()
    )
    return ",".join(table.column_names) + "\n" + "".join(rows)


def lines(table: pa.Table, *, mixed: bool = False) -> str:
    """JSON text with an object per line; ``mixed``: the id is a number in one line, a string in the next."""
    rows = table.to_pylist()
    if mixed:
        rows = [{**row, "id": row["id"] if row["id"] % 2 else str(row["id"])} for row in rows]
    return "".join(json.dumps(row) + "\n" for row in rows)


def nanoseconds(reads: list[Read], rows: int) -> list[float]:
    """The median CPU time of each read, per row."""
    times: list[list[float]] = [[] for _ in reads]
    for _ in range(ROUNDS):
        for spent, read in zip(times, reads, strict=True):
            start = time.process_time_ns()
            read()
            spent.append((time.process_time_ns() - start) / rows)
    return list(map(statistics.median, times))


def main() -> None:
    """Write the files, measure, and print the table."""
    parser = argparse.ArgumentParser(description="Reading of files")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    table = made(options.rows)
    print("| file | MB | sqlfront | duckdb | ratio |\n|---|---|---|---|---|")
    connected = sqlfront.connect(), duckdb.connect(config={"threads": 1})
    with TemporaryDirectory() as folder, connected[0] as ours, connected[1] as peer:
        for name, ending, write, relation in FILES:
            if options.only and ending not in options.only:
                continue
            path = Path(folder) / f"{name}.{ending}"
            write(table, path)
            columns = ["value"] if ending == "text" else table.column_names
            reads: list[Read] = [partial(read_here, ours, f"t_{name[:5]}_{ending}", path, columns)]
            if relation is not None:
                reads.append(partial(read_there, peer, relation.format(path), columns))
            found = nanoseconds(reads, options.rows)
            beside = (
                [f"{found[1]:,.0f}", f"{found[0] / found[1]:.2f}"] if relation is not None else ["-", "-"]
            )
            size = path.stat().st_size / 1e6
            print(f"| {name}.{ending} | {size:.1f} | {found[0]:,.0f} | {' | '.join(beside)} |", flush=True)


def read_here(connection: sqlfront.Connection, table: str, path: Path, columns: list[str]) -> object:
    """Infer the schema of a file and read all columns."""
    options = ", header 'true', inferSchema 'true'" if path.suffix == ".csv" else ""
    cursor = connection.cursor()
    cursor.execute(f"DROP TABLE IF EXISTS {table}")
    cursor.execute(f"CREATE TABLE {table} USING {path.suffix[1:]} OPTIONS (path '{path}'{options})")
    return cursor.execute(f"SELECT {counts(columns)} FROM {table}").fetchall()


def read_there(connection: duckdb.DuckDBPyConnection, relation: str, columns: list[str]) -> object:
    """Have DuckDB infer the schema and read all columns."""
    names = ["column0"] if columns == ["value"] else columns
    return connection.execute(f"SELECT {counts(names)} FROM {relation}").fetchall()


def counts(columns: list[str]) -> str:
    """The select list that reads all columns."""
    return ", ".join(f"count({column})" for column in columns)


if __name__ == "__main__":
    main()
