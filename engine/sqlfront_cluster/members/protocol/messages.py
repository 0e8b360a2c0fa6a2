"""All messages between members: about light jobs, and questions without a job.

A light job costs one :class:`Init` and one :class:`Completed` per participant; of a small job the last
:class:`Data` says that the participant has completed its part. All other messages about jobs transport data
and control its flow, or belong to jobs with an irregular end. Record batches are in the body of
:class:`Data`. A question without a job costs one :class:`Request` and one :class:`Answer`.
"""

from typing import Final

import msgspec

from sqlfront_cluster.codec import ErrorData
from sqlfront_engine.job_statistics import JobStatus, JobSummary, TaskletStatistics
from sqlfront_values.settings import Settings


class Message(msgspec.Struct, frozen=True, tag_field="message", tag=True):
    """The base class of all messages between members, and between members and the keeper. Each subclass is
    one kind of message: its fields are the contents, and its name is sent with the fields, so that the
    receiver knows the kind."""


class Init(Message, frozen=True, omit_defaults=True):
    """A coordinator's message to a participant that it runs its part of a DAG. All participants get equal
    bytes.

    ``list_version``: the version of the member list used for the placement. ``dag``: the DAG, encoded by
    :func:`sqlfront_cluster.codec.encode_dag`. ``placement``: the members that run the job and their
    partitions, encoded by :func:`~sqlfront_cluster.codec.placements.encode_placement`. ``parallelism``:
    instances of a vertex, None = one per worker. ``memory_limit``: bytes, None = the member's limit.
    ``inline``: whether the job is small enough to run on the thread that delivers the data. ``statistics``:
    whether the participant reports the tasklets' counters at the end. ``trace``: the job's trace context (the
    header ``traceparent`` of W3C Trace Context), empty = none. ``again``: whether the message is sent again,
    since the participant knew nothing of the job; a part that has begun meanwhile stays as it is. Options
    with their default values take no bytes."""

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
    again: bool = False


class Completed(Message, frozen=True):
    """A participant's answer to the coordinator's :class:`Init`: all tasklets of the job on this member have
    ended, or the job could not begin. ``status``: how this member's part of the job ended. ``error``: the
    error of that part, None = it succeeded or was cancelled. ``tasklets``: the counters, if the Init asked
    for them."""

    job: int
    status: JobStatus
    error: ErrorData | None = None
    tasklets: tuple[TaskletStatistics, ...] = ()


class Data(Message, frozen=True, omit_defaults=True):
    """A sender's message to a receiver with the next batch of a stream in the body, or without a batch. A
    stream is the data of the edge number ``edge`` from one member to another. ``number``: the number of Data
    messages before this one in the stream, by which the receiver notices a lost message. ``last``: whether
    the stream ends with this message. ``schema``: the batch's schema, None = the stream's last schema.
    ``completes``: whether the message is also the sender's :class:`Completed` for the receiver, which
    coordinates the job: the sender's part has succeeded, and has no counters to report."""

    job: int
    edge: int
    number: int = 0
    last: bool = False
    schema: bytes | None = None
    completes: bool = False


class Acknowledge(Message, frozen=True):
    """A receiver's message to the sender of a stream that it may send up to ``limit`` bytes, counted from the
    start of the stream. The stream is the data of the edge number ``edge`` between these two members."""

    job: int
    edge: int
    limit: int


class InputClosed(Message, frozen=True):
    """A receiver's message to the sender of a stream that it needs no more batches. The stream is the data of
    the edge number ``edge`` between these two members."""

    job: int
    edge: int


class Terminate(Message, frozen=True, omit_defaults=True):
    """A coordinator's message to a participant that it stops its part of the job, or a client's message to
    the coordinator that it stops the job. There is no separate answer: :class:`Completed`, which answers the
    Init, comes as always, or :class:`Ended`. A client says why: ``timed_out``, the job's timeout is over;
    ``cancelled_by``, as in :class:`Ended`."""

    job: int
    timed_out: bool = False
    cancelled_by: str | None = None


class CheckJobs(Message, frozen=True):
    """A participant's question to a coordinator: do these jobs still run? The answer, :class:`UnknownJobs`,
    comes only if some of them don't."""

    jobs: tuple[int, ...]


class UnknownJobs(Message, frozen=True):
    """A coordinator's answer to :class:`CheckJobs`: these jobs are unknown to the coordinator, or were
    cancelled, and the participant has to stop them."""

    jobs: tuple[int, ...]


class Submit(Message, frozen=True, omit_defaults=True):
    """A client's message to the member that it has chosen as the coordinator of a job. The member sends
    :class:`Ended` when the job has ended; rows come and go as the job's :class:`Data` meanwhile.

    ``list_version``: the version of the member list with which the job was planned. ``dag``: the DAG with the
    vertices on the client, made by :func:`~sqlfront_cluster.members.jobs.client_dag.client_dag` and encoded
    by :func:`sqlfront_cluster.codec.encode_dag`. ``query`` and ``text``: the id and the text of the job's
    query, for listings. ``required_partitions`` and the other fields: as in
    :class:`~sqlfront_engine.engine.JobConfig`; ``elapsed``: the seconds since the begin of the query, from
    which the ``timeout`` counts."""

    job: int
    list_version: int
    dag: bytes
    settings: Settings
    partition_count: int
    query: int
    text: str = ""
    required_partitions: frozenset[int] | None = None
    required_members: tuple[str, ...] = ()
    parallelism: int | None = None
    memory_limit: int | None = None
    timeout: float | None = None
    elapsed: float = 0.0
    inline: bool = False
    statistics: bool = False
    trace: str = ""


