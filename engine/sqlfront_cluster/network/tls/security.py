"""A cluster's secret, and the encryption of its connections."""

from typing import Self

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.network.tls import authority
from sqlfront_cluster.network.tls.contexts import TlsSettings


class Security(msgspec.Struct, frozen=True):
    """The security of a cluster: its secret and its encryption.

    ``secret``: a process that knows it can be a member or client of the cluster. ``tls``: the certificates by
    which TCP connections are encrypted, None = made from the secret when needed. ``insecure``: no connection
    is encrypted. Connections over Unix sockets are never encrypted.

    >>> Security(b"open sesame")
    Security(...)
    """

    secret: bytes
    tls: TlsSettings | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        return "Security(...)"

    def with_certificates(self) -> Self:
        """Return this security with certificates made from the secret, to be sent to members that can't make
        certificates themselves. Returns it unchanged if it is insecure or has certificates. Raises
        OperationalError if this process can't make certificates."""
        if self.insecure or self.tls is not None:
            return self
        return replace(self, tls=authority.issue(self.secret))
