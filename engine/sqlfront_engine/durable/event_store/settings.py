"""Settings of a job's log, and the states of a log."""

from enum import Enum

import msgspec


class FailurePolicy(Enum):
    """The choices for a job whose log can't be written any more: the job fails (FAIL), or goes on without a
    log (UNPROTECTED) and, after a crash, starts again at the last durable record."""

    FAIL = "fail"
    """Appends raise OperationalError: the job ends."""
    UNPROTECTED = "unprotected"
    """Appends return as if they were durable: the job goes on, and starts at the last durable record after a
    crash."""


class LogState(Enum):
    """The states of a log. PROTECTED: acknowledged records are durable. In all other states the log no longer
    protects its job: writes failed (UNPROTECTED, FAILED), another coordinator claimed the next epoch
    (FENCED), or the log was closed."""

    PROTECTED = "protected"
    """Acknowledged records are durable."""
    UNPROTECTED = "unprotected"
    """The log could not be written; records are dropped, by policy."""
    FAILED = "failed"
    """The log could not be written; appends raise the error."""
    FENCED = "fenced"
    """Another coordinator claimed the next epoch; appends raise an error, whatever the policy is."""
    CLOSED = "closed"
    """The log was closed."""


class LogSettings(msgspec.Struct, frozen=True):
    """The settings of a job's log.

    ``group_window``: the most seconds until a record is written whose writer has given a callback; the
    records that arrive in that time share the fsync. ``flush_interval``: the most seconds until a record
    without a callback is written. ``buffer_size``: the most bytes of records that wait in memory.
    ``file_size``: the size in bytes after which the log begins its next file. ``attempts``: the number of
    files, one after another, to which a group of records is written until a write succeeds; when all fail,
    ``policy`` decides."""

    group_window: float = 0.005
    flush_interval: float = 1.0
    buffer_size: int = 2**20
    file_size: int = 16 * 2**20
    attempts: int = 2
    policy: FailurePolicy = FailurePolicy.FAIL


class LogStatistics(msgspec.Struct, frozen=True):
    """Counters of a log: records ``appended`` and ``durable`` in this epoch, ``commits`` (one fsync each, or
    one object), ``bytes`` committed, ``files`` begun, ``failures`` of writes."""

    appended: int
    durable: int
    commits: int
    bytes: int
    files: int
    failures: int
