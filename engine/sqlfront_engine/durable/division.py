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

#: A bucket is skewed if it has so many times the bytes of the median bucket. Smaller differences are evened
#: out by tasks that read several buckets. Spark's factor is the same.
SKEW: Final = 5
#: A bucket is shared by several tasks only if it has so many times the bytes that are worth a task: each of
#: the tasks reads all rows that the join holds once more.
SKEW_TASKS: Final = 2

#: The half-open range of buckets that a task reads, for each task of a stage.
Ranges = tuple[tuple[int, int], ...]
#: For each task of a stage the part that it reads of its buckets, from 0, and the number of parts.
Parts = tuple[tuple[int, int], ...]


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
    ``adaptive``: whether the plan of the job may be changed while the job runs. ``broadcast_size``: the most
    bytes of a join's held side that each task of the join reads completely, if this saves the exchange of the
    streamed side. ``lease``: the seconds for which members go on with the job's tasks after the coordinator
    is gone, and keep their results for a successor. ``speculation``: whether a task that takes long gets a
    second attempt. ``outputs``: where the rows between the stages are. ``recovery_timeout``: the seconds for
    which a successor waits at most until the members have said what they run and hold."""

    parallelism: int = 8
    buckets: int = 32
    task_size: int = 16 * 2**20
    attempts: int = 4
    lease: float = 300.0
    adaptive: bool = True
    broadcast_size: int = 4 * 2**20
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
    return _coalesced(sizes, rows, _enough(sizes, options), options.parallelism, memory)


def _enough(sizes: Sequence[int], options: JobOptions) -> int:
    """Return the bytes that a task should read at least."""
    return max(options.task_size, -(-sum(sizes) // options.parallelism))


def _coalesced(
    sizes: Sequence[int], rows: Sequence[int] | None, enough: int, tasks: int, memory: int | None
) -> Ranges:
    """Return the ranges of buckets of at least ``enough`` bytes each, as far as the ``memory`` of a task
    allows; at most ``tasks`` ranges, unless the memory requires more."""
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
        if read >= enough and len(ranges) < tasks - 1:
            ranges.append((start, bucket + 1))
            start, read, held = bucket + 1, 0, 0
    return (*ranges, (start, len(sizes))) if start < len(sizes) or not ranges else tuple(ranges)


def shared(
    sizes: Sequence[int],
    free: Sequence[int],
    batches: Sequence[int],
    options: JobOptions,
    memory: int | None = None,
    rows: Sequence[int] | None = None,
) -> tuple[Ranges, Parts] | None:
    """Return a division in which several tasks share each skewed bucket; None if no bucket is skewed. The
    other buckets are joined as :func:`coalesced` does. ``sizes``: the bytes of each bucket; ``free``: of
    these, the bytes of rows that may go to any task; ``batches``: the number of record batches with such
    rows. A part has at least one batch, and at least as many bytes of free rows as the bucket has of other
    rows, which each of its tasks reads. ``memory`` and ``rows`` are those of :func:`coalesced`.

    >>> shared([10, 90, 10, 10], [10, 80, 10, 10], [1, 9, 1, 1], JobOptions(parallelism=4, task_size=20))
    (((0, 1), (1, 2), (1, 2), (1, 2), (2, 4)), ((0, 1), (0, 3), (1, 3), (2, 3), (0, 1)))
    >>> shared([10, 90, 10, 10], [10, 20, 10, 10], [1, 9, 1, 1], JobOptions(parallelism=4, task_size=20))
    """
    enough = _enough(sizes, options)
    # The median of the other buckets if the bucket is larger than most.
    least = max(SKEW * _lower_median(sizes), SKEW_TASKS * options.task_size)
    tasks: list[tuple[tuple[int, int], tuple[int, int]]] = []
    begin = 0

    def join_until(end: int) -> None:
        if begin < end:
            counts = None if rows is None else rows[begin:end]
            rest = _coalesced(sizes[begin:end], counts, enough, options.parallelism, memory)
            tasks.extend(((begin + first, begin + last), (0, 1)) for first, last in rest)

    for bucket, size in enumerate(sizes):
        if free[bucket] <= least:
            continue
        held = max(1, size - free[bucket])
        parts = min(-(-free[bucket] // enough), batches[bucket], free[bucket] // held)
        if parts > 1:
            join_until(bucket)
            tasks.extend(((bucket, bucket + 1), (part, parts)) for part in range(parts))
            begin = bucket + 1
    if not begin:
        return None
    join_until(len(sizes))
    return tuple(span for span, _ in tasks), tuple(part for _, part in tasks)


def _lower_median(sizes: Sequence[int]) -> int:
    """Return the median of the sizes without the largest one."""
    return sorted(sizes)[max(0, len(sizes) - 2) // 2] if len(sizes) > 1 else 0


def even(buckets: int, parts: int) -> Ranges:
    """Divide the buckets 0 to ``buckets`` - 1 into ``parts`` half-open ranges of about equal length.

    >>> even(10, 3)
    ((0, 3), (3, 6), (6, 10))
    """
    ends = [buckets * part // parts for part in range(parts + 1)]
    return tuple(itertools.pairwise(ends))
