"""The log of a job as its coordinator writes it: appends, group commit, and failures.

Records are kept in memory and written in *groups*. A thread that waits for its record writes the whole group
itself, with one fsync, unless another thread is writing one: then it waits for that thread, and the records
that have arrived meanwhile are the next group. So a caller alone waits for one fsync and nothing else, and
many callers share one. Records that nobody waits for are written with the next group, at the latest when the
flush interval is over.
"""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import Condition, Thread
from typing import Final, assert_never

import msgspec

from sqlfront_engine.closing import ClosingContext
from sqlfront_engine.durable.event_store.events import Event, encode_event
from sqlfront_engine.durable.event_store.names import claim_name, events_name
from sqlfront_engine.durable.event_store.records import LONGEST_PAYLOAD, OVERHEAD, frame_record
from sqlfront_engine.durable.event_store.replay import Replay, read_log
from sqlfront_engine.durable.event_store.settings import FailurePolicy, LogSettings, LogState, LogStatistics
from sqlfront_engine.forks import inherited
from sqlfront_engine.scheduler import Clock
from sqlfront_engine.storage.folders import Folder, LogFile
from sqlfront_values.errors import DatabaseError, OperationalError, ProgrammingError

logger: Final = logging.getLogger(__name__)

#: A function that is told whether a record is durable: None, or the error because of which it is not.
Told = Callable[[DatabaseError | None], None]
#: A function that has another function called soon, and not on the calling thread.
Run = Callable[[Callable[[], None]], None]


def start_thread(call: Callable[[], None]) -> None:
    """Call the function on a new daemon thread, and return at once."""
    Thread(target=call, name="sqlfront-job-log", daemon=True).start()


class _Entry(msgspec.Struct, frozen=True):
    """A record that is not written to disk yet.

    ``number`` and ``version`` name the kind of the event (:class:`EventKind`), ``payload`` is the event's
    JSON. ``told``, if not None, is called when the record is durable (with None) or lost (with the error)."""

    number: int
    version: int
    payload: bytes
    told: Told | None


class _Group(msgspec.Struct, frozen=True):
    """Consecutive records that are written together with one fsync; ``first`` is the sequence number of the
    first record."""

    first: int
    entries: tuple[_Entry, ...]


