"""A connection to a member for a process outside of the cluster, which reads messages on its own thread.

Members have network threads that call them. A process that only sends requests to a member needs no network
threads: for instance a Spark task that sends rows. The process proves in the handshake that it knows the
secret, as members do, under a unique name.
"""

import ssl
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

import msgspec

from sqlfront_cluster.network.addresses import Address, set_options
from sqlfront_cluster.network.channels import Channel
from sqlfront_cluster.network.frames import (
    UNAUTHENTICATED,
    FrameKind,
    FrameReader,
    IncomingFrame,
    MessageDecoder,
    encode_frame,
)
from sqlfront_cluster.network.handshake import (
    CONTROL_TYPES,
    ConnectionVerdict,
    Control,
    Goodbye,
    HandshakeFailed,
    Identity,
    MemberCredentials,
    Settled,
    Steps,
    expect,
    initiate,
    new_nonce,
    perform,
)
from sqlfront_cluster.network.securing import ChannelMaker
from sqlfront_cluster.network.tcp import NetworkSettings
from sqlfront_cluster.network.tls.contexts import failure_of
from sqlfront_cluster.network.transport import Part
from sqlfront_values.errors import OperationalError

#: Bytes of the random number that distinguishes processes of the same name; 128 bits never meet by chance.
_INCARNATION: Final = 16


class Line:
    """A connection to the member at ``address`` for a process outside of the cluster; the constructor
    connects. Only one thread may use the connection.

    ``name``: the name under which the member knows this process. ``types``: the types of messages that may
    arrive. ``timeout``: seconds that a send or a receive may wait for the network. Raises OperationalError
    for every failure."""

    def __init__(
        self,
        settings: NetworkSettings,
        types: Sequence[type[msgspec.Struct]],
        address: str,
        name: str,
        timeout: float,
    ) -> None:
        self._address = address
        self._limits = settings.limits
        self._timeout = timeout
        try:
            self._channel = _channel(settings, Address.parse(address))
            self._reader = FrameReader(
                self._channel.receive,
                UNAUTHENTICATED,
                {int(FrameKind.CONTROL): MessageDecoder(CONTROL_TYPES)},
            )
            #: The member's own name.
            self.member = self._introduced(settings, name)
        except OperationalError as error:
            raise OperationalError(
                f"no connection with the member at {address}: {error.message}", sqlstate="08001"
            ) from error
        self._reader.decoders[int(FrameKind.MESSAGE)] = MessageDecoder(types)
        self._reader.limits = settings.limits

    def _introduced(self, settings: NetworkSettings, name: str) -> str:
        """Do the handshake, and return the member's name. ``name``: the name of this process."""
        nonce = new_nonce()
        mine = Identity(name, settings.cluster, settings.product, nonce[:_INCARNATION])
        try:
            self._arm(settings.handshake_timeout)
            self._channel.open()
            return perform(_steps(MemberCredentials(mine, settings.secret), nonce, self._channel), self)
        except OSError as error:
            self.close()
            raise self._broken(error) from error
        except BaseException:
            self.close()
            raise

    def _arm(self, seconds: float) -> None:
        self._channel.set_deadline(time.monotonic() + seconds)

    # ---- the handshake's conversation

    def tell(self, message: Control) -> None:
        """During the handshake: send a control message, which is for the member's transport, and wait until
        the network has accepted the message."""
        self._channel.write(deque(encode_frame(int(FrameKind.CONTROL), message).parts), wait=True)

    def hear(self) -> msgspec.Struct | None:
        """During the handshake: wait for the next message and return it; None at the end of the
        connection."""
        frame = self._reader.read()
        return None if frame is None else frame.message

    # ---- in use

    def send(self, message: msgspec.Struct, body: Sequence[Part] = ()) -> None:
        """Send a message with its body, and wait until the network has accepted both. Raises OperationalError
        if the message is too large, the connection breaks or the timeout is over."""
        frame = encode_frame(int(FrameKind.MESSAGE), message, body, self._limits)
        self._arm(self._timeout)
        try:
            self._channel.write(deque(frame.parts), wait=True)
        except OSError as error:
            raise self._broken(error) from error

    def receive(self) -> IncomingFrame:
        """Wait for the next message and return its frame; the memory of ``body`` is aligned to 64 bytes and
        belongs to the frame alone. Raises OperationalError if the connection breaks, the member closes it, or
        no message comes within the timeout."""
        self._arm(self._timeout)
        try:
            frame = self._reader.read()
        except OSError as error:
            raise self._broken(error) from error
        if frame is None:
            raise self._broken("the member closed the connection")
        if isinstance(frame.message, Goodbye):
            raise self._broken(frame.message.reason)
        return frame

    def _broken(self, reason: object) -> OperationalError:
        if isinstance(reason, ssl.SSLError):
            reason = failure_of(reason)
        elif isinstance(reason, TimeoutError):
            reason = f"the member has not answered for {self._timeout:g} s"
        return OperationalError(
            f"the connection with the member at {self._address} broke: {reason}", sqlstate="08006"
        )

    def close(self) -> None:
        """Close the connection; a second call is no error."""
        self._channel.shutdown()
        self._channel.socket.close()


def _channel(settings: NetworkSettings, target: Address) -> Channel:
    maker = ChannelMaker(settings.secret, settings.tls, insecure=settings.insecure)
    connection = target.connect(settings.connect_timeout)
    try:
        set_options(connection)
        return maker.connecting(connection)
    except BaseException:
        connection.close()
        raise


def _steps(mine: MemberCredentials, nonce: bytes, channel: Channel) -> Steps[str]:
    """Return the steps of the handshake and of the agreement to use this connection, the only one between the
    process and the member; their result is the member's name. ``nonce``: becomes the connection's id. Raises
    HandshakeFailed."""
    other = yield from initiate(mine, nonce, channel.binding)
    if mine.identity.name < other.name:
        yield ConnectionVerdict(None)
        expect(Settled, (yield None))
    else:
        verdict = expect(ConnectionVerdict, (yield None))
        if verdict.instead is not None:
            raise HandshakeFailed(f"the member has another connection with {mine.identity.name}")
        yield Settled()
    return other.name
