"""The replay: the records of a job's log that count.

Each epoch is read file by file (:func:`_read_epoch`); the chain of epochs is found from the newest to the
oldest, since each epoch's first record names what it accepts of the epoch before (:func:`read_log`). Damage
ends the replay: the records before it stay, those after it don't count.
"""

import hashlib
from collections.abc import Sequence
from enum import Enum
from typing import Final

import msgspec

from sqlfront_engine.durable.event_store.events import AcceptedPrefix, EpochStarted
from sqlfront_engine.durable.event_store.names import JobFiles
from sqlfront_engine.durable.event_store.records import FileContents, Record, parse_file
from sqlfront_engine.storage.folders import Folder

#: The number of the event that begins each epoch.
_EPOCH_STARTED: Final = 2


class Reason(Enum):
    """The reasons, other than damage, for which bytes of a log don't count: their write was interrupted
    (TORN), their write failed and a later file has the records (REPLACED), or the next coordinator didn't
    accept them (FENCED)."""

    TORN = "torn"
    """The write was interrupted: nobody was told that these bytes are durable."""
    REPLACED = "replaced"
    """The write failed, and a later file has the records."""
    FENCED = "fenced"
    """The next coordinator didn't accept the bytes: their writer had been superseded, or had died in the
    middle of a write."""


class LeftOut(msgspec.Struct, frozen=True):
    """Bytes of a log that don't count, for a ``reason``: ``size`` bytes of ``file``, from ``offset`` on."""

    file: str
    offset: int
    size: int
    reason: Reason


class Damage(msgspec.Struct, frozen=True):
    """A damage of a log: the file and the offset in bytes at which it was found, and a text that says what
    is wrong. Records before that offset count."""

    file: str
    offset: int
    problem: str


class Replay(msgspec.Struct, frozen=True):
    """The contents of a log. ``records``: the records that count, in order. ``claimed``: the highest claimed
    epoch. ``end``: the last record that counts, with file and offset, as the next epoch accepts it; None
    without records. ``left_out``: bytes that don't count. ``damage``: the damage at which the reading ended,
    None if there is none."""

    records: tuple[Record, ...]
    claimed: int
    end: AcceptedPrefix | None
    left_out: tuple[LeftOut, ...]
    damage: Damage | None

    @property
    def sequence(self) -> int:
        """The number of the last record that counts, 0 without records."""
        return 0 if self.end is None else self.end.sequence

    def last_group(self) -> tuple[int, bytes]:
        """Return the records at the end of the log that may not be durable yet, since no record says that
        they are: the offset at which they begin in the file ``end.file``, and their bytes. All earlier
        records are known to be durable."""
        if self.end is None:
            return 0, b""
        offset, durable = self.end.offset, self.records[-1].durable
        frames: list[bytes] = []
        for record in reversed(self.records):
            if record.sequence <= durable or offset == 0:
                break
            frames.append(record.frame)
            offset -= len(record.frame)
        return offset, b"".join(reversed(frames))


def read_log(folder: Folder) -> Replay:
    """Read the log in a job's folder. Raises OSError if a file can't be read, OperationalError if another
    version of sqlfront wrote the log in a form that this version doesn't know."""
    listing = JobFiles.of(folder.names())
    unread = dict(listing.events)
    epochs: list[_Epoch] = []
    number: int | None = max(listing.events, default=None)
    accepted: AcceptedPrefix | None = None
    while number is not None:
        epoch = _read_epoch(folder, number, unread.pop(number, ()), accepted)
        epochs.append(epoch)
        begun = epoch.begun
        if begun is None:
            # The epoch's beginning is lost, or was never written: the one before counts as far as it goes.
            accepted, number = None, max((one for one in unread if one < number), default=None)
        else:
            accepted = begun.accepted
            number = None if accepted is None else accepted.epoch
    left = [name for names in unread.values() for name in names]
    skipped = [
        LeftOut(name, 0, len(data), Reason.FENCED)
        for name, data in zip(left, folder.read_each(left), strict=True)
    ]
    return _joined(epochs[::-1], listing.claimed, skipped)


class _Epoch(msgspec.Struct, frozen=True):
    """The records of one epoch. ``begun``: the event of the epoch's first record; ``end``: its last record,
    with file and offset. Both are None without records. ``left_out``: bytes that don't count. ``damage``: the
    damage at which the reading ended, None if there is none."""

    records: tuple[Record, ...]
    begun: EpochStarted | None
    end: AcceptedPrefix | None
    left_out: tuple[LeftOut, ...]
    damage: Damage | None


def _joined(epochs: Sequence[_Epoch], claimed: int, skipped: Sequence[LeftOut]) -> Replay:
    """Return the replay of the epochs, which are given from the oldest on, up to the first damage.
    ``skipped``: the files of epochs that no later epoch accepted."""
    records: list[Record] = []
    left_out = list(skipped)
    end: AcceptedPrefix | None = None
    damage: Damage | None = None
    for epoch in epochs:
        left_out.extend(epoch.left_out)
        gap = _gap(epoch, end)
        damage = epoch.damage or gap
        if epoch.begun is not None and gap is None:
            records.extend(epoch.records)
            end = epoch.end
        if damage is not None:
            break
    return Replay(tuple(records), claimed, end, tuple(left_out), damage)


