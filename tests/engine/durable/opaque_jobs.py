"""Durable jobs for tests that read a source which can't list its splits in advance, and a program that runs
one until it is killed::

    python -m tests.engine.durable.opaque_jobs FOLDER finished 2 once held
"""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.durable.event_store.events import JobEnded
from sqlfront_engine.processors.aggregation.aggregate import Aggregate, AggregateMode
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sort import Sort
from sqlfront_engine.processors.sources.split_scan import SplitScan
from sqlfront_values.expressions import AggregateCall, Column, SortKey
from sqlfront_values.types import BIGINT
from tests.engine.durable.durable_jobs import Building, Ledger, calls_of, is_counted, run_job

#: The splits of the source, and the rows of a split.
SPLITS, ROWS, KEYS = 40, 100, 7
#: The key of the source.
KEY = "numbers"
#: The names that the tasks of each stage write to the ledger.
SCAN, GROUP, SORTED = range(3)


def _note(path: Path, line: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(descriptor, f"{line}\n".encode())
    os.close(descriptor)


class Numbers:
    """A source of the numbers below SPLITS times ROWS, which a pass over the source gives in an order of its
    own, unless passes are ``restorable``. It notes below ``folder`` each pass (``passes``), and each split
    that a task reads (``splits``). ``held``: the number of a split whose reader waits for ever."""

    def __init__(self, folder: Path, *, restorable: bool, held: int | None = None) -> None:
        self._folder, self._restorable, self._held = folder, restorable, held

    def enumerator(self) -> "NumberSplits":
        _note(self._folder / "passes", "pass")
        number = len((self._folder / "passes").read_text().split())
        return RestorableSplits(0) if self._restorable else NumberSplits(number)

    def read(self, split: bytes) -> Iterator[pa.RecordBatch]:
        number, passed = map(int, split.split())
        _note(self._folder / "splits", str(number))
        if number == self._held:
            threading.Event().wait()
        ids = range(number * ROWS, (number + 1) * ROWS)
        columns = {
            "k": [row % KEYS for row in ids],
            "id": [*ids],
            "p": [passed] * ROWS,
            "q": [passed] * ROWS,
        }
        yield pa.record_batch({name: pa.array(values, BIGINT) for name, values in columns.items()})


class NumberSplits:
    """The splits of one pass, with the number of the pass in each."""

    def __init__(self, passed: int) -> None:
        order = [*range(SPLITS)]
        random.Random(passed).shuffle(order)
        self._splits = [f"{split} {passed}".encode() for split in order]

    def next_split(self) -> bytes | None:
        return self._splits.pop() if self._splits else None

    def close(self) -> None:
        self._splits.clear()


class RestorableSplits(NumberSplits):
    """The same with snapshots; all passes are alike."""

    def snapshot(self) -> bytes:
        return str(len(self._splits)).encode()

    def restore(self, state: bytes) -> None:
        del self._splits[int(state) :]


def _call(name: str, place: int) -> AggregateCall:
    return AggregateCall(name, (Column(BIGINT, place, name),), BIGINT)


def opaque_dag(ledger: str, *, restorable: bool) -> DAG:
    """The sum of the numbers per key, with the least and the greatest number of the passes that the rows come
    from: the numbers (0) are exchanged by key and grouped (1), and sorted (2, one task)."""
    building = Building(ledger)
    dag = building.dag
    scan = dag.vertex("numbers", SplitScan(KEY, KEY, (0, 1, 2, 3), restorable), 1)
    schema = pa.schema([(name, BIGINT) for name in ("k", "n", "first", "last")])
    calls = (_call("sum", 1), _call("min", 2), _call("max", 3))
    partial = dag.vertex("partial", Aggregate((0,), calls, AggregateMode.PARTIAL, schema), 1)
    dag.edge(Edge.between(building.noted(scan, "scan"), partial))
    final = dag.vertex("final", Aggregate((0,), calls, AggregateMode.FINAL, schema), 1)
    dag.edge(Edge.between(partial, final).partitioned((0,)).distributed())
    order = dag.vertex("sort", Sort((SortKey(0),)), 1)
    dag.edge(Edge.between(building.noted(final, "final"), order))
    noted, result = (
        dag.vertex("ledger sorted", Ledger(ledger, "sorted"), 1),
        dag.vertex("result", ResultSink(), 1),
    )
    dag.edge(Edge.between(order, noted).to_one().distribute_to().ordered((SortKey(0),)))
    dag.edge(Edge.between(noted, result))
    return dag


def right_rows(passed: int) -> list[tuple[int, ...]]:
    """The rows of the job, all of which come from one pass."""
    every = range(SPLITS * ROWS)
    return [(key, sum(every[key::KEYS]), passed, passed) for key in range(KEYS)]


def run_opaque_job(
    folder: Path,
    what: str = "",
    number: int = 0,
    *,
    restorable: bool,
    threads: int = 2,
    held: int | None = None,
) -> JobEnded:
    """Begin or take over the job below the folder, and run it to its end; ``what`` and ``number`` as for
    :func:`~tests.engine.durable.durable_jobs.calls_of`, ``held`` as for :class:`Numbers`."""
    ledger = str(folder / "ledger")
    return run_job(
        folder,
        ledger,
        calls_of(folder, what, number) if what else None,
        threads=threads,
        dag=opaque_dag(ledger, restorable=restorable),
        sources={KEY: Numbers(folder, restorable=restorable, held=held)},
        in_turn=is_counted(what, threads),
    )


def run_killed(folder: Path, what: str, number: int, *, restorable: bool, holds: bool = False) -> int:
    """Run the program, and return its exit code. ``holds``: one task of three waits for ever with its splits,
    while others run; else one task runs at a time."""
    kinds = "restorable" if restorable else "once", "held" if holds else "free"
    program = [
        sys.executable,
        "-m",
        "tests.engine.durable.opaque_jobs",
        str(folder),
        what,
        str(number),
        *kinds,
    ]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(program, env=environment, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def _main() -> None:
    folder, what, number, kind, held = sys.argv[1:]
    holds = held == "held"
    run_opaque_job(
        Path(folder),
        what,
        int(number),
        restorable=kind == "restorable",
        threads=2 if holds else 1,
        held=SPLITS // 2 if holds else None,
    )


if __name__ == "__main__":
    _main()
