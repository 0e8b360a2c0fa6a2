"""The division of a stage's work among tasks."""

import itertools
from collections.abc import Sequence

import msgspec

#: The half-open range of buckets that a task reads, for each task of a stage.
Ranges = tuple[tuple[int, int], ...]


class JobOptions(msgspec.Struct, frozen=True):
    """The options of a durable job.

    ``parallelism``: the largest number of tasks of a stage. ``buckets``: the number of parts into which a
    task divides its output rows by key, for the tasks of the next stage. ``task_size``: the bytes of input
    that one task should read at least; smaller buckets are joined for one task. ``attempts``: the number of
    runs of a task after which its failure fails the job."""

    parallelism: int = 8
    buckets: int = 32
    task_size: int = 16 * 2**20
    attempts: int = 4


def coalesced(sizes: Sequence[int], options: JobOptions) -> Ranges:
    """Return for each task the half-open range of buckets that it reads. Neighbouring buckets are joined
    until a task has ``options.task_size`` bytes to read, and further if there would be more than
    ``options.parallelism`` tasks. ``sizes``: the bytes of each bucket.

    >>> coalesced([10, 10, 10, 10], JobOptions(parallelism=4, task_size=20))
    ((0, 2), (2, 4))
    >>> coalesced([0, 0, 50, 0], JobOptions(parallelism=4, task_size=20))
    ((0, 3), (3, 4))
    """
    enough = max(options.task_size, -(-sum(sizes) // options.parallelism))
    ranges: list[tuple[int, int]] = []
    start = read = 0
    for bucket, size in enumerate(sizes):
        read += size
        if read >= enough and len(ranges) < options.parallelism - 1:
            ranges.append((start, bucket + 1))
            start, read = bucket + 1, 0
    return (*ranges, (start, len(sizes))) if start < len(sizes) or not ranges else tuple(ranges)


def even(buckets: int, parts: int) -> Ranges:
    """Divide the buckets 0 to ``buckets`` - 1 into ``parts`` half-open ranges of about equal length.

    >>> even(10, 3)
    ((0, 3), (3, 6), (6, 10))
    """
    ends = [buckets * part // parts for part in range(parts + 1)]
    return tuple(itertools.pairwise(ends))