def _gap(epoch: _Epoch, before: AcceptedPrefix | None) -> Damage | None:
    """Return a damage if the epoch's first record accepts other records of the previous epoch than
    ``before``, the end of the records that were found; None if they agree."""
    if epoch.begun is None or epoch.begun.accepted == before:
        return None
    assert epoch.end is not None
    return Damage(epoch.end.file, 0, "the epoch accepted other records than those that are there")


# ---- one epoch


class _Stop(msgspec.Struct, frozen=True):
    """An offset of a file at which no further record begins. ``size``: the file's size in bytes.
    ``durable``: the highest sequence number that was durable by the records found behind the offset, 0 if
    they say nothing."""

    file: str
    offset: int
    size: int
    durable: int


def _read_epoch(folder: Folder, number: int, names: Sequence[str], accepted: AcceptedPrefix | None) -> _Epoch:
    """Return the records of epoch ``number`` from the files ``names``. With ``accepted``, read only the
    records that the next epoch accepted, and report a damage if they differ from them; else read as far as
    records go."""
    reading = _Reading(number)
    behind = False
    for name, data in zip(names, folder.read_each(names), strict=True):
        bound = 0 if behind else len(data)
        if accepted is not None and name == accepted.file:
            bound, behind = accepted.offset, True
        reading.leave_out(name, bound, len(data) - bound, Reason.FENCED)
        reading.add(name, parse_file(data[:bound], number))
    epoch = reading.finished(0 if accepted is None else accepted.sequence)
    if accepted is None or epoch.damage is not None or epoch.end == accepted:
        return epoch
    damage = Damage(accepted.file, 0, "the records differ from those that were accepted")
    return msgspec.structs.replace(epoch, records=(), begun=None, end=None, damage=damage)


class _Reading:
    """A reader of one epoch, which is given the contents of the epoch's files in order."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._records: list[Record] = []
        self._ends: list[tuple[str, int]] = []
        self._stops: list[_Stop] = []
        self._left_out: list[LeftOut] = []
        self._behind_gap: str | None = None

    def leave_out(self, file: str, offset: int, size: int, reason: Reason) -> None:
        """Note that ``size`` bytes of the file from ``offset`` on don't count; nothing if ``size`` is 0 or
        less."""
        if size > 0:
            self._left_out.append(LeftOut(file, offset, size, reason))

    def add(self, name: str, contents: FileContents) -> None:
        """Add the records of the epoch's next file. If a record is missing between the earlier files and
        this one, ignore this file and all later ones."""
        if self._behind_gap is not None:
            return
        if contents.records:
            if not self._follows(contents.records[0]):
                self._behind_gap = name
                return
            self._replace(contents.records[0].sequence)
            self._append(name, contents.records)
        if contents.end < contents.size:
            self._stops.append(_Stop(name, contents.end, contents.size, contents.durable))

    def _follows(self, record: Record) -> bool:
        if not self._records:
            return record.number == _EPOCH_STARTED
        return record.sequence <= self._records[-1].sequence + 1

    def _append(self, name: str, records: Sequence[Record]) -> None:
        offset = 0
        for record in records:
            offset += len(record.frame)
            self._records.append(record)
            self._ends.append((name, offset))

    def _replace(self, first: int) -> None:
        """Drop the earlier records with this sequence number or a higher one, since a later file has them
        again, and note their bytes and the unreadable bytes behind them as left out."""
        while self._records and self._records[-1].sequence >= first:
            file, end = self._ends.pop()
            size = len(self._records.pop().frame)
            self.leave_out(file, end - size, size, Reason.REPLACED)
        self._leave_out_stops(Reason.REPLACED)
        self._stops.clear()

    def _leave_out_stops(self, reason: Reason) -> None:
        for stop in self._stops:
            self.leave_out(stop.file, stop.offset, stop.size - stop.offset, reason)

    def finished(self, durable: int) -> _Epoch:
        """Return the epoch as read from all files. ``durable``: the sequence number up to which the epoch's
        records were durable, as the next epoch says; 0 if no later epoch says so."""
        damage = self._damage(durable)
        if damage is None:
            self._leave_out_stops(Reason.TORN)
        begun = self._records[0].event() if self._records else None
        assert begun is None or isinstance(begun, EpochStarted)
        return _Epoch((*self._records,), begun, self._end(), (*self._left_out,), damage)

    def _end(self) -> AcceptedPrefix | None:
        if not self._records:
            return None
        file, offset = self._ends[-1]
        digest = hashlib.sha256()
        for record in self._records:
            digest.update(record.frame)
        return AcceptedPrefix(
            epoch=self._number,
            file=file,
            offset=offset,
            sequence=self._records[-1].sequence,
            digest=digest.hexdigest(),
        )

    def _damage(self, durable: int) -> Damage | None:
        """Return the damage at the first record that is missing or unreadable although it was durable; None
        if no durable record is missing. ``durable``: the sequence number up to which the epoch's records were
        durable, as the next epoch says; 0 if no later epoch says so."""
        last = self._records[-1].sequence if self._records else 0
        proved = max([durable, *(stop.durable for stop in self._stops)])
        if self._behind_gap is None and proved <= last:
            return None
        if self._stops:
            stop = self._stops[0]
            return Damage(stop.file, stop.offset, "the record is damaged; it was durable before")
        file, offset = self._ends[-1] if self._ends else (self._behind_gap or "", 0)
        return Damage(file, offset, "the records that follow are missing")
