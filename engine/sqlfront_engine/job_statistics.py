"""What a job tells about itself: its status, and the counters of its tasklets, vertices and memory; and a
query's line in a listing."""

from collections.abc import Sequence
from enum import Enum
from itertools import groupby

import msgspec

from sqlfront_engine.memory import MemoryStatistics
from sqlfront_engine.tasklet import TaskletStatistics


class JobStatus(Enum):
    """What has become of a job."""

    RUNNING = "running"
    """Some tasklet has not ended yet."""
    COMPLETED = "completed"
    """All ended by themselves."""
    FAILED = "failed"
    """One of them raised."""
    CANCELLED = "cancelled"
    """The user stopped it, or dropped it with its result half read."""
    TIMED_OUT = "timed out"
    """It ran for longer than it was given."""


class JobSummary(msgspec.Struct, frozen=True):
    """A query whose job runs, as its coordinator sees it: the query's id, when it ``started`` (seconds since
    the epoch) and for how many ``seconds`` it has run, the members that take part, and what it says."""

    id: int
    coordinator: str
    status: JobStatus
    started: float
    seconds: float
    participants: tuple[str, ...]
    description: str = ""


class VertexStatistics(msgspec.Struct, frozen=True):
    """The sums over a vertex's instances; ``busy`` in seconds, ``longest_call`` the longest of any."""

    name: str
    instances: int
    calls: int
    busy: float
    longest_call: float
    batches_in: int
    rows_in: int
    batches_out: int
    rows_out: int
    memory_peak: int


class JobStatistics(msgspec.Struct, frozen=True):
    """A job so far: ``elapsed`` seconds since its submission (until its end); tasklets in topological order
    of their vertices."""

    id: int
    status: JobStatus
    elapsed: float
    memory: MemoryStatistics
    tasklets: tuple[TaskletStatistics, ...]

    def vertices(self) -> tuple[VertexStatistics, ...]:
        """The counters summed by vertex, in topological order."""
        by_vertex = groupby(self.tasklets, key=lambda tasklet: tasklet.vertex)
        return tuple(_sum(name, tuple(instances)) for name, instances in by_vertex)


def _sum(name: str, instances: Sequence[TaskletStatistics]) -> VertexStatistics:
    return VertexStatistics(
        name=name,
        instances=len(instances),
        calls=sum(each.calls for each in instances),
        busy=sum(each.busy for each in instances),
        longest_call=max(each.longest_call for each in instances),
        batches_in=sum(each.batches_in for each in instances),
        rows_in=sum(each.rows_in for each in instances),
        batches_out=sum(each.batches_out for each in instances),
        rows_out=sum(each.rows_out for each in instances),
        memory_peak=sum(each.memory_peak for each in instances),
    )
