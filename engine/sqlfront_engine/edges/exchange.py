"""The two ends of a distributed edge between two members, and the receive window between them.

On the sending member a :class:`RemoteOutput` stands where a queue would stand, behind the only producer or
the sender tasklet of several; on the receiving one a :class:`RemoteInput` in front of the only consumer or
the receiver tasklet for several. The receiver tells the sender how far it may run ahead: a limit on the bytes
sent since the start of the stream. The window that it grants beyond what it has consumed follows the rate of
consumption, as a TCP receive window does (the design of Hazelcast Jet, which counts in units of 64 KiB; here
in bytes): in a steady state it is some flow-control periods' worth of data. Unlike there the sender begins
with the initial window, and news of half a window consumed is sent at once, so that short exchanges
never wait for a tick.
"""

from collections import deque
from math import ceil, trunc
from typing import Final, Protocol

import msgspec
import pyarrow as pa

from sqlfront_engine.edges.queues import NOTHING, Polled, Wakeable

#: Seconds between two looks at the rate of consumption.
FLOW_CONTROL_PERIOD: Final = 0.1


class Stream(msgspec.Struct, frozen=True):
    """One direction of an edge between this member and another: the edge's position in the DAG, and the
    other member."""

    edge: int
    member: str


class Parcel(msgspec.Struct, frozen=True):
    """What arrived on a stream: ``content`` is for :meth:`Wire.unpack`, ``size`` its bytes (0 with
    ``content`` None: only the end)."""

    content: object
    size: int
    last: bool = False


class SenderStatistics(msgspec.Struct, frozen=True):
    """A stream's sending end now: bytes sent, the limit on them, and how often the receiver has raised it."""

    stream: Stream
    sent: int
    limit: int
    acknowledgements: int

    @property
    def blocked(self) -> bool:
        """Whether nothing more is sent before the receiver allows it."""
        return self.sent > self.limit


class ReceiverStatistics(msgspec.Struct, frozen=True):
    """A stream's receiving end now, in bytes: what has arrived, what of it was taken, what waits and has
    waited at most, the window and the widest so far; ``acknowledgements`` told, of which ``late`` ones by the
    clock. Never are more bytes under way than the widest window and one batch."""

    stream: Stream
    arrived: int
    consumed: int
    waiting: int
    peak: int
    window: int
    widest: int
    acknowledgements: int
    late: int


class Wire(Protocol):
    """A job's way to the other members. Nothing here waits or raises because of a lost connection."""

    def send_data(self, stream: Stream, batch: pa.RecordBatch | None, *, last: bool) -> int:
        """Send a batch, or only the end of the stream; returns the bytes that count for the window."""

    def acknowledge(self, stream: Stream, limit: int) -> None:
        """Let the stream's sender send up to ``limit`` bytes in all."""

    def close_input(self, stream: Stream) -> None:
        """Tell the stream's sender that nobody takes what it sends."""

    def unpack(self, stream: Stream, content: object) -> pa.RecordBatch:
        """The batch of a parcel."""


class RemoteOutput:
    """An :class:`~sqlfront_engine.edges.queues.Output` to another member; used by its producer, except for
    :meth:`allow` and :meth:`close`, which the network calls.

    ``patient``: a batch leaves with the next call, so that the last one brings the end with it; the producer
    calls :meth:`flush` before it rests.
    """

    __slots__ = (
        "_acknowledgements",
        "_held",
        "_limit",
        "_patient",
        "_sent",
        "_stream",
        "_wire",
        "abandoned",
        "finished",
        "producer",
    )

    def __init__(self, wire: Wire, stream: Stream, window: int, *, patient: bool = False) -> None:
        self._wire = wire
        self._patient = patient
        self._held: pa.RecordBatch | None = None
        self._stream = stream
        self._limit = window
        self._sent = self._acknowledgements = 0
        self.producer: Wakeable
        self.abandoned = False
        self.finished = False

    def offer(self, batch: pa.RecordBatch) -> bool:
        """Send the batch, unless the receiver is that far behind; :meth:`allow` wakes the producer."""
        self.flush()
        if self._sent > self._limit:
            return self.abandoned
        if not self.abandoned:
            self._held = batch
            if not self._patient:
                self.flush()
        return True

    def flush(self) -> None:
        """Let go of what is held."""
        batch, self._held = self._held, None
        if batch is not None and not self.abandoned:
            self._sent += self._wire.send_data(self._stream, batch, last=False)

    def finish(self) -> None:
        """Tell the receiver that this was all."""
        if not self.finished:
            self.finished = True
            batch, self._held = self._held, None
            self._sent += self._wire.send_data(self._stream, None if self.abandoned else batch, last=True)

    def allow(self, limit: int) -> None:
        """The receiver has told its limit. Limits never fall: what was promised may be on its way."""
        self._acknowledgements += 1
        if limit > self._limit:
            self._limit = limit
            self.producer.wake()

    def close(self) -> None:
        """The receiver wants no more."""
        self.abandoned = True
        self.producer.wake()

    def statistics(self) -> SenderStatistics:
        """What it has done so far."""
        return SenderStatistics(self._stream, self._sent, self._limit, self._acknowledgements)


