"""Attending: a thread that waits for an answer reads the connection itself, in place of the reading thread.

An answer read by the reading thread must change threads once more to reach the waiting thread: 13 to 35 us,
and more when the interpreter is busy. So a connection can be *attended*. The thread that is about to wait
closes the connection's gate, which lets the reading thread sleep; handles arriving messages as the reading
thread would; and opens the gate again when its answer has come.

The gate is an epoll object. After the first attempt to attend, the reading thread waits on the gate instead
of the socket. On systems other than Linux there is no epoll, and connections are never attended.
"""

import select
import socket
from collections.abc import Callable, Sequence
from typing import Final, Protocol

#: Milliseconds between two checks of an attending thread for its end: a stopped query ends so late at most.
_LOOK: Final = 50
_IN: Final = getattr(select, "EPOLLIN", 0)
_OUT: Final = getattr(select, "EPOLLOUT", 0)


class Gate:
    """An object on which a connection's reading thread waits for bytes. While the gate is closed, arriving
    bytes don't wake the thread."""

    __slots__ = ("_descriptor", "_epoll")

    possible: Final = hasattr(select, "epoll")

    def __init__(self, connection: socket.socket) -> None:
        self._epoll = select.epoll()
        self._descriptor = connection.fileno()
        self._epoll.register(self._descriptor, _IN)

    def wait(self) -> None:
        """Block until the gate is open and bytes have arrived, or the connection has ended."""
        self._epoll.poll(None, 1)

    def close(self) -> None:
        """Close the gate: arriving bytes don't wake the reading thread any more."""
        self._epoll.modify(self._descriptor, 0)

    def open(self) -> None:
        """Open the gate: arriving bytes wake the reading thread."""
        self._epoll.modify(self._descriptor, _IN)

    def wake(self) -> None:
        """Open the gate, and wake the reading thread even if no bytes have arrived: the thread then waits
        also for room to write, which a socket has at once or soon."""
        self._epoll.modify(self._descriptor, _IN | _OUT)

    def release(self) -> None:
        """Free the gate's epoll object; the gate can't be used any more."""
        self._epoll.close()


class AttendedConnection(Protocol):
    """A connection that can be attended: a thread that waits for an answer reads it in place of the reading
    thread."""

    def begin(self) -> bool:
        """Suspend the reading thread, so that the calling thread may read the connection in its place (attend
        it), and return True. Return False if the connection can't be attended now."""

    @property
    def descriptor(self) -> int:
        """The socket's file descriptor, to be polled. Only the attending thread uses this property and the
        methods below."""

    def handle(self) -> bool:
        """Wait for a message, and handle it and all further messages that have arrived. Returns False if the
        connection has ended, else True."""

    def end(self) -> None:
        """Let the reading thread go on. Does nothing unless the calling thread attends the connection."""


def attend(
    connections: Sequence[AttendedConnection],
    done: Callable[[], bool],
    send: Callable[[], None] = lambda: None,
) -> bool:
    """Handle the messages of the connections, on this thread in place of their reading threads, until
    ``done()`` is true. ``done`` is called after each message and now and then. ``send`` sends a request; it
    is called once the reading threads are suspended, so that no other thread handles the answer first.

    Returns True once ``done()`` is true. Returns False if the connections can't be attended (any more), so
    that other threads handle the answer; ``send`` was called nevertheless.

    An interrupt while waiting changes nothing; an interrupt while handling a message ends that connection.
    """
    try:
        if not all(connection.begin() for connection in connections):
            _end(connections)
            send()
            return False
        send()
        poll = select.poll()
        by_descriptor = {}
        for connection in connections:
            by_descriptor[connection.descriptor] = connection
            poll.register(connection.descriptor, select.POLLIN)
        while not done():
            for descriptor, _ in poll.poll(_LOOK):
                if not by_descriptor[descriptor].handle():
                    return done()
        return True
    finally:
        try:
            _end(connections)
        except BaseException:  # even an interrupt here must not keep the reading threads away
            _end(connections)
            raise


def _end(connections: Sequence[AttendedConnection]) -> None:
    for connection in connections:
        connection.end()
