"""The events of a durable job and their JSON.

An event is written as JSON: an object with the key ``event`` (the name) and one key per field of the struct.
Bytes are base64; Arrow values (parameters, bounds of a sort) are bytes of an Arrow IPC stream. The frame
around the JSON has the event's number and the version of its struct (:data:`KINDS`).

A field that is added, removed or given another meaning makes a new version. A reader refuses by name each
event and each version that it doesn't know, and each unknown field, since an ignored field might change what
the event means.

>>> kind, payload = encode_event(TasksReset(tasks=(TaskId(stage=1, task=4),), reason="output is missing"))
>>> kind.number, kind.version, payload
(6, 1, b'{"event":"tasks_reset","tasks":[{"stage":1,"task":4}],"reason":"output is missing"}')
>>> decode_event(6, 1, payload).reason
'output is missing'
"""

import re
from enum import Enum
from typing import Final

import msgspec

from sqlfront_engine.spool.spool_file import SpoolFile
from sqlfront_values.errors import Error, OperationalError


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="event", tag=_snake_case):
    """The base of all events of a durable job; in JSON, the key ``event`` names the subclass."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of the structs that are fields of events; unknown fields are refused when JSON is read."""


# ---- parts


class TaskId(_Part, frozen=True):
    """A task: the number of its stage and its place among the tasks of the stage, both from 0."""

    stage: int
    task: int


class Attempt(_Part, frozen=True):
    """One run of a task: the epoch in which the run was started, and the number of the run in this epoch."""

    epoch: int
    number: int


class FinishedTask(_Part, frozen=True):
    """A task with the attempt whose output counts."""

    task: TaskId
    attempt: Attempt


class AcceptedPrefix(_Part, frozen=True):
    """The records of the previous epoch that a new coordinator accepts: all records up to an offset in a
    file.

    ``epoch`` is the previous epoch, ``sequence`` the number of its last accepted record, ``offset`` the end
    of this record in bytes in ``file``, and ``digest`` the SHA-256 (hexadecimal) of the bytes of all accepted
    records of that epoch. The accepted records of still earlier epochs are stated in the first record of
    ``epoch``.
    """

    epoch: int
    file: str
    offset: int
    sequence: int
    digest: str


class TableRead(_Part, frozen=True):
    """A table that the job reads: its name, and a version that differs after each change of the table (the
    version number of a memory table, or a digest of a file listing)."""

    name: str
    version: str


class Split(_Part, frozen=True):
    """One unit of a scan's input. ``part`` names a part of the file or table at ``path`` (row groups, a
    partition); an empty ``part`` means all of the file or table. A reader recognises a changed file by
    ``size`` in bytes, ``modified`` in nanoseconds since 1970, and ``etag``; None = unknown."""

    id: int
    path: str
    part: str = ""
    size: int | None = None
    modified: int | None = None
    etag: str | None = None


class Manifest(_Part, frozen=True):
    """The spool files that a task has written, one for each output of its stage; or the files of the job's
    result. The fields of :class:`~sqlfront_engine.spool.spool_file.SpoolFile` are thus a part of each event
    that has a manifest."""

    files: tuple[SpoolFile, ...] = ()


class JobError(_Part, frozen=True):
    """The error that a job ended with. ``kind``: the name of the error's class. ``message``: the text.
    ``condition``, ``sqlstate`` and ``hint``: Spark's condition, the SQLSTATE and the hint, None if the error
    has none."""

    kind: str
    message: str
    condition: str | None = None
    sqlstate: str | None = None
    hint: str | None = None

    @staticmethod
    def of(error: Error) -> "JobError":
        """Return the ``error`` in the form in which an event holds it."""
        return JobError(type(error).__name__, error.message, error.condition, error.sqlstate, error.hint)


class BroadcastJoin(_Part, frozen=True, tag_field="kind", tag="broadcast_join"):
    """A join without an exchange of the rows that it streams. The vertices of the stage ``streamed``, which
    has not begun, become a part of the join's stage ``stage``; each task of the join reads all rows of the
    stages ``held``, which were to be read by key."""

    stage: int
    streamed: int
    held: tuple[int, ...]


class SplitBuckets(_Part, frozen=True, tag_field="kind", tag="split_buckets"):
    """A division of a stage in which several tasks share a bucket. ``ranges``: for each task the half-open
    range of buckets that the task reads. ``parts``: for each task the number of the part that it reads, from
    0, and the number of parts, (0, 1) = everything; a part has a share of the record batches of the inputs at
    the places ``inputs``, and all rows of the other inputs."""

    stage: int
    inputs: tuple[int, ...]
    ranges: tuple[tuple[int, int], ...]
    parts: tuple[tuple[int, int], ...]


