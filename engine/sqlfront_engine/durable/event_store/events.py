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
from sqlfront_values.errors import OperationalError


def _snake_case(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="event", tag=_snake_case):
    """The base of all events."""


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The base of the parts of events."""


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
    """The records of the epoch before that a new coordinator accepts: all up to a place in a file.

    ``sequence`` is the number of the last accepted record, ``offset`` its end in bytes in ``file``, and
    ``digest`` the SHA-256 (hexadecimal) of the frames of all accepted records of that epoch. The accepted
    records of still earlier epochs stand in that epoch's own first record."""

    epoch: int
    file: str
    offset: int
    sequence: int
    digest: str


class TableRead(_Part, frozen=True):
    """A table that the job reads: its name, and the version by which a change is noticed (a number of a
    memory table's version, or a digest of a file listing)."""

    name: str
    version: str


class Split(_Part, frozen=True):
    """One unit of a scan's input. ``part`` names the part of the file or table (row groups, a partition), and
    is empty for all of it; ``size`` in bytes, ``modified`` in nanoseconds since 1970 and ``etag`` tell a
    changed file; None = unknown."""

    id: int
    path: str
    part: str = ""
    size: int | None = None
    modified: int | None = None
    etag: str | None = None


class Manifest(_Part, frozen=True):
    """The files that a task has written, one for each output of its stage; or the files of the result. (A
    change of :class:`~sqlfront_engine.spool.spool_file.SpoolFile` changes each event with a manifest.)"""

    files: tuple[SpoolFile, ...] = ()


class JobError(_Part, frozen=True):
    """The error that a job ended with: the name of the PEP 249 class, the message, Spark's condition and the
    SQLSTATE, if the error has one."""

    kind: str
    message: str
    condition: str | None = None
    sqlstate: str | None = None


class JobEnd(Enum):
    """The final states of a job."""

    FINISHED = "finished"
    """All rows are in the target."""
    FAILED = "failed"
    """An error ended the job."""
    CANCELLED = "cancelled"
    """A user ended the job."""


# ---- events


class JobSubmitted(Event, frozen=True):
    """A job was accepted. Durable before the submitter is answered.

    Holds all that the answer depends on: ``parameters`` (an Arrow IPC stream of one row), ``settings`` of the
    session, ``now`` (microseconds since 1970, UTC) and ``seed`` as fixed for the run, ``tables`` as read,
    ``plan`` (the encoded physical plan) with its hash, and the versions of sqlfront and Arrow. ``options``
    are the job's; ``deadline``: microseconds since 1970, UTC, or None."""

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


class EpochStarted(Event, frozen=True):
    """A coordinator begins: the first record of each epoch. Durable before anything is scheduled.

    ``accepted`` is None if no earlier epoch has a record that counts. ``finished``: the tasks taken as
    finished; ``reset``: the tasks with a finish record that run again all the same."""

    epoch: int
    member: str
    incarnation: str
    accepted: AcceptedPrefix | None = None
    finished: tuple[FinishedTask, ...] = ()
    reset: tuple[TaskId, ...] = ()


class StageInitialized(Event, frozen=True):
    """The tasks of a stage are fixed. Durable before the first task of the stage is sent.

    ``ranges``: for each task the half-open range of buckets that the task reads, of ``buckets`` buckets.
    ``hash_function`` names the hash that divides rows among the buckets, ``sort_bounds`` (an Arrow IPC
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
        """The number of tasks."""
        return len(self.ranges)


class SplitsListed(Event, frozen=True):
    """All splits of a scan, listed once. Durable before the first split is handed out. ``vertex`` names the
    scan in the stage."""

    stage: int
    vertex: str
    splits: tuple[Split, ...]


class TaskFinished(Event, frozen=True):
    """A task finished. Durable before a consumer may read the output.

    ``splits``: per vertex of a scan, the ids of the splits that the task consumed. ``deterministic``: a
    second run gives the same rows in the same partitions."""

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
    """Finished tasks run again. Durable before the tasks are scheduled, also during a recovery."""

    tasks: tuple[TaskId, ...]
    reason: str


class PlanChanged(Event, frozen=True):
    """An adaptive decision. Durable before the decision takes effect; a replay repeats it and never decides
    anew. ``decision`` names the kind (a broadcast join, coalesced or split partitions), ``stages`` the new
    stages, ``plan`` (encoded) their plan."""

    decision: str
    stages: tuple[int, ...]
    plan: bytes
    plan_hash: str


class SinkPrepared(Event, frozen=True):
    """All rows are in spool files, or staged beside the target. Durable before the commit. ``token`` tells
    whether the target has the rows; ``rows`` counts them."""

    token: str
    staged: tuple[str, ...] = ()
    rows: int | None = None


class SinkCommitted(Event, frozen=True):
    """The staged rows are in the target. Durable before the commit is reported."""

    token: str


class CancelRequested(Event, frozen=True):
    """A user cancels the job. Durable before the user is answered. ``at``: microseconds since 1970, UTC."""

    user: str
    at: int


class JobEnded(Event, frozen=True):
    """The job ended. Durable before a client sees the end. A finished job has ``rows``, the number of its
    rows, and ``result``, their files, None if the rows are in a target; a failed job has the ``error``."""

    state: JobEnd
    rows: int | None = None
    result: Manifest | None = None
    error: JobError | None = None


class CleanupDone(Event, frozen=True):
    """The outputs and staged files of the job are removed."""


# ---- numbers and versions


class EventKind(msgspec.Struct, frozen=True):
    """The number and the version by which a frame names an event, and the event's struct."""

    number: int
    version: int
    struct: type[Event]

    @property
    def name(self) -> str:
        """The event's name in JSON, such as ``task_finished``."""
        return _snake_case(self.struct.__name__)


#: All events by number. A number is never used again for another event.
KINDS: Final = {
    kind.number: kind
    for kind in (
        EventKind(1, 1, JobSubmitted),
        EventKind(2, 1, EpochStarted),
        EventKind(3, 1, StageInitialized),
        EventKind(4, 1, SplitsListed),
        EventKind(5, 1, TaskFinished),
        EventKind(6, 1, TasksReset),
        EventKind(7, 1, PlanChanged),
        EventKind(8, 1, SinkPrepared),
        EventKind(9, 1, SinkCommitted),
        EventKind(10, 1, CancelRequested),
        EventKind(11, 1, JobEnded),
        EventKind(12, 1, CleanupDone),
    )
}
_KIND_OF: Final = {kind.struct: kind for kind in KINDS.values()}
_ENCODER: Final = msgspec.json.Encoder()
_DECODERS: Final = {kind.number: msgspec.json.Decoder(kind.struct) for kind in KINDS.values()}


def encode_event(event: Event) -> tuple[EventKind, bytes]:
    """Return the event's kind and its JSON."""
    return _KIND_OF[type(event)], _ENCODER.encode(event)


def decode_event(number: int, version: int, payload: bytes) -> Event:
    """Return the event of a record. Raises OperationalError that names an event, a version or a field that
    this version of sqlfront doesn't know."""
    kind = KINDS.get(number)
    if kind is None:
        raise OperationalError(
            f"the job log has an event of type {number}; this version of sqlfront knows 1 to {max(KINDS)}"
        )
    if version != kind.version:
        raise OperationalError(
            f"the job log has the event {kind.name} in version {version}; this version of sqlfront reads"
            f" version {kind.version}"
        )
    try:
        return _DECODERS[number].decode(payload)
    except msgspec.DecodeError as error:
        raise OperationalError(f"the job log has an unreadable event {kind.name}: {error}") from error
