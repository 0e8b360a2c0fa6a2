"""The sending and unpacking of a job's data, between one member and the other members of the job."""

from collections.abc import Mapping, Sequence

import msgspec
import pyarrow as pa

from sqlfront_cluster.codec import BatchDecoder, BatchEncoder
from sqlfront_cluster.members.messages import Acknowledge, Data, InputClosed
from sqlfront_cluster.network.transport import Body, Part, Peer
from sqlfront_engine.edges.exchange import EdgeStream, Parcel
from sqlfront_values.errors import OperationalError


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
    process.
    """

    def __init__(self, job: int, peers: Mapping[str, Peer], *, by_reference: bool) -> None:
        self._job = job
        self._peers = peers
        self._by_reference = by_reference
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
        number = self.sent.get(stream, 0)
        size = self._send_batch(stream, number, batch, last=last)
        self.sent[stream] = number + 1
        return size

    def _send_batch(
        self, stream: EdgeStream, number: int, batch: pa.RecordBatch | None, *, last: bool
    ) -> int:
        if batch is None:
            self._send(stream, Data(self._job, stream.edge, number, last))
            return 0
        if self._by_reference:
            self._send(stream, Data(self._job, stream.edge, number, last), (batch,))
            return int(batch.nbytes)
        encoder = self._encoders.get(stream)
        if encoder is None:
            encoder = self._encoders[stream] = BatchEncoder()
        encoded = encoder.encode(batch)
        self._send(stream, Data(self._job, stream.edge, number, last, encoded.schema), encoded.body)
        return encoded.size

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
