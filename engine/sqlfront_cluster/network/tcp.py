"""The transport between processes: TCP and Unix sockets, a reading thread for each connection."""

import logging
import secrets
import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock, Thread, current_thread
from typing import Final, NamedTuple

import msgspec

from sqlfront_cluster.network.addresses import (
    Address,
    bound_address,
    remote_address,
    remove_stale_socket,
    set_options,
)
from sqlfront_cluster.network.attending import attend
from sqlfront_cluster.network.channels import Channel, EndedInTls
from sqlfront_cluster.network.connection import MemberConnection
from sqlfront_cluster.network.frames import (
    FrameKind,
    Limits,
    MessageDecoder,
    OtherEncryption,
    OtherProtocol,
    encode_frame,
)
from sqlfront_cluster.network.handshake import (
    Identity,
    MemberCredentials,
    Refused,
    Steps,
    UnrelatedPeer,
    accept,
    initiate,
    new_nonce,
    perform,
)
from sqlfront_cluster.network.refusals import Refusals
from sqlfront_cluster.network.securing import ChannelMaker
from sqlfront_cluster.network.settlement import Connections
from sqlfront_cluster.network.tls.contexts import TlsSettings, failure_of, speaks_no_tls
from sqlfront_cluster.network.transport import (
    NetworkStatistics,
    Peer,
    Receiver,
    TrafficCounter,
    UnconnectedPeer,
)
from sqlfront_values.errors import Error, ProgrammingError

logger = logging.getLogger(__name__)

#: Seconds that closing waits for the threads of the connections; the threads are daemons, so that none
#: outlives the process.
CLOSE_TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """The settings of the connections in a cluster, on which all members agree, and the limits of one member.

    ``cluster``: the cluster's name. ``secret``: the cluster's secret. ``product``: the version of sqlfront.
    ``limits``: the largest accepted messages and bodies. ``tls``: the certificates by which TCP connections
    are encrypted, None = made from the secret. ``insecure``: no connection is encrypted. ``connect_timeout``:
    seconds for making a connection. ``handshake_timeout``: seconds for all steps before the first message.
    ``outbox_limit``: bytes that may wait for a peer that reads nothing. ``unauthenticated_limit``: the most
    incoming connections that may be in their handshakes at a time; a further one ends the oldest of them.
    ``refusal_period``: seconds in which refused connections, after the first, are logged together in one
    line. ``never_calls``: the name of a member (the keeper) that never connects to others; a connection from
    this name, or from a name that begins with this name and a dot, is refused.
    """

    cluster: str
    secret: bytes = field(repr=False)
    product: str
    limits: Limits = field(default_factory=Limits)
    tls: TlsSettings | None = field(default=None, repr=False)
    insecure: bool = False
    connect_timeout: float = 5.0
    handshake_timeout: float = 5.0
    outbox_limit: int = 256 * 1024 * 1024
    unauthenticated_limit: int = 64
    refusal_period: float = 60.0
    never_calls: str = ""

    def __post_init__(self) -> None:
        if not self.secret:
            raise ProgrammingError("a cluster needs a secret; the given secret is empty")


class _Failure(NamedTuple):
    """The reason why a connection was never used. ``lasting``: True if another try would fail, too."""

    reason: str
    lasting: bool = False


