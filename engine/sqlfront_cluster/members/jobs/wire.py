"""The sending and unpacking of a job's data, between one member and the other members of the job."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import pyarrow as pa
from msgspec.structs import replace

from sqlfront_cluster.codec import BatchDecoder, BatchEncoder
from sqlfront_cluster.members.protocol.messages import Acknowledge, Data, InputClosed
from sqlfront_cluster.network.transport import Body, Part, Peer
from sqlfront_engine.edges.exchange import EdgeStream, Parcel
from sqlfront_values.errors import OperationalError


class Flush(Protocol):
    """The type of :meth:`JobWire.flush`."""

    def __call__(self, *, completes: bool = False) -> bool:
        """Send the message that waits, and return whether one has waited."""


class _Encoded(msgspec.Struct, frozen=True):
    """An encoded batch. ``schema``: the encoded schema if it differs from the stream's last schema, else
    None. ``body``: the body of the message that brought the batch."""

    schema: bytes | None
    body: pa.Buffer


class JobWire:
    """One job's connection from this member to the other members, by which the engine sends the job's
    streams: the data of edges to other members.

    Messages to a disconnected member are dropped: the loss of a member ends its jobs anyway. ``peers``: the
    connections by member name. ``by_reference``: True if batches can be handed over as objects, within a
    process. ``holds_for``: the last message of a stream to this member waits for :meth:`flush`; None =
    nothing waits.
    """

    def __init__(
        self, job: int, peers: Mapping[str, Peer], *, by_reference: bool, holds_for: str | None = None
    ) -> None:
        self._job = job
        self._peers = peers
        self._by_reference = by_reference
        self._holds_for = holds_for
        # At most one message, which is taken from here in one step by the thread that sends it.
        self._held: deque[tuple[EdgeStream, Data, Sequence[Part]]] = deque()
        # The state of each stream's coding; used only by the tasklet at this end.
        self._encoders: dict[EdgeStream, BatchEncoder] = {}
        #: By stream, the number of Data messages that are on their way or have arrived; a message counts once
        #: the connection has it, so that nothing sent after a look at the number overtakes the message.
        self.sent: dict[EdgeStream, int] = {}
        #: By stream from another member, the last limit sent (bytes), and the streams that were closed here.
        self.limits: dict[EdgeStream, int] = {}
        self.closed: set[EdgeStream] = set()
        self._decoders: dict[EdgeStream, BatchDecoder] = {}

    def send_data(self, stream: EdgeStream, batch: pa.RecordBatch | None, *, last: bool) -> int:
        """Send a batch (None: no batch) to the receiver of the stream, and with ``last`` the end of the
        stream. Returns the bytes of the batch, which count towards the limit that the receiver has set."""
        message, body, size = self._packed(stream, self.sent.get(stream, 0), batch, last=last)
        if last and stream.member == self._holds_for:
            self.flush()
            self._held.append((stream, message, body))
        else:
            self._send_data(stream, message, body)
        return size

    def flush(self, *, completes: bool = False) -> bool:
        """Send the message that waits, and return True; return False if none waits. ``completes``: the
        message says that this member's part of the job has succeeded."""
        try:
            stream, message, body = self._held.pop()
        except IndexError:
            return False
        self._send_data(stream, replace(message, completes=True) if completes else message, body)
        return True

    def _send_data(self, stream: EdgeStream, message: Data, body: Sequence[Part]) -> None:
        self._send(stream, message, body)
        self.sent[stream] = message.number + 1

    def _packed(
        self, stream: EdgeStream, number: int, batch: pa.RecordBatch | None, *, last: bool
    ) -> tuple[Data, Sequence[Part], int]:
        """Return the message for a batch, the message's body, and the bytes of the batch."""
        if batch is None:
            return Data(self._job, stream.edge, number, last), (), 0
        if self._by_reference:
            return Data(self._job, stream.edge, number, last), (batch,), int(batch.nbytes)
        encoder = self._encoders.get(stream)
        if encoder is None:
            encoder = self._encoders[stream] = BatchEncoder()
        encoded = encoder.encode(batch)
        return Data(self._job, stream.edge, number, last, encoded.schema), encoded.body, encoded.size

    def acknowledge(self, stream: EdgeStream, limit: int) -> None:
        """Allow the stream's sender to send ``limit`` bytes, counted from the start of the stream."""
        self.limits[stream] = limit
        self._send(stream, Acknowledge(self._job, stream.edge, limit))

    def close_input(self, stream: EdgeStream) -> None:
        """Tell the stream's sender that the receiver takes no more batches."""
        self.closed.add(stream)
        self._send(stream, InputClosed(self._job, stream.edge))

    def _send(self, stream: EdgeStream, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        peer = self._peers.get(stream.member)
        if peer is not None:
            peer.send(message, body)

    def unpack(self, stream: EdgeStream, content: object) -> pa.RecordBatch:
        """Return the batch in ``content``, a batch as it has arrived, not decoded yet: the content of a
        :class:`Parcel` that :func:`parcel` has made. To be called in the order of the stream's parcels. If
        the content is no valid batch, closes the connection to the sender and raises OperationalError."""
        if not isinstance(content, _Encoded):
            return content
        decoder = self._decoders.get(stream)
        if decoder is None:
            decoder = self._decoders[stream] = BatchDecoder()
        try:
            return decoder.decode(content.schema, content.body)
        except OperationalError as error:
            peer = self._peers.get(stream.member)
            if peer is not None:
                peer.close(error.message)
            raise


def parcel(message: Data, body: Body) -> Parcel:
    """Return the parcel (a batch that isn't decoded yet) for a Data message and its body. Without a body the
    parcel has no content: it only ends the stream."""
    if body is None:
        return Parcel(None, 0, message.last)
    if isinstance(body, pa.Buffer):
        return Parcel(_Encoded(message.schema, body), body.size, message.last)
    (batch,) = body
    assert isinstance(batch, pa.RecordBatch)
    return Parcel(batch, batch.nbytes, message.last)
