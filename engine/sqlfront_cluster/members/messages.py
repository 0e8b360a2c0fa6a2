"""The closed set of messages between members: about light jobs, and questions without a job.

A light job costs one :class:`Init` and one :class:`Completed` per participant. All other messages are data
and its flow control, or belong to jobs with an irregular end. Record batches are in the body of
:class:`Data`. A question costs one :class:`Request` and one :class:`Answer`.
"""

from typing import Final

import msgspec

from sqlfront_cluster.codec import ErrorData
from sqlfront_engine.job_statistics import JobStatus, JobSummary, TaskletStatistics
from sqlfront_values.settings import Settings


class Message(msgspec.Struct, frozen=True, tag_field="message", tag=True):
    """The base of all messages."""


class Init(Message, frozen=True, omit_defaults=True):
    """Coordinator to participant: run your part of the DAG. All participants get equal bytes.

    ``list_version``: the version of the member list used for the placement. ``dag``: see
    :func:`sqlfront_cluster.codec.encode_dag`. ``placement``: see
    :func:`~sqlfront_cluster.codec.placements.encode_placement`. ``parallelism``: instances of a vertex, None
    = one per worker. ``memory_limit``: bytes, None = the member's limit. ``inline``: the job is small enough
    to run on the thread that delivers the data. ``statistics``: report the tasklets' counters at the end.
    ``trace``: the job's trace context (the header ``traceparent`` of W3C Trace Context), empty = none.
    Options with their default values take no bytes.
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
    trace: str = ""


class Completed(Message, frozen=True):
    """Participant to coordinator, the answer to :class:`Init`: every tasklet of the job here has ended, or
    the job could not begin. ``error`` None: the job's part succeeded or was cancelled. ``tasklets``: the
    counters, if the Init asked for them."""

    job: int
    status: JobStatus
    error: ErrorData | None = None
    tasklets: tuple[TaskletStatistics, ...] = ()


class Data(Message, frozen=True):
    """A batch of a stream in the body, or no batch; ``last``: the stream has ended. ``schema``: the body's
    schema, None = unchanged on this stream."""

    job: int
    edge: int
    last: bool = False
    schema: bytes | None = None


class Acknowledge(Message, frozen=True):
    """Receiver to sender: up to ``limit`` bytes may be sent since the start of the stream, the edge number
    ``edge`` of the job between these two members."""

    job: int
    edge: int
    limit: int


class InputClosed(Message, frozen=True):
    """Receiver to sender: the receiver takes no more batches of the stream."""

    job: int
    edge: int


class Terminate(Message, frozen=True):
    """Coordinator to participant: stop your part of the job. This message has no answer of its own; the Init
    is answered as always."""

    job: int


class CheckJobs(Message, frozen=True):
    """Participant to coordinator: do these jobs still run? Only unknown jobs are answered, by
    :class:`UnknownJobs`."""

    jobs: tuple[int, ...]


class UnknownJobs(Message, frozen=True):
    """Coordinator to participant, the answer to :class:`CheckJobs`: these jobs are unknown here or were
    cancelled; stop them."""

    jobs: tuple[int, ...]


class ListJobs(Message, frozen=True):
    """A question for the queries that the receiver coordinates. ``request`` comes back with the answer.
    ``for_clients``: include the queries of other clients connected to the receiver."""

    request: int
    for_clients: bool = False


class JobList(Message, frozen=True):
    """The answer to :class:`ListJobs`; ``silent``: the clients without an answer in time."""

    request: int
    jobs: tuple[JobSummary, ...]
    silent: tuple[str, ...] = ()


class CancelQuery(Message, frozen=True):
    """A request to cancel a query coordinated by ``coordinator``, or to forward the request to that member;
    without effect if there is no such query. ``by``: the origin of the cancellation, for the error's text."""

    query: int
    coordinator: str
    by: str = ""


class Request(Message, frozen=True):
    """A question to a service of the member: the resource named ``service``, see
    :class:`~sqlfront_cluster.members.requests.RequestService`. ``request`` comes back with the answer.
    ``list_version`` is the version of the asking member's list, None = the sender is no member. Only the
    service knows the meaning of ``content`` and of the body."""

    request: int
    list_version: int | None
    service: str
    content: bytes


class Answer(Message, frozen=True):
    """The answer to :class:`Request`: the service's result (a long result is in the body), or its error."""

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