class JobEnd(Enum):
    """The final states of a job."""

    FINISHED = "finished"
    """All rows are in the target, or in spool files if the job has no target."""
    FAILED = "failed"
    """An error ended the job."""
    CANCELLED = "cancelled"
    """A user ended the job."""


# ---- events


class JobSubmitted(Event, frozen=True):
    """A job was accepted. This event is durable before the submitter gets an answer.

    The event holds everything on which the job's rows depend. ``statement``: the SQL text. ``parameters``:
    the values of the statement's parameters, an Arrow IPC stream of one row. ``settings``: the settings of
    the session. ``now`` (microseconds since 1970, UTC) and ``seed``: the current time and the seed of random
    numbers, fixed for all runs. ``tables``: the versions of the tables that the job reads. ``plan``: the
    encoded physical plan, with its hash. ``engine_version`` and ``arrow_version``: the versions of sqlfront
    and Arrow. ``options``: the options of CREATE JOB. ``deadline``: microseconds since 1970, UTC, or None.
    ``replaces``: the id of the job in whose place this job comes, None if there is no such job; that job
    counts as removed as soon as this event is durable, whatever of it the store still has. (Version 1 has no
    ``replaces``.)"""

    job: str
    name: str
    statement: str
    user: str
    now: int
    seed: int
    plan: bytes
    plan_hash: str
    engine_version: str
    arrow_version: str
    parameters: bytes = b""
    settings: dict[str, str] = {}
    options: dict[str, str] = {}
    tables: tuple[TableRead, ...] = ()
    deadline: int | None = None
    replaces: str | None = None


class EpochStarted(Event, frozen=True):
    """A coordinator begins: the first record of each epoch. This event is durable before any task is
    scheduled.

    ``member`` is the name of the coordinator's member, ``incarnation`` the id of that member's process.
    ``accepted`` is None if no earlier epoch has a record that counts. ``finished``: the tasks that the
    coordinator takes as finished. ``reset``: the tasks that run again although a record says that they
    finished."""

    epoch: int
    member: str
    incarnation: str
    accepted: AcceptedPrefix | None = None
    finished: tuple[FinishedTask, ...] = ()
    reset: tuple[TaskId, ...] = ()


class StageInitialized(Event, frozen=True):
    """The tasks of a stage are fixed. This event is durable before the first task of the stage is started.

    ``ranges``: for each task the half-open range of buckets that the task reads, of ``buckets`` buckets.
    ``hash_function`` names the hash that divides rows among the buckets; ``sort_bounds`` (an Arrow IPC
    stream) has the bounds of a distributed sort; ``fragment_hash`` is the hash of the stage's part of the
    plan."""

    stage: int
    ranges: tuple[tuple[int, int], ...]
    buckets: int
    fragment_hash: str
    hash_function: str | None = None
    sort_bounds: bytes | None = None

    @property
    def parallelism(self) -> int:
        """The number of tasks of the stage."""
        return len(self.ranges)


class SplitsListed(Event, frozen=True):
    """All splits of a scan, listed once. This event is durable before a task gets the first split.
    ``vertex`` is the scan's name in the stage."""

    stage: int
    vertex: str
    splits: tuple[Split, ...]


class SplitsIssued(Event, frozen=True):
    """Splits of a source that can't list them in advance were given to tasks. This event is durable before
    the record of a finished task that has read one of the splits.

    ``vertex`` is the scan's name in the stage. ``splits``: the splits with the numbers ``first``,
    ``first`` + 1 and so on, in the form of the source; ``state``: the state of the source's enumerator behind
    the last of them."""

    stage: int
    vertex: str
    first: int
    splits: tuple[bytes, ...]
    state: bytes


class TaskFinished(Event, frozen=True):
    """A task finished. This event is durable before another task may read the output.

    ``member`` is the name of the member that ran the task, ``incarnation`` the id of that member's process.
    ``output``: the files written. ``splits``: for each scan, by its vertex, the ids of the splits that the
    task consumed. ``deterministic``: whether a second run gives the same rows in the same partitions."""

    task: TaskId
    attempt: Attempt
    member: str
    incarnation: str
    output: Manifest
    deterministic: bool
    splits: dict[str, tuple[int, ...]] = {}
    rows_in: int = 0
    rows_out: int = 0


