"""The formats of the command, beside ``duckdb -csv`` and ``duckdb -json``: rows per second and CPU.

    python -m benchmarks.writers [--rows 3000000]

The rows come from a Parquet file of five columns (a number, a price, a date, a name, and a note, one in
twenty of which has commas and quotes), and go to /dev/null. Each command runs in a process of its own, start
included; the best of three alternating rounds counts. The peer's command comes with `pip install duckdb-cli`.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import duckdb

FORMATS = ("csv", "tsv", "json", "jsonl", "markdown", "html", "arrow", "parquet", "none")
ROUNDS = 3
QUERY = """
    select i as id, round((i * 7919 % 1000003) / 100.0, 2)::double as price,
        date '2013-01-01' + (i % 365)::int as day, 'name ' || (i % 1000) as name,
        case when i % 20 = 0 then 'said "no", then left' else 'comment ' || i end as note
    from range({rows}) t(i)
"""


def measured(command: list[str]) -> tuple[float, float]:
    """Wall time and CPU of a command, in seconds."""
    began = time.perf_counter()
    child = os.posix_spawn(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(child, 0)
    assert status == 0, command
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime


def main() -> None:
    """Print a line per command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--formats", nargs="*", default=FORMATS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        with duckdb.connect() as connection:
            connection.execute(f"copy ({QUERY.format(rows=options.rows)}) to '{path}' (format parquet)")
        ours = [sys.executable, "-m", "sqlfront", "-q"]
        commands = {
            f"sqlfront --format {name}": [*ours, "--format", name, "-c", f"select * from parquet.`{path}`"]
            for name in options.formats
        }
        peer = shutil.which("duckdb", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        for name in ("csv", "json") if peer else ():
            commands[f"duckdb -{name}"] = [str(peer), f"-{name}", "-c", f"select * from '{path}'"]
        best: dict[str, tuple[float, float]] = {}
        for _ in range(ROUNDS):
            for name, command in commands.items():
                found = measured(command)
                best[name] = min(best.get(name, found), found, key=lambda times: times[1])
    print(f"{options.rows:,} rows{'':14}  rows/s       CPU s")
    for name, (wall, cpu) in best.items():
        print(f"{name:26} {options.rows / wall:12,.0f} {cpu:8.2f}")


if __name__ == "__main__":
    main()
