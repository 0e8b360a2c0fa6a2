"""Addresses of members (``host:port``, ``[::1]:port`` or ``unix:/path``) and the sockets for them."""

import ipaddress
import os
import socket
import stat
import sys
from dataclasses import dataclass
from typing import Final

from sqlfront_values.errors import OperationalError, ProgrammingError

UNIX_PREFIX: Final = "unix:"

#: Bytes of the path of a folder for Unix sockets at most, with room for a socket's name: the address of a
#: Unix socket has 108 bytes on Linux, 104 on macOS.
LONGEST_FOLDER: Final = 70
#: TCP keep-alive: seconds of silence before the kernel's first probe, seconds between probes, and the number
#: of probes before the kernel gives up the connection.
_KEEP_ALIVE: Final = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a member: either the path of a Unix socket, or host and port. With port 0 the system
    chooses a port when the address is listened on.

    >>> Address.parse("[::1]:7654")
    Address(host='::1', port=7654, path=None)
    >>> str(Address.parse("unix:/run/sqlfront.sock"))
    'unix:/run/sqlfront.sock'
    """

    host: str = ""
    port: int = 0
    path: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse ``host:port``, ``[IPv6]:port`` or ``unix:/path``. Raises ProgrammingError for other texts."""
        if text.startswith(UNIX_PREFIX):
            path = text.removeprefix(UNIX_PREFIX)
            if path and "\0" not in path:
                return cls(path=path)
        else:
            host, _, port = text.rpartition(":")
            bracketed = host.startswith("[") and host.endswith("]")
            host = host[1:-1] if bracketed else host
            is_number = port.isascii() and port.isdigit() and len(port) <= 5
            if host and (bracketed or ":" not in host) and is_number and int(port) < 65536:
                return cls(host, int(port))
        raise ProgrammingError(f"{text!r} is not an address; write host:port, [IPv6]:port or unix:/path")

    def __str__(self) -> str:
        if self.path is not None:
            return f"{UNIX_PREFIX}{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def listen(self, backlog: int = 128) -> socket.socket:
        """Return a socket that accepts connections at this address. ``backlog``: how many connections may
        wait to be accepted. The file of a Unix socket is accessible for this user only; a file left by an
        ended process is replaced. Raises OperationalError if the address can't be used."""
        try:
            if self.path is None:
                return self._listen_tcp(backlog)
            return self._listen_unix(self.path, backlog)
        except OSError as error:
            raise OperationalError(f"cannot listen on {self}: {error}") from error

    def connect(self, timeout: float) -> socket.socket:
        """Return a socket connected to this address. Raises OperationalError if no connection is made; if the
        host's name has several addresses, each is tried for ``timeout`` seconds."""
        try:
            if self.path is None:
                return socket.create_connection((self.host, self.port), timeout)
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.settimeout(timeout)
                connection.connect(self.path)
            except BaseException:
                connection.close()
                raise
        except OSError as error:
            raise OperationalError(f"cannot connect to {self}: {error}") from error
        return connection

    def _listen_tcp(self, backlog: int) -> socket.socket:
        family, _, _, _, address = socket.getaddrinfo(
            self.host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=backlog)

    def _listen_unix(self, path: str, backlog: int) -> socket.socket:
        remove_stale_socket(path)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(path)
            os.chmod(path, stat.S_IRUSR | stat.S_IWUSR)
            listener.listen(backlog)
        except BaseException:
            listener.close()
            raise
        return listener


def bound_address(listener: socket.socket) -> Address:
    """Return the address to which a listening socket is bound, with the port that the system has chosen."""
    name = listener.getsockname()
    return Address(path=name) if listener.family == socket.AF_UNIX else Address(name[0], name[1])


def check_reachable(address: Address) -> None:
    """Raise ProgrammingError if the host is a wildcard (``0.0.0.0`` or ``::``): members tell each other their
    addresses, and nobody on another machine can connect to a wildcard.

    >>> check_reachable(Address("192.168.0.1"))
    >>> check_reachable(Address(path="/run/sqlfront.sock"))
    """
    try:
        is_wildcard = ipaddress.ip_address(address.host).is_unspecified
    except ValueError:  # a name, or a path's empty host
        is_wildcard = False
    if is_wildcard:
        raise ProgrammingError(
            f"members need an address under which others reach them, which {address.host} is not; bind to one"
            " of this machine's addresses"
        )


def own_address(towards: Address) -> str:
    """Return the IP address of this machine on the route to the address ``towards``; raises OperationalError
    if there is no route.

    >>> own_address(Address("127.0.0.1", 7654))
    '127.0.0.1'
    """
    try:
        family, _, _, _, place = socket.getaddrinfo(towards.host, towards.port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(place)  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as error:
        raise OperationalError(f"there is no way to {towards}: {error}") from error


def remote_address(connection: socket.socket) -> str:
    """Return the peer's address as text for the log; a description if there is none (a Unix socket, or a
    connection that has ended)."""
    if connection.family == socket.AF_UNIX:
        return "a Unix socket"
    try:
        return str(Address(*connection.getpeername()[:2]))
    except OSError:  # the other end is gone already
        return "somebody"


def remove_stale_socket(path: str) -> None:
    """Remove the file of a Unix socket if no process listens on it; do nothing if ``path`` is another file or
    missing."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
        except OSError:
            return


def set_options(connection: socket.socket) -> None:
    """Set the options of a TCP connection: small frames are sent at once, and dead connections are detected
    by keep-alive probes. Does nothing for Unix sockets."""
    if connection.family == socket.AF_UNIX:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE:
        if hasattr(socket, name) and sys.platform != "win32":
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
