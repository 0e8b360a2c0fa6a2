"""Records: events in their frames, as the bytes of a log.

A frame, all numbers little-endian::

    offset  bytes  field
         0      3  F5 'S' 'L': JSON has no byte F5, so that a frame can be found behind damage
         3      1  version of the frame
         4      4  length of the payload in bytes
         8      2  number of the event
        10      2  version of the event
        12      4  epoch
        16      8  sequence: the number of the record in the job's log, from 1, without gaps
        24      8  durable: the sequence of the last record known durable when this record was written
        32      4  CRC32C of the bytes 0 to 31
        36      n  payload: the event's JSON
      36+n      4  CRC32C of the bytes 0 to 35+n

The first checksum makes the length trustworthy. ``durable`` tells a torn end from damage: if a record can't
be read and a later record says that it was durable, then it was acknowledged and is damaged; if none does,
then its write was interrupted. All versions of the frame have the same first 36 bytes.
"""

import struct
from typing import Final

import msgspec
from crc32c import crc32c

from sqlfront_engine.durable.event_store.events import KINDS, Event, decode_event
from sqlfront_values.errors import OperationalError

_MAGIC: Final = b"\xf5SL"
_FRAME_VERSION: Final = 1
_FIELDS: Final = struct.Struct("<3sBIHHIQQ")
_CHECKSUM: Final = struct.Struct("<I")
_HEADER: Final = _FIELDS.size + _CHECKSUM.size
#: The bytes of a frame beside the payload.
OVERHEAD: Final = _HEADER + _CHECKSUM.size
#: The longest payload in bytes that the frame's length can hold.
LONGEST_PAYLOAD: Final = 2**32 - 1


class Record(msgspec.Struct, frozen=True):
    """An event of a log as stored. ``number`` and ``version`` name the kind of event
    (:data:`~sqlfront_engine.durable.event_store.events.KINDS`). ``sequence`` is the number of the record in
    the log, and ``durable`` the number of the last record that was known to be durable when this record was
    written. ``frame`` has all bytes of the record: its numbers, the event's JSON and checksums."""

    epoch: int
    sequence: int
    durable: int
    number: int
    version: int
    frame: bytes

    @property
    def payload(self) -> bytes:
        """The event's JSON, as bytes."""
        return self.frame[_HEADER : -_CHECKSUM.size]

    @property
    def name(self) -> str:
        """The event's name, such as ``task_finished``. If this version of sqlfront doesn't know the event, a
        text with the event's number; if it doesn't know the event's version, the name and the version."""
        kind = KINDS.get(self.number)
        if kind is None:
            return f"type {self.number}"
        return kind.name if kind.version == self.version else f"{kind.name} v{self.version}"

    @property
    def content(self) -> str:
        """The event's JSON as text, with control characters escaped, so that a terminal can show it."""
        text = self.payload.decode("utf-8", errors="backslashreplace")
        return "".join(
            one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text
        )

    def event(self) -> Event:
        """Return the event. Raises OperationalError if this version of sqlfront doesn't know the event or
        its version."""
        return decode_event(self.number, self.version, self.payload)


def frame_record(
    number: int, version: int, payload: bytes, *, epoch: int, sequence: int, durable: int
) -> bytes:
    """Return the bytes of a record. ``number`` and ``version`` name the kind of event, ``payload`` is its
    JSON, ``sequence`` the record's number in the log, ``durable`` the number of the last record known
    durable.

    >>> record = record_at(frame_record(12, 1, b"{}", epoch=1, sequence=7, durable=6), 0)
    >>> record.sequence, record.payload
    (7, b'{}')
    """
    fields = _FIELDS.pack(_MAGIC, _FRAME_VERSION, len(payload), number, version, epoch, sequence, durable)
    body = b"".join((fields, _CHECKSUM.pack(crc32c(fields)), payload))
    return body + _CHECKSUM.pack(crc32c(body))


def record_at(data: bytes, offset: int) -> Record | None:
    """Return the record whose frame begins at the offset, or None if no complete and undamaged frame begins
    there. Raises OperationalError for an undamaged frame in another version of the format."""
    if len(data) - offset < OVERHEAD:
        return None
    fields_end = offset + _FIELDS.size
    if _CHECKSUM.unpack_from(data, fields_end)[0] != crc32c(data[offset:fields_end]):
        return None
    magic, frame_version, length, number, version, epoch, sequence, durable = _FIELDS.unpack_from(
        data, offset
    )
    if magic != _MAGIC:
        return None
    if frame_version != _FRAME_VERSION:
        raise OperationalError(
            f"the job log has records in version {frame_version} of the format; this version of sqlfront"
            f" reads version {_FRAME_VERSION}"
        )
    end = offset + OVERHEAD + length
    frame = data[offset:end]
    if len(data) < end or _CHECKSUM.unpack_from(frame, len(frame) - 4)[0] != crc32c(frame[:-4]):
        return None
    return Record(epoch, sequence, durable, number, version, frame)


class FileContents(msgspec.Struct, frozen=True):
    """The contents of a file of records. ``records``: the consecutive, undamaged records from the file's
    beginning. ``end``: the offset in bytes at which they end. ``size``: the size of the file in bytes.
    ``durable``: the highest sequence number up to which all records were durable, as records found behind
    ``end`` say; 0 if they say nothing."""

    records: tuple[Record, ...]
    end: int
    size: int
    durable: int


def parse_file(data: bytes, epoch: int) -> FileContents:
    """Return the contents of a file of the epoch: its records up to the first offset at which no record of
    the next sequence number begins."""
    records: list[Record] = []
    offset = 0
    while (record := record_at(data, offset)) is not None:
        if record.epoch != epoch or (records and record.sequence != records[-1].sequence + 1):
            break
        records.append(record)
        offset += len(record.frame)
    return FileContents(tuple(records), offset, len(data), _durable_behind(data, offset))


def _durable_behind(data: bytes, offset: int) -> int:
    found = 0
    while (offset := data.find(_MAGIC, offset)) >= 0:
        record = record_at(data, offset)
        if record is not None:
            found = max(found, record.durable)
        offset += 1 if record is None else len(record.frame)
    return found
