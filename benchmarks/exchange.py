"""Rows of a Spark table into members and back: between Spark's tasks and members, and the naive ways.

    python -m benchmarks.exchange [--scale 1] [--runs 3] [--only in from] [--master 'local-cluster[2,1,2048]']

Every way has a Spark session of its own, with executors and a driver in processes of their own, and two
members, processes with one worker thread each that are reached over TCP. A way is run once, and then
``--runs`` times more, of which the medians count. Spark reads lineitem from its Parquet file each time.

Printed as Markdown. MB are those of the table as Arrow. CPU seconds are those of all processes, and then of
each kind. The last two columns are by how many MB the driver's Python and its JVM have grown at most, in all
runs.
"""

import argparse
import multiprocessing
import os
import sys
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Final

import pyarrow.parquet as pq

from benchmarks import exchange_ways
from benchmarks.exchange_ways import TABLE, WAYS_IN, WAYS_OUT
from benchmarks.processes import cpu_seconds, family, status
from tests.tpch.data import tpch_folder

#: Kinds of processes by a part of their command lines, and the driver's two processes.
JVM: Final = "driver's JVM"
DRIVER: Final = "its Python"
KINDS: Final = {
    "executors": "CoarseGrainedExecutorBackend",
    "their Python": "pyspark.daemon",
    "members": "sqlfront_cluster.launchers",
    JVM: "/java",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", default="1")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=[], help="ways whose names hold one of these texts")
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    options = parser.parse_args()
    file = tpch_folder(options.scale) / f"{TABLE}.parquet"
    print(f"TPC-H scale {options.scale}, {options.master}, load {os.getloadavg()[0]:.1f} at the beginning.")
    for title, ways in ("into members", WAYS_IN), ("from members", WAYS_OUT):
        chosen = [name for name in ways if not options.only or any(text in name for text in options.only)]
        if chosen:
            _begin(title, file)
        for name in chosen:
            taken = _run(name, file, options.master, options.runs)
            print(_row(name, taken, exchange_ways.megabytes(file)), flush=True)
    print(f"\nLoad {os.getloadavg()[0]:.1f} at the end.")


@dataclass(frozen=True)
class Taken:
    """Figures of all runs: ``wall`` and CPU seconds by the kind of process, for each run; ``memory``: the
    maximum growth of the driver's processes in MB."""

    wall: list[float]
    cpu: list[dict[str, float]]
    memory: dict[str, float]


def _run(name: str, file: Path, master: str, runs: int) -> Taken | None:
    """Measure a way in a process of its own; None if it fails, which the process reports."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=exchange_ways.serve, args=(name, str(file), master, theirs))
    process.start()
    theirs.close()  # so that the pipe ends with the process
    assert process.pid is not None
    try:
        ours.recv()
        return _measured(name, ours, process.pid, runs)
    except EOFError:
        return None
    finally:
        ours.close()
        process.join(60)
        process.kill()


def _measured(name: str, way: Connection, pid: int, runs: int) -> Taken:
    drivers = {DRIVER: pid, **{kind: each for each, kind in _kinds(pid).items() if kind == JVM}}
    before = {kind: status(each, "VmRSS") for kind, each in drivers.items()}
    for each in drivers.values():
        Path(f"/proc/{each}/clear_refs").write_text("5")
    walls, cpus = [], []
    for number in range(runs + 1):
        cpu, began = _cpu(pid), time.perf_counter()
        way.send(None)
        way.recv()
        walls.append(time.perf_counter() - began)
        cpus.append({kind: seconds - cpu.get(kind, 0.0) for kind, seconds in _cpu(pid).items()})
        print(f"{name}, run {number}: {walls[-1]:.1f} s, {sum(cpus[-1].values()):.1f} s CPU", file=sys.stderr)
    memory = {kind: (status(each, "VmHWM") - before[kind]) / 1e6 for kind, each in drivers.items()}
    return Taken(walls[1:], cpus[1:], memory)


def _kinds(pid: int) -> dict[int, str]:
    """The kind of the way's own process, and of each process that the way has started."""
    found = {}
    for each in family(pid):
        words = Path(f"/proc/{each}/cmdline").read_text()
        found[each] = next((kind for kind, text in KINDS.items() if text in words), DRIVER)
    return found


def _cpu(pid: int) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for each, kind in _kinds(pid).items():
        seconds[kind] = seconds.get(kind, 0.0) + cpu_seconds(each)
    return seconds


def _begin(title: str, file: Path) -> None:
    rows = pq.ParquetFile(file).metadata.num_rows
    heads = ["way", "s", "MB/s", "CPU s", "MB per CPU s", *KINDS, DRIVER, "Python's MB", "JVM's MB"]
    print(f"\n{title}: {rows:,} rows, {exchange_ways.megabytes(file):,.0f} MB\n")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)


def _row(name: str, taken: Taken | None, megabytes: float) -> str:
    if taken is None:
        return f"| {name} | failed |"
    wall, cpu = median(taken.wall), median([sum(run.values()) for run in taken.cpu])
    figures = [f"{wall:.1f}", f"{megabytes / wall:,.0f}", f"{cpu:.1f}", f"{megabytes / cpu:,.0f}"]
    figures += [f"{median([run.get(kind, 0.0) for run in taken.cpu]):.1f}" for kind in (*KINDS, DRIVER)]
    figures += [f"{taken.memory[kind]:,.0f}" for kind in (DRIVER, JVM)]
    return f"| {name} | {' | '.join(figures)} |"


if __name__ == "__main__":
    main()
