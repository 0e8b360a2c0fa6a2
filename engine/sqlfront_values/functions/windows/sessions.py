"""Merged sessions: the windows that begin before another one's end become one window."""

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def merged_sessions(starts: Integers, ends: Integers, partitions: Integers) -> tuple[Integers, Integers]:
    """Return for each session the start and the end of the merged session that it belongs to.

    The sessions stand partition by partition, sorted by start within each; ``partitions`` has the number of
    each session's partition. A session that starts at or before the latest end of the sessions before it
    belongs to theirs.

    >>> merged = merged_sessions(np.array([1, 3, 9]), np.array([3, 4, 10]), np.array([0, 0, 0]))
    >>> [part.tolist() for part in merged]
    [[1, 1, 9], [4, 4, 10]]
    """
    length = len(starts)
    if not length:
        return starts, ends
    # The running maximum within partitions: the ranks of the ends, above those of all partitions before.
    order = np.argsort(ends, kind="stable")
    ranks = np.empty(length, np.int64)
    ranks[order] = np.arange(length)
    latest = ends[order[np.maximum.accumulate(partitions * length + ranks) - partitions * length]]
    begins = np.ones(length, np.bool_)
    begins[1:] = (partitions[1:] != partitions[:-1]) | (starts[1:] > latest[:-1])
    firsts = np.flatnonzero(begins)
    session = np.cumsum(begins) - 1
    return starts[firsts][session], np.maximum.reduceat(ends, firsts)[session]
