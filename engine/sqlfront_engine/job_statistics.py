"""What a job tells about itself: its status, and the counters of its tasklets, vertices and memory; and a
query's line in a listing."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain

import msgspec

from sqlfront_engine.memory import MemoryStatistics
from sqlfront_values.settings import EMBEDDED


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


class TaskletStatistics(msgspec.Struct, frozen=True):
    """What one processor instance has done so far; times in seconds. ``bytes_out``: those of the batches that
    it emitted, as they lie in memory; None if they weren't counted."""

    vertex: str
    instance: int
    calls: int
    busy: float
    longest_call: float
    batches_in: int
    rows_in: int
    batches_out: int
    rows_out: int
    memory_peak: int
    bytes_out: int | None = None


class VertexStatistics(msgspec.Struct, frozen=True):
    """The sums over a vertex's instances; ``busy`` in seconds, ``longest_call`` the longest of any,
    ``bytes_out`` None if they weren't counted."""

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
    bytes_out: int | None = None


class JobStatistics(msgspec.Struct, frozen=True):
    """A job so far: ``elapsed`` seconds since its submission (until its end); ``tasklets`` of ``member``, in
    topological order of their vertices. ``participants``: the members that take part, ``member`` first;
    ``others``: the tasklets of those who have reported (see
    :class:`~sqlfront_engine.engine.JobConfig`)."""

    id: int
    status: JobStatus
    elapsed: float
    memory: MemoryStatistics
    tasklets: tuple[TaskletStatistics, ...]
    member: str = EMBEDDED
    participants: tuple[str, ...] = (EMBEDDED,)
    others: Mapping[str, tuple[TaskletStatistics, ...]] = msgspec.field(default_factory=dict)

    def vertices(self) -> tuple[VertexStatistics, ...]:
        """The counters summed by vertex over all members, in topological order as far as they are here."""
        return _summed(chain(self.tasklets, *self.others.values()))

    def members(self) -> dict[str, tuple[VertexStatistics, ...]]:
        """The same for each member by itself, this one first."""
        return {
            name: _summed(tasklets) for name, tasklets in ((self.member, self.tasklets), *self.others.items())
        }


def _summed(tasklets: Iterable[TaskletStatistics]) -> tuple[VertexStatistics, ...]:
    by_vertex: dict[str, list[TaskletStatistics]] = {}
    for tasklet in tasklets:
        by_vertex.setdefault(tasklet.vertex, []).append(tasklet)
    return tuple(_sum(name, instances) for name, instances in by_vertex.items())


def _sum(name: str, instances: Sequence[TaskletStatistics]) -> VertexStatistics:
    counted = [each.bytes_out for each in instances if each.bytes_out is not None]
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
        bytes_out=sum(counted) if counted else None,
    )
