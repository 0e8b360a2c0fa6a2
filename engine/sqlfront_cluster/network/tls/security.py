"""What opens a cluster, and what hides from others what its members say."""

from typing import TYPE_CHECKING, Self

import msgspec
from msgspec.structs import replace

from sqlfront_cluster.network.tls.contexts import TlsSettings
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_cluster.network.tls import authority
else:
    authority = lazy_module("sqlfront_cluster.network.tls.authority")


class Security(msgspec.Struct, frozen=True):
    """``secret``: whoever knows it is a member or client of the cluster. Connections over TCP are encrypted,
    with the certificates ``tls`` or, if there are none, with such as the secret makes when they are needed;
    those over Unix sockets never are. ``insecure``: nothing is encrypted.

    >>> Security(b"open sesame")
    Security(...)
    """

    secret: bytes
    tls: TlsSettings | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        return "Security(...)"

    def with_certificates(self) -> Self:
        """The same with certificates at hand, for members that can't make them. OperationalError if they
        can't be made here either."""
        if self.insecure or self.tls is not None:
            return self
        return replace(self, tls=authority.issue(self.secret))
