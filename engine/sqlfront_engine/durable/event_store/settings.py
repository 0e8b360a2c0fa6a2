"""Settings of a job's log, and the states of a log."""

from enum import Enum

import msgspec


class FailurePolicy(Enum):
    """The reaction to a log that can't be written any more."""

    FAIL = "fail"
    """Appends raise OperationalError: the job ends."""
    UNPROTECTED = "unprotected"
    """Appends return as if they were durable: the job goes on, and starts at the last durable record after a
    crash."""


class LogState(Enum):
    """The states of a log that is written."""

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

    ``group_window``: seconds until a record with a callback is written, at most; the records that arrive in
    the meantime share the fsync. ``flush_interval``: the same in seconds for records that nobody waits for.
    ``buffer_size``: the bytes of such records that are kept in memory, at most. ``file_size``: bytes of a
    file after which the next file begins. ``attempts``: the number of files, one after another, that a group
    of records is written to until a write succeeds; after the last one ``policy`` decides."""

    group_window: float = 0.005
    flush_interval: float = 1.0
    buffer_size: int = 2**20
    file_size: int = 16 * 2**20
    attempts: int = 2
    policy: FailurePolicy = FailurePolicy.FAIL


class LogStatistics(msgspec.Struct, frozen=True):
    """Counters of a log: ``appended`` and ``durable`` records of this coordinator, ``commits`` (one fsync
    each, or one object), ``bytes`` committed, ``files`` begun, ``failures`` of writes."""

    appended: int
    durable: int
    commits: int
    bytes: int
    files: int
    failures: int
