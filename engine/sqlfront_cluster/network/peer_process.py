"""The process at the other end of a connection within one machine, and how to know that it has ended.

The system knows which process has connected to a Unix socket, and tells when this process ends, however it
ends. The end of a connection alone is no such sign, since a connection may also break for other reasons; and
nothing of the kind is known about a connection over TCP, whose end may come from the network in between.
"""

import os
import select
import socket
import struct
import weakref
from typing import Final, Protocol

#: The layout of SO_PEERCRED's answer: the ids of the process, its user and its group.
_CREDENTIALS: Final = struct.Struct("3i")


class PeerProcess(Protocol):
    """The process at the other end of a connection."""

    @property
    def ended(self) -> bool:
        """Whether the process has ended, so that no thread of it runs any more. False proves nothing."""


class WatchedProcess:
    """The running process with the id ``pid`` on this machine; another process that gets the same id later is
    not mistaken for it. Raises OSError if there is no such process or the system can't watch it."""

    def __init__(self, pid: int) -> None:
        descriptor = os.pidfd_open(pid)
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)

    @property
    def ended(self) -> bool:
        """Whether the process has ended, so that no thread of it runs any more."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        return bool(poll.poll(0))


def process_of(connection: socket.socket) -> WatchedProcess | None:
    """Return the process that has made the ``connection``, which this process has accepted; None if the
    connection isn't one of a Unix socket or the system doesn't tell. To be called while the other side is
    known to live."""
    if connection.family != socket.AF_UNIX:
        return None
    try:
        answer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return WatchedProcess(_CREDENTIALS.unpack(answer)[0])
    except (OSError, AttributeError):  # the process has just ended, or is no process of this system
        return None
