"""TPC-H from memory, engines side by side in one run.

    python -m benchmarks.compare --scale 1 --subjects sqlfront duckdb-1 duckdb polars datafusion spark

Every subject has a process of its own, loads the tables there, and answers each query in turn with the others
(one warm-up, then ``--runs``), so that a noisy machine disturbs all alike. Printed as Markdown: medians of
wall and processor time per query, ratios to a reference, geometric means, loading, and peak memory against
the bytes of the tables as read from Parquet.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.processes import Measured, Worker
from benchmarks.subjects import SUBJECTS, TABLES
from tests.tpch.data import tpch_folder

QUERIES = Path(__file__).parent.parent / "tests" / "tpch" / "queries"


def main() -> int:
    options = _options()
    folder = tpch_folder(options.scale)
    numbers = options.queries or list(range(1, 23))
    workers = []
    for name in options.subjects:
        print(f"loading {name} ...", file=sys.stderr, flush=True)
        workers.append(Worker(name, folder))
    try:
        results = {number: _rounds(workers, _text(number), options.runs, number) for number in numbers}
        report = _report(workers, results, options.reference, _bytes_of(folder))
    finally:
        for worker in workers:
            worker.close()
    print(f"TPC-H scale {options.scale}, medians of {options.runs} runs after one warm-up\n")
    print(report)
    if options.json:
        Path(options.json).write_text(json.dumps(_raw(results), indent=1))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--scale", default="0.1")
    parser.add_argument("--subjects", nargs="+", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--queries", nargs="+", type=int)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--reference", default="duckdb-1", help="what ratios are against")
    parser.add_argument("--json", help="write all measurements to this file")
    return parser.parse_args()


def _text(number: int) -> str:
    return (QUERIES / f"q{number}.sql").read_text().rstrip().rstrip(";")


def _rounds(workers: Sequence[Worker], text: str, runs: int, number: int) -> dict[str, list[Measured]]:
    """The measurements of a query, without the warm-up; the subjects take turns."""
    print(f"query {number}", file=sys.stderr, flush=True)
    measured: dict[str, list[Measured]] = {worker.name: [] for worker in workers}
    for _ in range(runs + 1):
        for worker in workers:
            measured[worker.name].append(worker.run(text))
    return {name: runs_of[1:] for name, runs_of in measured.items()}


def _bytes_of(folder: Path) -> int:
    return sum(pq.read_table(folder / f"{table}.parquet").nbytes for table in TABLES)


def _report(
    workers: Sequence[Worker], results: dict[int, dict[str, list[Measured]]], reference: str, size: int
) -> str:
    names = [worker.name for worker in workers]
    lines = [
        "| query | " + " | ".join(f"{name} wall / cpu ms" for name in names) + " |",
        "|---|" + "---|" * len(names),
    ]
    walls: dict[str, list[float]] = {name: [] for name in names}
    cpus: dict[str, list[float]] = {name: [] for name in names}
    for number, by_name in results.items():
        cells = []
        for name in names:
            runs = by_name[name]
            failed = next((run.error for run in runs if run.error), "")
            if failed:
                cells.append(failed.split(":")[0])
                continue
            wall = statistics.median(run.wall for run in runs) * 1000
            cpu = statistics.median(run.cpu for run in runs) * 1000
            walls[name].append(wall)
            cpus[name].append(max(cpu, 1.0))
            cells.append(f"{wall:.0f} / {cpu:.0f}")
        lines.append(f"| Q{number} | " + " | ".join(cells) + " |")
    lines.append(_means("geometric mean", names, walls, cpus))
    if reference in names:
        lines.append(_ratios(names, reference, results))
    lines += ["", *_loading(workers, size)]
    return "\n".join(lines)


def _means(
    title: str, names: Sequence[str], walls: dict[str, list[float]], cpus: dict[str, list[float]]
) -> str:
    cells = [f"**{_geometric(walls[name]):.0f} / {_geometric(cpus[name]):.0f}**" for name in names]
    return f"| **{title}** | " + " | ".join(cells) + " |"


def _ratios(names: Sequence[str], reference: str, results: dict[int, dict[str, list[Measured]]]) -> str:
    cells = []
    for name in names:
        walls, cpus = [], []
        for by_name in results.values():
            if any(run.error for run in by_name[name] + by_name[reference]):
                continue
            walls.append(
                _ratio([run.wall for run in by_name[name]], [run.wall for run in by_name[reference]])
            )
            cpus.append(_ratio([run.cpu for run in by_name[name]], [run.cpu for run in by_name[reference]]))
        cells.append(f"{_geometric(walls):.2f} / {_geometric(cpus):.2f}")
    return f"| ratio to {reference} | " + " | ".join(cells) + " |"


def _ratio(ours: list[float], theirs: list[float]) -> float:
    return max(statistics.median(ours), 0.001) / max(statistics.median(theirs), 0.001)


def _geometric(values: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values))) if values else float("nan")


def _loading(workers: Sequence[Worker], size: int) -> list[str]:
    lines = [
        f"| | load wall s | load cpu s | peak MB | peak / {size / 1e6:.0f} MB of tables |",
        "|---|---|---|---|---|",
    ]
    for worker in workers:
        peak = worker.peak_memory()
        loaded = worker.loaded
        lines.append(
            f"| {worker.name} | {loaded.wall:.1f} | {loaded.cpu:.1f} | {peak / 1e6:.0f} | {peak / size:.1f} |"
        )
    return lines


def _raw(results: dict[int, dict[str, list[Measured]]]) -> dict[str, object]:
    return {
        f"q{number}": {
            name: [{"wall": run.wall, "cpu": run.cpu, "rows": run.rows, "error": run.error} for run in runs]
            for name, runs in by_name.items()
        }
        for number, by_name in results.items()
    }


if __name__ == "__main__":
    sys.exit(main())
