"""The division of a stage's work among tasks."""

import itertools
import math
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

#: The bytes of memory that a task may hold for each byte of spool files that it reads: rows are larger in
#: memory than in compressed files, and operators hold them together with their hash tables or sort keys.
EXPANSION: Final = 8
#: The bytes of memory that a task may hold for each row that it reads, besides: hash tables and sort keys of
#: narrow rows take more than the rows.
ROW_BYTES: Final = 256
#: The bytes of memory for each byte of a job's input, as the planner estimates it. Buckets are chosen by it
#: before the rows are known: texts are often longer than estimated.
ESTIMATE_EXPANSION: Final = 32
#: The most parts into which rows are divided by key because of the memory: each part costs a task's file a
#: few bytes, and has smaller batches.
MOST_BUCKETS: Final = 1024

#: The half-open range of buckets that a task reads, for each task of a stage.
Ranges = tuple[tuple[int, int], ...]


class OutputPlace(Enum):
    """The places for the rows between the stages of a job whose tasks run on members in processes of their
    own."""

    STORE = "store"
    """The directory or object storage of the job's store."""
    MEMBERS = "members"
    """The disks of the members that run the tasks; the rows are lost with the member."""


class JobOptions(msgspec.Struct, frozen=True):
    """The options of a durable job.

    ``parallelism``: the largest number of tasks of a stage, unless the memory requires more tasks.
    ``buckets``: the smallest number of parts into which a task divides its output rows by key, for the tasks
    of the next stage. ``task_size``: the bytes of input that one task should read at least; smaller buckets
    are joined for one task. ``attempts``: the number of runs of a task after which its failure fails the job.
    ``lease``: the seconds for which members go on with the job's tasks after the coordinator is gone, and
    keep their results for a successor. ``speculation``: whether a task that takes long gets a second
    attempt. ``outputs``: where the rows between the stages are. ``recovery_timeout``: the seconds for which a
    successor waits at most until the members have said what they run and hold."""

    parallelism: int = 8
    buckets: int = 32
    task_size: int = 16 * 2**20
    attempts: int = 4
    lease: float = 300.0
    speculation: bool = False
    outputs: OutputPlace = OutputPlace.STORE
    recovery_timeout: float = 30.0


def buckets_for(size: float, options: JobOptions, memory: int | None = None) -> int:
    """Return the number of buckets for an input of about ``size`` bytes: ``options.buckets``, or more, so
    that a bucket's rows fit in the memory of a task. ``memory``: the bytes that a task may hold, None if
    unlimited.

    >>> buckets_for(1e9, JobOptions()), buckets_for(1e9, JobOptions(), memory=64_000_000)
    (32, 500)
    """
    needed = 0 if memory is None else math.ceil(size * ESTIMATE_EXPANSION / max(1, memory))
    return max(options.buckets, min(MOST_BUCKETS, needed))


def coalesced(
    sizes: Sequence[int],
    options: JobOptions,
    memory: int | None = None,
    rows: Sequence[int] | None = None,
) -> Ranges:
    """Divide the buckets of a stage's input among tasks. Return for each task the half-open range of buckets
    that it reads. Neighbouring buckets are joined until a task has ``options.task_size`` bytes to read, and
    further if there would be more than ``options.parallelism`` tasks, but no further than the memory of a
    task allows. ``sizes``: the bytes of each bucket in spool files. ``memory``: the bytes that a task may
    hold, None if unlimited. ``rows``: the rows of each bucket, None if they take no memory besides their
    bytes.

    >>> coalesced([10, 10, 10, 10], JobOptions(parallelism=4, task_size=20))
    ((0, 2), (2, 4))
    >>> coalesced([0, 0, 50, 0], JobOptions(parallelism=4, task_size=20))
    ((0, 3), (3, 4))
    >>> coalesced([10, 10, 10, 10], JobOptions(parallelism=2, task_size=20), memory=100)
    ((0, 1), (1, 2), (2, 3), (3, 4))
    """
    enough = max(options.task_size, -(-sum(sizes) // options.parallelism))
    most = math.inf if memory is None else memory
    counts = [0] * len(sizes) if rows is None else rows
    ranges: list[tuple[int, int]] = []
    start = read = held = 0
    for bucket, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        more = EXPANSION * size + ROW_BYTES * count
        if start < bucket and held + more > most:
            ranges.append((start, bucket))
            start, read, held = bucket, 0, 0
        read += size
        held += more
        if read >= enough and len(ranges) < options.parallelism - 1:
            ranges.append((start, bucket + 1))
            start, read, held = bucket + 1, 0, 0
    return (*ranges, (start, len(sizes))) if start < len(sizes) or not ranges else tuple(ranges)


def even(buckets: int, parts: int) -> Ranges:
    """Divide the buckets 0 to ``buckets`` - 1 into ``parts`` half-open ranges of about equal length.

    >>> even(10, 3)
    ((0, 3), (3, 6), (6, 10))
    """
    ends = [buckets * part // parts for part in range(parts + 1)]
    return tuple(itertools.pairwise(ends))
