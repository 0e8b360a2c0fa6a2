"""The encryption of connections: TCP connections are encrypted, unless the cluster is insecure.

Connections over Unix sockets are never encrypted: only this user and root can read them.
"""

import socket
import ssl
from threading import Lock

from sqlfront_cluster.network.channels import Channel, TlsChannel
from sqlfront_cluster.network.tls import authority
from sqlfront_cluster.network.tls.contexts import TlsSettings


class ChannelMaker:
    """A maker of channels from the connected sockets of one member or client.

    ``tls``: the certificates, None = they are made from ``secret`` when the first connection needs one.
    ``insecure``: TCP connections aren't encrypted, and need no certificates. The methods raise
    OperationalError if certificates can't be read, made or used.
    """

    def __init__(self, secret: bytes, tls: TlsSettings | None, *, insecure: bool) -> None:
        self._secret = secret
        self._tls = tls
        self._insecure = insecure
        self._lock = Lock()
        self._contexts: tuple[ssl.SSLContext, ssl.SSLContext, bytes] | None = None

    def prepare(self, family: int) -> None:
        """Load or make the certificates, if connections of the address family ``family`` (such as
        ``socket.AF_INET``) are encrypted."""
        if not self._plain(family):
            self._prepared()

    def connecting(self, connection: socket.socket) -> Channel:
        """Return the channel over ``connection``, a socket that this member has connected: in TLS or
        plain."""
        if self._plain(connection.family):
            return Channel(connection)
        context, _, own_hash = self._prepared()
        return TlsChannel(connection, context, own_hash, server_side=False)

    def accepting(self, connection: socket.socket) -> Channel:
        """Return the channel over ``connection``, a socket that this member has accepted: in TLS or plain."""
        if self._plain(connection.family):
            return Channel(connection)
        _, context, own_hash = self._prepared()
        return TlsChannel(connection, context, own_hash, server_side=True)

    def _plain(self, family: int) -> bool:
        return self._insecure or family == socket.AF_UNIX

    def _prepared(self) -> tuple[ssl.SSLContext, ssl.SSLContext, bytes]:
        with self._lock:
            if self._contexts is None:
                tls = self._tls or authority.issue(self._secret)
                client, server = (tls.context(server_side=side) for side in (False, True))
                self._contexts = client, server, tls.certificate_hash()
            return self._contexts
