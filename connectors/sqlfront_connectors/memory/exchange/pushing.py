"""Delivery of rows directly to the members that own them, from a process that is not a member.

The process takes part in a load, see :mod:`~sqlfront_connectors.memory.exchange.service`: it hashes the keys,
divides the rows among the members and sends each member its rows over a connection that is made on first use.
The process needs only the packages of ``engine/`` and this connector, no session and no planner."""

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec import BatchEncoder
from sqlfront_cluster.members.questions.outsider import Outsider
from sqlfront_connectors.memory.exchange.service import EXCHANGE, Forget, Put
from sqlfront_connectors.memory.segments.segment import has_few_values
from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import Error
from sqlfront_values.partitioning.partitions import partition_ids
from sqlfront_values.types import STRING

#: Rows, and bytes, that are collected before they are divided among the members: each member gets a part of
#: them, and small parts cost more to send and to store.
_ROWS: Final = 65_536
_BYTES: Final = 16 * 1024 * 1024
#: Unanswered batches that may be on their way to a member: the next is made while a member stores one; each
#: takes memory on both sides.
_WINDOW: Final = 4


class LoadTarget(msgspec.Struct, frozen=True):
    """The destination of rows that a process outside of the cluster sends to a table. ``load``: the unique
    name of the load, the transfer from all such processes. ``table`` and ``schema``: the table's name and
    logical schema. ``members``: names and addresses of the members. ``owners``: for each partition, the index
    of its member in ``members``. ``keys``: the ordinals of the partition key; if empty, whole batches are
    sent to the members in turn."""

    load: str
    table: str
    schema: pa.Schema
    keys: tuple[int, ...]
    owners: tuple[int, ...]
    members: tuple[tuple[str, str], ...]


#: A function that connects with the member of a name and address.
Connect = Callable[[str, str], Outsider]


class Pusher:
    """An attempt to deliver rows to a table's members, as a part of a load: call :meth:`push` for each batch,
    then :meth:`finish`, then :meth:`close`; from one thread. The rows become visible only if the load's
    coordinator learns of the attempt by a :class:`DeliveredRows`; otherwise the members drop them.
    ``connect``: a function that connects with a member, given its name and address.

    The methods raise OperationalError if a member can't be reached or refuses the rows.
    """

    def __init__(self, target: LoadTarget, connect: Connect) -> None:
        #: The unique token of the attempt.
        self.attempt = secrets.token_hex(12)
        self._target = target
        self._connect = connect
        self._owners = np.array(target.owners, np.min_scalar_type(len(target.members)))
        self._streams: dict[int, _Stream] = {}
        self._waiting: list[pa.RecordBatch] = []
        self._rows = self._size = 0
        # The string columns that are sent dictionary-encoded; the first rows decide.
        self._encoded: frozenset[int] | None = None
        self._turn = secrets.randbelow(len(target.members))

    def push(self, batch: pa.RecordBatch) -> None:
        """Send the rows of ``batch`` to the members that own them; a few rows are collected first until there
        are enough. The columns are the table's, in physical form."""
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._size += batch.nbytes
        if self._rows >= _ROWS or self._size >= _BYTES:
            self._flush()

    def finish(self) -> Mapping[str, int]:
        """Send the remaining rows, and wait until all members have received their rows. Return the number of
        rows that each member has received, by the member's name; a member without rows is left out."""
        self._flush()
        for stream in self._streams.values():
            stream.settle(0)
        return {self._target.members[place][0]: stream.rows for place, stream in self._streams.items()}

    def close(self, *, forget: bool = False) -> None:
        """Close the connections. ``forget``: before that, ask the members to drop the rows of this attempt,
        because it has failed."""
        for stream in self._streams.values():
            stream.close(forget=forget)
        self._streams.clear()

    def _flush(self) -> None:
        if not self._rows:
            self._waiting.clear()
            return
        batch = self._combined()
        self._waiting, self._rows, self._size = [], 0, 0
        if len(self._target.members) == 1:
            self._send(0, batch)
        elif not self._target.keys:
            self._turn = (self._turn + 1) % len(self._target.members)
            self._send(self._turn, batch)
        else:
            self._divide(batch)

    def _combined(self) -> pa.RecordBatch:
        columns = []
        for number in range(len(self._target.schema)):
            chunks = [batch.column(number) for batch in self._waiting]
            columns.append(pa.concat_arrays(chunks) if len(chunks) > 1 else chunks[0])
        if self._encoded is None:
            strings = [number for number, column in enumerate(columns) if column.type == STRING]
            self._encoded = frozenset(number for number in strings if has_few_values(columns[number]))
        for number in self._encoded:
            columns[number] = columns[number].dictionary_encode()
        return make_batch(columns, [*map(str, range(len(columns)))], self._rows)

    def _divide(self, batch: pa.RecordBatch) -> None:
        keys = [batch.column(ordinal) for ordinal in self._target.keys]
        owners = self._owners[partition_ids(keys, batch.num_rows, len(self._owners))]
        counts = np.bincount(owners, minlength=len(self._target.members))
        order = np.argsort(owners, kind="stable").astype(np.int64, copy=False)
        ordered = batch.take(from_numpy(order, pa.int64()))
        start = 0
        for place, count in enumerate(counts.tolist()):
            if count:
                self._send(place, ordered.slice(start, count))
            start += count

    def _send(self, place: int, batch: pa.RecordBatch) -> None:
        stream = self._streams.get(place)
        if stream is None:
            name, address = self._target.members[place]
            line = self._connect(name, address)
            stream = self._streams[place] = _Stream(line, self._target.load, self.attempt)
        stream.send(batch)


