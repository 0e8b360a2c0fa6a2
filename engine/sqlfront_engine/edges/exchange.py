"""The two ends of a distributed edge between two members, and the receive window between the ends.

On the sending member a :class:`RemoteOutput` takes the place of a queue, behind the only producer or the
shared sender tasklet. On the receiving member a :class:`RemoteInput` stands in front of the only consumer or
the shared receiver tasklet. The receiver gives the sender a limit on the bytes sent since the start of the
stream. The window granted beyond the consumed bytes follows the rate of consumption, as a TCP receive window
does (the design of Hazelcast Jet, which counts in units of 64 KiB; here in bytes): in a steady state the
window holds the data of some flow-control periods. Unlike in Jet, the sender begins with the initial window,
an acknowledgement is sent as soon as half a window is consumed, so that short exchanges never wait for a
tick, and a window has a largest size: what a fast consumer leaves to wait in the sender's outbox stays far
below the size at which the connection ends.
"""

from collections import deque
from collections.abc import Iterator
from math import ceil, trunc
from typing import Final, Protocol

import msgspec
import pyarrow as pa

from sqlfront_engine.edges.queues import NOTHING, Polled, Wakeable

#: Seconds between two measurements of the rate of consumption, as in Hazelcast Jet.
FLOW_CONTROL_PERIOD: Final = 0.1
#: Bytes to which a receive window grows at most, unless it begins with more. A larger one would not be
#: faster: the sender learns of half a window at once, long before it has sent the other half.
MOST_WINDOW: Final = 32 << 20


class EdgeStream(msgspec.Struct, frozen=True):
    """The name of a stream: the batches of one distributed edge that this member sends to another member, or
    receives from it. ``edge`` is the edge's position in the DAG, ``member`` the name of the other member."""

    edge: int
    member: str


class Parcel(msgspec.Struct, frozen=True):
    """A unit of data that arrives by a stream. ``content``: an encoded batch for :meth:`Wire.unpack`, or
    None. ``size``: the bytes by which the content counts against the receive window. ``last``: whether the
    stream ends after this parcel."""

    content: object
    size: int
    last: bool = False


class SenderStatistics(msgspec.Struct, frozen=True):
    """A snapshot of a stream's sending end: the bytes sent so far, the ``limit`` in bytes up to which the
    receiver allows sending, and the number of ``acknowledgements``, each of which may raise the limit."""

    stream: EdgeStream
    sent: int
    limit: int
    acknowledgements: int

    @property
    def blocked(self) -> bool:
        """Whether the sender waits for a higher limit."""
        return self.sent > self.limit


class ReceiverStatistics(msgspec.Struct, frozen=True):
    """A snapshot of a stream's receiving end. In bytes: what has ``arrived`` and was ``consumed`` so far,
    what is ``waiting`` now, the ``peak`` of waiting bytes, the present ``window`` and the ``widest`` one.
    ``acknowledgements``: the number of acknowledgements sent; ``late``: how many of them were sent at the end
    of a flow-control period (:meth:`RemoteInput.adapt`). Bytes in transit never exceed the widest window and
    one batch."""

    stream: EdgeStream
    arrived: int
    consumed: int
    waiting: int
    peak: int
    window: int
    widest: int
    acknowledgements: int
    late: int


class Wire(Protocol):
    """A job's connection to the other members. No method waits, and none raises because of a lost
    connection."""

    def send_data(self, stream: EdgeStream, batch: pa.RecordBatch | None, *, last: bool) -> int:
        """Send a batch (None: no batch) to the stream's receiver, and with ``last`` the end of the stream.
        Returns the bytes that count for the window."""

    def acknowledge(self, stream: EdgeStream, limit: int) -> None:
        """Allow the stream's sender to send up to ``limit`` bytes, counted from the start of the stream."""

    def close_input(self, stream: EdgeStream) -> None:
        """Tell the stream's sender that the receiver takes no more batches."""

    def unpack(self, stream: EdgeStream, content: object) -> pa.RecordBatch:
        """Return the batch in ``content``, the content of a parcel of the stream. To be called in the order
        of the parcels."""


