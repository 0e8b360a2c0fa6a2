"""A look into member processes: a processor that reports what its member holds, asked for by a light job.

Its own job is left out of what it reports.
"""

import gc
import os
import threading
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec
import pyarrow as pa

from sqlfront_cluster.members.jobs.coordination import Coordination
from sqlfront_cluster.members.jobs.participation import Participation
from sqlfront_cluster.members.jobs.wire import JobWire
from sqlfront_cluster.members.member import Member
from sqlfront_cluster.members.member_statistics import MemberStatistics
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.edges.exchange import RemoteInput, RemoteOutput
from sqlfront_engine.edges.queues import BatchQueue
from sqlfront_engine.job_statistics import JobStatistics
from sqlfront_engine.jobs.execution import Execution
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.tasklet import Tasklet
from sqlfront_values.arrow import arrays

register_processor("tests.cluster.members.probe:Probe")

PROBE = "probe"
#: What an ended job must not leave behind.
TRANSIENT = (
    Execution,
    Participation,
    Coordination,
    JobWire,
    Tasklet,
    BatchQueue,
    RemoteInput,
    RemoteOutput,
)


class Report(msgspec.Struct, frozen=True):
    """A member's state. ``reserved`` are bytes that operators have charged, ``tables`` those of tables,
    ``resident`` those of the process (as the kernel counts them), ``arrow`` those of Arrow's pool;
    ``objects`` are counted by class, messages ``sent`` by receiver and kind."""

    member: str
    process: int
    statistics: MemberStatistics
    jobs: tuple[JobStatistics, ...]
    reserved: int
    tables: int
    resident: int
    arrow: int
    descriptors: int
    threads: tuple[str, ...]
    objects: dict[str, int]
    sent: dict[str, dict[str, int]]


class Probe(Processor, frozen=True):
    """A source of one row: the report of the member that it runs on, in JSON. ``objects``: count them, which
    takes a while."""

    objects: bool = False

    def run(self, context: ProcessorContext) -> Steps:
        text = msgspec.json.encode(report(_member_here(), objects=self.objects)).decode()
        yield pa.RecordBatch.from_arrays([arrays.from_values([text], pa.string())], names=["report"])


class AllowedProbe(Probe, frozen=True):
    """A probe of members that have not loaded this module, and may (``--processor-module``)."""


@cache
def _member_here() -> Member:
    """The member of this process."""
    return next(each for each in gc.get_objects() if isinstance(each, Member))


def report(member: Member, *, objects: bool = False) -> Report:
    """What a member holds now, but for what its probe does."""
    found: Counter[str] = Counter()
    if objects:
        gc.collect()
        found.update(type(each).__name__ for each in gc.get_objects() if isinstance(each, TRANSIENT))
    statistics = member.statistics()
    jobs = tuple(job for job in member.engine.statistics().running if not _is_probe(job))
    return Report(
        member.name,
        os.getpid(),
        msgspec.structs.replace(
            statistics,
            participations=len(jobs),
            senders=tuple(each for each in statistics.senders if each.sent),
        ),
        jobs,
        member.engine.memory.used - member.engine.tables.used,
        member.engine.tables.used,
        resident(),
        pa.total_allocated_bytes(),
        len(os.listdir("/proc/self/fd")) - 1,
        tuple(sorted(thread.name for thread in threading.enumerate())),
        {kind.__name__: found[kind.__name__] for kind in TRANSIENT} if objects else {},
        {
            peer.name: {kind: traffic.messages for kind, traffic in peer.sent.items()}
            for peer in member._transport.statistics().peers
        },
    )


def _is_probe(job: JobStatistics) -> bool:
    return any(tasklet.vertex == PROBE for tasklet in job.tasklets)


def resident(process: int | str = "self") -> int:
    """Bytes of a process's memory that are in RAM."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def ask(member: Member, *, objects: bool = False, kind: type[Probe] = Probe) -> dict[str, Report]:
    """The reports of all data members, by name, made by a probe of this kind."""
    dag = DAG()
    probe = dag.vertex(PROBE, kind(objects), 1)
    dag.edge(Edge.between(probe, dag.vertex("result", ResultSink())).to_one().distribute_to())
    texts = [value for batch in member.submit(dag).batches() for value in batch.column(0).to_pylist()]
    reports = [msgspec.json.decode(text, type=Report) for text in texts]
    return {each.member: each for each in reports}