class _Stream:
    """An attempt's connection to one member. ``line``: the open connection."""

    def __init__(self, line: Outsider, load: str, attempt: str) -> None:
        self.rows = 0
        self._line = line
        self._load, self._attempt = load, attempt
        self._encoder = BatchEncoder()

    def send(self, batch: pa.RecordBatch) -> None:
        """Send a batch to the member, then wait until at most :data:`_WINDOW` batches are unanswered."""
        encoded = self._encoder.encode(batch)
        question = Put(self._load, self._attempt, encoded.schema)
        self._line.send(EXCHANGE, codec.encode(question), encoded.body)
        self.rows += batch.num_rows
        self.settle(_WINDOW)

    def settle(self, unanswered: int) -> None:
        """Wait until at most ``unanswered`` batches have no answer of the member. Raises the error of a
        member that has refused a batch."""
        while self._line.unanswered > unanswered:
            self._line.hear()

    def close(self, *, forget: bool) -> None:
        """Close the connection. ``forget``: before that, ask the member to drop the attempt's rows; errors
        are ignored."""
        if forget:
            with suppress(Error):
                self._line.send(EXCHANGE, codec.encode(Forget(self._load, self._attempt)))
                self.settle(0)
        self._line.close()


class DeliveredRows(msgspec.Struct, frozen=True):
    """The number of rows that an attempt has delivered to one member. ``attempt``: the attempt's unique
    token. ``member``: the member's name."""

    attempt: str
    member: str
    rows: int


def push_all(
    target: LoadTarget, connect: Connect, batches: Iterable[pa.RecordBatch]
) -> Iterator[DeliveredRows]:
    """Push all batches to the members in one attempt, then yield, for each member that has received rows, the
    attempt and the number of rows. If an error occurs, ask the members to drop the attempt's rows and raise
    the error."""
    pusher = Pusher(target, connect)
    try:
        for batch in batches:
            pusher.push(batch)
        brought = pusher.finish()
    except BaseException:
        pusher.close(forget=True)
        raise
    pusher.close()
    for member, rows in brought.items():
        yield DeliveredRows(pusher.attempt, member, rows)


def attempts_by_member(brought: Sequence[DeliveredRows]) -> tuple[tuple[str, tuple[str, ...], int], ...]:
    """Group the attempts by member: return, for each member, its name, the tokens of its attempts and the
    number of their rows, as the source :class:`~sqlfront_connectors.memory.exchange.service.StagedRows` takes
    them."""
    found: dict[str, list[DeliveredRows]] = {}
    for each in brought:
        found.setdefault(each.member, []).append(each)
    return tuple(
        (member, tuple(each.attempt for each in group), sum(each.rows for each in group))
        for member, group in found.items()
    )