class RemoteOutput:
    """An :class:`~sqlfront_engine.edges.queues.Output` whose batches go to a consumer on another member. The
    producer calls all methods except :meth:`allow` and :meth:`close`, which the network calls.

    ``window``: the bytes that may be sent before the first acknowledgement. ``packet``: the most bytes of the
    rows in one message; a larger batch is sent as several messages, one after the other. ``patient``: a batch
    is sent only at the next call, so that the last batch carries the end of the stream; the producer calls
    :meth:`flush` before it gives up its thread.
    """

    __slots__ = (
        "_acknowledgements",
        "_held",
        "_limit",
        "_packet",
        "_patient",
        "_sent",
        "_stream",
        "_wire",
        "abandoned",
        "finished",
        "producer",
    )

    def __init__(
        self, wire: Wire, stream: EdgeStream, window: int, packet: int, *, patient: bool = False
    ) -> None:
        self._wire = wire
        self._packet = packet
        self._patient = patient
        self._held: pa.RecordBatch | None = None
        self._stream = stream
        self._limit = window
        self._sent = self._acknowledgements = 0
        self.producer: Wakeable
        self.abandoned = False
        self.finished = False

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Take the batch and return True: send the batch, keep it for the next call (``patient``), or drop
        it if the receiver wants no more. Returns False, without taking the batch, if the receiver's limit is
        used up; :meth:`allow` then wakes the producer."""
        self.flush()
        if self._sent > self._limit:
            return self.abandoned
        if not self.abandoned:
            self._held = batch
            if not self._patient:
                self.flush()
        return True

    def flush(self) -> None:
        """Send the batch that this output has taken and not sent yet, if there is one."""
        batch, self._held = self._held, None
        if batch is not None and not self.abandoned:
            self._send(batch, last=False)

    def finish(self) -> None:
        """Send the end of the stream, together with a batch that is not sent yet; a second call does
        nothing."""
        if not self.finished:
            self.finished = True
            batch, self._held = self._held, None
            self._send(None if self.abandoned else batch, last=True)

    def _send(self, batch: pa.RecordBatch | None, *, last: bool) -> None:
        if batch is not None and not _fits(batch, self._packet):
            *slices, batch = _cut(batch, self._packet, batch.slice(0, 0).nbytes)
            for part in slices:
                self._sent += self._wire.send_data(self._stream, part, last=False)
        self._sent += self._wire.send_data(self._stream, batch, last=last)

    def allow(self, limit: int) -> None:
        """Record the receiver's new limit in bytes since the start of the stream, and wake the producer. A
        lower limit than before is ignored, since bytes within the earlier limit may be in transit."""
        self._acknowledgements += 1
        if limit > self._limit:
            self._limit = limit
            self.producer.wake()

    def close(self) -> None:
        """Record that the receiver wants no more batches, and wake the producer."""
        self.abandoned = True
        self.producer.wake()

    def statistics(self) -> SenderStatistics:
        """Return the sender's counters so far."""
        return SenderStatistics(self._stream, self._sent, self._limit, self._acknowledgements)


def _fits(batch: pa.RecordBatch, limit: int) -> bool:
    """Return whether the batch certainly has at most ``limit`` bytes, by a bound that takes 0.1 us; the exact
    size of a batch takes 6 us. Columns can share a buffer."""
    return bool(batch.get_total_buffer_size() * batch.num_columns <= limit)


