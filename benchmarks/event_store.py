"""Microseconds per durable append to a job's log, beside a bare loop of write and fsync with the same bytes.

python -m benchmarks.event_store --appends 400 --rounds 5 --folder .

One thread appends, then several at once, then one whose records nobody waits for; the ways take turns. Of
each way the medians of the rounds are printed: time, processor time, and the time's ratio to the bare loop.
The folder decides on the disk.
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import (
    Attempt,
    Event,
    Manifest,
    TaskFinished,
    TaskId,
    encode_event,
)
from sqlfront_engine.durable.event_store.job_store import JobStore
from sqlfront_engine.durable.event_store.ownership import Owner
from sqlfront_engine.durable.event_store.records import OVERHEAD
from sqlfront_engine.scheduler import SystemClock
from sqlfront_engine.spool.spool_file import SpoolFile

CLUSTER = "benchmark"


def finished(task: int, partitions: int) -> Event:
    """The completion of a task whose output has so many target partitions."""
    file = SpoolFile(
        path=f"stage-0/task-{task}-1-0.arrow",
        rows=1_000_000,
        bytes=64 * partitions * 1000,
        buckets=tuple(range(partitions)),
        offsets=tuple(range(1000, 64_000 * (partitions + 1), 64_000)),
        checksums=(4_000_000_000,) * partitions,
        bucket_rows=(3_690,) * partitions,
        bucket_bytes=(64_000,) * partitions,
        schema_hash="0123456789abcdef",
    )
    return TaskFinished(
        task=TaskId(stage=0, task=task),
        attempt=Attempt(epoch=1, number=0),
        member="127.0.0.1:5701",
        incarnation="6f1c7a5e",
        output=Manifest(files=(file,)),
        deterministic=True,
        splits={"scan": (task,)},
        rows_in=2_000_000,
        rows_out=1_000_000,
    )


class Spent(NamedTuple):
    """Microseconds per append."""

    time: float
    processor: float


@contextmanager
def measured(appends: int, found: list[Spent]) -> Iterator[None]:
    """Add what the block spends."""
    began, processor = time.perf_counter(), time.process_time()
    yield
    scale = 1e6 / appends
    found.append(Spent((time.perf_counter() - began) * scale, (time.process_time() - processor) * scale))


def per_append(threads: int, appends: int, append: Callable[[int], object]) -> Spent:
    """The costs of the run by the number of all appends, done by so many threads at once."""
    found: list[Spent] = []

    def run(place: int) -> None:
        for number in range(place, appends, threads):
            append(number)

    workers = [threading.Thread(target=run, args=(place,)) for place in range(threads)]
    with measured(appends, found):
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return found[0]


def bare_loop(folder: str, appends: int, size: int) -> Spent:
    """The costs of a write and an fsync of so many bytes, without a log."""
    found: list[Spent] = []
    data = os.urandom(size)
    path = os.path.join(folder, f"bare-{time.perf_counter_ns()}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
    with measured(appends, found):
        for _ in range(appends):
            os.write(descriptor, data)
            os.fsync(descriptor)
    os.close(descriptor)
    os.unlink(path)
    return found[0]


def main() -> None:
    """Measure and print all ways."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--appends", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    events = [finished(task, options.partitions) for task in range(options.appends)]
    size = len(encode_event(events[-1])[1]) + OVERHEAD
    print(f"{options.appends} records of {size} bytes, medians of {options.rounds} rounds, in us per append")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        measure(folder, events, size, options.rounds, options.threads)


def measure(folder: str, events: list[Event], size: int, rounds: int, threads: int) -> None:
    """Print the figures of all ways in the folder."""
    clock = SystemClock()
    store = JobStore.open(os.path.join(folder, "store"), clock=clock)
    ownership = store.own(Owner(CLUSTER, "m"))
    costs: dict[str, list[Spent]] = {}
    groups: list[float] = []

    def logged(job: str, run: Callable[[EventLog], Spent]) -> Spent:
        with store.take_epoch(job, cluster=CLUSTER, member="m").start(incarnation="i") as log:
            spent = run(log)
            log.commit()
            groups.append(len(events) / (log.statistics().commits - 1))
        return spent

    def ways(number: int) -> dict[str, Callable[[], Spent]]:
        count = len(events)

        def durable(log: EventLog, threads: int) -> Spent:
            return per_append(threads, count, lambda task: log.append_durably(events[task]))

        return {
            "write and fsync, one thread": lambda: bare_loop(folder, count, size),
            "log, one thread": lambda: logged(f"one-{number}", lambda log: durable(log, 1)),
            f"log, {threads} threads": lambda: logged(f"many-{number}", lambda log: durable(log, threads)),
            "log, nobody waits": lambda: logged(
                f"free-{number}", lambda log: per_append(1, count, lambda task: log.append(events[task]))
            ),
        }

    for number in range(rounds):
        for name, way in ways(number).items():
            costs.setdefault(name, []).append(way())
    bare = statistics.median(spent.time for spent in costs["write and fsync, one thread"])
    for place, (name, spents) in enumerate(costs.items()):
        median = statistics.median(spent.time for spent in spents)
        processor = statistics.median(spent.processor for spent in spents)
        group = f", {statistics.median(groups[place - 1 :: 3]):.1f} records per fsync" if place else ""
        print(f"  {name:<30} {median:8.1f}  {processor:7.1f} of a processor  {median / bare:5.2f} x{group}")
    found: list[Spent] = []
    with measured(len(events) + 1, found):
        decoded = [record.event() for record in store.read("one-0").records]
    assert len(decoded) == len(events) + 1
    print(f"  {'replay':<30} {found[0].time:8.1f}  {found[0].processor:7.1f} of a processor")
    ownership.release()
    clock.close()


if __name__ == "__main__":
    main()