class RemoteInput:
    """An :class:`~sqlfront_engine.edges.queues.Input` from another member; polled by its consumer, while
    the network calls :meth:`arrived` and :meth:`failed` and the member's clock :meth:`adapt`."""

    __slots__ = (
        "_abandoned",
        "_acknowledged",
        "_acknowledgements",
        "_adapted",
        "_arrived",
        "_consumed",
        "_finished",
        "_late",
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

    def __init__(self, wire: Wire, stream: Stream, multiplier: int, window: int) -> None:
        self._wire = wire
        self._stream = stream
        self._multiplier = multiplier
        self._window = self._widest = window
        self.consumer: Wakeable
        # Written by the network's side.
        self._parcels: deque[Parcel] = deque()
        self._finished = False
        self._arrived = self._peak = 0
        # Written by the tasklet's side.
        self._consumed = 0
        self._abandoned = False
        # The limit told last, and what was consumed (bytes) when (seconds) the rate was last looked at.
        self._told = window
        self._acknowledged = 0
        self._adapted: float | None = None
        self._acknowledgements = self._late = 0

    # ---- the network's side

    def arrived(self, parcel: Parcel) -> None:
        """The next parcel of the stream; the last one, too, if the consumer is gone."""
        if parcel.content is not None and not self._abandoned:
            self._parcels.append(parcel)
            self._arrived += parcel.size
            self._peak = max(self._peak, self._arrived - self._consumed)
        if parcel.last:
            self._finished = True
        self.consumer.wake()

    @property
    def finished(self) -> bool:
        """Whether the sender has said that this was all."""
        return self._finished

    # ---- the tasklet's side

    def poll(self) -> Polled:
        """The next batch; None after the last."""
        parcels = self._parcels
        if not parcels:
            if not self._finished:
                return NOTHING
            if not parcels:  # again: the last parcel may have come between the two looks
                return None
        parcel = parcels.popleft()
        self._consumed += parcel.size
        # News of half a window goes out at once, unless there is nobody left to use it.
        if self._consumed + self._window - self._told >= max(1, self._window // 2) and not self._finished:
            self._tell()
        return self._wire.unpack(self._stream, parcel.content)

    def abandon(self) -> None:
        """Take no more; the sender is told, once."""
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
        """Once per flow-control period: follow the rate of consumption half-way, and tell the limit if it
        has changed.

        A sender that is slow (nothing waits here) doesn't shrink the window. The first look at a stream only
        notes: one that ends within a period costs no acknowledgement.
        """
        if self._finished or self._abandoned:
            return
        consumed, first = self._consumed, self._adapted is None
        if self._adapted is not None and now > self._adapted:
            rate = (consumed - self._acknowledged) * FLOW_CONTROL_PERIOD / (now - self._adapted)
            missing = self._multiplier * ceil(rate) - self._window
            if missing > 0 or self._parcels:
                self._window += trunc(missing / 2)
                self._widest = max(self._widest, self._window)
        self._acknowledged, self._adapted = consumed, now
        if consumed + self._window > self._told and not first:
            self._late += 1
            self._tell()

    def statistics(self) -> ReceiverStatistics:
        """What it has done so far."""
        return ReceiverStatistics(
            self._stream,
            self._arrived,
            self._consumed,
            sum(parcel.size for parcel in tuple(self._parcels)),
            self._peak,
            self._window,
            self._widest,
            self._acknowledgements,
            self._late,
        )
