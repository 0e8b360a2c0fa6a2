"""Statistics of a job: its status, the counters of its tasklets, vertices and memory; and a query's line in a
listing."""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import chain

import msgspec

from sqlfront_engine.memory import MemoryStatistics
from sqlfront_values.settings import EMBEDDED


class JobStatus(Enum):
    """The state of a job."""

    RUNNING = "running"
    """Some tasklet has not ended yet."""
    COMPLETED = "completed"
    """All tasklets ended by themselves."""
    FAILED = "failed"
    """A tasklet raised an error."""
    CANCELLED = "cancelled"
    """The user stopped the job, or dropped it with its result half read."""
    TIMED_OUT = "timed out"
    """The job exceeded its timeout."""


class JobSummary(msgspec.Struct, frozen=True):
    """A running query as its coordinator lists it: the query's id, the start ``started`` (seconds since
    1970), the age ``seconds``, the names of the participating members, and the text ``description``."""

    id: int
    coordinator: str
    status: JobStatus
    started: float
    seconds: float
    participants: tuple[str, ...]
    description: str = ""


class TaskletStatistics(msgspec.Struct, frozen=True):
    """The counters of one instance of a processor so far. ``calls``: the number of times that it ran;
    ``busy``: the seconds of all calls; ``longest_call``: seconds; ``memory_peak``: bytes. ``bytes_out``: the
    bytes in memory of the emitted batches; None if not counted."""

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
    """The counters of a vertex, summed over its instances; ``longest_call`` is the maximum over the
    instances. ``busy`` and ``longest_call`` are in seconds, ``memory_peak`` and ``bytes_out`` (None if not
    counted) in bytes."""

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
    """A job's statistics so far. ``elapsed``: the seconds from the start of its query to now, or to the
    job's end. ``tasklets``: the counters on ``member``, in topological order of their vertices.
    ``participants``: the participating members, ``member`` first. ``others``: by member, the counters that
    other members have reported (with the option ``statistics`` of
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
        """Return the counters of each vertex, summed over all members that have reported, in topological
        order."""
        return _summed(chain(self.tasklets, *self.others.values()))

    def members(self) -> dict[str, tuple[VertexStatistics, ...]]:
        """Return, for each member, the counters of each vertex, this member first."""
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
