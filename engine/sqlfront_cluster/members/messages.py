"""What members say to each other about light jobs, and what they ask each other without any job: the closed
set of messages.

A light job costs one :class:`Init` and one :class:`Completed` per participant. Everything else is data and
its flow control, or belongs to jobs that don't end normally. Record batches travel in the body of
:class:`Data`. A question costs one :class:`Request` and one :class:`Answer`.
"""

from typing import Final

import msgspec

from sqlfront_cluster.codec import ErrorData
from sqlfront_engine.job_statistics import JobStatus, JobSummary, TaskletStatistics
from sqlfront_values.settings import Settings


class Message(msgspec.Struct, frozen=True, tag_field="message", tag=True):
    """The base of all messages."""


class Init(Message, frozen=True):
    """Coordinator to participant: run your part of this DAG. Everybody gets the same bytes.

    ``list_version``: the member list that the placement was made from. ``dag``: see
    :func:`sqlfront_cluster.codec.encode_dag`. ``placement``: see
    :func:`~sqlfront_cluster.codec.placements.encode_placement`. ``parallelism``: instances of a
    vertex, None = one per worker. ``memory_limit``: bytes, None = the member's. ``inline``: so small that
    the thread that brings the data runs it. ``statistics``: report the tasklets' counters at the end.
    """

    job: int
    list_version: int
    dag: bytes
    placement: bytes
    settings: Settings
    partition_count: int
    parallelism: int | None = None
    memory_limit: int | None = None
    inline: bool = False
    statistics: bool = False


class Completed(Message, frozen=True):
    """Participant to coordinator, the answer to :class:`Init`: every tasklet has ended. ``error`` None: all
    went well, or the job was cancelled."""

    job: int
    status: JobStatus
    error: ErrorData | None = None
    tasklets: tuple[TaskletStatistics, ...] = ()


class Data(Message, frozen=True):
    """A batch of a stream in the body, or none; ``last``: the stream has ended. ``schema``: that of the body,
    None = as before on this stream."""

    job: int
    edge: int
    last: bool = False
    schema: bytes | None = None


class Acknowledge(Message, frozen=True):
    """Receiver to sender: up to ``limit`` bytes of the stream may be sent."""

    job: int
    edge: int
    limit: int


class InputClosed(Message, frozen=True):
    """Receiver to sender: nobody takes what the stream brings."""

    job: int
    edge: int


class Terminate(Message, frozen=True):
    """Coordinator to participant: stop; nobody waits for an answer to this."""

    job: int


class CheckJobs(Message, frozen=True):
    """Participant to coordinator: do you know these jobs?"""

    jobs: tuple[int, ...]


class UnknownJobs(Message, frozen=True):
    """Coordinator to participant: of these jobs I know nothing, or they were cancelled."""

    jobs: tuple[int, ...]


class ListJobs(Message, frozen=True):
    """Which queries do you coordinate? ``request`` comes back with the answer. ``for_clients``: and which do
    the other clients that you are connected with?"""

    request: int
    for_clients: bool = False


class JobList(Message, frozen=True):
    """The answer to :class:`ListJobs`; ``silent``: those clients didn't answer in time."""

    request: int
    jobs: tuple[JobSummary, ...]
    silent: tuple[str, ...] = ()


class CancelQuery(Message, frozen=True):
    """Cancel a query that ``coordinator`` coordinates, or hand this on to it; without effect if there is
    none. ``by``: what cancels it, for the error's text."""

    query: int
    coordinator: str
    by: str = ""


class Request(Message, frozen=True):
    """A question to a service of the member: a resource of that name, see
    :class:`~sqlfront_cluster.members.requests.Service`. ``request`` comes back with the answer,
    ``list_version`` is that of the asking member's list, None = who asks is no member; what ``content``
    means, the service knows, and so what comes in the body."""

    request: int
    list_version: int | None
    service: str
    content: bytes


class Answer(Message, frozen=True):
    """The answer to :class:`Request`: what the service gave, in the body if it is long, or why it gave
    nothing."""

    request: int
    content: bytes = b""
    error: ErrorData | None = None


#: The messages of this module.
JOB_MESSAGES: Final = (
    Init,
    Completed,
    Data,
    Acknowledge,
    InputClosed,
    Terminate,
    CheckJobs,
    UnknownJobs,
    ListJobs,
    JobList,
    CancelQuery,
    Request,
    Answer,
)