class TcpTransport:
    """A :class:`~sqlfront_cluster.network.transport.Transport` over sockets.

    From its construction on it listens on the addresses ``listen`` (without addresses it can only connect to
    others), but it accepts no connection before :meth:`start`. ``message_types``: the types of messages that
    may arrive. ``name``: the member's name, None = the first address, with its actual port. Raises
    OperationalError if listening fails.
    """

    by_reference: Final = False

    def __init__(
        self,
        settings: NetworkSettings,
        message_types: Sequence[type[msgspec.Struct]],
        *,
        listen: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        if name is None and not listen:
            raise ProgrammingError("a transport that listens nowhere needs a name")
        self._settings = settings
        self._decoder = MessageDecoder(message_types)
        self._channels = ChannelMaker(settings.secret, settings.tls, insecure=settings.insecure)
        self._listeners = _listen([Address.parse(text) for text in listen], self._channels)
        #: The addresses on which this member listens.
        self.addresses: tuple[str, ...] = tuple(str(bound_address(listener)) for listener in self._listeners)
        self.name = self.addresses[0] if name is None else name
        identity = Identity(self.name, settings.cluster, settings.product, secrets.token_bytes(16))
        self._credentials = MemberCredentials(identity, settings.secret)
        self._connections = Connections(self.name)
        self._receiver: Receiver
        self._lock = Lock()
        # Invariant: under _lock.
        self._threads: set[Thread] = set()
        # Incoming connections during their handshakes, oldest first.
        self._strangers: dict[socket.socket, None] = {}
        self._past = TrafficCounter(), TrafficCounter()
        self._closed = False
        # The reasons for which addresses can't be reached, until they are reached.
        self._unreached: dict[str, str] = {}
        self._refusals = Refusals(self.name, settings.refusal_period, time.monotonic)
        self._wake, self._woken = socket.socketpair()

    def start(self, receiver: Receiver) -> None:
        """Accept connections, and call ``receiver`` for connections and messages from now on. To be called
        once."""
        self._receiver = receiver
        if self._listeners:
            self._run(self._listen, "listener")

    def connect(self, address: str) -> None:
        """Begin to connect to the member at ``address``, and return at once: a call of the receiver's
        ``connected`` or ``disconnected`` follows, unless the member is connected already. Raises
        ProgrammingError for an invalid address."""
        target = Address.parse(address)
        if not self._connections.connected(address):
            self._run(lambda: self._dial(target, address), f"to-{address}")

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Call ``send``, which sends a request, and handle messages of ``peers`` on this thread until
        ``done()`` is true; then return True. Return False if that is impossible or has ended early: ``send``
        was called nevertheless, and another thread handles the answer."""
        return attend([peer for peer in peers if isinstance(peer, MemberConnection)], done, send)

    def statistics(self) -> NetworkStatistics:
        """Return the numbers and sizes of all messages so far, per connected peer and in total, and the
        number of refused connections."""
        sent, received = TrafficCounter(), TrafficCounter()
        with self._lock:
            sent.add(self._past[0])
            received.add(self._past[1])
            for connection in self._connections.all():
                sent.add(connection.traffic[0])
                received.add(connection.traffic[1])
        peers = tuple(connection.statistics() for connection in self._connections.in_use())
        return NetworkStatistics(peers, sent.snapshot(), received.snapshot(), self._refusals.total)

    def close(self) -> None:
        """End all connections and accept no more. When this method returns, the receiver gets no more calls
        (unless the receiver itself has called this method). A connection that is just being made may end a
        little later, without a call of the receiver."""
        with self._lock:
            first, self._closed = not self._closed, True
            threads = self._threads - {current_thread()}
        self._wake.close()
        for connection in self._connections.all():
            connection.close(f"member {self.name} closes")
        deadline = time.monotonic() + CLOSE_TIMEOUT
        for thread in threads:
            if not thread.name.startswith(_thread_name("to-")):
                thread.join(max(0.0, deadline - time.monotonic()))
        if first:
            self._woken.close()
            for listener in self._listeners:
                listener.close()
            for text in self.addresses:
                path = Address.parse(text).path
                if path is not None:
                    remove_stale_socket(path)

    # ---- threads

    def _run(self, target: Callable[[], None], name: str) -> bool:
        """Start a thread called ``name`` that runs ``target``, and return True; return False, without a
        thread, if this transport is closed."""

        def run() -> None:
            try:
                target()
            except Exception:
                logger.exception("a thread of member %s's network failed", self.name)
            finally:
                with self._lock:
                    self._threads.discard(thread)

        thread = Thread(target=run, name=_thread_name(name), daemon=True)
        with self._lock:
            if self._closed:
                return False
            self._threads.add(thread)
            thread.start()  # under the lock: close may join all threads in the set
        return True

    def _listen(self) -> None:
        """Accept connections until the transport is closed."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)  # not for writing: the socket is always writable
        by_number = {listener.fileno(): listener for listener in self._listeners}
        for number in by_number:
            poll.register(number, select.POLLIN)
        while not self._closed:
            due = self._refusals.tell()
            for number, _ in poll.poll(None if due is None else max(1, due * 1000)):
                if number == self._woken.fileno():
                    self._woken.recv(16)  # a wake byte, or the end once this transport is closed
                if number in by_number and not self._closed:
                    try:
                        self._take(by_number[number])
                    except OSError as error:  # such as too many open files
                        logger.warning("member %s cannot take a connection: %s", self.name, error)
                        select.select([self._woken], [], [], 0.1)

    def _take(self, listener: socket.socket) -> None:
        try:
            accepted = listener.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):  # the other side has closed the connection already
            return
        remote = remote_address(accepted)
        with self._lock:
            full = len(self._strangers) >= self._settings.unauthenticated_limit
            oldest = next(iter(self._strangers)) if full else None
            if oldest is not None:
                del self._strangers[oldest]
            self._strangers[accepted] = None
        if oldest is not None:
            with suppress(OSError):  # the connection has ended by itself
                oldest.shutdown(socket.SHUT_RDWR)
        if not self._run(lambda: self._answer(accepted, remote), f"from-{remote}"):
            accepted.close()

    # ---- the life of a connection

    def _dial(self, target: Address, address: str) -> None:
        try:
            dialled = target.connect(self._settings.connect_timeout)
        except Error as error:
            self._unreachable(address, _Failure(error.message))
            return
        try:
            channel = self._channels.connecting(dialled)
        except Error as error:  # this side has no certificate
            dialled.close()
            self._unreachable(address, _Failure(error.message, lasting=True))
            return
        current_thread().name = _thread_name(f"with-{address}")  # from now on close waits for this thread
        connection = self._connection(channel, address)
        connection.id = new_nonce()
        self._connections.know(connection)
        failure = self._serve(connection, self._initiate(connection), lambda: None)
        if failure is None:
            self._unreached.pop(address, None)
        elif not self._connections.connected(connection.name):
            self._unreachable(address, failure)

    def _answer(self, accepted: socket.socket, remote: str) -> None:
        def authenticated() -> None:
            with self._lock:
                self._strangers.pop(accepted, None)

        connection = self._connection(self._channels.accepting(accepted), remote)
        try:
            failure = self._serve(connection, self._accept(connection), authenticated)
        finally:
            authenticated()
        if failure is not None and connection.identity is None:
            if self._refusals.add(remote, failure.reason):
                with suppress(OSError):  # this transport is closed
                    self._wake.send(b"!", socket.MSG_DONTWAIT)
        elif failure is not None:
            logger.warning("connection with %s at %s given up: %s", connection.name, remote, failure.reason)

    def _connection(self, channel: Channel, remote: str) -> MemberConnection:
        set_options(channel.socket)
        settings = self._settings
        connection = MemberConnection(
            channel, remote, limits=settings.limits, outbox_limit=settings.outbox_limit
        )
        self._connections.add(connection)
        return connection

    def _initiate(self, connection: MemberConnection) -> Steps[MemberConnection | None]:
        identity = yield from initiate(self._credentials, connection.id, connection.channel.binding)
        connection.introduce(identity)
        return (yield from self._connections.settle(connection))

    def _accept(self, connection: MemberConnection) -> Steps[MemberConnection | None]:
        def proven(number: bytes, identity: Identity) -> None:
            silent = self._settings.never_calls
            if silent and f"{identity.name}.".startswith(f"{silent}."):
                raise UnrelatedPeer(
                    f"the other side calls itself {identity.name}, a member that never connects to others"
                )
            connection.id = number
            self._connections.know(connection)
            connection.introduce(identity)

        yield from accept(self._credentials, connection.channel.binding, proven)
        return (yield from self._connections.settle(connection))

    def _serve(
        self, connection: MemberConnection, steps: Steps[MemberConnection | None], settled: Callable[[], None]
    ) -> _Failure | None:
        """Run a connection from its handshake to its end. ``steps``: the handshake, whose result is None if
        this connection is to be used, else another connection with the same member. ``settled``: called when
        both members have agreed which connection to use. Returns None if this or the other connection was
        used; otherwise the failure."""
        timeout = self._settings.handshake_timeout
        try:
            if self._closed:
                return _Failure("this member closes")
            connection.channel.set_deadline(time.monotonic() + timeout)
            connection.channel.open()
            instead = perform(steps, connection)
            settled()
            if instead is not None:
                instead.decided.wait(timeout)
                return (
                    None
                    if instead.in_use
                    else _Failure(f"another connection with {instead.name} failed, too")
                )
            if connection.replaces is not None and not connection.replaces.finished.wait(timeout):
                return _Failure(f"the previous connection with {connection.name} doesn't end")
            connection.use(self._decoder)
            connection.run(self._receiver)
        except TimeoutError:
            return _Failure(f"the handshake was not complete within {timeout:g} s")
        except ssl.SSLError as error:
            if speaks_no_tls(error):
                self._refuse(connection)
            return _Failure(failure_of(error), lasting=True)
        except (OtherProtocol, OtherEncryption) as error:
            self._refuse(connection)
            return _Failure(error.message, lasting=True)
        except UnrelatedPeer as error:
            return _Failure(error.message, lasting=True)
        except Error as error:
            return _Failure(error.message)
        except EndedInTls as error:
            return _Failure(str(error))
        except OSError as error:
            return _Failure(f"the connection broke in the handshake: {error}")
        finally:
            self._end(connection)
        return None

    def _refuse(self, connection: MemberConnection) -> None:
        """Send :class:`~sqlfront_cluster.network.handshake.Refused` without TLS, in this member's version of
        the protocol, which shows the peer, too, that the two differ in encryption or version."""
        frame = encode_frame(int(FrameKind.CONTROL), Refused())
        with suppress(OSError):
            Channel.write(connection.channel, deque(frame.parts), wait=False)

    def _end(self, connection: MemberConnection) -> None:
        connection.release()
        with self._lock:
            for past, counted in zip(self._past, connection.traffic, strict=True):
                past.add(counted)
            self._connections.forget(connection)

    def _unreachable(self, address: str, failure: _Failure) -> None:
        if not self._closed:
            if self._unreached.get(address) != failure.reason:  # attempts are repeated twice a second
                self._unreached[address] = failure.reason
                logger.warning("member %s cannot connect to %s: %s", self.name, address, failure.reason)
            self._receiver.disconnected(UnconnectedPeer(address, refused=failure.lasting), failure.reason)


def _thread_name(name: str) -> str:
    return f"sqlfront-network-{name}"


def _listen(addresses: Sequence[Address], channels: ChannelMaker) -> list[socket.socket]:
    listeners: list[socket.socket] = []
    try:
        for address in addresses:
            listener = address.listen()
            channels.prepare(listener.family)
            listener.setblocking(False)
            listeners.append(listener)
    except BaseException:
        for listener in listeners:
            listener.close()
        raise
    return listeners