class EventLog(ClosingContext):
    """The log of one job in one epoch, to which the job's coordinator appends events. All methods may be
    called on any thread.

    ``first`` is the sequence number of the next record. ``run(function)`` has the function called soon on
    another thread; on that thread the log writes the records for which no caller waits. When another
    coordinator has claimed the next epoch (:attr:`LogState.FENCED`), appends raise OperationalError. When the
    log can't be written, ``settings.policy`` decides whether appends raise or the job goes on without a log.
    """

    def __init__(
        self,
        folder: Folder,
        *,
        epoch: int,
        first: int,
        clock: Clock,
        settings: LogSettings = LogSettings(),  # noqa: B008 - frozen
        run: Run = start_thread,
    ) -> None:
        self.epoch = epoch
        self.settings = settings
        self._folder = folder
        self._first = first
        self._clock = clock
        self._run = run
        self._process = os.getpid()
        self._changed = Condition()
        self._entries: list[_Entry] = []
        self._bytes_kept = 0
        self._appended = first - 1
        self._durable = first - 1
        # Invariant: the file and its counters belong to the thread that set `_writing`.
        self._writing = False
        self._file: LogFile | None = None
        self._next_file = 0
        self._state = LogState.PROTECTED
        self._failure: DatabaseError | None = None
        self._closed = False
        self._starts_file = False
        self._due: float | None = None
        self._forget_timer: Callable[[], None] = lambda: None
        self._commits = self._bytes = self._failures = 0

    # ---- what it says about itself

    @property
    def state(self) -> LogState:
        """Whether the log still protects the job, or why it no longer does."""
        return LogState.CLOSED if self._closed else self._state

    @property
    def failure(self) -> DatabaseError | None:
        """The error because of which the log no longer protects the job; None as long as it does."""
        return self._failure

    def statistics(self) -> LogStatistics:
        """Return the counters of records, writes, files and failures of this log."""
        with self._changed:
            return LogStatistics(
                self._appended - self._first + 1,
                self._durable - self._first + 1,
                self._commits,
                self._bytes,
                self._next_file,
                self._failures,
            )

    def read(self) -> Replay:
        """Return the records of the job that are on disk now, including the records of later epochs. Raises
        OSError if the log can't be read."""
        return read_log(self._folder)

    # ---- appending

    def append(self, event: Event, told: Told | None = None) -> int:
        """Append a record and return its sequence number at once; the record becomes durable later.

        ``told`` is called with None when the record is durable, or with the error if it never will be, on the
        thread that writes; it must be quick and must not raise. With ``told``, the record is written within
        ``settings.group_window`` seconds; without it, within ``settings.flush_interval`` seconds. If the
        buffer is full, the call itself writes. Raises OperationalError if the log is closed, failed or
        fenced; ProgrammingError if the event is too long for a record."""
        sequence, is_full = self._add(event, told)
        if is_full:
            self._make_durable(sequence)
        else:
            self._write_within(self.settings.flush_interval if told is None else self.settings.group_window)
        return sequence

    def append_durably(self, event: Event) -> int:
        """Append a record, and return its sequence number when this record and all earlier ones are durable.
        Raises OperationalError if they can't be made durable, unless ``settings.policy`` is to go on
        unprotected."""
        sequence, _ = self._add(event, None)
        self._make_durable(sequence)
        return sequence

    def commit(self) -> None:
        """Return when all records that were appended so far are durable. Raises OperationalError if they
        can't be made durable, unless ``settings.policy`` is to go on unprotected."""
        self._make_durable(self._appended)

    def start_file(self) -> None:
        """Make all records durable, and write the next record to a new file. Raises OperationalError if the
        records can't be made durable, unless ``settings.policy`` is to go on unprotected."""
        self.commit()
        self._starts_file = True

    def close(self) -> None:
        """Make all records durable, and close the log; a second call does nothing. Raises OperationalError if
        the records can't be made durable, unless ``settings.policy`` is to go on unprotected. A log that
        failed or was fenced before is closed without an error, since its appends have raised the error."""
        if os.getpid() != self._process:
            return
        with self._changed:
            if self._closed:
                return
            self._closed = True
        try:
            if self._state is LogState.PROTECTED:
                self.commit()
        finally:
            self._forget_timer()
            with self._changed:
                while self._writing:
                    self._changed.wait()
                self._give_file_up()

    def _add(self, event: Event, told: Told | None) -> tuple[int, bool]:
        """Add a record to the next group. Returns the record's sequence number, and whether the buffer is
        full, so that the caller should write."""
        if os.getpid() != self._process:
            raise OperationalError(inherited("the job log"))
        kind, payload = encode_event(event)
        if len(payload) > LONGEST_PAYLOAD:
            raise ProgrammingError(f"the event {kind.name} has {len(payload)} bytes: too long for a job log")
        with self._changed:
            if self._closed:
                raise OperationalError("the job log is closed")
            self._check()
            self._appended += 1
            sequence, is_kept = self._appended, self._state is LogState.PROTECTED
            if is_kept:
                self._entries.append(_Entry(kind.number, kind.version, payload, told))
                self._bytes_kept += len(payload) + OVERHEAD
            is_full = self._bytes_kept >= self.settings.buffer_size
        if told is not None and not is_kept:
            told(None)
        return sequence, is_full

    def _check(self) -> None:
        """Raise the error because of which the log failed, if there is one, unless the job goes on
        unprotected."""
        if self._failure is not None and self._state is not LogState.UNPROTECTED:
            raise self._failure

    # ---- groups

    def _make_durable(self, sequence: int) -> None:
        """Write groups, or wait for the thread that does, until the record of this sequence number is
        durable. Returns without that if the job goes on unprotected; raises the log's failure otherwise."""
        while True:
            with self._changed:
                while self._writing and self._durable < sequence:
                    self._changed.wait()
                if self._durable >= sequence:
                    return
                self._check()
                if self._state is LogState.UNPROTECTED:
                    return
                group = self._take_group()
            self._write(group)

    def _take_group(self) -> _Group:
        """Take all records that are not written yet as one group. The caller holds the lock, and must then
        write the group."""
        group = _Group(self._durable + 1, (*self._entries,))
        self._entries.clear()
        self._bytes_kept = 0
        self._due = None
        self._writing = True
        return group

    def _write_within(self, seconds: float) -> None:
        """Start a timer that writes the waiting records after this many seconds, unless one is set that ends
        earlier."""
        with self._changed:
            due = self._clock.now() + seconds
            if not self._entries or (self._due is not None and self._due <= due):
                return
            self._due = due
            forget, self._forget_timer = self._forget_timer, self._clock.call_at(due, self._write_due)
        forget()

    def _write_due(self) -> None:
        if self._due is not None:
            self._run(self._write_kept)

    def _write_kept(self) -> None:
        # The state and the callbacks tell of an error.
        with suppress(DatabaseError):
            self.commit()

    def _write(self, group: _Group) -> None:
        """Write the group, and then set the log's state, wake the waiting threads and call the records'
        callbacks."""
        state: LogState = LogState.PROTECTED
        failure: DatabaseError | None = None
        try:
            if not self._put(group):
                state, failure = LogState.FENCED, self._fenced()
        except OSError as error:
            self._give_file_up()
            state, failure = self._failed(error)
        except BaseException:
            # An interrupt in the middle of a write: the next writer puts the group into another file.
            self._give_file_up()
            with self._changed:
                self._entries[:0] = group.entries
                self._writing = False
                self._changed.notify_all()
            raise
        self._conclude(group, state, failure)

    def _conclude(self, group: _Group, state: LogState, failure: DatabaseError | None) -> None:
        entries = group.entries
        with self._changed:
            self._writing = False
            if failure is None:
                self._durable = group.first + len(entries) - 1
            else:
                self._state, self._failure = state, failure
                entries += (*self._entries,)
                self._entries.clear()
                self._bytes_kept = 0
            self._changed.notify_all()
        if failure is not None:
            logger.error("%s", failure)
        for entry in entries:
            if entry.told is not None:
                entry.told(None if state is LogState.UNPROTECTED else failure)

    def _failed(self, error: OSError) -> tuple[LogState, DatabaseError]:
        """Return the log's state after a group could not be written, as ``settings.policy`` says, and the
        error."""
        problem = f"the job log in {self._folder.address} can't be written: {error}"
        match self.settings.policy:
            case FailurePolicy.FAIL:
                return LogState.FAILED, OperationalError(problem)
            case FailurePolicy.UNPROTECTED:
                return LogState.UNPROTECTED, OperationalError(
                    f"{problem}; the job goes on unprotected, and after a crash behind record {self._durable}"
                )
            case _:
                assert_never(self.settings.policy)

    def _fenced(self) -> DatabaseError:
        return OperationalError(
            f"another coordinator has claimed epoch {self.epoch + 1} of the job in {self._folder.address};"
            f" the coordinator of epoch {self.epoch} must end"
        )

    # ---- files

    def _put(self, group: _Group) -> bool:
        """Write the group durably, to another file after each failed attempt. Returns True if no other
        coordinator has claimed the next epoch, False if one has. Raises OSError if all ``settings.attempts``
        fail."""
        data = self._framed(group)
        for attempt in count(1):
            try:
                self._commit_to_file(data)
                return not self._folder.exists(claim_name(self.epoch + 1))
            except OSError:
                self._failures += 1
                self._give_file_up()
                if attempt >= self.settings.attempts:
                    raise
        raise AssertionError

    def _framed(self, group: _Group) -> bytes:
        return b"".join(
            frame_record(
                entry.number,
                entry.version,
                entry.payload,
                epoch=self.epoch,
                sequence=sequence,
                durable=group.first - 1,
            )
            for sequence, entry in enumerate(group.entries, group.first)
        )

    def _commit_to_file(self, data: bytes) -> None:
        if self._starts_file:
            self._starts_file = False
            self._give_file_up()
        if self._file is None:
            self._next_file += 1
            self._file = self._folder.new_file(events_name(self.epoch, self._next_file - 1))
        self._file.commit(data)
        self._commits += 1
        self._bytes += len(data)
        if self._file.size >= self.settings.file_size or not self._file.takes_more:
            self._give_file_up()

    def _give_file_up(self) -> None:
        """Close the current file, if there is one; the next group begins a new file."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):
                file.close()
