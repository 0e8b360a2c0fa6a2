"""A cluster's secret and its connections' encryption."""

from typing import Self

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.network.tls import authority
from sqlfront_cluster.network.tls.contexts import TlsSettings


class Security(msgspec.Struct, frozen=True):
    """The security of a cluster. ``secret``: knowing it makes a process a member or client of the cluster.
    Connections over TCP are encrypted, with the certificates ``tls`` or, without ``tls``, with certificates
    made from the secret when needed; connections over Unix sockets are not encrypted. ``insecure``: no
    connection is encrypted.

    >>> Security(b"open sesame")
    Security(...)
    """

    secret: bytes
    tls: TlsSettings | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        return "Security(...)"

    def with_certificates(self) -> Self:
        """Return this security with certificates made from the secret, for members that can't make
        certificates; unchanged if it is insecure or has certificates. Raises OperationalError if this process
        can't make certificates, either."""
        if self.insecure or self.tls is not None:
            return self
        return replace(self, tls=authority.issue(self.secret))