class TasksReset(Event, frozen=True):
    """Finished tasks have to run again, for the ``reason`` given. This event is durable before the tasks are
    scheduled, also during a recovery."""

    tasks: tuple[TaskId, ...]
    reason: str


class PlanChanged(Event, frozen=True):
    """The plan was changed while the job runs (adaptive execution). This event is durable before the change
    takes effect; a replay repeats the ``change`` instead of deciding again. ``reason``: a text that says what
    was changed, and why."""

    change: BroadcastJoin | SplitBuckets
    reason: str


class SinkPrepared(Event, frozen=True):
    """All rows are in spool files, or staged beside the target. This event is durable before the rows are
    committed to the target. ``token`` identifies the commit, so that a successor can ask the target whether
    it has the rows; ``rows`` is their number; ``staged`` names the files beside the target."""

    token: str
    staged: tuple[str, ...] = ()
    rows: int | None = None


class SinkCommitted(Event, frozen=True):
    """The staged rows are in the target. This event is durable before anybody learns of the commit. ``token``
    identifies the commit, as in the earlier :class:`SinkPrepared`."""

    token: str


class CancelRequested(Event, frozen=True):
    """A ``user`` has asked to cancel the job. This event is durable before the user gets an answer. ``at``:
    the time, in microseconds since 1970, UTC."""

    user: str
    at: int


class JobEnded(Event, frozen=True):
    """The job ended. This event is durable before a client sees the end. A finished job has ``rows``, the
    number of its rows, and ``result``, the files of the rows, or None if the rows are in a target. A failed
    job has the ``error``."""

    state: JobEnd
    rows: int | None = None
    result: Manifest | None = None
    error: JobError | None = None


class CleanupDone(Event, frozen=True):
    """The job's spool files and the staged files are removed, except the files of the result."""


# ---- numbers and versions


class EventKind(msgspec.Struct, frozen=True):
    """A kind of event: the ``number`` and the ``version`` of its format by which a stored record names the
    kind, and the struct of such events. ``oldest``: the oldest version that the struct reads; fields that a
    version doesn't have get their defaults."""

    number: int
    version: int
    struct: type[Event]
    oldest: int = 1

    @property
    def name(self) -> str:
        """The event's name in JSON, such as ``task_finished``."""
        return _snake_case(self.struct.__name__)


#: All events by number. A number is never used again for another event.
KINDS: Final = {
    kind.number: kind
    for kind in (
        EventKind(1, 2, JobSubmitted),
        EventKind(2, 1, EpochStarted),
        EventKind(3, 1, StageInitialized),
        EventKind(4, 1, SplitsListed),
        EventKind(5, 2, TaskFinished),
        EventKind(6, 1, TasksReset),
        EventKind(7, 2, PlanChanged),
        EventKind(8, 1, SinkPrepared),
        EventKind(9, 1, SinkCommitted),
        EventKind(10, 1, CancelRequested),
        EventKind(11, 2, JobEnded),
        EventKind(12, 1, CleanupDone),
        EventKind(13, 1, SplitsIssued),
    )
}
_KIND_OF: Final = {kind.struct: kind for kind in KINDS.values()}
_ENCODER: Final = msgspec.json.Encoder()
_DECODERS: Final = {kind.number: msgspec.json.Decoder(kind.struct) for kind in KINDS.values()}


def encode_event(event: Event) -> tuple[EventKind, bytes]:
    """Return the event's kind, which a stored record names beside the event, and the event as JSON."""
    return _KIND_OF[type(event)], _ENCODER.encode(event)


def decode_event(number: int, version: int, payload: bytes) -> Event:
    """Return the event that a record's kind (``number``, ``version``) and JSON describe. Raises
    OperationalError if this version of sqlfront doesn't know the event, the version or a field; the message
    names it."""
    kind = KINDS.get(number)
    if kind is None:
        raise OperationalError(
            f"the job log has an event of type {number}; this version of sqlfront knows 1 to {max(KINDS)}"
        )
    if not kind.oldest <= version <= kind.version:
        raise OperationalError(
            f"the job log has the event {kind.name} in version {version}; this version of sqlfront reads"
            f" version {kind.version}"
        )
    try:
        return _DECODERS[number].decode(payload)
    except msgspec.DecodeError as error:
        raise OperationalError(f"the job log has an unreadable event {kind.name}: {error}") from error
