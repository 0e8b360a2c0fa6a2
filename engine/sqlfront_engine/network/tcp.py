"""The transport between processes: TCP and Unix sockets, a reading thread for each connection."""

import logging
import secrets
import select
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Lock, Thread, current_thread
from typing import Final

import msgspec

from sqlfront_engine.errors import Error, ProgrammingError
from sqlfront_engine.network.addresses import (
    Address,
    bound_address,
    remote_address,
    remove_stale_socket,
    set_options,
)
from sqlfront_engine.network.attending import attend
from sqlfront_engine.network.channels import Channel, TlsChannel, TlsSettings
from sqlfront_engine.network.connection import Connection
from sqlfront_engine.network.frames import Limits, MessageDecoder, OtherProtocol
from sqlfront_engine.network.handshake import (
    Credentials,
    Identity,
    Refused,
    Steps,
    accept,
    initiate,
    new_nonce,
    perform,
)
from sqlfront_engine.network.settlement import Connections
from sqlfront_engine.network.transport import (
    NetworkStatistics,
    Peer,
    Receiver,
    TrafficCounter,
    UnconnectedPeer,
)

logger = logging.getLogger(__name__)

#: Seconds that closing waits for the threads of the connections.
CLOSE_TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSettings:
    """What the members of a cluster agree on, and what each of them bears.

    ``secret`` is the cluster's, ``product`` the version of the software. Timeouts are in seconds: of making
    a connection, and of everything that comes before the first message. ``outbox_limit`` is how many bytes
    may wait for a peer that takes none, ``unauthenticated_limit`` how many connections from outside may be
    in their handshakes at a time.
    """

    cluster: str
    secret: bytes = field(repr=False)
    product: str
    limits: Limits = field(default_factory=Limits)
    tls: TlsSettings | None = None
    connect_timeout: float = 5.0
    handshake_timeout: float = 5.0
    outbox_limit: int = 256 * 1024 * 1024
    unauthenticated_limit: int = 64

    def __post_init__(self) -> None:
        if not self.secret:
            raise ProgrammingError(
                "a cluster needs a secret that its members prove to know; this one is empty"
            )