class Ended(Message, frozen=True):
    """A coordinator's message to the client that has sent :class:`Submit`: the job has ended on all members,
    and the coordinator has forgotten it. ``status``: how the job has ended. ``error``: the job's error, None
    = it succeeded. ``cancelled_by``: who has cancelled the job's query (empty = its user), None = nobody has.
    ``participants``: the members that took part, the coordinator first. ``tasklets``: the counters of each
    member, if the client asked for them."""

    job: int
    status: JobStatus
    error: ErrorData | None = None
    cancelled_by: str | None = None
    participants: tuple[str, ...] = ()
    tasklets: dict[str, tuple[TaskletStatistics, ...]] = {}


class CheckParts(Message, frozen=True):
    """A coordinator's question to a participant that has not answered the Init of these jobs. The participant
    repeats :class:`Completed` for jobs that have ended there, and names those that have never begun
    (:class:`UnknownParts`)."""

    jobs: tuple[int, ...]


class UnknownParts(Message, frozen=True):
    """A participant's answer to :class:`CheckParts`: these jobs have never begun on the participant. The
    coordinator sends their Init again, unless it has ended them."""

    jobs: tuple[int, ...]


class StreamState(msgspec.Struct, frozen=True):
    """The receiver's knowledge of the stream of the edge number ``edge``: the number of Data messages that
    have ``arrived``, the last ``limit`` in bytes that was sent (0 = none), and whether the receiver has
    ``closed`` the stream."""

    edge: int
    arrived: int
    limit: int
    closed: bool


class CheckStreams(Message, frozen=True):
    """A receiver's message to a sender about the job's streams that have not ended. The sender takes the
    limits as of :class:`Acknowledge` and the refusals as of :class:`InputClosed`, and answers by
    :class:`StreamsSent` if it has sent more than has arrived. ``coordinator``: the job's coordinator."""

    job: int
    coordinator: str
    streams: tuple[StreamState, ...]


class StreamsSent(Message, frozen=True):
    """A sender's answer to :class:`CheckStreams`. ``counts``: edge numbers and the numbers of Data messages
    that were sent on their streams before this answer; None = the sender's part has ended so long ago that
    the sender doesn't know."""

    job: int
    counts: tuple[tuple[int, int], ...] | None


class ListJobs(Message, frozen=True):
    """A question for the running queries that the receiver coordinates. ``request``: a number that the answer
    repeats. ``for_clients``: whether the answer includes the queries of the other clients that are connected
    to the receiver."""

    request: int
    for_clients: bool = False


class JobList(Message, frozen=True):
    """The answer to the :class:`ListJobs` with the number ``request``. ``jobs``: the running queries.
    ``silent``: the clients that have not answered in time."""

    request: int
    jobs: tuple[JobSummary, ...]
    silent: tuple[str, ...] = ()


class AskOutcome(Message, frozen=True):
    """A question how the running job of the query with the id ``query`` ends, which the member or client
    ``coordinator`` coordinates. If the receiver is another member, it asks the coordinator. ``request``: a
    number that the answer, :class:`Outcome`, repeats."""

    request: int
    query: int
    coordinator: str


class Outcome(Message, frozen=True):
    """The answer to the :class:`AskOutcome` with the number ``request``, sent when the job has ended.
    ``status``: how it has ended; None = the job is unknown. ``error`` and ``cancelled_by``: as in
    :class:`Ended`."""

    request: int
    status: JobStatus | None
    error: ErrorData | None = None
    cancelled_by: str | None = None


class CancelQuery(Message, frozen=True):
    """A request to cancel the query with the id ``query``, which the member or client ``coordinator``
    coordinates. If the receiver is another member, it forwards the request to the coordinator. The request
    has no effect if there is no such query. ``by``: who cancels, for the error's text."""

    query: int
    coordinator: str
    by: str = ""


class Request(Message, frozen=True):
    """A question to a service of the receiving member: to the
    :class:`~sqlfront_cluster.members.questions.requests.RequestService` that the member has under the key
    ``service`` among its resources.

    ``request``: a number that the answer repeats. ``list_version``: the version of the sender's member list,
    None = the sender is no member. ``content``: the question; only the service knows the form of the content
    and of the message's body.
    """

    request: int
    list_version: int | None
    service: str
    content: bytes


class Answer(Message, frozen=True):
    """The answer to the :class:`Request` with the number ``request``: the service's result (a long one is in
    the body), or the error that the service has raised."""

    request: int
    content: bytes = b""
    error: ErrorData | None = None


class CheckRequests(Message, frozen=True):
    """A question about the :class:`Request`s with these numbers, whose answers have not arrived. The receiver
    handles it after all messages before it, and replies by :class:`RequestsHandled`."""

    requests: tuple[int, ...]


class RequestsHandled(Message, frozen=True):
    """The reply to :class:`CheckRequests`: the answers to these requests were sent before, or the requests
    have never arrived."""

    requests: tuple[int, ...]


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
    Submit,
    Ended,
    CheckParts,
    UnknownParts,
    CheckStreams,
    StreamsSent,
    ListJobs,
    JobList,
    AskOutcome,
    Outcome,
    CancelQuery,
    Request,
    Answer,
    CheckRequests,
    RequestsHandled,
)