def _cut(batch: pa.RecordBatch, limit: int, dictionaries: int) -> Iterator[pa.RecordBatch]:
    """Yield the batch in slices whose rows have at most ``limit`` bytes; a larger row is a slice by itself.
    ``dictionaries``: the bytes of the batch's dictionaries, which each slice has and which don't count."""
    rows, size = batch.num_rows, batch.nbytes - dictionaries
    if size <= limit or rows <= 1:
        yield batch
        return
    step = max(1, min(rows // 2, rows * limit // size))
    for start in range(0, rows, step):
        yield from _cut(batch.slice(start, step), limit, dictionaries)


class RemoteInput:
    """An :class:`~sqlfront_engine.edges.queues.Input` whose batches come from another member. The consumer
    polls it, the network calls :meth:`arrived`, and the member's clock calls :meth:`adapt`. ``window``: the
    initial receive window in bytes. ``multiplier``: in a steady state, the window is the bytes consumed per
    flow-control period times this number, up to :data:`MOST_WINDOW`."""

    __slots__ = (
        "_abandoned",
        "_acknowledged",
        "_acknowledgements",
        "_adapted",
        "_arrived",
        "_consumed",
        "_finished",
        "_late",
        "_most",
        "_multiplier",
        "_parcels",
        "_peak",
        "_stream",
        "_told",
        "_widest",
        "_window",
        "_wire",
        "consumer",
    )

    def __init__(self, wire: Wire, stream: EdgeStream, multiplier: int, window: int) -> None:
        self._wire = wire
        self._stream = stream
        self._multiplier = multiplier
        self._window = self._widest = window
        self._most = max(MOST_WINDOW, window)
        self.consumer: Wakeable
        # Written by the network's side.
        self._parcels: deque[Parcel] = deque()
        self._finished = False
        self._arrived = self._peak = 0
        # Written by the tasklet's side.
        self._consumed = 0
        self._abandoned = False
        # The last limit sent; and of the last measurement of the rate: the consumed bytes and the time in
        # seconds.
        self._told = window
        self._acknowledged = 0
        self._adapted: float | None = None
        self._acknowledgements = self._late = 0

    # ---- the network's side

    def arrived(self, parcel: Parcel) -> None:
        """Add the next parcel of the stream. If the consumer takes no more batches, only note whether the
        stream ends."""
        if parcel.content is not None and not self._abandoned:
            self._parcels.append(parcel)
            self._arrived += parcel.size
            self._peak = max(self._peak, self._arrived - self._consumed)
        if parcel.last:
            self._finished = True
        self.consumer.wake()

    @property
    def finished(self) -> bool:
        """Whether the sender has ended the stream."""
        return self._finished

    # ---- the tasklet's side

    def poll(self) -> Polled:
        """Return the next batch; NOTHING if no batch has arrived yet, None after the last batch."""
        parcels = self._parcels
        if not parcels:
            if not self._finished:
                return NOTHING
            if not parcels:  # again: the last parcel may have come between the two checks
                return None
        parcel = parcels.popleft()
        self._consumed += parcel.size
        # Half a consumed window is acknowledged at once, unless the sender has finished.
        if self._consumed + self._window - self._told >= max(1, self._window // 2) and not self._finished:
            self._tell()
        return self._wire.unpack(self._stream, parcel.content)

    def abandon(self) -> None:
        """Take no more batches: drop the batches that have arrived and wait, and, unless the stream has
        ended, send the sender one message that no more batches are wanted."""
        if not self._abandoned:
            self._abandoned = True
            self._parcels.clear()
            if not self._finished:
                self._wire.close_input(self._stream)

    def _tell(self) -> None:
        self._acknowledgements += 1
        self._told = self._consumed + self._window
        self._wire.acknowledge(self._stream, self._told)

    # ---- the clock's side

    def adapt(self, now: float) -> None:
        """Adapt the receive window to the consumer's speed; to be called once per flow-control period.
        ``now``: the clock's seconds. The window moves half-way to the bytes consumed in the period times the
        multiplier, but not beyond :data:`MOST_WINDOW`; the sender is sent a new limit if the limit has risen.
        If no batch waits here, since the sender is slow, the window doesn't shrink. The first call for a
        stream only measures, so that a stream that ends within a period costs no acknowledgement."""
        if self._finished or self._abandoned:
            return
        consumed, first = self._consumed, self._adapted is None
        if self._adapted is not None and now > self._adapted:
            rate = (consumed - self._acknowledged) * FLOW_CONTROL_PERIOD / (now - self._adapted)
            missing = min(self._multiplier * ceil(rate), self._most) - self._window
            if missing > 0 or self._parcels:
                self._window += trunc(missing / 2)
                self._widest = max(self._widest, self._window)
        self._acknowledged, self._adapted = consumed, now
        if consumed + self._window > self._told and not first:
            self._late += 1
            self._tell()

    def statistics(self) -> ReceiverStatistics:
        """Return the receiver's counters so far."""
        return ReceiverStatistics(
            self._stream,
            self._arrived,
            self._consumed,
            sum(parcel.size for parcel in list(self._parcels)),
            self._peak,
            self._window,
            self._widest,
            self._acknowledgements,
            self._late,
        )