class TcpTransport:
    """A :class:`~sqlfront_engine.network.transport.Transport` over sockets.

    It listens where ``listen`` says (nowhere: it can only connect to others) from its making on, but takes
    nobody before :meth:`start`. ``name`` defaults to the first address listened on, as bound. Raises
    OperationalError if it can't listen.
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
        self._contexts = _Contexts(settings.tls, listening=bool(listen))
        self._listeners = _listen([Address.parse(text) for text in listen])
        #: Where this member can be reached.
        self.addresses: tuple[str, ...] = tuple(str(bound_address(listener)) for listener in self._listeners)
        self.name = self.addresses[0] if name is None else name
        identity = Identity(self.name, settings.cluster, settings.product, secrets.token_bytes(16))
        self._credentials = Credentials(identity, settings.secret)
        self._connections = Connections(self.name)
        self._receiver: Receiver
        self._lock = Lock()
        # Invariant: under _lock.
        self._threads: set[Thread] = set()
        self._unauthenticated = 0
        self._refused = 0
        self._past = TrafficCounter(), TrafficCounter()
        self._closed = False
        self._wake, self._woken = socket.socketpair()

    def start(self, receiver: Receiver) -> None:
        """See :meth:`~sqlfront_engine.network.transport.Transport.start`."""
        self._receiver = receiver
        if self._listeners:
            self._run(self._listen, "listener")

    def connect(self, address: str) -> None:
        """See :meth:`~sqlfront_engine.network.transport.Transport.connect`; raises ProgrammingError if the
        text is no address."""
        target = Address.parse(address)
        if not self._connections.connected(address):
            self._run(lambda: self._dial(target, address), f"to-{address}")

    def attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """See :meth:`~sqlfront_engine.network.transport.Transport.attend`."""
        return attend([peer for peer in peers if isinstance(peer, Connection)], done, send)

    def statistics(self) -> NetworkStatistics:
        """See :meth:`~sqlfront_engine.network.transport.Transport.statistics`."""
        sent, received = TrafficCounter(), TrafficCounter()
        with self._lock:
            sent.add(self._past[0])
            received.add(self._past[1])
            for connection in self._connections.all():
                sent.add(connection.traffic[0])
                received.add(connection.traffic[1])
            refused = self._refused
        peers = tuple(connection.statistics() for connection in self._connections.in_use())
        return NetworkStatistics(peers, sent.snapshot(), received.snapshot(), refused)

    def close(self) -> None:
        """See :meth:`~sqlfront_engine.network.transport.Transport.close`. An attempt to connect that is
        under way may end a little later, unheard."""
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
        """Have a thread do it, unless this transport is closed."""

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
            thread.start()  # under the lock: who closes may join all threads that it sees
        return True

    def _listen(self) -> None:
        """Take connections until the transport is closed."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)  # not for writing: it is always ready for that
        by_number = {listener.fileno(): listener for listener in self._listeners}
        for number in by_number:
            poll.register(number, select.POLLIN)
        while not self._closed:
            for number, _ in poll.poll():
                if number in by_number and not self._closed:
                    try:
                        self._take(by_number[number])
                    except OSError as error:  # such as too many open files
                        logger.warning("member %s cannot take a connection: %s", self.name, error)
                        select.select([self._woken], [], [], 0.1)

    def _take(self, listener: socket.socket) -> None:
        try:
            accepted = listener.accept()[0]
        except (BlockingIOError, ConnectionAbortedError):  # it has changed its mind
            return
        remote = remote_address(accepted)
        with self._lock:
            full = self._unauthenticated >= self._settings.unauthenticated_limit
            if not full:
                self._unauthenticated += 1
        if full:
            accepted.close()
            self._refuse(remote, f"{self._settings.unauthenticated_limit} others are in their handshakes")
        elif not self._run(lambda: self._answer(accepted, remote), f"from-{remote}"):
            accepted.close()

    # ---- the life of a connection

    def _dial(self, target: Address, address: str) -> None:
        try:
            dialled = target.connect(self._settings.connect_timeout)
            channel = self._contexts.connecting(dialled)
        except Error as error:
            self._unreachable(address, error.message)
            return
        current_thread().name = _thread_name(f"with-{address}")  # who closes waits for this one from now on
        connection = self._connection(channel, address)
        connection.id = new_nonce()
        self._connections.know(connection)
        failure = self._serve(connection, self._initiate(connection), lambda: None)
        if failure is not None and not self._connections.connected(connection.name):
            self._unreachable(address, failure)

    def _answer(self, accepted: socket.socket, remote: str) -> None:
        waiting = True

        def done() -> None:
            nonlocal waiting
            if waiting:
                waiting = False
                with self._lock:
                    self._unauthenticated -= 1

        connection = self._connection(self._contexts.accepting(accepted), remote)
        try:
            failure = self._serve(connection, self._accept(connection), done)
        finally:
            done()
        if failure is not None and connection.identity is None:
            self._refuse(remote, failure)
        elif failure is not None:
            logger.warning("connection with %s at %s given up: %s", connection.name, remote, failure)

    def _connection(self, channel: Channel, remote: str) -> Connection:
        set_options(channel.socket)
        settings = self._settings
        connection = Connection(channel, remote, limits=settings.limits, outbox_limit=settings.outbox_limit)
        self._connections.add(connection)
        return connection

    def _initiate(self, connection: Connection) -> Steps[Connection | None]:
        identity = yield from initiate(self._credentials, connection.id, connection.channel.binding)
        connection.introduce(identity)
        return (yield from self._connections.settle(connection))

    def _accept(self, connection: Connection) -> Steps[Connection | None]:
        def proven(number: bytes, identity: Identity) -> None:
            connection.id = number
            self._connections.know(connection)
            connection.introduce(identity)

        yield from accept(self._credentials, connection.channel.binding, proven)
        return (yield from self._connections.settle(connection))

    def _serve(
        self, connection: Connection, steps: Steps[Connection | None], settled: Callable[[], None]
    ) -> str | None:
        """From the handshake to the end; returns why the connection never came into use."""
        timeout = self._settings.handshake_timeout
        try:
            if self._closed:
                return "this member closes"
            connection.channel.set_deadline(time.monotonic() + timeout)
            connection.channel.open()
            instead = perform(steps, connection)
            settled()
            if instead is not None:
                instead.decided.wait(timeout)
                return None if instead.in_use else f"another connection with {instead.name} failed, too"
            if connection.replaces is not None and not connection.replaces.finished.wait(timeout):
                return f"the previous connection with {connection.name} doesn't end"
            connection.use(self._decoder)
            connection.run(self._receiver)
        except TimeoutError:
            return f"the handshake was not complete within {timeout:g} s"
        except ssl.SSLError as error:
            return f"TLS failed: {error.reason or error}"
        except OtherProtocol as error:
            return self._show_version(connection, error)
        except Error as error:
            return error.message
        except OSError as error:
            return f"the connection broke in the handshake: {error}"
        finally:
            self._end(connection)
        return None

    def _show_version(self, connection: Connection, error: OtherProtocol) -> str:
        """Answer in this member's version of the protocol, so that the other side sees it, too."""
        try:
            connection.tell(Refused())
        except OSError:
            pass
        return error.message

    def _end(self, connection: Connection) -> None:
        connection.release()
        with self._lock:
            for past, counted in zip(self._past, connection.traffic, strict=True):
                past.add(counted)
            self._connections.forget(connection)

    def _unreachable(self, address: str, reason: str) -> None:
        if not self._closed:
            logger.warning("member %s cannot connect to %s: %s", self.name, address, reason)
            self._receiver.disconnected(UnconnectedPeer(address), reason)

    def _refuse(self, remote: str, reason: str) -> None:
        with self._lock:
            self._refused += 1
        logger.warning("member %s refused a connection from %s: %s", self.name, remote, reason)


class _Contexts:
    """Makes channels: plain, or TLS with contexts and hash made once."""

    def __init__(self, tls: TlsSettings | None, *, listening: bool) -> None:
        self._client = tls.client_context() if tls else None
        self._server = tls.server_context() if tls and listening else None
        self._hash = tls.certificate_hash() if tls and listening else b""

    def connecting(self, connection: socket.socket) -> Channel:
        if self._client is None:
            return Channel(connection)
        return TlsChannel(connection, self._client, own_certificate_hash=None)

    def accepting(self, connection: socket.socket) -> Channel:
        if self._server is None:
            return Channel(connection)
        return TlsChannel(connection, self._server, own_certificate_hash=self._hash)


def _thread_name(name: str) -> str:
    return f"sqlfront-network-{name}"


def _listen(addresses: Sequence[Address]) -> list[socket.socket]:
    listeners: list[socket.socket] = []
    try:
        for address in addresses:
            listener = address.listen()
            listener.setblocking(False)
            listeners.append(listener)
    except BaseException:
        for listener in listeners:
            listener.close()
        raise
    return listeners
